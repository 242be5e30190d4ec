"""Sessions and messages in answers (docs/reference/agentex-api.md, section 5)."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from pydantic import JsonValue

from agents.models import ChatMessage, ChatSession, RunInterrupt
from agents.sessions.branches import BranchPoint
from agents.sessions.service import SessionListing
from api.http.responses import ResponseModel
from core.json_access import as_object, as_text


class SessionAnswer(ResponseModel):
    """A session; ``thread_id`` is what runs name it by.

    ``conversation_id`` is shared by the branches of a conversation, and null where there is only one.
    """

    id: str
    thread_id: str
    conversation_id: str | None
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


class OpenInterruptAnswer(ResponseModel):
    """What a run waits for a person to say; ``reason``: ``confirmation``, ``input_required`` or ``tool_call``.

    ``tool`` is the name of the tool whose call waits.
    """

    id: str
    reason: str
    message: str
    tool: str
    expires_at: datetime


class ListedSession(SessionAnswer):
    """A session of a list; ``match`` is null where nothing or only its title was found.

    ``interrupts`` are what its run waits for; an answer that comes after ``expires_at`` is refused.
    """

    match: MatchAnswer | None
    interrupts: list[OpenInterruptAnswer]


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


class BranchAlternativeAnswer(ResponseModel):
    """A question, and the branch used last of those that have it."""

    message_id: str
    session_id: str
    thread_id: str


class BranchPointAnswer(ResponseModel):
    """A question of a session in whose place other branches ask something else.

    ``alternatives`` are oldest first, its own one among them.
    """

    message_id: str
    alternatives: list[BranchAlternativeAnswer]


class BranchPoints(ResponseModel):
    """Where a session departs from other branches of its conversation, in its order."""

    items: list[BranchPointAnswer]


def branch_points_answer(points: Sequence[BranchPoint]) -> BranchPoints:
    """The API form of branch points."""
    return BranchPoints(items=[BranchPointAnswer.model_validate(asdict(point)) for point in points])


def session_answer(row: ChatSession) -> SessionAnswer:
    """The API form of a session."""
    return SessionAnswer.model_validate(row.model_dump())


def listed_session(row: ChatSession, listing: SessionListing) -> ListedSession:
    """The API form of a listed session, with the place of a search match and what the session waits for."""
    match = listing.matches.get(row.id)
    match_answer = None if match is None else MatchAnswer.model_validate(asdict(match))
    interrupts = [_interrupt_answer(interrupt) for interrupt in listing.interrupts.get(row.id, ())]
    return ListedSession(**session_answer(row).model_dump(), match=match_answer, interrupts=interrupts)


def _interrupt_answer(row: RunInterrupt) -> OpenInterruptAnswer:
    question = {name: row.interrupt[name] for name in ("reason", "message")}
    tool = as_text(as_object(row.interrupt.get("metadata")).get("tool"))
    return OpenInterruptAnswer.model_validate({"id": row.id, "expires_at": row.expires_at, "tool": tool, **question})


def message_answer(row: ChatMessage) -> MessageAnswer:
    """The API form of a message."""
    fields = row.model_dump(exclude={"id"})
    return MessageAnswer.model_validate({**fields, "id": row.message_id, "metadata": row.details})
