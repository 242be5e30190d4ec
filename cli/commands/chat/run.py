"""One run of ``agentex chat``: events, interrupts and the stop on Ctrl-C."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError
from rich.status import Status
from rich.text import Text

from cli.client.api import ApiClient, new_id
from cli.client.schemas import CitationRecord, EventRecord, InterruptRecord, JsonObject
from cli.commands.kb.search import place
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import (
    CHAT_ASKS,
    CHAT_CONSENT,
    CHAT_NO_ANSWER,
    CHAT_STOPPED,
    CHAT_STOPPING,
    CHAT_WAITS,
    CHAT_YES_NO,
)
from cli.ui.output import Output, printable
from core.errors.server import ServerUnreachable
from core.sse import read_events

_LONGEST_QUOTE = 300
_STEPS = {
    "decide": messages.STEP_DECIDE,
    "retrieve": messages.STEP_RETRIEVE,
    "grade": messages.STEP_GRADE,
    "rewrite": messages.STEP_REWRITE,
    "answer": messages.STEP_ANSWER,
    "check_citations": messages.STEP_CHECK,
    "widen": messages.STEP_WIDEN,
    "think": messages.STEP_THINK,
    "act": messages.STEP_ACT,
    "observe": messages.STEP_OBSERVE,
    "plan": messages.STEP_PLAN,
    "execute": messages.STEP_EXECUTE,
    "replan": messages.STEP_REPLAN,
    "synthesise": messages.STEP_SYNTHESISE,
    "attempt": messages.STEP_ATTEMPT,
    "evaluate": messages.STEP_EVALUATE,
    "reflect": messages.STEP_REFLECT,
    "router": messages.STEP_ROUTER,
    "worker": messages.STEP_WORKER,
}


class ChatView:
    """Shows one run's events to a person; in JSON mode it shows nothing."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._in_line = False
        self._has_text = False
        self._status = Status("", console=output.remarks) if output.lively else None

    def begin(self) -> None:
        """Show that something happens."""
        if self._status is not None:
            self._status.update(self._dim(self._output.render(messages.CHAT_THINKING)))
            self._status.start()

    def end(self) -> None:
        """Leave the cursor on a new line."""
        if self._status is not None:
            self._status.stop()
        self._break_line()

    def show(self, event: EventRecord) -> None:
        match event.type:
            case "STEP_STARTED":
                step = _STEPS.get(event.step_name)
                self.work(self._output.render(step) if step else event.step_name)
            case "TOOL_CALL_START":
                self.work(self._output.render(messages.CHAT_TOOL, tool=event.tool_call_name))
            case "TEXT_MESSAGE_START" if self._has_text:
                self._break_line()
                self._output.print("")
            case "TEXT_MESSAGE_CONTENT" if isinstance(event.delta, str):
                self._write(event.delta)
            case "RUN_FINISHED" if event.result is not None:
                self._show_sources(event.result.citations)
            case _:
                pass

    def work(self, text: str) -> None:
        """Show a status, unless an answer is being written."""
        if self._status is not None and not self._in_line:
            self._status.update(self._dim(printable(text)))
            self._status.start()

    def _write(self, delta: str) -> None:
        text = printable(delta)
        if self._output.json_only or not text:
            return
        if self._status is not None:
            self._status.stop()
        self._output.screen.out(text, end="", highlight=False)
        self._output.screen.file.flush()
        self._in_line, self._has_text = not text.endswith("\n"), True

    def _break_line(self) -> None:
        if self._in_line:
            self._output.print("")
        self._in_line = False

    def _show_sources(self, citations: list[CitationRecord]) -> None:
        if not citations or self._output.json_only:
            return
        if self._status is not None:
            self._status.stop()
        self._break_line()
        self._output.print("")
        self._output.print(self._output.render(messages.CHAT_SOURCES), "bold")
        for citation in sorted(citations, key=lambda citation: citation.number):
            where = place(self._output, citation.document_name, citation.page, citation.heading_path)
            line = Text.assemble((f"[{citation.number}] ", "bold"), (where, "cyan"))
            self._output.print(line)
            if citation.quote:
                self._output.print(f"    “{_shorten(citation.quote)}”", "dim")

    def _dim(self, text: str) -> Text:
        return Text(text, style="dim")


def _shorten(quote: str) -> str:
    text = " ".join(quote.split())
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]} …"


DEFAULT_AGENT_TYPE = "agentic_rag"
_TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
# The run may not be registered yet when the person stops it.
_STOP_TRIES, _STOP_PAUSE = 20, 0.1
_FAREWELL_SECONDS = 5.0


@dataclass(frozen=True)
class ChatQuestion:
    """A question, its conversation and its knowledge bases (empty: all)."""

    text: str
    thread_id: str
    knowledge_base_ids: Sequence[str] = ()
    agent_type: str = DEFAULT_AGENT_TYPE


async def ask(output: Output, client: ApiClient, question: ChatQuestion) -> ExitCode:
    """Ask and stream the answer; the person answers the agent's interrupts.

    The first Ctrl-C stops the run on the server and keeps what was said so far; a second one
    exits at once.
    """
    run_input = _run_input(question)
    while True:
        code, interrupts = await _follow(output, client, run_input)
        answers = answer_all(output, interrupts) if interrupts else None
        if answers is None:
            return code
        going_on: JsonObject = {"runId": new_id(), "messages": [], "resume": [*answers]}
        run_input = {**run_input, **going_on}


async def _follow(output: Output, client: ApiClient, run_input: JsonObject) -> tuple[ExitCode, list[InterruptRecord]]:
    run_id = str(run_input["runId"])
    view = ChatView(output)
    interrupted = asyncio.Event()
    interrupts: list[InterruptRecord] = []
    reading = asyncio.ensure_future(_read(output, client, view, run_input, interrupts))
    view.begin()
    try:
        with _on_interrupt(interrupted.set):
            waiting = asyncio.ensure_future(interrupted.wait())
            await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if not reading.done():
                view.work(output.render(CHAT_STOPPING))
                await _stop(client, run_id, reading)
        code = await reading if reading.done() and not reading.cancelled() else None
    finally:
        reading.cancel()
        view.end()
    if interrupted.is_set() or code is ExitCode.INTERRUPTED:
        # The run may have ended first.
        if code is not ExitCode.OK:
            output.say(CHAT_STOPPED)
        return ExitCode.INTERRUPTED, []
    return code or ExitCode.OK, interrupts


def _run_input(question: ChatQuestion) -> JsonObject:
    wishes: JsonObject = {"agent_type": question.agent_type}
    if question.knowledge_base_ids:
        wishes["knowledge_base_ids"] = [*question.knowledge_base_ids]
    message: JsonObject = {"id": new_id(), "role": "user", "content": question.text}
    return {
        "threadId": question.thread_id,
        "runId": new_id(),
        "state": {},
        "messages": [message],
        "tools": [],
        "context": [],
        "forwardedProps": wishes,
    }


async def _read(
    output: Output, client: ApiClient, view: ChatView, run_input: JsonObject, interrupts: list[InterruptRecord]
) -> ExitCode:
    async for raw in _events(client, run_input):
        output.emit(raw)
        try:
            event = EventRecord.model_validate(raw)
        except ValidationError:
            # Events unknown to this version can't be shown.
            continue
        view.show(event)
        if event.type == "RUN_ERROR":
            view.end()
            output.print(event.message, "red")
            return ExitCode.FAILED
        if event.type in _TERMINAL:
            interrupts += event.outcome.interrupts if event.outcome is not None else []
            cancelled = event.outcome is not None and event.outcome.type == "cancelled"
            return ExitCode.INTERRUPTED if cancelled else ExitCode.OK
    raise CommandFailed(ServerUnreachable(), CHAT_NO_ANSWER)


async def _events(client: ApiClient, run_input: JsonObject) -> AsyncGenerator[JsonValue]:
    async with client.run_agent(run_input) as response:
        async for event in read_events(response.aiter_bytes()):
            try:
                yield json.loads(event.data)
            except json.JSONDecodeError:
                continue


async def _stop(client: ApiClient, run_id: str, reading: asyncio.Future[ExitCode]) -> None:
    try:
        for _ in range(_STOP_TRIES):
            if reading.done() or await client.stop_run(run_id):
                break
            await asyncio.sleep(_STOP_PAUSE)
        # The last events of a stopped run name the sources of its text.
        await asyncio.wait({reading}, timeout=_FAREWELL_SECONDS)
    except (CommandFailed, ServerRefused):
        return


@contextmanager
def _on_interrupt(first: Callable[[], None]) -> Generator[None]:
    """Call ``first`` at the first Ctrl-C; cancel the task at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def again() -> None:
        if task is not None:
            task.cancel()

    def once() -> None:
        loop.add_signal_handler(signal.SIGINT, again)
        first()

    present = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, once)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, present)


_YES = frozenset({"y", "yes", "是", "好", "同意"})
_NO = frozenset({"", "n", "no", "否", "不"})


def answer_all(
    output: Output, interrupts: Sequence[InterruptRecord], *, read: Callable[[str], str] = input
) -> list[JsonObject] | None:
    """Ask for each answer and return AG-UI ``resume`` entries; None if nobody can be asked.

    Ctrl-C or the end of input leaves all of them open.
    """
    for interrupt in interrupts:
        output.say(CHAT_ASKS, question=interrupt.message)
    if not interrupts or not sys.stdin.isatty():
        output.hint(CHAT_WAITS)
        return None
    present = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return [
            {"interruptId": interrupt.id, "status": "resolved", "payload": _payload(output, interrupt, read)}
            for interrupt in interrupts
        ]
    except (EOFError, KeyboardInterrupt):
        output.hint(CHAT_WAITS)
        return None
    finally:
        signal.signal(signal.SIGINT, present)


def _payload(output: Output, interrupt: InterruptRecord, read: Callable[[str], str]) -> JsonValue:
    match interrupt.reason:
        case "confirmation":
            reply = read(output.render(CHAT_YES_NO)).strip().lower()
            return {"confirmed": reply in _YES}
        case "tool_call":
            reply = read(output.render(CHAT_CONSENT)).strip()
            if reply.lower() in _YES:
                return {"approved": True}
            return {"approved": False, **({} if reply.lower() in _NO else {"response": reply})}
        case _:
            return {"input": read("> ")}
