"""Dependencies of routes: caller, transaction, page, groups of services."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from fastapi import Depends, Header, Query, Request
from sqlmodel.ext.asyncio.session import AsyncSession

from api.container import AgentServices, AppContext, KnowledgeServices, RuleServices, SecurityServices
from api.http.responses import Text
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import NotAuthenticated
from core.errors.requests import InvalidPagination
from core.settings import Settings

MAX_PAGE_SIZE = 100
_MAX_PAGE = 1_000_000


async def get_context(request: Request) -> AppContext:
    """The objects of this process."""
    return cast(AppContext, request.app.state.context)


CurrentContext = Annotated[AppContext, Depends(get_context)]


async def _database(request: Request) -> Database:
    return cast(AppContext, request.app.state.context).database


async def _knowledge(request: Request) -> KnowledgeServices:
    return cast(AppContext, request.app.state.context).knowledge


async def _agents(request: Request) -> AgentServices:
    return cast(AppContext, request.app.state.context).agents


async def _rules(request: Request) -> RuleServices:
    return cast(AppContext, request.app.state.context).rules


async def _security(request: Request) -> SecurityServices:
    return cast(AppContext, request.app.state.context).security


CurrentDatabase = Annotated[Database, Depends(_database)]
Knowledge = Annotated[KnowledgeServices, Depends(_knowledge)]
Agents = Annotated[AgentServices, Depends(_agents)]
Rules = Annotated[RuleServices, Depends(_rules)]
Security = Annotated[SecurityServices, Depends(_security)]


async def get_principal(request: Request) -> Principal:
    """The caller, as the authentication middleware found it; refused on an open route without credentials."""
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):
        raise NotAuthenticated
    return principal


CurrentPrincipal = Annotated[Principal, Depends(get_principal)]


async def _settings_now(context: CurrentContext) -> Settings:
    return await context.live.now()


CurrentSettings = Annotated[Settings, Depends(_settings_now)]
"""The settings at this moment, with what administrators changed since the start."""


@dataclass(frozen=True)
class Requires:
    """A dependency that passes callers who have a permission, or an alternative, and by which a route declares it."""

    permission: Permission
    alternatives: tuple[Permission, ...] = ()

    async def __call__(self, principal: CurrentPrincipal) -> Principal:
        if principal.permissions.isdisjoint(self.alternatives):
            principal.require(self.permission)
        return principal


def requires(permission: Permission, *alternatives: Permission) -> Requires:
    """A dependency that passes callers whose role has the permission, or one of the alternatives."""
    return Requires(permission, alternatives)


async def _writing(context: CurrentContext) -> AsyncGenerator[UnitOfWork]:
    async with unit_of_work(context.database, context.queue.push) as work:
        yield work


async def _reading(context: CurrentContext) -> AsyncGenerator[AsyncSession]:
    async with context.database.reading() as session:
        yield session


# Function scope: a failing commit must reach the caller instead of following a 200.
Writing = Annotated[UnitOfWork, Depends(_writing, scope="function")]
Reading = Annotated[AsyncSession, Depends(_reading, scope="function")]


_AFTER = "The `id:` of the last event that was read; the stream goes on behind it"


async def _cursor_given(
    after: Annotated[Text, Query(description=f"{_AFTER}.")] = "",
    last_event_id: Annotated[str, Header(description=f"{_AFTER}; wins over `after`.")] = "",
) -> str:
    """The cursor to resume from, empty for none; an ``EventSource``'s own header wins."""
    return last_event_id or after


RequestedCursor = Annotated[str, Depends(_cursor_given)]


def paging(*sort_fields: str, descending: bool = True) -> Callable[..., Awaitable[PageRequest]]:
    """Parameters of a list (docs/reference/agentex-api.md, section 1.5), sorted by the first field by default."""
    first_order = "desc" if descending else "asc"

    async def read(
        page: Annotated[int, Query(ge=1, le=_MAX_PAGE, description="页码 / page number")] = 1,
        page_size: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="每页数量")] = 20,
        sort_by: Annotated[str, Query(description=f"One of {', '.join(sort_fields)}")] = (sort_fields[0]),
        sort_order: Annotated[Literal["asc", "desc"], Query()] = first_order,
    ) -> PageRequest:
        if sort_by not in sort_fields:
            names = ", ".join(sort_fields)
            zh = f"可用的值：{names}"
            raise InvalidPagination(field="sort_by", error=f"Use one of {names}", error_zh=zh)
        return PageRequest(page, page_size, sort_by, sort_order == "desc")

    return read
