"""One question to an agent: the run's events shown as they come, and its stop on Ctrl-C."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from cli.client.api import ApiClient, new_id
from cli.client.schemas import InterruptRecord, JsonObject, WireEvent
from cli.commands.chat.interrupts import answer_all
from cli.commands.chat.view import ChatView
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n.common import CHAT_NO_ANSWER, CHAT_STOPPED, CHAT_STOPPING
from cli.ui.output import Output
from core.errors.server import ServerUnreachable
from core.sse import read_events

DEFAULT_AGENT_TYPE = "agentic_rag"
_TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
# The run may not be registered yet when the person stops it.
_STOP_TRIES, _STOP_PAUSE = 20, 0.1
_FAREWELL_SECONDS = 5.0


@dataclass(frozen=True)
class Question:
    """What is asked, in which conversation, of which knowledge bases (none named: of all)."""

    text: str
    thread_id: str
    knowledge_base_ids: Sequence[str] = ()
    agent_type: str = DEFAULT_AGENT_TYPE


async def ask(output: Output, client: ApiClient, question: Question) -> ExitCode:
    """Ask and show the answer while it comes; what the agent asks back is answered by the person.

    The first Ctrl-C stops the run on the server and keeps what was said so far; a second one
    leaves at once.

    Raises:
        ServerRefused: the server does not take the run.
        CommandFailed: it can't be reached, or the answer broke off.
    """
    run_input = _run_input(question)
    while True:
        code, asked = await _follow(output, client, run_input)
        answers = answer_all(output, asked) if asked else None
        if answers is None:
            return code
        going_on: JsonObject = {"runId": new_id(), "messages": [], "resume": [*answers]}
        run_input = {**run_input, **going_on}


async def _follow(
    output: Output, client: ApiClient, run_input: JsonObject
) -> tuple[ExitCode, list[InterruptRecord]]:
    run_id = str(run_input["runId"])
    view = ChatView(output)
    interrupted = asyncio.Event()
    asked: list[InterruptRecord] = []
    reading = asyncio.ensure_future(_read(output, client, view, run_input, asked))
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
        # It may have been quicker than the person.
        if code is not ExitCode.OK:
            output.say(CHAT_STOPPED)
        return ExitCode.INTERRUPTED, []
    return code or ExitCode.OK, asked


def _run_input(question: Question) -> JsonObject:
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
    output: Output,
    client: ApiClient,
    view: ChatView,
    run_input: JsonObject,
    asked: list[InterruptRecord],
) -> ExitCode:
    async for raw in _events(client, run_input):
        output.emit(raw)
        try:
            event = WireEvent.model_validate(raw)
        except ValidationError:
            # Of an event that this version does not know nothing can be shown.
            continue
        view.show(event)
        if event.type == "RUN_ERROR":
            view.end()
            output.print(event.message, "red")
            return ExitCode.FAILED
        if event.type in _TERMINAL:
            asked += event.outcome.interrupts if event.outcome is not None else []
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
        # The last events of a stopped run name the sources of what was said.
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
