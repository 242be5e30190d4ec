"""AG-UI 1.0 for stock clients: run, join, capabilities (docs/reference/ag-ui-endpoint.md)."""

from importlib.metadata import version
from typing import Annotated, Any, cast

from ag_ui.core import AgentCapabilities
from fastapi import Body, Depends
from pydantic import JsonValue

from agents.agui.decoder import read_run_request, read_thread_id
from agents.agui.field_names import spelt_as_in
from agents.async_runs.event_mapper import read_outcome
from agents.attachments.documents import MOST_CHARACTERS
from agents.attachments.image_sanitizer import MIME_TYPES
from agents.events import WireEvent
from agents.run_request import MOST_ATTACHMENTS
from agents.runs.resume import RejectPolicy
from agents.strategies import ROUTED, STRATEGIES
from api.agents.attachments import ATTACHMENT_ERRORS, DOCUMENT_ERRORS, LINK_ERRORS, OwnHosts
from api.dependencies import Agents, CurrentPrincipal, CurrentSettings, requires
from api.http.errors import error_responses
from api.http.routing import Router
from api.streaming.framing import EVENT_CONTENT, Framing, NegotiatedMediaType, RunPosition, choose_framing, stream_run
from api.streaming.response import EventStream
from core.auth.permissions import Permission
from core.errors.auth import KnowledgeBaseNotFound, SessionNotFound
from core.errors.conflicts import (
    InterruptAnswered,
    InterruptNotOpen,
    InterruptsOpen,
    RunIdTaken,
    SessionArchived,
    ThreadBusy,
)
from core.errors.requests import InterruptAnswerInvalid, InvalidRunInput, MalformedJson, UnknownAgentType
from core.errors.server import ShuttingDown
from ingestion.parsers import PARSERS
from ingestion.parsers.conversion.availability import conversion_state
from ingestion.parsers.conversion.formats import BY_MEDIA_TYPE
from ingestion.parsers.conversion.state import Conversion

router = Router(tags=["ag-ui"])
Run = Depends(requires(Permission.AGENT_RUN))
_EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": EVENT_CONTENT, "description": "AG-UI 1.0 events"}}
# Names of docs/reference/ag-ui-endpoint.md, section "Errors"; others keep their own.
_NAMES = {
    "LLM_ERROR": "MODEL_ERROR",
    "RUN_TIMED_OUT": "TIMEOUT",
    **dict.fromkeys(
        (
            InterruptsOpen.wire_name,
            InterruptNotOpen.wire_name,
            InterruptAnswered.wire_name,
            InterruptAnswerInvalid.wire_name,
        ),
        "INVALID_REQUEST",
    ),
}
_EXAMPLE: dict[str, JsonValue] = {
    "threadId": "thread-xxx",
    "runId": "run-xxx",
    "messages": [{"id": "msg-1", "role": "user", "content": "你好"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


_WITH_ERROR = frozenset({"RUN_ERROR", "TOOL_CALL_RESULT"})


def with_error(event: WireEvent) -> WireEvent:
    """The event with ``error`` if something failed (docs/reference/ag-ui-endpoint.md).

    A failing tool fails no run: the agent learns of it and may go another way.
    """
    match event["type"], event.get("content"):
        case "RUN_ERROR", _:
            code = str(event.get("code") or "")
            return {**event, "error": {"code": _NAMES.get(code, code), "message": event["message"]}}
        case "TOOL_CALL_RESULT", str(content):
            outcome = read_outcome(content)
            if outcome.error is None:
                return event
            code = "TOOL_NOT_FOUND" if outcome.is_unknown else "TOOL_EXECUTION_ERROR"
            return {**event, "error": {"code": code, "message": outcome.error}}
        case _:
            return event


def _framing(media_type: str, version: JsonValue) -> Framing:
    if version is not None:
        return choose_framing(media_type)
    return choose_framing(media_type, with_error, _WITH_ERROR)


async def run_agent(
    body: Annotated[dict[str, JsonValue], Body(examples=[_EXAMPLE])],
    principal: CurrentPrincipal,
    agents: Agents,
    media_type: NegotiatedMediaType,
    own_hosts: OwnHosts,
) -> EventStream:
    """Run an agent and stream its events, for stock AG-UI clients.

    `resume` answers the interrupts of the thread; tool messages answer the calls that the last
    run left to the frontend. A question where answers are waited for is a run that ends in the
    error `INTERRUPTS_OPEN`. The run goes on when the connection breaks. Who sends no
    `protocolVersion` gets `error` with a code beside what failed.
    """
    request = read_run_request(body)
    with spelt_as_in(body):
        run_key = await agents.runs.start(principal, request, reject=RejectPolicy.RUN, own_hosts=own_hosts)
    place = RunPosition(run_key, request.run_id)
    return stream_run(agents.runs, place, _framing(media_type, request.declared_version))


async def join_thread(
    body: Annotated[dict[str, JsonValue], Body(examples=[{"threadId": "thread-xxx"}])],
    principal: CurrentPrincipal,
    agents: Agents,
    media_type: NegotiatedMediaType,
) -> EventStream:
    """Come to a thread late: its messages and state, what is open, and then what happens.

    The answer is a stream of its own that a stock client takes: a live run is followed to its
    end, a finished thread is told as a run that is over, open interrupts included.
    """
    joined = await agents.runs.join(principal, read_thread_id(body))
    place = RunPosition(joined.run_key, joined.run_id, joined.after, joined.prelude)
    return stream_run(agents.runs, place, _framing(media_type, body.get("protocolVersion")))


_INPUT = {"image": True, "audio": False, "video": False, "pdf": True, "file": True}


async def get_capabilities(settings: CurrentSettings) -> dict[str, JsonValue]:
    """What this agent can do, in the shape of AG-UI's `AgentCapabilities`."""
    converted = BY_MEDIA_TYPE if conversion_state(settings) is Conversion.ON else {}
    fields: dict[str, Any] = {
        "identity": {
            "name": "Agentex",
            "type": "agentex",
            "description": "Answers from knowledge bases, with citations.",
            "version": version("agentex"),
        },
        "transport": {"streaming": True, "websocket": False, "httpBinary": True, "resumable": True},
        "tools": {"supported": True, "parallelCalls": True, "clientProvided": True},
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "multiAgent": {
            "supported": True,
            "delegation": True,
            "subagents": [{"name": name, "description": kind.purpose} for name, kind in ROUTED.items()],
        },
        "reasoning": {"supported": True, "streaming": True, "encrypted": False},
        "multimodal": {"input": _INPUT, "output": {"image": False, "audio": False}},
        "execution": {
            "codeExecution": False,
            "maxExecutionTime": int(settings.run_timeout_seconds * 1000),
            "maxIterations": settings.run_max_turns,
        },
        "humanInTheLoop": {"supported": True, "approvals": True, "interrupts": True, "approveWithEdits": True},
        "custom": {
            "agentTypes": sorted(STRATEGIES),
            "attachments": {
                "imageTypes": list(MIME_TYPES),
                "documentTypes": sorted({*PARSERS, *converted}),
                "maxCharacters": MOST_CHARACTERS,
                "sources": ["data", "url"],
                "maxPerMessage": MOST_ATTACHMENTS,
                "maxBytes": settings.max_attachment_bytes,
            },
        },
    }
    capabilities = AgentCapabilities.model_validate(fields)
    dumped = capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    return cast(dict[str, JsonValue], dumped)


_RUN_ERRORS = error_responses(
    MalformedJson,
    UnknownAgentType,
    InvalidRunInput,
    KnowledgeBaseNotFound,
    SessionNotFound,
    ThreadBusy,
    SessionArchived,
    RunIdTaken,
    ShuttingDown,
    *ATTACHMENT_ERRORS,
    *DOCUMENT_ERRORS,
    *LINK_ERRORS,
)
_JOIN_ERRORS = error_responses(MalformedJson, InvalidRunInput, SessionNotFound)
# The document's own path, and the same under the product's prefix.
for _path, _name in (("/agent", "agui"), ("/api/v1/agent", "agui_v1")):
    router.add_api_route(
        _path,
        run_agent,
        name=f"{_name}_run",
        methods=["POST"],
        dependencies=[Run],
        response_class=EventStream,
        responses={**_EVENTS, **_RUN_ERRORS},
    )
    router.add_api_route(
        f"{_path}/connect",
        join_thread,
        name=f"{_name}_connect",
        methods=["POST"],
        dependencies=[Run],
        response_class=EventStream,
        responses={**_EVENTS, **_JOIN_ERRORS},
    )
    router.add_api_route(
        f"{_path}/capabilities", get_capabilities, name=f"{_name}_capabilities", methods=["GET"], dependencies=[Run]
    )
