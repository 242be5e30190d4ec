"""Reading the audit log, and forgetting what is older than is kept."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, func, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.models import AuditEntry
from core.db.database import Database
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work

SORT_FIELDS = ("created_at", "action", "actor_name")
_BATCH = 500


@dataclass(frozen=True)
class AuditFilter:
    """Which entries are wanted; what is empty does not filter.

    Args:
        text: part of an action, a name, an object's id, an address or a request id.
        actor: an account's id, or the name it had.
        object_type: the kind of what was acted on.
    """

    text: str = ""
    actions: tuple[str, ...] = ()
    actor: str = ""
    object_type: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class AuditListing:
    """A page of entries and how many there are in all."""

    items: Sequence[AuditEntry]
    total: int


async def list_page(session: AsyncSession, wanted: AuditFilter, page: PageRequest) -> AuditListing:
    """One page of the entries that are wanted."""
    conditions = _conditions(wanted)
    count = select(func.count()).select_from(AuditEntry).where(*conditions)
    columns = {name: col(getattr(AuditEntry, name)) for name in SORT_FIELDS}
    query = select(AuditEntry).where(*conditions)
    rows = await session.exec(paginate(query, page, columns=columns, tie=col(AuditEntry.id)))
    return AuditListing(rows.all(), (await session.exec(count)).one())


async def iterate_batches(database: Database, wanted: AuditFilter) -> AsyncGenerator[Sequence[AuditEntry]]:
    """All entries that are wanted, the newest first, in batches; no session stays open between."""
    conditions = _conditions(wanted)
    moment, key = col(AuditEntry.created_at), col(AuditEntry.id)
    after: list[ColumnElement[bool]] = []
    while True:
        query = select(AuditEntry).where(*conditions, *after)
        async with database.reading() as session:
            ordered = query.order_by(moment.desc(), key.desc()).limit(_BATCH)
            rows = (await session.exec(ordered)).all()
        if rows:
            yield rows
        if len(rows) < _BATCH:
            return
        last = rows[-1]
        earlier = and_(moment == last.created_at, key < last.id)
        after = [or_(moment < last.created_at, earlier)]


async def delete_older(database: Database, *, days: int) -> int:
    """Delete what is older than ``days``, in short transactions; 0 keeps everything.

    Returns:
        How many entries went.
    """
    if days == 0:
        return 0
    gone, border = 0, utc_now() - timedelta(days=days)
    old = select(AuditEntry.id).where(col(AuditEntry.created_at) < border).limit(_BATCH)
    while True:
        async with unit_of_work(database) as work:
            keys = (await work.session.exec(old)).all()
            if keys:
                await work.session.exec(delete(AuditEntry).where(col(AuditEntry.id).in_(keys)))
        gone += len(keys)
        if len(keys) < _BATCH:
            return gone


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    entry = AuditEntry
    found: list[ColumnElement[bool]] = []
    if wanted.text:
        searched = (entry.action, entry.actor_name, entry.object_id, entry.object_name, entry.address, entry.request_id)
        found.append(or_(*(col(one).icontains(wanted.text, autoescape=True) for one in searched)))
    if wanted.actions:
        found.append(col(entry.action).in_(wanted.actions))
    if wanted.actor:
        found.append(or_(col(entry.actor_id) == wanted.actor, col(entry.actor_name) == wanted.actor))
    if wanted.object_type:
        found.append(col(entry.object_type) == wanted.object_type)
    if wanted.object_id:
        found.append(col(entry.object_id) == wanted.object_id)
    if wanted.since is not None:
        found.append(col(entry.created_at) >= wanted.since)
    if wanted.until is not None:
        found.append(col(entry.created_at) < wanted.until)
    return found
