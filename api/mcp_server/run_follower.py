"""Runs for MCP requests: started, followed to their end, and stopped with the request."""

import asyncio
import hashlib
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
import anyio.lowlevel
import orjson
from pydantic import JsonValue

from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.run_request import RunRequest
from agents.runs.resume import RejectPolicy
from agents.runs.service import RunService
from api.mcp_server.tool import CallContext, CallFailure
from core.auth.principal import Principal
from core.errors.auth import InvalidToken, RunNotFound
from core.errors.base import REGISTERED, AgentexError
from core.errors.server import ModelFailed, ShuttingDown
from core.json_access import as_list, as_object, as_text
from core.logging import get_logger

log = get_logger(__name__)

_CANCEL_SECONDS = 3.0
_CANCEL_POLL_SECONDS = 0.05
_PROGRESS_SECONDS = 2.0
_PROGRESS = {
    "STEP_STARTED": ("stepName", "Step: {0}", "步骤：{0}"),
    "TOOL_CALL_START": ("toolCallName", "Calling {0}", "正在调用 {0}"),
    "TEXT_MESSAGE_START": ("", "Writing the answer", "正在撰写回答"),
}
"""What is told of an event: the field that names it, and the words in English and Chinese."""


def run_id_of(principal: Principal, session: str | None, request_id: int | str) -> str:
    """The id of the run that a request starts; without a session of the client's, one that nobody can tell."""
    if not session:
        return f"mcp-{uuid4().hex}"
    # A number and a text may look alike.
    facts = orjson.dumps([principal.user_id, session, request_id])
    return f"mcp-{hashlib.sha256(facts).hexdigest()[:40]}"


async def cancel(runs: RunService, principal: Principal, run_id: str) -> None:
    """Stop a run of a request that is cancelled, also if it is only about to be started."""
    clock = asyncio.get_running_loop()
    deadline = clock.time() + _CANCEL_SECONDS
    while True:
        try:
            await runs.stop(principal, run_id)
            return
        except RunNotFound:
            if clock.time() > deadline:
                return
        await asyncio.sleep(_CANCEL_POLL_SECONDS)


@dataclass
class RunReport:
    """What the log of a run says of its answer.

    Attributes:
        text: The answer, or what there is of it.
        metadata: That of the answer's message.
        ending: The terminal event; empty while there is none.
    """

    text: str = ""
    metadata: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    ending: WireEvent = field(default_factory=dict[str, JsonValue])
    _pieces: list[str] = field(default_factory=list[str])

    def observe(self, event: WireEvent) -> None:
        match event["type"]:
            case "TEXT_MESSAGE_START":
                # Of several messages the last is the answer.
                self._pieces.clear()
            case "TEXT_MESSAGE_CONTENT":
                self._pieces.append(as_text(event.get("delta")))
            case "TEXT_MESSAGE_END":
                self.text, self.metadata = "".join(self._pieces), as_object(event.get("metadata"))
            case "RUN_FINISHED" | "RUN_ERROR":
                self.text = self.text or "".join(self._pieces)
                self.ending = event
            case _:
                pass

    @property
    def outcome(self) -> str:
        """``success``, ``cancelled`` or ``interrupt``."""
        return as_text(as_object(self.ending.get("outcome")).get("type")) or "success"

    @property
    def interrupts(self) -> list[dict[str, JsonValue]]:
        return [as_object(item) for item in as_list(as_object(self.ending.get("outcome")).get("interrupts"))]

    @property
    def citations(self) -> list[dict[str, JsonValue]]:
        return [as_object(item) for item in as_list(as_object(self.ending.get("result")).get("citations"))]

    @property
    def model(self) -> str:
        """The name of the language model, empty if none was asked."""
        uses = [as_object(item) for item in as_list(self.ending.get("usage"))]
        return as_text(uses[0].get("model")) if uses else ""


async def run_to_end(call: CallContext, request: RunRequest) -> RunReport:
    """Start a run and follow it to its end; it is stopped if the request is cancelled before.

    Raises:
        CallFailure: The run failed; the details name its session and say why.
        InvalidToken: The caller's credential ended meanwhile; the run is stopped.
    """
    runs = call.services.runs
    is_over = False
    try:
        report = await _follow(call, await _start(call, request))
        is_over = True
    finally:
        # Another process goes on with the runs of one that shuts down: their sessions get the answer.
        if not is_over and not runs.is_draining:
            with anyio.CancelScope(shield=True):
                await _stop(runs, call.principal, request.run_id)
    _require_ending(report, request.thread_id)
    return report


async def _start(call: CallContext, request: RunRequest) -> str:
    run_key = ""
    # A start that is broken off could leave a run behind that nobody drives.
    with anyio.CancelScope(shield=True):
        run_key = await call.services.runs.start(call.principal, request, reject=RejectPolicy.ERROR)
    await anyio.lowlevel.checkpoint()
    return run_key


async def _follow(call: CallContext, run_key: str) -> RunReport:
    report, message, spoken = RunReport(), "", 0.0
    clock = asyncio.get_running_loop()
    with call.services.streams.reading(call.principal) as access:
        async for entries in call.services.runs.follow(run_key):
            if access.is_ended:
                raise InvalidToken
            news = [_observe(report, entry, is_chinese=call.is_chinese) for entry in entries]
            # The same again when nothing happens: clients give up on requests that are silent.
            for words in filter(None, [*news, message]):
                if words != message or clock.time() - spoken > _PROGRESS_SECONDS:
                    message, spoken = words, clock.time()
                    await call.report(message)
    return report


def _observe(report: RunReport, entry: LogEntry, *, is_chinese: bool) -> str:
    event: WireEvent = orjson.loads(entry.payload)
    report.observe(event)
    if entry.type not in _PROGRESS:
        return ""
    name, *words = _PROGRESS[entry.type]
    return words[is_chinese].format(as_text(event.get(name)))


async def _stop(runs: RunService, principal: Principal, run_id: str) -> None:
    try:
        await runs.stop(principal, run_id)
    except RunNotFound:
        # It was refused before it began.
        pass
    except AgentexError as error:
        # It ends at its own limits.
        log.warning("mcp_server.run_not_stopped", run_id=run_id, code=error.code)


def _require_ending(report: RunReport, session_id: str) -> None:
    if not report.ending:
        raise CallFailure(ShuttingDown, {"session_id": session_id})
    if report.ending["type"] == "RUN_ERROR":
        name = as_text(report.ending.get("code"))
        by_name = {error.wire_name: error for error in REGISTERED.values()}
        error_class = ModelFailed if name == "LLM_ERROR" else by_name.get(name, AgentexError)
        reason = as_text(report.ending.get("message"))
        raise CallFailure(error_class, {"session_id": session_id, "reason": reason})
