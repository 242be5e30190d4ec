"""The lease: a worker's fenced hold on one try of a document, from claim to outcome."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import ColumnElement, and_, case, delete, insert, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.database.clock import database_now
from core.database.unit_of_work import UnitOfWork
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase

# Making and sending rows holds up the event loop: about 15 ms for this many.
_CHUNKS_PER_INSERT = 100

LONGEST_LEASE = LONGEST_PAUSE = timedelta(minutes=10)
Moment = datetime | ColumnElement[datetime]
OPEN_STATUSES = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)


@dataclass(frozen=True)
class Lease:
    """A worker's hold on one try of one revision of one document."""

    document_id: str
    revision: int
    attempt: int
    owner: str


def is_held(document: Document, now: datetime) -> bool:
    """Whether a worker may still have the document in hand."""
    return (until := document.lease_until) is not None and now <= until <= now + LONGEST_LEASE


def is_free(now: Moment, longest: Moment) -> ColumnElement[bool]:
    """The documents that no worker has in hand; ``longest`` is ``LONGEST_LEASE`` from now."""
    # What lies further ahead than any lease was written before a clock was set back.
    until = col(Document.lease_until)
    return or_(until.is_(None), until < now, until > longest)


def is_due(now: Moment, longest: Moment) -> ColumnElement[bool]:
    """The documents whose next try may begin; ``longest`` is ``LONGEST_PAUSE`` from now."""
    at = col(Document.retry_at)
    return or_(at.is_(None), at <= now, at > longest)


def _may_work() -> ColumnElement[bool]:
    base = select(KnowledgeBase.id).where(
        KnowledgeBase.id == Document.knowledge_base_id,
        col(KnowledgeBase.paused).is_(False),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    return base.exists()


async def acquire(
    work: UnitOfWork, document_id: str, *, owner: str, seconds: float
) -> Document | None:
    """Take the lease on a document that waits, counting the try before the work begins.

    A lease that ended without being given back may still have a worker that was only stopped, in
    the middle of deleting or writing points. The next try is therefore a revision of its own,
    whose points that worker does not know.

    Returns:
        The document with its new attempt number; None when another worker holds it, its time
        has not come, its knowledge base is paused, or there is nothing to do.
    """
    now = await database_now(work.session)
    statement = (
        update(Document)
        .where(
            col(Document.id) == document_id,
            col(Document.status).in_(OPEN_STATUSES),
            col(Document.deleted_at).is_(None),
            is_free(now, now + LONGEST_LEASE),
            is_due(now, now + LONGEST_PAUSE),
            _may_work(),
        )
        .values(
            status=DocumentStatus.PROCESSING.value,
            stage=DocumentStage.PARSING.value,
            attempt=Document.attempt + 1,
            revision=Document.revision + case((col(Document.lease_owner).is_(None), 0), else_=1),
            lease_owner=owner,
            lease_until=now + timedelta(seconds=seconds),
            retry_at=None,
            progress=0,
            started_at=now,
            stage_since=now,
            updated_at=now,
        )
        .execution_options(synchronize_session=False)
    )
    if (await work.session.exec(statement)).rowcount == 0:
        return None
    return (await work.session.exec(select(Document).where(Document.id == document_id))).one()


async def expire(work: UnitOfWork, failure: dict[str, str]) -> int:
    """Let documents wait again whose worker stopped renewing its lease.

    Its name stays on the row, so that the next try is a revision of its own.

    Args:
        work: the transaction.
        failure: why, for the owners.

    Returns:
        How many they were.
    """
    now = await database_now(work.session)
    statement = (
        update(Document)
        .where(
            col(Document.status) == DocumentStatus.PROCESSING.value,
            col(Document.deleted_at).is_(None),
            is_free(now, now + LONGEST_LEASE),
        )
        .values(
            status=DocumentStatus.PENDING.value,
            stage=DocumentStage.QUEUED.value,
            lease_until=None,
            failure=failure,
            updated_at=now,
        )
        .execution_options(synchronize_session=False)
    )
    return (await work.session.exec(statement)).rowcount


async def abandoned(session: AsyncSession) -> Sequence[str]:
    """Cancelled documents whose worker died before it took their points away."""
    now = await database_now(session)
    query = select(Document.id).where(
        col(Document.status) == DocumentStatus.CANCELLED.value,
        col(Document.lease_owner).is_not(None),
        col(Document.deleted_at).is_(None),
        is_free(now, now + LONGEST_LEASE),
    )
    return (await session.exec(query)).all()


async def forget(work: UnitOfWork, document: Document) -> None:
    """Note that nothing is left of the last try of a document that was set aside."""
    await work.session.exec(
        update(Document)
        .where(
            col(Document.id) == document.id,
            col(Document.revision) == document.revision,
            col(Document.status) == document.status,
        )
        .values(lease_owner=None, lease_until=None)
    )


def lease_of(document: Document) -> Lease:
    """The lease that was just taken on this row."""
    return Lease(document.id, document.revision, document.attempt, document.lease_owner or "")


async def advance(
    work: UnitOfWork,
    lease: Lease,
    *,
    seconds: float,
    stage: DocumentStage | None = None,
    progress: int | None = None,
) -> bool:
    """Renew the lease and write how far the work is.

    Returns:
        False when the lease was lost or the document deleted: the worker must stop and write
        nothing more.
    """
    now = await database_now(work.session)
    values: dict[str, object] = {
        "lease_until": now + timedelta(seconds=seconds),
        "updated_at": now,
    }
    if stage is not None:
        values["stage"] = stage.value
        is_new = col(Document.stage) != stage.value
        values["stage_since"] = case((is_new, now), else_=col(Document.stage_since))
    if progress is not None:
        values["progress"] = progress
    statement = update(Document).where(*_held(lease)).values(**values)
    return (await work.session.exec(statement)).rowcount > 0


def _held(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Document.id) == lease.document_id,
        col(Document.status) == DocumentStatus.PROCESSING.value,
        col(Document.lease_owner) == lease.owner,
        col(Document.attempt) == lease.attempt,
        col(Document.revision) == lease.revision,
        col(Document.deleted_at).is_(None),
    )


@dataclass(frozen=True)
class Outcome:
    """What a finished try knows about the document.

    Args:
        chunks: made one after the other, as they are written.
        chunk_count: how many they are.
        encoding: of the file, if it is text.
        pages: of the file, if it has pages.
        warnings: codes of what may have gone wrong.
    """

    chunks: Iterable[Chunk]
    chunk_count: int
    encoding: str | None
    pages: int | None
    warnings: Sequence[str]


@dataclass(frozen=True)
class Flip:
    """What the end of a try led to.

    Args:
        is_shadow: searches see the new revision only after a cut-over.
        is_reindexing: the knowledge base is on its way to another generation.
        shown: the document's revisions that searches see, or can after a cut-over.
    """

    is_shadow: bool
    is_reindexing: bool
    shown: frozenset[int]


async def complete(work: UnitOfWork, lease: Lease, outcome: Outcome) -> Flip | None:
    """Make the new revision the one that searches see, chunks and flip in one transaction.

    One that was made for a re-index becomes the document's shadow instead.

    Returns:
        None when the lease was lost or the document deleted meanwhile: nothing is written.
    """
    flip = await _place(work.session, lease)
    if flip is None or not await _finish(work.session, lease, outcome, flip):
        return None
    await work.session.exec(
        delete(Chunk).where(
            col(Chunk.document_id) == lease.document_id,
            or_(
                col(Chunk.revision) == lease.revision,
                col(Chunk.revision).not_in(flip.shown),
            ),
        )
    )
    await _insert(work.session, outcome.chunks)
    return flip


async def _place(session: AsyncSession, lease: Lease) -> Flip | None:
    """Where the new revision belongs; no cut-over comes between this and the commit."""
    document = await session.get(Document, lease.document_id, populate_existing=True)
    if document is None:
        return None
    query = select(KnowledgeBase).where(KnowledgeBase.id == document.knowledge_base_id)
    held = query.with_for_update(read=True, key_share=True)
    knowledge_base = (await session.exec(held)).one()
    active, target = document.active_revision, knowledge_base.target
    if document.generation == knowledge_base.generation:
        # A shadow or a kept revision is of the content before.
        return Flip(False, target is not None, frozenset({lease.revision}))
    if target is not None and document.generation == target["generation"]:
        return Flip(True, True, frozenset({lease.revision} | ({active} if active else set())))
    return None


async def _finish(session: AsyncSession, lease: Lease, outcome: Outcome, flip: Flip) -> bool:
    now = await database_now(session)
    place: dict[str, object] = {"shadow_revision": lease.revision}
    if not flip.is_shadow:
        place = {
            "active_revision": lease.revision,
            "shadow_revision": None,
            "superseded_keys": [],
            "superseded_bytes": 0,
            "chunk_count": outcome.chunk_count,
        }
    statement = (
        update(Document)
        .where(*_held(lease))
        .values(
            status=DocumentStatus.COMPLETED.value,
            stage=DocumentStage.DONE.value,
            progress=100,
            encoding=outcome.encoding,
            pages=outcome.pages,
            warnings=list(outcome.warnings),
            failure=None,
            lease_owner=None,
            lease_until=None,
            completed_at=now,
            updated_at=now,
            **place,
        )
    )
    return (await session.exec(statement)).rowcount > 0


async def _insert(session: AsyncSession, chunks: Iterable[Chunk]) -> None:
    remaining = iter(chunks)
    while rows := [chunk.model_dump() for chunk in islice(remaining, _CHUNKS_PER_INSERT)]:
        await session.exec(insert(Chunk), params=rows)


async def fail(work: UnitOfWork, lease: Lease, failure: dict[str, str]) -> bool:
    """End a try for good, with a reason and a next action that the owner sees."""
    return await _release(work, lease, status=DocumentStatus.FAILED.value, failure=failure)


async def postpone(
    work: UnitOfWork,
    lease: Lease,
    failure: dict[str, str],
    *,
    retry_at: datetime,
    attempt: int,
) -> bool:
    """Give a document back for a later try; its reason is visible meanwhile.

    Args:
        work: the transaction.
        lease: what is given back.
        failure: why.
        retry_at: not before then.
        attempt: the number of tries that count from now on.
    """
    return await _release(
        work,
        lease,
        status=DocumentStatus.PENDING.value,
        failure=failure,
        retry_at=retry_at,
        attempt=attempt,
    )


async def hand_back(work: UnitOfWork, lease: Lease) -> bool:
    """Give a document back because the worker stops: that is no try."""
    return await _release(
        work, lease, status=DocumentStatus.PENDING.value, attempt=lease.attempt - 1
    )


async def _release(work: UnitOfWork, lease: Lease, **values: object) -> bool:
    statement = (
        update(Document)
        .where(*_held(lease))
        .values(
            stage=DocumentStage.QUEUED.value,
            lease_owner=None,
            lease_until=None,
            updated_at=await database_now(work.session),
            **values,
        )
    )
    return (await work.session.exec(statement)).rowcount > 0


async def let_go(work: UnitOfWork, lease: Lease) -> None:
    """Give up a lost lease, so that nobody need wait for its end.

    A try that was broken off because its owner paused the document, or its knowledge base, was no
    try; one whose lease ran out was. As long as the document is in nobody's work the lease on it is still this one, whatever
    revision it waits with.
    """
    mine = and_(col(Document.attempt) == lease.attempt, col(Document.revision) == lease.revision)
    is_idle = col(Document.status) != DocumentStatus.PROCESSING.value
    was_paused = and_(
        col(Document.status).in_((DocumentStatus.PAUSED.value, DocumentStatus.PENDING.value)),
        col(Document.lease_until).is_not(None),
    )
    await work.session.exec(
        update(Document)
        .where(
            col(Document.id) == lease.document_id,
            col(Document.lease_owner) == lease.owner,
            or_(is_idle, mine),
        )
        .values(
            lease_owner=None,
            lease_until=None,
            attempt=case((and_(mine, was_paused), lease.attempt - 1), else_=Document.attempt),
        )
    )
