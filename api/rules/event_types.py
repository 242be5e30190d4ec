"""What the caller's rules may be triggered by."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Query
from pydantic import Field, JsonValue

from api.dependencies import CurrentPrincipal, Reading, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.rules.schemas import EventDropAnswer, drop_answer
from core.auth.permissions import Permission
from core.errors.auth import EventSourceNotFound
from rules.event_drops import list_drops
from rules.event_listing import KnownEventType, list_event_types

router = Router(
    prefix="/api/v1/rules/event-types", tags=["rules"], dependencies=[Depends(requires(Permission.RULE_VIEW))]
)


class EventTypeAnswer(ResponseModel):
    """A type of event; the leaves of ``schema`` name types. ``declared`` by its source, else learnt from its events."""

    type: str
    description: str
    shape: JsonValue = Field(alias="schema", examples=[{"player": {"name": "string", "uuid": "string"}}])
    source_id: str
    example: JsonValue
    declared: bool
    count: int
    last_seen_at: datetime | None


class EventTypeList(ResponseModel):
    """Types of events, and what was dropped of what their sources sent in the last 90 days."""

    event_types: list[EventTypeAnswer]
    drops: list[EventDropAnswer]


def _answer(row: KnownEventType, *, in_chinese: bool) -> EventTypeAnswer:
    return EventTypeAnswer.model_validate(
        {
            "type": row.type,
            "description": row.description_zh if in_chinese else row.description,
            "schema": row.shape,
            "source_id": row.source_id,
            "example": row.example,
            "declared": row.is_declared,
            "count": row.count,
            "last_seen_at": row.seen_at,
        }
    )


@router.get("", responses=error_responses(EventSourceNotFound))
async def list_rule_event_types(
    principal: CurrentPrincipal,
    session: Reading,
    source_id: Annotated[
        Text | None, Query(max_length=40, description="MCP 连接 ID / an MCP connection, event source, or `platform`")
    ] = None,
    accept_language: Annotated[str, Header()] = "",
) -> Envelope[EventTypeList]:
    """The types of events of one source, or of all; descriptions of the platform's own in Chinese if preferred."""
    in_chinese = accept_language.lower().startswith("zh")
    types = await list_event_types(session, principal.user_id, source_id)
    drops = await list_drops(session, principal.user_id, source_id)
    answers = [_answer(item, in_chinese=in_chinese) for item in types]
    return Envelope(data=EventTypeList(event_types=answers, drops=[drop_answer(row) for row in drops]))
