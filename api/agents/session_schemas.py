"""Sessions and messages in answers (docs/reference/agentex-api.md, section 5)."""

from dataclasses import asdict
from datetime import datetime

from pydantic import JsonValue

from agents.models import ChatMessage, ChatSession
from agents.sessions.search import MessageMatch
from api.http.responses import ResponseModel


class SessionAnswer(ResponseModel):
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


class MatchAnswer(ResponseModel):
    """The newest message of a session that has the words that were searched for."""

    message_id: str
    role: str
    excerpt: str


class ListedSession(SessionAnswer):
    """A session of a list; ``match`` is null where nothing or only its title was found."""

    match: MatchAnswer | None


class MessageAnswer(ResponseModel):
    """A message; ``metadata`` has citations, usage and the tools that were called."""

    id: str
    role: str
    content: str
    content_type: str
    metadata: dict[str, JsonValue]
    run_id: str | None
    created_at: datetime


class MessageList(ResponseModel):
    """Messages, oldest first."""

    items: list[MessageAnswer]
    has_more: bool


def session_answer(row: ChatSession) -> SessionAnswer:
    """The API form of a session."""
    return SessionAnswer.model_validate(row.model_dump())


def listed_session(row: ChatSession, match: MessageMatch | None) -> ListedSession:
    """The API form of a listed session, with the place of a search match."""
    match_answer = None if match is None else MatchAnswer.model_validate(asdict(match))
    return ListedSession(**session_answer(row).model_dump(), match=match_answer)


def message_answer(row: ChatMessage) -> MessageAnswer:
    """The API form of a message."""
    fields = row.model_dump(exclude={"id"})
    return MessageAnswer.model_validate({**fields, "id": row.message_id, "metadata": row.details})
