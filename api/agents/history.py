"""A thread's history by day (docs/reference/run-input.md, section "History API")."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from fastapi import Depends, Query
from pydantic import ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from agents.async_runs.history import HistoryMessage, read_day
from agents.async_runs.ui_schema import UiSchemaRenderer
from agents.attachments.service import AttachmentService
from agents.client_time import UserClock
from api.dependencies import Agents, CurrentPrincipal, Reading, requires
from api.http.errors import error_responses
from api.http.responses import ResponseModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.users import get_user
from core.errors.auth import SessionNotFound
from core.errors.requests import InvalidRequest

router = Router(prefix="/api/v1/agent", tags=["asynchronous runs"])
View = Depends(requires(Permission.SESSION_VIEW))


class _Camel(ResponseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class HistoryAttachment(_Camel):
    """An image of a message, by a URL that is good for a while."""

    mime_type: str
    url: str


class HistoryMessageUser(ResponseModel):
    """What the user said; ``seq`` is its place in the thread."""

    id: str
    seq: int
    role: Literal["user"] = "user"
    content: str
    attachments: list[HistoryAttachment]
    timestamp: str = Field(examples=["2026-03-15T10:00:00Z"])


class HistoryMessageAssistant(ResponseModel):
    """What the assistant said; null as ``ui_schema`` for what it said on the way."""

    id: str
    seq: int
    role: Literal["assistant"] = "assistant"
    content: str
    ui_schema: UiSchemaRenderer | None
    timestamp: str = Field(examples=["2026-03-15T10:00:05Z"])


class HistorySnapshotResponse(_Camel):
    """One day of a thread, oldest message first."""

    scope: Literal["history_day"] = "history_day"
    thread_id: str | None
    day: str | None = Field(examples=["2026-03-15"])
    has_more: bool
    messages: list[HistoryMessageUser | HistoryMessageAssistant]


def _message(message: HistoryMessage, attachments: AttachmentService) -> dict[str, JsonValue]:
    row = message.row
    fields: dict[str, JsonValue] = {
        "id": row.message_id,
        "seq": row.position,
        "role": row.role,
        "content": row.content,
        "timestamp": _moment(row.created_at),
    }
    if row.role == "user":
        links: list[JsonValue] = [
            {"mime_type": image.mime_type, "url": attachments.link(image).url} for image in message.images
        ]
        return {**fields, "attachments": links}
    return {**fields, "ui_schema": message.ui_schema}


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest("before", "Use a date such as 2026-03-15") from error


@router.get(
    "/history", dependencies=[View], response_model_exclude_unset=True, responses=error_responses(SessionNotFound)
)
async def read_history(
    principal: CurrentPrincipal,
    session: Reading,
    agents: Agents,
    thread_id: Annotated[
        Text | None, Query(alias="threadId", description="Left out: the thread with the newest message")
    ] = None,
    before: Annotated[
        str | None,
        Query(pattern=r"^\d{4}-\d\d-\d\d$", description="YYYY-MM-DD: the newest day with messages before this one"),
    ] = None,
) -> HistorySnapshotResponse:
    """The newest day of a thread, or the newest one before a day.

    Days are those of the time zone in the account's settings, else of UTC. The tools' messages
    are not shown.
    """
    account = await get_user(session, principal.user_id)
    zone = UserClock(profile_timezone=account.time_zone).zone().zone
    day = await read_day(session, principal, thread_id, before=_day(before), zone=zone)
    return HistorySnapshotResponse.model_validate(
        {
            "scope": "history_day",
            "thread_id": day.thread_id,
            "day": None if day.day is None else day.day.isoformat(),
            "has_more": day.has_more,
            "messages": [_message(message, agents.attachments) for message in day.messages],
        }
    )
