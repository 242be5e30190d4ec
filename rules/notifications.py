"""Notifications of a person's rules; every query names the owner."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, update
from sqlalchemy import delete as delete_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import NotificationNotFound
from rules.models import Notification, Rule

SORT_FIELDS = ("created_at",)


@dataclass(frozen=True, slots=True)
class NotificationListing:
    """One page of notifications, how many fit the filter, and how many of all are unread."""

    items: Sequence[Notification]
    total: int
    unread: int


async def list_page(
    session: AsyncSession, owner_id: str, page: PageRequest, *, unread_only: bool
) -> NotificationListing:
    """One page of an owner's notifications, or of the unread ones."""
    mine = col(Notification.owner_id) == owner_id
    is_unread = col(Notification.read_at).is_(None)
    conditions = [mine, is_unread] if unread_only else [mine]
    query = paginate(
        select(Notification).where(*conditions),
        page,
        columns={"created_at": col(Notification.created_at)},
        tie=col(Notification.id),
    )
    unread = await _count(session, mine, is_unread)
    total = unread if unread_only else await _count(session, mine)
    return NotificationListing((await session.exec(query)).all(), total, unread)


async def names_of_rules(session: AsyncSession, owner_id: str, rows: Iterable[Notification]) -> dict[str, str]:
    """The names of the rules that made notifications, by id, without those that are gone."""
    ids = {row.rule_id for row in rows if row.rule_id is not None}
    query = select(Rule.id, Rule.name).where(col(Rule.owner_id) == owner_id, col(Rule.id).in_(ids))
    return dict((await session.exec(query)).all())


async def mark_read(work: UnitOfWork, owner_id: str, notification_id: str) -> Notification:
    """Note that a notification was read; the first time counts."""
    mine = (Notification.id == notification_id, Notification.owner_id == owner_id)
    row = (await work.session.exec(select(Notification).where(*mine))).first()
    if row is None:
        raise NotificationNotFound
    if row.read_at is None:
        row.read_at = utc_now()
        work.session.add(row)
    return row


async def mark_all_read(work: UnitOfWork, owner_id: str) -> None:
    """Note that all of an owner's notifications were read; the first time of each counts."""
    is_unread = col(Notification.read_at).is_(None)
    change = update(Notification).where(col(Notification.owner_id) == owner_id, is_unread)
    await work.session.exec(change.values(read_at=utc_now()))


async def delete(work: UnitOfWork, owner_id: str, notification_id: str) -> None:
    """Delete a notification."""
    mine = (col(Notification.id) == notification_id, col(Notification.owner_id) == owner_id)
    if (await work.session.exec(delete_rows(Notification).where(*mine))).rowcount == 0:
        raise NotificationNotFound


async def _count(session: AsyncSession, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(Notification).where(*conditions)
    return (await session.exec(query)).one()
