"""Commands of a re-index: request, continue, cut over, cancel, roll back."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import case, func, update
from sqlmodel import col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.conflicts import Conflict, NoReindex, ReindexNotReady, ReindexRunning
from kb_service.documents.upload import begin_revision
from kb_service.knowledge_bases import index_version
from kb_service.knowledge_bases.index_version import Generation
from kb_service.knowledge_bases.service import KnowledgeBaseDraft, require_served_model, resolve_splitting
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase, Transfer
from kb_service.reindex.quality_gate import recall_fields
from kb_service.reindex.status import count_documents, count_edited_chunks, lacks_shadow, require_target

REINDEX_JOB = "knowledge_base.reindex"

# Documents queued for a rebuild at a time: uploads wait only for these, and the others keep their status.
WINDOW = 32

_OPEN = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value, DocumentStatus.PAUSED.value)


class Cutover(StrEnum):
    """Whether a finished re-index comes into force by itself or waits for a person."""

    AUTO = "auto"
    MANUAL = "manual"


class ReindexOutcome(StrEnum):
    """What a wish for other settings led to.

    ``started``: a re-index. ``applied``: there was no document, the settings hold now.
    ``unchanged``: they hold already, or the re-index under way is for them.
    """

    STARTED = "started"
    APPLIED = "applied"
    UNCHANGED = "unchanged"


def reindex_key(knowledge_base_id: str) -> str:
    """Queue key of the job that continues a re-index."""
    return f"{REINDEX_JOB}:{knowledge_base_id}"


def enqueue_reindex(work: UnitOfWork, knowledge_base_id: str) -> None:
    """Enqueue the job that continues a re-index."""
    payload = {"knowledge_base_id": knowledge_base_id}
    work.enqueue(REINDEX_JOB, payload, key=reindex_key(knowledge_base_id))


async def request_reindex(
    work: UnitOfWork,
    knowledge_base: KnowledgeBase,
    draft: KnowledgeBaseDraft,
    *,
    cutover: Cutover = Cutover.AUTO,
    force: bool = False,
) -> ReindexOutcome:
    """Request other settings; if there are documents, this starts a re-index.

    Args:
        draft: only splitter, sizes and model matter here.
        force: rebuild all documents even if the settings stay the same.

    Raises:
        ReindexRunning: a re-index to other settings is under way.
        Conflict: an import or copy into the knowledge base is running.
    """
    wishes = (draft.embedding_model, draft.splitter, draft.chunk_size, draft.chunk_overlap)
    row = None
    if force or wishes != (None, None, None, None):
        row = await get_for_update(work.session, knowledge_base.id)
    if row is None:
        return ReindexOutcome.UNCHANGED
    present, target = index_version.current(row), index_version.target(row)
    model = present.embedding_model
    if draft.embedding_model not in {None, model}:
        model = require_served_model(draft.embedding_model or "")
    generation = Generation(row.last_generation + 1, model, resolve_splitting(row, draft))
    is_asked = force or not generation.is_like(present)
    if not is_asked or (target is not None and generation.is_like(target)):
        return ReindexOutcome.UNCHANGED
    if target is not None:
        raise ReindexRunning(knowledge_base_id=row.id)
    await _require_no_transfer(work, row.id)
    await discard_previous(work, row)
    if not await _has_documents(work, row.id):
        _apply_generation(row, Generation(row.generation, model, generation.splitting))
        return ReindexOutcome.APPLIED
    await _start(work, row, generation, cutover)
    return ReindexOutcome.STARTED


async def _start(work: UnitOfWork, knowledge_base: KnowledgeBase, generation: Generation, cutover: Cutover) -> None:
    knowledge_base.last_generation = generation.number
    knowledge_base.target = generation.to_json() | {
        "cutover": cutover.value,
        "started_at": utc_now().isoformat(),
        "edited_chunks": await count_edited_chunks(work.session, knowledge_base.id),
    }
    work.session.add(knowledge_base)
    enqueue_reindex(work, knowledge_base.id)


async def _require_no_transfer(work: UnitOfWork, knowledge_base_id: str) -> None:
    """A transfer writes documents for the generation that it began with."""
    query = select(Transfer.id).where(Transfer.knowledge_base_id == knowledge_base_id, col(Transfer.status).in_(_OPEN))
    if (await work.session.exec(query)).first() is not None:
        error = "The knowledge base is still being imported: wait until that is done"
        zh = "该知识库仍在导入：请等待导入完成"
        raise Conflict(field="knowledge_base_id", error=error, error_zh=zh)


async def _has_documents(work: UnitOfWork, knowledge_base_id: str) -> bool:
    query = select(Document.id).where(
        Document.knowledge_base_id == knowledge_base_id, col(Document.deleted_at).is_(None)
    )
    return (await work.session.exec(query.limit(1))).first() is not None


async def discard_previous(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Discard the settings before the last cut-over and what was kept of them."""
    previous = index_version.previous(knowledge_base)
    if previous is not None:
        _retire(work, knowledge_base, previous)
        knowledge_base.previous = None
        await _drop_shadows(work, knowledge_base)


def _retire(work: UnitOfWork, knowledge_base: KnowledgeBase, generation: Generation) -> None:
    entry = {"generation": generation.number, "embedding_model": generation.embedding_model}
    knowledge_base.retired = [*knowledge_base.retired, entry]
    work.session.add(knowledge_base)
    enqueue_reindex(work, knowledge_base.id)


async def _drop_shadows(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    await work.session.exec(
        update(Document)
        .where(col(Document.knowledge_base_id) == knowledge_base.id, col(Document.shadow_revision).is_not(None))
        .values(shadow_revision=None)
    )


async def start_next_documents(work: UnitOfWork, knowledge_base: KnowledgeBase) -> int:
    """Start rebuilding the next documents, up to ``WINDOW`` at a time; returns how many."""
    target = index_version.target(knowledge_base)
    if target is None:
        return 0
    room = WINDOW - (await count_documents(work.session, knowledge_base)).at_work
    if room <= 0:
        return 0
    query = (
        select(Document)
        .where(*lacks_shadow(knowledge_base.id), col(Document.status) == DocumentStatus.COMPLETED.value)
        .order_by(col(Document.created_at), col(Document.id))
        .limit(room)
        # Documents that are just being replaced or deleted come next time.
        .with_for_update(skip_locked=True)
    )
    rows = (await work.session.exec(query)).all()
    now = await database_now(work.session)
    for document in rows:
        document.generation, document.updated_at = target.number, now
        begin_revision(work, document)
    return len(rows)


async def cut_over(
    work: UnitOfWork, knowledge_base: KnowledgeBase, *, keep: timedelta, without_failed: bool = False
) -> None:
    """Put the settings and passages of a finished re-index in force, all at once.

    Args:
        keep: how long a rollback stays possible; zero: not at all.
        without_failed: proceed although documents failed; searches no longer find them.

    Raises:
        NoReindex: none is under way.
        ReindexOver: none is, but the last one can be rolled back.
        ReindexNotReady: documents are left, or failed.
    """
    target = require_target(knowledge_base)
    tally = await count_documents(work.session, knowledge_base)
    if tally.left or (tally.failed and not without_failed):
        raise ReindexNotReady(left=tally.left, failed=tally.failed)
    old = index_version.current(knowledge_base)
    await _swap_revisions(work, knowledge_base.id, is_kept=keep > timedelta(0))
    await _restart_documents(work, knowledge_base.id, target)
    if keep > timedelta(0):
        knowledge_base.previous = old.to_json() | {
            "kept_until": (utc_now() + keep).isoformat(),
            **recall_fields(knowledge_base.target),
        }
    else:
        _retire(work, knowledge_base, old)
    knowledge_base.target = None
    _apply_generation(knowledge_base, target)
    work.session.add(knowledge_base)


def _apply_generation(knowledge_base: KnowledgeBase, generation: Generation) -> None:
    knowledge_base.generation = generation.number
    knowledge_base.embedding_model = generation.embedding_model
    knowledge_base.splitter = generation.splitting.splitter
    knowledge_base.chunk_size = generation.splitting.chunk_size
    knowledge_base.chunk_overlap = generation.splitting.chunk_overlap
    knowledge_base.updated_at = utc_now()


async def _swap_revisions(work: UnitOfWork, knowledge_base_id: str, *, is_kept: bool) -> None:
    chunks = (
        select(func.count())
        .select_from(Chunk)
        .where(col(Chunk.document_id) == col(Document.id), col(Chunk.revision) == col(Document.shadow_revision))
        .scalar_subquery()
    )
    active, shadow = col(Document.active_revision), col(Document.shadow_revision)
    await work.session.exec(
        update(Document)
        .where(col(Document.knowledge_base_id) == knowledge_base_id, or_(active.is_not(None), shadow.is_not(None)))
        .values(
            active_revision=shadow,
            shadow_revision=active if is_kept else None,
            chunk_count=chunks,
            updated_at=await database_now(work.session),
        )
    )


async def _restart_documents(work: UnitOfWork, knowledge_base_id: str, generation: Generation) -> None:
    """Restart waiting and active documents for another generation."""
    status = col(Document.status)
    await work.session.exec(
        update(Document)
        .where(
            col(Document.knowledge_base_id) == knowledge_base_id,
            col(Document.deleted_at).is_(None),
            col(Document.generation) != generation.number,
            status.in_(_OPEN),
        )
        .values(
            generation=generation.number,
            revision=col(Document.revision) + 1,
            # A worker on it notices, and releases its lease.
            status=case((status == DocumentStatus.PAUSED.value, status), else_=DocumentStatus.PENDING.value),
            stage=DocumentStage.QUEUED.value,
            progress=0,
            attempt=0,
            retry_at=None,
            started_at=None,
            stage_since=None,
            updated_at=await database_now(work.session),
        )
    )


async def cancel(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Cancel a re-index and discard its results; searches stay as they are."""
    target = require_target(knowledge_base)
    present = index_version.current(knowledge_base)
    # Only the rebuild failed: the searchable revision is intact.
    await work.session.exec(
        update(Document)
        .where(
            col(Document.knowledge_base_id) == knowledge_base.id,
            col(Document.generation) == target.number,
            col(Document.active_revision).is_not(None),
            col(Document.deleted_at).is_(None),
        )
        .values(
            generation=present.number,
            status=DocumentStatus.COMPLETED.value,
            stage=DocumentStage.DONE.value,
            progress=100,
            failure=None,
            retry_at=None,
            updated_at=await database_now(work.session),
        )
    )
    await _restart_documents(work, knowledge_base.id, present)
    await _drop_shadows(work, knowledge_base)
    knowledge_base.target = None
    _retire(work, knowledge_base, target)


async def roll_back(work: UnitOfWork, knowledge_base: KnowledgeBase, *, keep: timedelta) -> None:
    """Return to the settings before the last cut-over.

    Their passages still exist. They are in force at once if no document was added or changed since, else when those few
    documents are rebuilt.

    Args:
        keep: how long the way forward stays possible.

    Raises:
        NoReindex: nothing is kept to go back to.
        ReindexRunning: another one is under way.
        UnknownEmbeddingModel: the old model is no longer served.
    """
    if knowledge_base.target is not None:
        raise ReindexRunning(knowledge_base_id=knowledge_base.id)
    previous = index_version.previous(knowledge_base)
    if previous is None:
        raise NoReindex
    require_served_model(previous.embedding_model)
    knowledge_base.previous = None
    knowledge_base.target = previous.to_json() | {
        "cutover": Cutover.AUTO.value,
        "started_at": utc_now().isoformat(),
        "edited_chunks": 0,
        # A person decided: no measurement needed.
        "recall": None,
    }
    tally = await count_documents(work.session, knowledge_base)
    if tally.left == tally.failed == 0:
        await cut_over(work, knowledge_base, keep=keep)
    work.session.add(knowledge_base)
    enqueue_reindex(work, knowledge_base.id)


def is_previous_expired(knowledge_base: KnowledgeBase) -> bool:
    """Whether the retention of the previous generation is over."""
    previous = knowledge_base.previous
    return previous is not None and datetime.fromisoformat(previous["kept_until"]) < utc_now()


async def get_for_update(session: AsyncSession, knowledge_base_id: str) -> KnowledgeBase | None:
    """Lock a knowledge base until the transaction ends; None if it was deleted.

    Meanwhile no document is added and no try completed (``completion.commit_revisions`` takes the same lock).
    """
    query = (
        select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id, col(KnowledgeBase.deleted_at).is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return (await session.exec(query)).first()
