"""The AG-UI dialect of seed 002 section 12: run and stop, in both spellings."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated, cast

import orjson
from fastapi import APIRouter, Body, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, JsonValue

from agents.agui.incoming import read_run_request
from agents.agui.snake_case import to_snake_case
from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.runs.service import RunService
from agents.strategies import DEFAULT_AGENT_TYPE, STRATEGIES
from api.dependencies import CurrentPrincipal, CurrentServices, requires
from api.envelope import Envelope, Text
from api.errors import error_responses
from core.accounts.permissions import Permission
from core.errors import ErrorCode

router = APIRouter(prefix="/api/v1/agent", tags=["agent"])
Run = Depends(requires(Permission.AGENT_RUN))

# Proxies cut streams that are silent for 30 to 60 seconds.
_KEEP_ALIVE_SECONDS = 15
_STREAM_HEADERS = {
    # Given here, because a media type would get a charset that the document does not have.
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}
_DESCRIPTION = (
    "A `RunAgentInput`. `forwarded_props.agent_type` is one of "
    + ", ".join(f"`{name}`" for name in STRATEGIES)
    + f"; left out it is the session's, else `{DEFAULT_AGENT_TYPE}`."
)
_EXAMPLE: dict[str, JsonValue] = {
    "thread_id": "session-uuid",
    "run_id": "run-uuid",
    "messages": [{"id": "msg-uuid", "role": "user", "content": "用户消息内容"}],
    "forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": []},
}


class Stopped(BaseModel):
    """Whether this request ended the run; false when it was over already."""

    run_id: str
    stopped: bool


def frame(run_id: str, entry: LogEntry, spell: Callable[[WireEvent], WireEvent] | None) -> bytes:
    """One server-sent event; LF only, because stock clients split on it."""
    payload = entry.payload.encode()
    if spell is not None:
        payload = orjson.dumps(spell(cast(WireEvent, orjson.loads(payload))))
    return b"event: %s\nid: %s:%d\ndata: %s\n\n" % (
        entry.type.encode(),
        run_id.encode(),
        entry.seq,
        payload,
    )


async def stream(
    runs: RunService, run_key: str, run_id: str, spell: Callable[[WireEvent], WireEvent] | None
) -> AsyncGenerator[bytes]:
    """The frames of a run, with a comment where it is silent for long."""
    spoken = time.monotonic()
    # A line feed in an id would end its line.
    safe_id = " ".join(run_id.split())
    async with aclosing(runs.follow(run_key)) as followed:
        async for entries in followed:
            if entries:
                spoken = time.monotonic()
                yield b"".join(frame(safe_id, entry, spell) for entry in entries)
            elif time.monotonic() - spoken > _KEEP_ALIVE_SECONDS:
                spoken = time.monotonic()
                yield b": keep-alive\n\n"


@router.post(
    "/run",
    dependencies=[Run],
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "AG-UI 1.0 events"},
        **error_responses(
            ErrorCode.MALFORMED_JSON,
            ErrorCode.UNKNOWN_AGENT_TYPE,
            ErrorCode.INVALID_RUN_INPUT,
            ErrorCode.KNOWLEDGE_BASE_NOT_FOUND,
            ErrorCode.SESSION_NOT_FOUND,
            ErrorCode.THREAD_BUSY,
            ErrorCode.RUN_ID_TAKEN,
            ErrorCode.SHUTTING_DOWN,
        ),
    },
)
async def run_agent(
    body: Annotated[dict[str, JsonValue], Body(examples=[_EXAMPLE], description=_DESCRIPTION)],
    principal: CurrentPrincipal,
    services: CurrentServices,
) -> StreamingResponse:
    """Run an agent and stream its events.

    A body in camelCase gets the AG-UI 1.0 wire, one with ``thread_id`` its snake_case mirror.
    The run goes on when the connection breaks; ``stop`` ends it.
    """
    request = read_run_request(body)
    run_key = await services.runs.begin(principal, request)
    spell = to_snake_case if request.spelling == "snake" else None
    return StreamingResponse(
        stream(services.runs, run_key, request.run_id, spell), headers=_STREAM_HEADERS
    )


@router.post(
    # A run id is the caller's own string, which may hold a slash.
    "/run/{run_id:path}/stop",
    dependencies=[Run],
    responses=error_responses(ErrorCode.RUN_NOT_FOUND),
)
async def stop_run(
    run_id: Text, principal: CurrentPrincipal, services: CurrentServices
) -> Envelope[Stopped]:
    """Stop a run; what it said until then is kept in its session."""
    stopped = await services.runs.stop(principal, run_id)
    return Envelope(data=Stopped(run_id=run_id, stopped=stopped))
