"""Sessions and their messages (seed 002, section 5)."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field, JsonValue

from agents import sessions
from agents.strategies import STRATEGIES, require_known
from agents.tables import ChatMessage, ChatSession
from api.dependencies import CurrentPrincipal, Reading, Writing, paging, requires
from api.envelope import Body, Empty, Envelope, Items, Text, page_of
from api.errors import error_responses
from core.accounts.permissions import Permission
from core.database.paging import Page
from core.errors import ErrorCode

router = APIRouter(prefix="/api/v1/sessions", tags=["sessions"])
View = Depends(requires(Permission.SESSION_VIEW))
Write = Depends(requires(Permission.SESSION_WRITE))
_MAX_MESSAGES = 200


class SessionConfig(Body):
    """How questions of a session are answered when a run does not say otherwise."""

    agent_type: Text | None = Field(default=None, json_schema_extra={"enum": [*STRATEGIES, None]})
    model_id: Text | None = Field(default=None, max_length=200)
    knowledge_base_ids: list[Text] | None = Field(default=None, max_length=100)
    mcp_connection_ids: list[Text] | None = Field(default=None, max_length=100)
    skill_ids: list[Text] | None = Field(default=None, max_length=100)


class SessionBody(Body):
    """A new session."""

    title: Text = Field(default="", max_length=200, examples=["新对话"])
    config: SessionConfig = SessionConfig()


class SessionChangeBody(Body):
    """What may be changed; what is left out stays."""

    title: Text | None = Field(default=None, max_length=200)
    config: SessionConfig | None = None
    is_archived: bool | None = None


class SessionAnswer(BaseModel):
    """A session; ``thread_id`` is what runs name it by."""

    id: str
    thread_id: str
    title: str
    message_count: int
    last_message_at: datetime | None
    config: dict[str, JsonValue]
    is_archived: bool
    created_at: datetime
    updated_at: datetime


class MessageAnswer(BaseModel):
    """A message; ``metadata`` has citations, usage and the tools that were called."""

    id: str
    role: str
    content: str
    content_type: str
    metadata: dict[str, JsonValue]
    run_id: str | None
    created_at: datetime


class MessageList(BaseModel):
    """Messages, oldest first."""

    items: list[MessageAnswer]
    has_more: bool


def _answer(row: ChatSession) -> SessionAnswer:
    return SessionAnswer.model_validate(row.model_dump())


def _message(row: ChatMessage) -> MessageAnswer:
    fields = row.model_dump(exclude={"id"})
    return MessageAnswer.model_validate({**fields, "id": row.message_id, "metadata": row.details})


def _config(config: SessionConfig) -> dict[str, JsonValue]:
    if config.agent_type is not None:
        require_known(config.agent_type)
    return config.model_dump(exclude_none=True)


@router.get("", dependencies=[View], responses=error_responses(ErrorCode.INVALID_PAGINATION))
async def list_sessions(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[Page, Depends(paging(*sessions.SORT_FIELDS))],
    is_archived: bool | None = None,
) -> Envelope[Items[SessionAnswer]]:
    """One's own sessions."""
    listing = await sessions.list_sessions(session, principal, page, is_archived=is_archived)
    items = [_answer(row) for row in listing.items]
    return page_of(items, page, total=listing.total)


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_AGENT_TYPE),
)
async def create_session(
    body: SessionBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[SessionAnswer]:
    """Begin a session."""
    config = _config(body.config)
    row = await sessions.create(work, principal, title=body.title, config=config)
    return Envelope(data=_answer(row))


@router.get(
    "/{session_id}", dependencies=[View], responses=error_responses(ErrorCode.SESSION_NOT_FOUND)
)
async def read_session(
    session_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[SessionAnswer]:
    """One session, by its id or its thread id."""
    return Envelope(data=_answer(await sessions.get(session, principal, session_id)))


@router.put(
    "/{session_id}",
    dependencies=[Write],
    responses=error_responses(
        ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_AGENT_TYPE, ErrorCode.SESSION_NOT_FOUND
    ),
)
async def change_session(
    session_id: Text, body: SessionChangeBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[SessionAnswer]:
    """Change a session's title, settings or archive mark."""
    row = await sessions.get(work.session, principal, session_id)
    await sessions.change(
        work,
        row,
        title=body.title,
        config=None if body.config is None else _config(body.config),
        is_archived=body.is_archived,
    )
    return Envelope(data=_answer(row))


@router.delete(
    "/{session_id}",
    dependencies=[Write],
    responses=error_responses(ErrorCode.SESSION_NOT_FOUND, ErrorCode.THREAD_BUSY),
)
async def delete_session(session_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a session with its messages; one with an active run must be stopped first."""
    await sessions.delete(work, await sessions.get(work.session, principal, session_id))
    return Empty()


@router.get(
    "/{session_id}/messages",
    dependencies=[View],
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.SESSION_NOT_FOUND),
)
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
    items = [_message(message) for message in listing.items]
    return Envelope(data=MessageList(items=items, has_more=listing.has_more))
