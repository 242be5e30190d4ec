"""Reads from the audit log, and deletion of old entries."""

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
    """Conditions on entries; empty fields do not filter.

    Args:
        text: part of an action, a name, an object's id, an address or a request id.
        actor: an account's id, or the name it had.
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
    """A page of entries and the total count."""

    items: Sequence[AuditEntry]
    total: int


async def list_page(session: AsyncSession, entry_filter: AuditFilter, page: PageRequest) -> AuditListing:
    """One page of the matching entries."""
    conditions = _conditions(entry_filter)
    count = select(func.count()).select_from(AuditEntry).where(*conditions)
    columns = {name: col(getattr(AuditEntry, name)) for name in SORT_FIELDS}
    query = select(AuditEntry).where(*conditions)
    rows = await session.exec(paginate(query, page, columns=columns, tie=col(AuditEntry.id)))
    return AuditListing(rows.all(), (await session.exec(count)).one())


async def iterate_batches(database: Database, entry_filter: AuditFilter) -> AsyncGenerator[Sequence[AuditEntry]]:
    """All matching entries in batches, newest first; no session stays open in between."""
    conditions = _conditions(entry_filter)
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
    """Delete entries older than ``days`` in short transactions and return their number; 0 keeps everything."""
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


def _conditions(entry_filter: AuditFilter) -> list[ColumnElement[bool]]:
    entry = AuditEntry
    conditions: list[ColumnElement[bool]] = []
    if entry_filter.text:
        searched = (entry.action, entry.actor_name, entry.object_id, entry.object_name, entry.address, entry.request_id)
        conditions.append(or_(*(col(column).icontains(entry_filter.text, autoescape=True) for column in searched)))
    if entry_filter.actions:
        conditions.append(col(entry.action).in_(entry_filter.actions))
    if entry_filter.actor:
        conditions.append(or_(col(entry.actor_id) == entry_filter.actor, col(entry.actor_name) == entry_filter.actor))
    if entry_filter.object_type:
        conditions.append(col(entry.object_type) == entry_filter.object_type)
    if entry_filter.object_id:
        conditions.append(col(entry.object_id) == entry_filter.object_id)
    if entry_filter.since is not None:
        conditions.append(col(entry.created_at) >= entry_filter.since)
    if entry_filter.until is not None:
        conditions.append(col(entry.created_at) < entry_filter.until)
    return conditions
