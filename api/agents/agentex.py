"""Run and stop in both spellings (docs/reference/agentex-api.md, section 12)."""

from typing import Annotated, Literal

from fastapi import Body, Depends, Query
from pydantic import JsonValue

from agents.agui.decoder import read_run_request
from agents.agui.encoder import to_snake_case
from agents.agui.field_names import spelt_as_in
from agents.strategies import DEFAULT_AGENT_TYPE, STRATEGIES
from api.agents.attachments import ATTACHMENT_ERRORS, DOCUMENT_ERRORS, LINK_ERRORS, OwnHosts
from api.dependencies import Agents, CurrentPrincipal, RequestedCursor, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.streaming.framing import (
    EVENT_CONTENT,
    Framing,
    NegotiatedMediaType,
    RunPosition,
    choose_framing,
    parse_cursor,
    stream_run,
)
from api.streaming.response import EventStream
from core.auth.permissions import Permission
from core.errors.auth import KnowledgeBaseNotFound, RunNotFound, SessionNotFound
from core.errors.conflicts import InterruptsOpen, RunIdTaken, SessionArchived, ThreadBusy
from core.errors.requests import InvalidCursor, InvalidRunInput, MalformedJson, UnknownAgentType
from core.errors.server import ShuttingDown

router = Router(prefix="/api/v1/agent", tags=["agent"])
Run = Depends(requires(Permission.AGENT_RUN))

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


async def _negotiated_framing(
    media_type: NegotiatedMediaType,
    spelling: Annotated[Literal["camel", "snake"], Query(description="Of keys; protobuf has none")] = "camel",
) -> Framing:
    return choose_framing(media_type, to_snake_case if spelling == "snake" else None)


class Stopped(ResponseModel):
    """Whether this request ended the run; false when it was over already."""

    run_id: str
    stopped: bool


@router.post(
    "/run",
    dependencies=[Run],
    response_class=EventStream,
    responses={
        200: {"content": EVENT_CONTENT, "description": "AG-UI 1.0 events"},
        **error_responses(
            MalformedJson,
            UnknownAgentType,
            InvalidRunInput,
            KnowledgeBaseNotFound,
            SessionNotFound,
            ThreadBusy,
            SessionArchived,
            RunIdTaken,
            InterruptsOpen,
            ShuttingDown,
            *ATTACHMENT_ERRORS,
            *DOCUMENT_ERRORS,
            *LINK_ERRORS,
        ),
    },
)
async def run_agent(
    body: Annotated[dict[str, JsonValue], Body(examples=[_EXAMPLE], description=_DESCRIPTION)],
    principal: CurrentPrincipal,
    agents: Agents,
    media_type: NegotiatedMediaType,
    own_hosts: OwnHosts,
) -> EventStream:
    """Run an agent and stream its events.

    A body in camelCase gets the AG-UI 1.0 wire, one with ``thread_id`` its snake_case mirror.
    The run goes on when the connection breaks; ``stop`` ends it.
    """
    request = read_run_request(body)
    with spelt_as_in(body):
        run_key = await agents.runs.start(principal, request, own_hosts=own_hosts)
    spell = to_snake_case if request.spelling == "snake" else None
    framing = choose_framing(media_type, spell)
    return stream_run(agents.runs, RunPosition(run_key, request.run_id), framing)


@router.get(
    "/run/{run_id:path}/events",
    dependencies=[Run],
    response_class=EventStream,
    responses={
        200: {"content": EVENT_CONTENT, "description": "AG-UI 1.0 events"},
        **error_responses(RunNotFound, InvalidCursor),
    },
)
async def follow_run(
    run_id: Text,
    principal: CurrentPrincipal,
    agents: Agents,
    framing: Annotated[Framing, Depends(_negotiated_framing)],
    cursor: RequestedCursor,
) -> EventStream:
    """Follow a run from its beginning, or from the place behind the last event that was read.

    No event is left out, sent twice or out of order, whichever process writes them.
    """
    seq = _place(cursor, run_id)
    run_key = await agents.runs.find(principal, run_id, after=seq)
    return stream_run(agents.runs, RunPosition(run_key, run_id, seq), framing)


def _place(cursor: str, run_id: str) -> int:
    if not cursor:
        return 0
    cursor_run_id, seq = parse_cursor(cursor)
    if cursor_run_id != run_id:
        raise InvalidCursor(cursor=cursor[:200], error="It belongs to another run")
    return seq


@router.post(
    # A run id is the caller's own string, which may hold a slash.
    "/run/{run_id:path}/stop",
    dependencies=[Run],
    responses=error_responses(RunNotFound),
)
async def stop_run(run_id: Text, principal: CurrentPrincipal, agents: Agents) -> Envelope[Stopped]:
    """Stop a run; what it said until then is kept in its session."""
    stopped = await agents.runs.stop(principal, run_id)
    return Envelope(data=Stopped(run_id=run_id, stopped=stopped))
