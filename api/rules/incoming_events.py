"""The address of an event source: signed events, without other credentials."""

import time
from typing import Annotated, Any

import orjson
from fastapi import Header, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, JsonValue, ValidationError

from api.dependencies import CurrentContext
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from core.db.types import is_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import EventRefused
from core.errors.requests import InvalidRequest, MalformedJson, RequestTooLarge, TooManyEvents
from core.types.datetimes import Moment
from rules import event_sources, intake
from rules.actions.webhook import CHAIN_HEADER
from rules.intake import MOST_OPEN, IncomingEvent
from rules.models import LONGEST_EVENT_ID, LONGEST_EVENT_TYPE, EventDropReason, EventSource, SourceKind
from rules.signatures import TOLERANCE_SECONDS, SignedMessage, verify

router = Router(prefix="/api/v1/rules/events", tags=["rules"])
MOST_BYTES = 256 * 1024
_BACKLOG_SECONDS = 10
_LONGEST_CHAIN = 20
_NO_SOURCE = event_sources.new_secret()


class SignedEventBody(RequestModel):
    """An event; without ``id``, the message's own counts, without ``time``, now."""

    type: Text = Field(min_length=1, max_length=LONGEST_EVENT_TYPE)
    data: JsonValue = None
    id: Text | None = Field(default=None, min_length=1, max_length=LONGEST_EVENT_ID)
    time: Moment | None = None


class EventAccepted(ResponseModel):
    """An event that will be acted on once; ``duplicate`` where its id was accepted before."""

    id: str
    duplicate: bool


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "minLength": 1, "maxLength": LONGEST_EVENT_TYPE},
        "data": {"description": "Any JSON"},
        "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_EVENT_ID, "description": "Else the message's"},
        "time": {"type": "string", "format": "date-time", "description": "When it happened; else now"},
    },
}
_EXAMPLE: dict[str, Any] = {"type": "player_damage", "data": {"player": {"name": "Steve", "health_percent": 15}}}
_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _SCHEMA, "example": _EXAMPLE}}}
}
_HOW = f"""Send an event to the rules of whoever has this source.

Signed as the Standard Webhooks specification has it: `webhook-id`, `webhook-timestamp` (seconds, within
{TOLERANCE_SECONDS} of now) and `webhook-signature`, which is `v1,` and the base64 of the HMAC-SHA256 of
`webhook-id.webhook-timestamp.body` by the key that the source's secret is in base64 behind `whsec_`. A sender that gives
no `webhook-id` signs `webhook-timestamp.body`. At most {MOST_BYTES // 1024} KB. The same id again changes nothing."""


@router.post(
    "/{source_id}",
    description=_HOW,
    openapi_extra=_BODY,
    responses=error_responses(InvalidRequest, MalformedJson, EventRefused, RequestTooLarge, TooManyEvents),
)
async def accept_event(
    source_id: Text,
    request: Request,
    context: CurrentContext,
    webhook_id: Annotated[Text, Header(max_length=LONGEST_EVENT_ID)] = "",
    webhook_timestamp: Annotated[Text, Header(max_length=20)] = "",
    webhook_signature: Annotated[Text, Header(max_length=4000)] = "",
) -> Envelope[EventAccepted]:
    """Send an event."""
    drops = context.rules.engine.drops
    async with context.database.reading() as session:
        source = await event_sources.find_open(session, source_id)
    try:
        body = await _read_body(request)
        message = SignedMessage(webhook_id, webhook_timestamp, webhook_signature, body)
        message_id = _verify(context, source, message)
    except (RequestTooLarge, EventRefused) as error:
        if source is not None:
            is_large = isinstance(error, RequestTooLarge)
            drops.note(source.owner_id, source.id, EventDropReason.TOO_LARGE if is_large else EventDropReason.SIGNATURE)
        raise
    if source is None:
        raise EventRefused
    try:
        await context.security.limits.admit_event(source.id)
    except TooManyEvents:
        drops.note(source.owner_id, source.id, EventDropReason.RATE)
        raise
    try:
        event = _read_event(body)
    except (MalformedJson, RequestValidationError):
        drops.note(source.owner_id, source.id, EventDropReason.UNUSABLE)
        raise
    chain = _read_chain(request.headers.get(CHAIN_HEADER, ""))
    event_id = event.id or message_id
    async with unit_of_work(context.database, context.queue.push) as work:
        if await intake.count_open(work.session, source.id, source.owner_id) >= MOST_OPEN:
            drops.note(source.owner_id, source.id, EventDropReason.BACKLOG)
            raise TooManyEvents(_BACKLOG_SECONDS)
        incoming = IncomingEvent(
            owner_id=source.owner_id,
            source_kind=SourceKind.WEBHOOK,
            source_id=source.id,
            type=event.type,
            data=event.data,
            id=event_id,
            occurred_at=event.time or utc_now(),
            chain=chain,
        )
        accepted = await intake.accept(work, [incoming])
    context.rules.engine.wake()
    return Envelope(data=EventAccepted(id=event_id, duplicate=accepted == 0))


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise RequestTooLarge(max_bytes=MOST_BYTES)
    return bytes(body)


def _verify(context: CurrentContext, source: EventSource | None, message: SignedMessage) -> str:
    """The message's signed id; for an unknown source too, which must look like a forged signature."""
    secret = _NO_SOURCE if source is None else context.rules.source_secrets.decrypt(source.sealed_secret)
    return verify(message, secret, time.time())


def _read_event(body: bytes) -> SignedEventBody:
    try:
        decoded: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedJson from error
    try:
        return SignedEventBody.model_validate(decoded)
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()]
        raise RequestValidationError(problems, body=decoded) from error


def _read_chain(header: str) -> tuple[str, ...]:
    """The rules that led to an event, as an action ``webhook`` named them."""
    return tuple(rule_id for rule_id in header.split(",")[:_LONGEST_CHAIN] if is_id(rule_id))
