"""Access to rules: those of the caller, and those that others share with them.

A rule acts with its owner's permissions. Sharing therefore lets nobody else change what it does: with ``read`` access
it is seen and tried, with ``write`` access also switched on and off (decision 95).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import ColumnElement, and_, func, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from agents.mcp.models import McpConnection
from core.auth.models import User, UserStatus
from core.auth.principal import Access, Action, Principal
from core.auth.sharing import access_by_id, authorize, shared_resource_ids
from core.db.pagination import PageRequest, paginate
from core.errors.auth import RuleNotFound
from rules.models import EventSource, Rule

SORT_FIELDS = ("created_at", "updated_at", "name", "last_triggered_at", "trigger_count")


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule as a caller sees it.

    Attributes:
        owner_name: the owner's user name.
        source_name: the name of the MCP connection or event source that the trigger names; None for none, or a deleted
            one.
    """

    rule: Rule
    access: Access
    owner_name: str
    source_name: str | None


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Rules that a list shows; None for no limit.

    ``owned``: only the caller's own rules, or only those of others.
    """

    enabled: bool | None = None
    event_type: str | None = None
    source_id: str | None = None
    text: str = ""
    owned: bool | None = None


@dataclass(frozen=True, slots=True)
class RuleListing:
    """One page of rules, and how many there are in all."""

    items: Sequence[RuleView]
    total: int


async def get(session: AsyncSession, principal: Principal, rule_id: str, action: Action = Action.READ) -> RuleView:
    """Load a rule that the caller may act on: WRITE is to switch it, MANAGE to change, share or delete it."""
    query = _with_names().where(Rule.id == rule_id, _visible_to(principal))
    row, owner_name, source_name = (await session.exec(query)).first() or (None, "", None)
    rule = await authorize(session, principal, action, row, RuleNotFound)
    access = (await access_by_id(session, principal, [rule]))[rule.id] or Access.READ
    return RuleView(rule, access, owner_name, source_name)


async def list_page(session: AsyncSession, principal: Principal, filters: RuleFilter, page: PageRequest) -> RuleListing:
    """One page of the rules that the caller sees."""
    conditions = _conditions(principal, filters)
    columns = {
        "created_at": col(Rule.created_at),
        "updated_at": col(Rule.updated_at),
        "name": col(Rule.name),
        "last_triggered_at": col(Rule.last_triggered_at),
        "trigger_count": col(Rule.trigger_count),
    }
    query = paginate(_with_names().where(*conditions), page, columns=columns, tie=col(Rule.id))
    rows = (await session.exec(query)).all()
    access = await access_by_id(session, principal, [rule for rule, *_ in rows])
    total = select(func.count()).select_from(Rule).join(User, col(User.id) == col(Rule.owner_id)).where(*conditions)
    items = [
        RuleView(rule, access[rule.id] or Access.READ, owner_name, source_name)
        for rule, owner_name, source_name in rows
    ]
    return RuleListing(items, (await session.exec(total)).one())


def _with_names() -> Select[Rule, str, str | None]:
    is_source = and_(col(EventSource.id) == col(Rule.source_id), col(EventSource.owner_id) == col(Rule.owner_id))
    is_connection = and_(
        col(McpConnection.id) == col(Rule.source_id), col(McpConnection.owner_id) == col(Rule.owner_id)
    )
    source_name = cast(ColumnElement[str | None], func.coalesce(EventSource.name, McpConnection.name))
    query = select(Rule, User.username, source_name).join(User, col(User.id) == col(Rule.owner_id))
    return query.outerjoin(EventSource, is_source).outerjoin(McpConnection, is_connection)


def _visible_to(principal: Principal) -> ColumnElement[bool]:
    shared = col(Rule.id).in_(shared_resource_ids(principal.user_id, Rule.SHARE_KIND))
    # The rules of a deleted account go before its row does.
    return or_(col(Rule.owner_id) == principal.user_id, and_(shared, col(User.status) != UserStatus.DELETED.value))


def _conditions(principal: Principal, filters: RuleFilter) -> list[ColumnElement[bool]]:
    conditions = [_visible_to(principal)]
    if filters.owned is not None:
        is_own = col(Rule.owner_id) == principal.user_id
        conditions.append(is_own if filters.owned else ~is_own)
    if filters.enabled is not None:
        conditions.append(col(Rule.enabled).is_(filters.enabled))
    if filters.event_type is not None:
        conditions.append(col(Rule.event_type) == filters.event_type)
    if filters.source_id is not None:
        conditions.append(col(Rule.source_id) == filters.source_id)
    if filters.text:
        places = (col(Rule.name), col(Rule.description), col(Rule.event_type))
        conditions.append(or_(*(place.icontains(filters.text, autoescape=True) for place in places)))
    return conditions
