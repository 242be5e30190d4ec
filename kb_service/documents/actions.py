"""The registry of actions on existing documents, for single and bulk calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import delete as delete_from
from sqlalchemy import update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.sharing import delete_shares
from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import Conflict
from kb_service.documents.jobs import enqueue_clear, enqueue_erase
from kb_service.documents.upload import begin_revision
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.visibility import Viewer, visible_to

_AT_WORK = frozenset({DocumentStatus.PENDING, DocumentStatus.PROCESSING})
_GROUP = 200


def _delete(work: UnitOfWork, document: Document) -> None:
    document.deleted_at = utc_now()
    enqueue_erase(work, document.id)


def _pause(_work: UnitOfWork, document: Document) -> None:
    _rest(document, DocumentStatus.PAUSED)


def _resume(work: UnitOfWork, document: Document) -> None:
    _rest(document, DocumentStatus.PENDING)
    work.wake_workers()


def _cancel(work: UnitOfWork, document: Document) -> None:
    _rest(document, DocumentStatus.CANCELLED)
    document.failure = None
    # Stays until the points of the aborted try are known to be deleted.
    document.lease_owner = document.lease_owner or _TO_BE_CLEARED
    enqueue_clear(work, document)


def _rest(document: Document, status: DocumentStatus) -> None:
    # The lease stays: its worker gives it up when it notices, and until then nobody else may write points.
    document.status, document.stage = status.value, DocumentStage.QUEUED.value
    document.progress, document.retry_at, document.stage_since = 0, None, None


_TO_BE_CLEARED = "-"


@dataclass(frozen=True)
class DocumentAction:
    """An action that documents in some states allow.

    Args:
        apply: changes the locked row and enqueues the follow-up jobs.
        settled: statuses in which it is already done: repeating it changes nothing.
        refusal: the error message for any other status.
    """

    apply: Callable[[UnitOfWork, Document], None]
    begins: frozenset[DocumentStatus]
    settled: frozenset[DocumentStatus] = frozenset()
    refusal: str = ""
    refusal_zh: str = ""


class ActionName(StrEnum):
    """The registered actions."""

    DELETE = "delete"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"


ACTIONS: dict[ActionName, DocumentAction] = {
    ActionName.DELETE: DocumentAction(_delete, begins=frozenset(DocumentStatus)),
    ActionName.PAUSE: DocumentAction(
        _pause,
        begins=_AT_WORK,
        settled=frozenset({DocumentStatus.PAUSED}),
        refusal="Only a document that waits or is processed can be paused",
        refusal_zh="只有等待处理或正在处理的文档可以暂停",
    ),
    ActionName.RESUME: DocumentAction(
        _resume,
        begins=frozenset({DocumentStatus.PAUSED}),
        settled=_AT_WORK,
        refusal="Only a paused document can be resumed",
        refusal_zh="只有已暂停的文档可以恢复处理",
    ),
    ActionName.CANCEL: DocumentAction(
        _cancel,
        begins=_AT_WORK | {DocumentStatus.PAUSED},
        settled=frozenset({DocumentStatus.CANCELLED}),
        refusal="Only a document that waits, is processed or is paused can be cancelled",
        refusal_zh="只有等待处理、正在处理或已暂停的文档可以取消处理",
    ),
    ActionName.RETRY: DocumentAction(
        begin_revision,
        begins=frozenset({DocumentStatus.FAILED, DocumentStatus.CANCELLED}),
        refusal="Only a failed or cancelled document can be retried",
        refusal_zh="只有失败或已取消的文档可以重试",
    ),
}


class ActionOutcome(StrEnum):
    """What became of an action on one document."""

    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    NOT_FOUND = "not_found"


async def perform(work: UnitOfWork, name: ActionName, document: Document) -> ActionOutcome:
    """Apply an action to a document whose row is locked, if its status allows it."""
    action, status = ACTIONS[name], DocumentStatus(document.status)
    if status in action.settled:
        return ActionOutcome.UNCHANGED
    if status not in action.begins:
        return ActionOutcome.REFUSED
    action.apply(work, document)
    if document.deleted_at is not None and document.restricted:
        await delete_shares(work, Document.SHARE_KIND, [document.id])
    document.updated_at = await database_now(work.session)
    work.session.add(document)
    return ActionOutcome.DONE


async def apply_action(
    work: UnitOfWork, viewer: Viewer, name: ActionName, knowledge_base_id: str, document_id: str
) -> Document:
    """Apply an action to one document of a knowledge base that already passed the gate."""
    rows = await get_documents_for_update(work.session, viewer, knowledge_base_id, [document_id])
    if not rows:
        raise DocumentNotFound
    if await perform(work, name, rows[0]) is ActionOutcome.REFUSED:
        action = ACTIONS[name]
        raise Conflict(field="status", error=action.refusal, error_zh=action.refusal_zh)
    return rows[0]


async def apply_action_to_many(
    work: UnitOfWork, viewer: Viewer, name: ActionName, knowledge_base_id: str, document_ids: Sequence[str]
) -> dict[str, ActionOutcome]:
    """Apply an action to many documents; those hidden from the viewer count as not found."""
    outcomes = dict.fromkeys(document_ids, ActionOutcome.NOT_FOUND)
    ids = sorted(outcomes)
    for start in range(0, len(ids), _GROUP):
        group = ids[start : start + _GROUP]
        rows = await get_documents_for_update(work.session, viewer, knowledge_base_id, group)
        for row in rows:
            outcomes[row.id] = await perform(work, name, row)
        await work.session.flush()
    return outcomes


async def get_documents_for_update(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, document_ids: Sequence[str]
) -> Sequence[Document]:
    """Lock and load those of these documents that the viewer can read."""
    # Ordered by id: two callers that lock the same rows must not deadlock.
    query = (
        select(Document)
        .where(
            col(Document.id).in_(document_ids),
            col(Document.knowledge_base_id) == knowledge_base_id,
            col(Document.deleted_at).is_(None),
            visible_to(viewer),
        )
        .order_by(col(Document.id))
        # Without the joined rows that only decide visibility.
        .with_for_update(key_share=True, of=Document)
        .execution_options(populate_existing=True)
    )
    return (await session.exec(query)).all()


async def ids_with_status(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, status: DocumentStatus, *, limit: int
) -> Sequence[str]:
    """Ids of the viewer's documents in a status, oldest first."""
    query = (
        select(Document.id)
        .where(
            Document.knowledge_base_id == knowledge_base_id,
            Document.status == status.value,
            col(Document.deleted_at).is_(None),
            visible_to(viewer),
        )
        .order_by(col(Document.created_at), col(Document.id))
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def delete_rows(session: AsyncSession, document_ids: Sequence[str], limit: int) -> bool:
    """Delete erased documents' rows, at most ``limit`` chunks at once; False if more may be left."""
    some = select(Chunk.id).where(col(Chunk.document_id).in_(document_ids)).limit(limit)
    gone = await session.exec(delete_from(Chunk).where(col(Chunk.id).in_(some)))
    if gone.rowcount >= limit:
        return False
    await session.exec(delete_from(Document).where(col(Document.id).in_(document_ids)))
    return True


async def pause_all(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Pause processing of a knowledge base's documents.

    Documents being processed return to the queue; their workers give up when they notice.
    """
    if knowledge_base.paused:
        return
    _set_paused(work, knowledge_base, to=True)
    await work.session.flush()
    await work.session.exec(
        update(Document)
        .where(
            col(Document.knowledge_base_id) == knowledge_base.id,
            col(Document.status) == DocumentStatus.PROCESSING.value,
            col(Document.deleted_at).is_(None),
        )
        .values(
            status=DocumentStatus.PENDING.value,
            stage=DocumentStage.QUEUED.value,
            progress=0,
            stage_since=None,
            updated_at=await database_now(work.session),
        )
    )


def resume_all(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Resume processing of a knowledge base's documents."""
    if not knowledge_base.paused:
        return
    _set_paused(work, knowledge_base, to=False)
    work.wake_workers()


def _set_paused(work: UnitOfWork, knowledge_base: KnowledgeBase, *, to: bool) -> None:
    knowledge_base.paused, knowledge_base.updated_at = to, utc_now()
    work.session.add(knowledge_base)
