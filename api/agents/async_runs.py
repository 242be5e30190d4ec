"""Asynchronous runs and thread streams (docs/reference/run-events.md)."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Any

import orjson
from fastapi import Depends, Request, Response
from pydantic import ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from agents.async_runs.input import MOST_BYTES, AttachedImage, InputRule, read_run_input, with_images
from agents.async_runs.thread_stream import ThreadEvent, find_position, follow_thread, is_new_thread
from agents.run_request import ImageRef
from agents.strategies import STRATEGIES
from api.agents.attachments import OwnHosts
from api.container import AgentServices
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, RequestedCursor, requires
from api.http.errors import error_responses
from api.http.multipart import STREAMS_BODY
from api.http.responses import ResponseModel, Text
from api.http.routing import Router
from api.streaming.framing import format_cursor, parse_thread_cursor, stream_response
from api.streaming.response import EventStream
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import InvalidLink, KnowledgeBaseNotFound, LinkExpired, RunNotFound, SessionNotFound
from core.errors.conflicts import InterruptsOpen, RunIdTaken, SessionArchived, ThreadBusy
from core.errors.requests import InvalidCursor, InvalidRunInput, MalformedJson, RejectedRunInput
from core.errors.server import ShuttingDown

router = Router(prefix="/api/v1/agent", tags=["asynchronous runs"])
Run = Depends(requires(Permission.AGENT_RUN))
View = Depends(requires(Permission.SESSION_VIEW))


class TaskAcceptedResponse(ResponseModel):
    """An accepted run; ``created`` tells whether it made its thread."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    task_id: str
    thread_id: str
    run_id: str
    created: bool


_EXAMPLE: dict[str, JsonValue] = {
    "threadId": "550e8400-e29b-41d4-a716-446655440000",
    "runId": "run-001",
    "state": {},
    "messages": [{"id": "msg-001", "role": "user", "content": "中继服务器监听哪个端口？"}],
    "tools": [],
    "context": [],
    "forwardedProps": {
        "agent_type": "worker",
        "client_time": {
            "device_timezone": "Asia/Shanghai",
            "client_now_iso": "2026-03-16T09:12:33+08:00",
            "client_epoch_ms": 1773623553000,
        },
    },
}
_TEXT: dict[str, object] = {"type": "string"}
_INPUT_SCHEMA: dict[str, object] = {
    "type": "object",
    "required": ["threadId", "runId", "messages", "forwardedProps"],
    "description": "`RunAgentInput` of seed 000, in camelCase or snake_case; at most 256 KB.",
    "properties": {
        "threadId": {"type": "string", "format": "uuid"},
        "runId": {"type": "string", "minLength": 1, "maxLength": 128},
        "parentRunId": _TEXT,
        "state": {},
        "messages": {
            "type": "array",
            "minItems": 1,
            "maxItems": 200,
            "items": {"type": "object"},
            "description": "Exactly one message of the user, the first one: its content is text "
            "of up to 10,000 characters, or blocks `text` and `binary` (an image by its signed "
            "URL), at most 3 images.",
        },
        "tools": {"type": "array", "items": {"type": "object"}},
        "context": {"type": "array", "items": {"type": "object"}},
        "forwardedProps": {
            "type": "object",
            "required": ["agent_type"],
            "additionalProperties": False,
            "properties": {
                "agent_type": {"type": "string", "enum": list(STRATEGIES)},
                "client_time": {
                    "type": "object",
                    "required": ["device_timezone", "client_now_iso", "client_epoch_ms"],
                    "properties": {
                        "device_timezone": {**_TEXT, "description": "IANA name"},
                        "client_now_iso": {"type": "string", "format": "date-time"},
                        "client_epoch_ms": {"type": "integer"},
                    },
                },
            },
        },
    },
}
_RUN_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _INPUT_SCHEMA, "example": _EXAMPLE}}}
}
_STREAM_EXAMPLE = (
    "id: run-001:1\nevent: RUN_STARTED\n"
    'data: {"type":"RUN_STARTED","threadId":"550e8400-e29b-41d4-a716-446655440000",'
    '"runId":"run-001"}\n\n: keep-alive\n\n'
)


def _rejections() -> dict[int | str, dict[str, object]]:
    described = error_responses(RejectedRunInput)
    code = RejectedRunInput.code
    examples = {
        rule.name.lower(): {"value": {"code": code, "message": rule.value[0], "details": {"field": "..."}}}
        for rule in InputRule
    }
    described[RejectedRunInput.status]["content"] = {"application/json": {"examples": examples}}
    return described


async def _read_body(request: Request) -> bytes:
    """The body, unparsed; refused beyond the contract's size."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise InputRule.SIZE.broken("body", max_bytes=MOST_BYTES)
    setattr(request.state, STREAMS_BODY, True)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InputRule.SIZE.broken("body", max_bytes=MOST_BYTES)
    return bytes(body)


async def _resolved(
    image: AttachedImage, principal: Principal, agents: AgentServices, hosts: Collection[str]
) -> ImageRef:
    try:
        row = await agents.attachments.resolve(image.url, principal, hosts=hosts)
    except (InvalidLink, LinkExpired) as error:
        raise InputRule.URL.broken("messages.0.content", error=error.message) from error
    return ImageRef(row.id, row.mime_type)


@router.post(
    "/runs",
    status_code=202,
    dependencies=[Run],
    openapi_extra=_RUN_BODY,
    responses={
        **error_responses(
            MalformedJson,
            InvalidRunInput,
            KnowledgeBaseNotFound,
            SessionNotFound,
            ThreadBusy,
            SessionArchived,
            RunIdTaken,
            InterruptsOpen,
            InvalidLink,
            ShuttingDown,
        ),
        **_rejections(),
    },
)
async def accept_run(
    request: Request, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents, own_hosts: OwnHosts
) -> TaskAcceptedResponse:
    """Accept a run and answer at once; its events are read from the thread's stream.

    Knowledge bases, model and skills are those of the thread's session settings. A body that
    breaks a rule is answered with 42201 and the rule's own message.
    """
    run_input = read_run_input(await _read_body(request))
    images = [await _resolved(image, principal, agents, own_hosts) for image in run_input.images]
    run_key = await agents.runs.start(principal, with_images(run_input.request, images))
    async with database.reading() as session:
        created = await is_new_thread(session, run_key)
    return TaskAcceptedResponse(
        task_id=run_key, thread_id=run_input.request.thread_id, run_id=run_input.request.run_id, created=created
    )


def frame(item: ThreadEvent) -> bytes:
    """One server-sent event with the position behind it."""
    kind = str(item.event["type"])
    cursor = format_cursor(item.run_id, item.seq, item.part)
    return f"id: {cursor}\nevent: {kind}\ndata: ".encode() + orjson.dumps(item.event) + b"\n\n"


async def pieces(feed: AsyncGenerator[list[ThreadEvent]]) -> AsyncGenerator[bytes]:
    """The frames of a feed; an empty piece when nothing happened for a while."""
    async with aclosing(feed):
        async for frames in feed:
            yield b"".join(map(frame, frames))


@router.get(
    # A thread that another dialect made may have any text for its id.
    "/runs/{thread_id:path}/events",
    dependencies=[View],
    response_class=EventStream,
    responses={
        200: {
            "content": {"text/event-stream": {"example": _STREAM_EXAMPLE}},
            "description": "Events of seed 004; `id:` is the place to go on from",
        },
        204: {"description": "Everything behind the given place was read already"},
        **error_responses(InvalidCursor, SessionNotFound, RunNotFound),
    },
)
async def stream_thread(
    thread_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents, requested: RequestedCursor
) -> Response:
    """Stream the newest run of a thread, live or over, or what follows on an event.

    From an event of an earlier run on it goes through the later ones. The stream ends with the
    newest run; 204 tells an `EventSource` not to come back.
    """
    cursor = parse_thread_cursor(requested) if requested else None
    async with database.reading() as session:
        place = await find_position(session, principal, thread_id, cursor)
    if place is None:
        return Response(status_code=204)
    feed = follow_thread(database, agents.runs, place)
    return stream_response(pieces(feed))
