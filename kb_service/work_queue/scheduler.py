"""Fair scheduling: turns rotate among owners, not among documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import ColumnElement, ScalarSelect, bindparam, func
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from core.db.now import database_now
from core.db.types import UtcDateTime
from kb_service.models import Document, DocumentStatus, KnowledgeBase
from kb_service.work_queue.leases import LONGEST_LEASE, LONGEST_PAUSE, is_due, is_free


@dataclass(frozen=True)
class QueuedDocument:
    """The document of a knowledge base that has waited longest."""

    document_id: str
    owner_id: str
    since: datetime
    attempts: int


async def oldest_queued(session: AsyncSession) -> Sequence[QueuedDocument]:
    """The longest-waiting document of each knowledge base.

    Steps through the index ``ix_document_waiting`` by knowledge base, so the cost grows with their number and not with
    that of the documents.
    """
    now = await database_now(session)
    moments = {"now": now, "lease": now + LONGEST_LEASE, "pause": now + LONGEST_PAUSE}
    return [QueuedDocument(*row) for row in (await session.exec(_oldest_queued(), params=moments)).all()]


@cache
def _oldest_queued() -> Select[str, str, datetime, int]:
    # Cached: building it takes longer than executing it, and workers run it for every document.
    now, lease, pause = (bindparam(name, type_=UtcDateTime) for name in ("now", "lease", "pause"))
    bases = select(_first_base().label("id")).cte("bases", recursive=True)
    bases = bases.union_all(select(_first_base(bases.c.id)).where(bases.c.id.is_not(None)))
    oldest = (
        select(Document.id)
        .where(
            col(Document.knowledge_base_id) == bases.c.id,
            col(Document.status) == DocumentStatus.PENDING.value,
            col(Document.deleted_at).is_(None),
            is_free(now, lease),
            is_due(now, pause),
        )
        .order_by(col(Document.created_at), col(Document.id))
        .limit(1)
        .correlate(bases)
        .scalar_subquery()
    )
    document = aliased(Document)
    return (
        select(col(document.id), col(KnowledgeBase.owner_id), col(document.created_at), col(document.attempt))
        .select_from(bases)
        .join(KnowledgeBase, col(KnowledgeBase.id) == bases.c.id)
        .join(document, col(document.id) == oldest)
        .where(col(KnowledgeBase.paused).is_(False), col(KnowledgeBase.deleted_at).is_(None))
    )


def _first_base(after: ColumnElement[str] | None = None) -> ScalarSelect[str]:
    """The lowest id of a knowledge base with waiting documents, after the given one."""
    document = aliased(Document)
    query = select(col(document.knowledge_base_id)).where(
        col(document.status) == DocumentStatus.PENDING.value, col(document.deleted_at).is_(None)
    )
    if after is not None:
        query = query.where(col(document.knowledge_base_id) > after)
    return query.order_by(col(document.knowledge_base_id)).limit(1).scalar_subquery()


async def active_per_owner(session: AsyncSession) -> dict[str, int]:
    """How many documents of each owner are being processed."""
    return dict((await session.exec(_active_per_owner())).all())


@cache
def _active_per_owner() -> Select[str, int]:
    return (
        select(col(KnowledgeBase.owner_id), func.count())
        .join(Document, col(Document.knowledge_base_id) == col(KnowledgeBase.id))
        .where(col(Document.status) == DocumentStatus.PROCESSING.value, col(Document.deleted_at).is_(None))
        .group_by(col(KnowledgeBase.owner_id))
    )


def pick_next(
    queued: Sequence[QueuedDocument], active: Mapping[str, int], last_served: Mapping[str, int]
) -> QueuedDocument | None:
    """The next document: of the owner with the fewest active, then served longest ago; then the oldest."""
    return min(
        queued,
        key=lambda document: (
            active.get(document.owner_id, 0),
            last_served.get(document.owner_id, -1),
            document.since,
            document.document_id,
        ),
        default=None,
    )
