"""Sessions and their messages (docs/reference/agentex-api.md, section 5)."""

from typing import Annotated, Literal

from fastapi import Depends, Query
from pydantic import Field, JsonValue, StringConstraints
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import session_config
from agents.async_runs import history
from agents.async_runs.ui_schema import UiSchemaRenderer
from agents.run_request import MOST_SKILLS
from agents.runs import session_copy, session_deletion
from agents.sessions import service as sessions
from agents.sessions.branches import list_branch_points
from agents.sessions.service import SessionFilter, check_quota
from agents.strategies import STRATEGIES
from api.agents.session_schemas import (
    BranchPoints,
    ListedSession,
    MessageList,
    SessionAnswer,
    branch_points_answer,
    listed_session,
    message_answer,
    session_answer,
)
from api.container import AgentServices
from api.dependencies import (
    Agents,
    CurrentDatabase,
    CurrentPrincipal,
    CurrentSettings,
    Reading,
    Writing,
    paging,
    requires,
)
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest
from core.errors.auth import (
    KnowledgeBaseNotFound,
    McpConnectionNotFound,
    MessageNotFound,
    ModelNotFound,
    SessionNotFound,
)
from core.errors.conflicts import BranchesFull, SessionArchived, SessionsFull, ThreadBusy
from core.errors.requests import InvalidPagination, InvalidRequest, UnknownAgentType

router = Router(prefix="/api/v1/sessions", tags=["sessions"])
View = Depends(requires(Permission.SESSION_VIEW))
Write = Depends(requires(Permission.SESSION_WRITE))
_MAX_MESSAGES = 200
# Blanks alone are no title: the first question gives one then.
Title = Annotated[Text, StringConstraints(strip_whitespace=True, max_length=200)]


class SkillPin(RequestModel):
    """A skill in one version, whichever is the newest."""

    id: Text = Field(max_length=200)
    version: int | None = Field(default=None, ge=1)


class SessionConfig(RequestModel):
    """How questions of a session are answered when a run does not say otherwise."""

    agent_type: Text | None = Field(default=None, json_schema_extra={"enum": [*STRATEGIES, None]})
    model_id: Text | None = Field(default=None, max_length=200)
    knowledge_base_ids: list[Text] | None = Field(default=None, max_length=100)
    mcp_connection_ids: list[Text] | None = Field(default=None, max_length=100)
    skill_ids: list[Text | SkillPin] | None = Field(default=None, max_length=MOST_SKILLS)


class SessionBody(RequestModel):
    """A new session."""

    title: Title = Field(default="", examples=["新对话"])
    config: SessionConfig = SessionConfig()


class SessionChangeBody(RequestModel):
    """What may be changed; what is left out stays."""

    title: Title | None = None
    config: SessionConfig | None = None
    is_archived: bool | None = None


class BranchBody(RequestModel):
    """Where a branch departs: before this message of the user."""

    before_message_id: Text = Field(min_length=1, max_length=200)


async def _config(
    agents: AgentServices, session: AsyncSession, principal: Principal, config: SessionConfig
) -> dict[str, JsonValue]:
    fields = config.model_dump(exclude_none=True)
    await session_config.check_config(session, principal, fields)
    if config.model_id:
        await agents.models.select(session, principal, config.model_id)
    return fields


async def _filter(
    is_archived: bool | None = None,
    waiting: Annotated[bool | None, Query(description="Only those that wait for an answer of yours, or do not")] = None,
    search: Annotated[Text, Query(max_length=200, description="Words as they stand in the title or in a message")] = "",
) -> SessionFilter:
    return SessionFilter(is_archived, waiting, search.strip())


@router.get("", dependencies=[View], responses=error_responses(InvalidRequest, InvalidPagination))
async def list_sessions(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*sessions.SORT_FIELDS))],
    only: Annotated[SessionFilter, Depends(_filter)],
) -> Envelope[Items[ListedSession]]:
    """One's own sessions, all of them or those in which something was said, with what they wait for.

    Of the branches of a conversation, only the one used last of those that are looked for.
    """
    listing = await sessions.list_sessions(session, principal, page, only)
    items = [listed_session(row, listing) for row in listing.items]
    return page_of(items, page, total=listing.total)


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(
        InvalidRequest, UnknownAgentType, KnowledgeBaseNotFound, ModelNotFound, McpConnectionNotFound, SessionsFull
    ),
)
async def create_session(
    body: SessionBody, principal: CurrentPrincipal, settings: CurrentSettings, agents: Agents, work: Writing
) -> Envelope[SessionAnswer]:
    """Begin a session."""
    config = await _config(agents, work.session, principal, body.config)
    await check_quota(work.session, principal.user_id, most=settings.max_sessions_per_user)
    row = await sessions.create(work, principal, title=body.title, config=config)
    return Envelope(data=session_answer(row))


@router.get("/{session_id}", dependencies=[View], responses=error_responses(SessionNotFound))
async def read_session(session_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[SessionAnswer]:
    """One session, by its id or its thread id."""
    return Envelope(data=session_answer(await sessions.get(session, principal, session_id)))


@router.put(
    "/{session_id}",
    dependencies=[Write],
    responses=error_responses(
        InvalidRequest, UnknownAgentType, SessionNotFound, KnowledgeBaseNotFound, ModelNotFound, McpConnectionNotFound
    ),
)
async def change_session(
    session_id: Text, body: SessionChangeBody, principal: CurrentPrincipal, agents: Agents, work: Writing
) -> Envelope[SessionAnswer]:
    """Change a session's settings, or the title or archive mark of all its branches."""
    row = await sessions.get(work.session, principal, session_id)
    config = None
    if body.config is not None:
        config = await _config(agents, work.session, principal, body.config)
    await sessions.update(work, row, title=body.title, config=config, is_archived=body.is_archived)
    return Envelope(data=session_answer(row))


Scope = Annotated[Literal["conversation", "branch"], Query(description="Whether all branches go, or the others stay")]


@router.delete(
    "/{session_id}", dependencies=[Write], responses=error_responses(InvalidRequest, SessionNotFound, ThreadBusy)
)
async def delete_session(
    session_id: Text,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
    scope: Scope = "conversation",
) -> Empty:
    """Delete a session with its messages and branches; runs that are under way are stopped first."""
    only_branch = scope == "branch"
    await session_deletion.delete_session(database, agents.runs, principal, session_id, only_branch=only_branch)
    return Empty()


@router.post(
    "/{session_id}/branches",
    dependencies=[Write],
    responses=error_responses(InvalidRequest, SessionNotFound, SessionArchived, BranchesFull),
)
async def create_branch(
    session_id: Text, body: BranchBody, principal: CurrentPrincipal, database: CurrentDatabase
) -> Envelope[SessionAnswer]:
    """Begin a branch: a session of its own with copies of what came before a question."""
    row = await session_copy.create_branch(database, principal, session_id, body.before_message_id)
    return Envelope(data=session_answer(row))


@router.get("/{session_id}/branches", dependencies=[View], responses=error_responses(SessionNotFound))
async def list_branches(session_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[BranchPoints]:
    """The questions of a session in whose place other branches of its conversation ask something else."""
    row = await sessions.get(session, principal, session_id)
    return Envelope(data=branch_points_answer(await list_branch_points(session, row)))


@router.get("/{session_id}/messages", dependencies=[View], responses=error_responses(SessionNotFound))
async def list_messages(
    session_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    before_id: Annotated[Text | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=_MAX_MESSAGES)] = 50,
) -> Envelope[MessageList]:
    """The newest messages of a session, oldest first."""
    row = await sessions.get(session, principal, session_id)
    listing = await sessions.list_messages(session, row, before_id=before_id, limit=limit)
    items = [message_answer(message) for message in listing.items]
    return Envelope(data=MessageList(items=items, has_more=listing.has_more))


@router.get(
    "/{session_id}/messages/{message_id}/ui-schema",
    dependencies=[View],
    responses=error_responses(SessionNotFound, MessageNotFound),
)
async def read_ui_schema(
    session_id: Text, message_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[UiSchemaRenderer | None]:
    """The card of an answer, also of one that came over AG-UI; null for a message that is no answer."""
    card = await history.read_ui_schema(session, principal, session_id, message_id)
    return Envelope(data=None if card is None else UiSchemaRenderer.model_validate(card))
