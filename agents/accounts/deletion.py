"""Deletion of accounts with all that they own."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, tuple_, update
from sqlalchemy import select as select_columns
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar.models import CalendarEvent, CalendarFeed
from agents.mcp.models import McpConnection
from agents.memory import store as memories
from agents.models import AgentRun, ChatMessage, ChatSession, LoggedEvent, RunEffect
from agents.tool_policies.models import ChosenPolicy
from core.audit.log import AuditAction, audit
from core.auth import user_admin
from core.auth.models import ApiKey, User, UserStatus
from core.auth.principal import Principal
from core.auth.sharing import delete_user_shares
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import UserNotFound
from core.errors.conflicts import UserOwnsThings
from core.errors.requests import InvalidRequest
from core.logging import get_logger
from kb_service.knowledge_bases import ownership
from kb_service.models import Attachment, RetrievalRecord
from skills.store import service

log = get_logger(__name__)

_AT_ONCE = 200
"""Rows that are erased in one transaction."""


@dataclass(frozen=True)
class DeletionMode:
    """Transfer knowledge bases and skills to an account, or erase all; at most one of both.

    Private data is erased in either case.
    """

    transfer_to: str | None = None
    erase: bool = False


@dataclass(frozen=True)
class OwnedCounts:
    """How many objects of each kind an account owns."""

    knowledge_bases: int
    documents: int
    skills: int
    sessions: int
    memories: int
    calendar_events: int
    images: int


@dataclass(frozen=True)
class DeletionResult:
    """A deleted account and what it owned; ``heir_id`` is None if all was erased."""

    user_id: str
    username: str
    heir_id: str | None
    owned: OwnedCounts
    api_keys: int


async def delete_account(work: UnitOfWork, principal: Principal, user_id: str, mode: DeletionMode) -> DeletionResult:
    """Delete an account in one transaction.

    Its logins end and its data disappears at once; its runs end with their next heartbeat. :func:`purge` erases its
    sessions, which nobody else could see, and then the anonymised row.

    Raises:
        LastAdministrator: no other account could administer accounts.
        UserOwnsThings: it owns something and no mode is given.
    """
    session = work.session
    user, role = await user_admin.get_account_for_update(session, principal, user_id)
    heir = await _heir(session, user, mode)
    owned = await count_owned(session, user.id)
    if heir is None and not mode.erase and any(asdict(owned).values()):
        raise UserOwnsThings(**asdict(owned))
    keys = select(func.count()).select_from(ApiKey).where(ApiKey.user_id == user.id)
    result = DeletionResult(
        user.id, user.username, None if heir is None else heir.id, owned, (await session.exec(keys)).one()
    )
    audit(
        session,
        AuditAction.USER_DELETED,
        user_admin.user_target(user),
        details={"transferred_to": result.heir_id, "owned": asdict(owned)},
    )
    if heir is not None:
        await ownership.transfer_ownership(work, user.id, heir.id, label=user.username)
        await service.hand_over(work, user.id, heir.id)
    await user_admin.anonymize_account(session, user, role)
    await _erase(work, user.id)
    return result


async def count_owned(session: AsyncSession, user_id: str) -> OwnedCounts:
    """What an account owns."""
    holdings = await ownership.count(session, user_id)
    images = (Attachment.owner_id == user_id, col(Attachment.deleted_at).is_(None))
    return OwnedCounts(
        holdings.knowledge_bases,
        holdings.documents,
        await service.count(session, user_id),
        await _count(session, ChatSession, ChatSession.owner_id == user_id),
        await memories.count(session, user_id),
        await _count(session, CalendarEvent, CalendarEvent.owner_id == user_id),
        await _count(session, Attachment, *images),
    )


async def _count(session: AsyncSession, table: type[SQLModel], *conditions: ColumnElement[bool] | bool) -> int:
    return (await session.exec(select(func.count()).select_from(table).where(*conditions))).one()


async def _heir(session: AsyncSession, user: User, mode: DeletionMode) -> User | None:
    if mode.transfer_to is None:
        return None
    if mode.erase:
        raise InvalidRequest("erase", "Name either transfer_to or erase, not both")
    try:
        heir, _ = await user_admin.find_account(session, mode.transfer_to)
    except UserNotFound:
        raise InvalidRequest("transfer_to", "No such account") from None
    if heir.id == user.id or heir.status != UserStatus.ACTIVE:
        raise InvalidRequest("transfer_to", "Name another active account")
    return heir


async def purge(database: Database) -> int:
    """Erase deleted accounts in small transactions, except what is in use; returns how many rows of accounts."""
    async with database.reading() as session:
        query = select(User.id).where(User.status == UserStatus.DELETED.value)
        deleted_ids = (await session.exec(query)).all()
    gone = 0
    for user_id in deleted_ids:
        try:
            gone += await _finish(database, user_id)
        except IntegrityError:
            # Something new refers to it at this moment: the next round finds that.
            log.info("account.still_needed", user_id=user_id)
    if gone:
        log.info("accounts.erased", count=gone)
    return gone


async def _finish(database: Database, user_id: str) -> bool:
    kind: int | None = 0
    while kind is not None:
        async with unit_of_work(database) as work:
            kind = await _erase_some(work.session, user_id, kind)
    async with unit_of_work(database) as work:
        await _erase(work, user_id)
        session = work.session
        in_use = (
            (Attachment, Attachment.owner_id == user_id),
            (ChatSession, ChatSession.owner_id == user_id),
            (AgentRun, AgentRun.owner_id == user_id),
        )
        if await ownership.has_rows(session, user_id):
            return False
        for table, condition in in_use:
            if await _count(session, table, condition):
                return False
        await session.exec(delete(User).where(col(User.id) == user_id))
    return True


async def _erase(work: UnitOfWork, user_id: str) -> None:
    """Erase what an account owns, except for what :func:`_erase_some` erases; idempotent."""
    session = work.session
    await ownership.delete_all(work, user_id)
    await service.erase_owned_by(work, user_id)
    await delete_user_shares(work, user_id)
    await memories.delete_all(work, user_id)
    for statement in (
        delete(CalendarEvent).where(col(CalendarEvent.owner_id) == user_id),
        delete(CalendarFeed).where(col(CalendarFeed.owner_id) == user_id),
        delete(McpConnection).where(col(McpConnection.owner_id) == user_id),
        delete(ChosenPolicy).where(col(ChosenPolicy.owner_id) == user_id),
    ):
        await session.exec(statement)
    images = update(Attachment).where(col(Attachment.owner_id) == user_id, col(Attachment.deleted_at).is_(None))
    await session.exec(images.values(deleted_at=utc_now()))


async def _erase_some(session: AsyncSession, user_id: str, first: int) -> int | None:
    """Erase some rows of an account's idle sessions, children before parents, beginning with table ``first``.

    There can be very many, and a writer to SQLite blocks all others. Returns the table that may have more rows, or
    None.
    """
    idle = (col(ChatSession.owner_id) == user_id, col(ChatSession.active_run_id).is_(None))
    of_idle = select(ChatSession.id).where(*idle)
    runs = select(AgentRun.id).where(col(AgentRun.session_id).in_(of_idle))
    event, effect = LoggedEvent, RunEffect
    kinds: tuple[tuple[type[SQLModel], tuple[Mapped[Any], ...], ColumnElement[bool]], ...] = (
        (event, (col(event.run_id), col(event.seq)), col(event.run_id).in_(runs)),
        (effect, (col(effect.task_id), col(effect.position)), col(effect.task_id).in_(runs)),
        (ChatMessage, (col(ChatMessage.id),), col(ChatMessage.session_id).in_(of_idle)),
        (RetrievalRecord, (col(RetrievalRecord.id),), col(RetrievalRecord.user_id) == user_id),
        (AgentRun, (col(AgentRun.id),), col(AgentRun.session_id).in_(of_idle)),
        (ChatSession, (col(ChatSession.id),), and_(*idle)),
    )
    for kind, (table, key, condition) in enumerate(kinds[first:], start=first):
        some = select_columns(*key).where(condition).limit(_AT_ONCE)
        statement = delete(table).where(tuple_(*key).in_(some))
        if (await session.exec(statement)).rowcount > 0:
            return kind
    return None
