"""Base class of all strategies, its services, and one run of a strategy."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from pydantic import JsonValue
from workflows import Workflow
from workflows.errors import WorkflowCancelledByUser
from workflows.events import StopEvent
from workflows.handler import WorkflowHandler

from agents.events import (
    PROGRESS,
    RUNNING,
    ActivityChanged,
    ActivityStarted,
    Failed,
    Finished,
    Interrupt,
    RunEvent,
    RunUsage,
    StateSnapshot,
    StepFinished,
    StepStarted,
)
from agents.evidence import Citation
from agents.llm.base import TokenUsage
from agents.run_context import RunContext
from agents.strategies.shared.event_channel import EventBatch, EventChannel
from core.errors.base import AgentexError
from core.errors.server import ModelFailed, RunTimedOut
from core.logging import get_logger
from kb_service.text.tokenizer import is_cjk_dominant

NextT = TypeVar("NextT")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """Calls that wait for people's answers or for results from the caller's frontend."""

    interrupts: tuple[Interrupt, ...] = ()
    client_calls: tuple[str, ...] = ()

    def ending(self, usage: RunUsage) -> Finished:
        """The terminal event of a run that must wait for them."""
        if self.interrupts:
            return Finished(usage, outcome="interrupt", interrupts=self.interrupts)
        return Finished(usage, pending_call_ids=self.client_calls)


class Suspended(Exception):
    """Raised through a strategy that can't go on before somebody has answered."""

    def __init__(self, waiting: PendingCalls) -> None:
        super().__init__("the run waits")
        self.waiting = waiting


def stop_event_future(handler: WorkflowHandler) -> asyncio.Future[StopEvent]:
    """The end of a workflow, as a future that may be awaited, cancelled or ignored.

    An unread failure, as of a run stopped on its way, must not become an exception that was never
    retrieved, which asyncio would log.
    """
    outcome = asyncio.ensure_future(handler.stop_event_result())
    outcome.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return outcome


class Strategy(Workflow):
    """Base of the agent types: a workflow instance is one run and holds its state.

    ``purpose`` is one sentence for choosing an agent type; ``waits_for`` are answers without which the
    run can't go on.
    """

    purpose: ClassVar[str] = ""

    def __init__(self, context: RunContext) -> None:
        # The run's deadline is StrategyRun's, which also ends a run that hangs outside a step.
        super().__init__(timeout=None)
        self.context = context
        self.channel = EventChannel(context.journal, reopens=context.reopens)
        self.usage = RunUsage(provider=context.model.provider, model=context.model.name)
        self.citations: tuple[Citation, ...] = ()
        self.failure: AgentexError | None = None
        self.waits_for: PendingCalls | None = None
        self._parent: Strategy | None = None

    @property
    def is_chinese(self) -> bool:
        """Whether our own sentences are in Chinese, the question's language."""
        return is_cjk_dominant(self.context.question)

    @abstractmethod
    def initial_event(self) -> RunEvent:
        """The first event of the run: the state snapshot."""

    def initial_state(self, **room: JsonValue) -> StateSnapshot:
        """The caller's state with room for this run's findings.

        The caller sends back what an earlier run showed, none of which is this run's.
        """
        state = {**self.context.state, **room, "citations": [], "evidence": []}
        return StateSnapshot({**state, "skills": []} if "skills" in state else state)

    @property
    def answer_text(self) -> str:
        """What was answered, for those who go on with the conversation; the same in a replay."""
        return ""

    def new_id(self) -> str:
        """An id for a message, the same in a replay."""
        return self.context.journal.new_id()

    def emit(self, event: RunEvent) -> None:
        """Send an event of the strategy's own, once even if replayed."""
        if self.context.journal.count_own_event():
            self.channel.emit(event)
        else:
            self.channel.observe(event)

    def progress(self) -> dict[str, JsonValue]:
        """Progress for people: counts and verdicts so far."""
        return {}

    def opening_progress(self) -> dict[str, JsonValue]:
        """What people are told once, when the run begins."""
        return {}

    def start_progress(self, agent_type: str) -> None:
        """Start the run's activity message; its status follows from the run's end."""
        content: dict[str, JsonValue] = {"agent_type": agent_type, "status": RUNNING}
        self.emit(ActivityStarted(self.new_id(), PROGRESS, {**content, **self.progress(), **self.opening_progress()}))

    def show_progress(self) -> None:
        activity = self.channel.activity
        if activity is None:
            return
        content = activity.content
        changes = {k: v for k, v in self.progress().items() if k not in content or content[k] != v}
        if changes:
            self.emit(ActivityChanged(activity.message_id, activity.kind, changes))

    def add_usage(self, usage: TokenUsage) -> None:
        self.usage = replace(
            self.usage,
            prompt_tokens=self.usage.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens + usage.completion_tokens,
            reasoning_tokens=self.usage.reasoning_tokens + usage.reasoning_tokens,
            is_estimated=self.usage.is_estimated or usage.is_estimated,
            cached_prompt_tokens=self.usage.cached_prompt_tokens + usage.cached_prompt_tokens,
        )
        if self._parent is not None:
            self._parent.add_usage(usage)

    async def run_inside(self, parent: "Strategy") -> None:
        """Run as a part of another strategy's step, with its events and token count."""
        self.channel, self._parent = parent.channel, parent
        handler = self.run()
        outcome = stop_event_future(handler)
        try:
            # wait, not await: the parent's cancellation would end the handler, not its workflow.
            await asyncio.wait({outcome})
        finally:
            if not outcome.done():
                await handler.cancel_run(timeout=1.0)
        outcome.result()
        if self.waits_for is not None:
            raise Suspended(self.waits_for)
        if self.failure is not None:
            raise self.failure
        parent.citations = self.citations

    async def run_step(self, name: str, work: Callable[[], Awaitable[NextT]]) -> NextT | StopEvent:
        """Run the body of a step between its two step events.

        A failure ends the workflow here, where it can be named: raised through the workflow, the library
        would log it with its text.
        """
        self.emit(StepStarted(name))
        following = await self.attempt(name, work)
        if following is None:
            return StopEvent()
        self.show_progress()
        self.emit(StepFinished(name))
        return following

    async def attempt(self, name: str, work: Callable[[], Awaitable[NextT]]) -> NextT | None:
        """The result of some work; None if it can't go on, and ``waits_for`` or ``failure`` tells why."""
        try:
            return await work()
        except Suspended as suspended:
            self.waits_for = suspended.waiting
        except AgentexError as error:
            self.failure = error
        # The edge of the run: every failure of a step must end in one terminal event.
        except Exception as error:  # noqa: BLE001
            _log.error("strategy.step_failed", step=name, error=type(error).__name__)
            self.failure = AgentexError()
        return None


_REPLAY_POLL_SECONDS = 0.005


class StrategyRun:
    """A strategy about to run, running or done; without an ``agent_type`` it has no activity message.

    ``events`` raises nothing but its own reader's cancellation: every failure ends in one terminal
    event (``Finished`` or ``Failed``), with everything open closed before it.
    """

    def __init__(self, strategy: Strategy, agent_type: str | None = None) -> None:
        self._strategy = strategy
        self._agent_type = agent_type
        self._channel = strategy.channel
        self._handler: WorkflowHandler | None = None
        self._cancelling: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    @property
    def usage(self) -> RunUsage:
        return self._strategy.usage

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """The run's events one by one, once; closing the generator early stops the run."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for event in batch.events:
                    yield event

    async def batches(self) -> AsyncGenerator[EventBatch, None]:
        """The run's events, once, in batches of all queued ones.

        Asking for the next batch confirms that the last one is stored. Closing the generator early stops
        the run.
        """
        driver = asyncio.create_task(self._drive())
        driver.add_done_callback(self._end_after)
        try:
            while True:
                batch, number = await self._channel.read()
                if batch.events or batch.effects:
                    yield batch
                self._channel.wrote(number)
                if batch.is_last:
                    return
        finally:
            await self.stop()
            await asyncio.wait({driver})

    async def stop(self, *, timeout_seconds: float = 1.0) -> None:
        """Stop; ``events`` then closes what is open and ends in ``Finished(cancelled)``.

        Async work is cancelled at once; work that does not yield within the timeout is abandoned and its
        output dropped. Does nothing if the run is over.
        """
        self._is_stopped = True
        await self._caught_up(timeout_seconds)
        if self._handler is not None and not self._handler.is_done():
            # The library's own timeout waits for work that resists cancellation.
            cancelling = asyncio.create_task(self._handler.cancel_run(timeout=timeout_seconds))
            self._cancelling.add(cancelling)
            cancelling.add_done_callback(self._cancelling.discard)
            await asyncio.wait({cancelling}, timeout=timeout_seconds)
        self._channel.finish(Finished(self._strategy.usage, outcome="cancelled"))

    async def _caught_up(self, seconds: float) -> None:
        """Wait until a replay has reached what it had left open."""
        journal = self._strategy.context.journal
        deadline = asyncio.get_running_loop().time() + seconds
        # Replay takes milliseconds; a signal would have to be set by every effect.
        while (  # noqa: ASYNC110
            journal.is_replaying and not self._channel.is_closed and asyncio.get_running_loop().time() < deadline
        ):
            await asyncio.sleep(_REPLAY_POLL_SECONDS)

    @property
    def known_ids(self) -> frozenset[str]:
        """Ids of all messages, thoughts and calls so far, including the run's past."""
        return self._channel.known_ids

    async def _drive(self) -> None:
        is_behind = self._strategy.context.journal.is_replaying and not self._channel.is_closed
        # A stop waits until the replay has reached the recorded end.
        if self._is_stopped and not is_behind:
            return
        self._strategy.emit(self._strategy.initial_event())
        if self._agent_type is not None:
            self._strategy.start_progress(self._agent_type)
        self._handler = self._strategy.run()
        outcome = stop_event_future(self._handler)
        # wait, not wait_for: its timeout would cancel the workflow's own task half-way.
        context = self._strategy.context
        left = context.limits.timeout_seconds - context.journal.live_seconds
        await asyncio.wait({outcome}, timeout=max(0.0, left))
        if not outcome.done():
            self._fail(RunTimedOut())
            await self._handler.cancel_run(timeout=1.0)
            await asyncio.wait({outcome}, timeout=1.0)
        self._conclude(outcome)

    def _end_after(self, driver: asyncio.Task[None]) -> None:
        """Never leave the reader waiting, even if the driver itself failed."""
        if not driver.cancelled() and (error := driver.exception()) is not None:
            _log.error("strategy.driver_failed", error=type(error).__name__)
        self._fail(AgentexError())

    def _conclude(self, outcome: asyncio.Future[StopEvent]) -> None:
        error = outcome.exception() if outcome.done() and not outcome.cancelled() else None
        if isinstance(error, WorkflowCancelledByUser) or self._is_stopped:
            self._channel.finish(Finished(self._strategy.usage, outcome="cancelled"))
        elif self._strategy.failure is not None:
            self._fail(self._strategy.failure)
        elif (waiting := self._strategy.waits_for) is not None:
            self._channel.finish(waiting.ending(self._strategy.usage))
        elif error is not None or not outcome.done():
            _log.error("strategy.failed", error=type(error).__name__)
            self._fail(AgentexError())
        else:
            self._channel.finish(Finished(self._strategy.usage, self._strategy.citations))

    def _fail(self, failure: AgentexError) -> None:
        is_chinese = is_cjk_dominant(self._strategy.context.question)
        self._channel.finish(failure_event(failure, self._strategy.usage, is_chinese=is_chinese))


def failure_event(failure: AgentexError, usage: RunUsage, *, is_chinese: bool) -> Failed:
    """The terminal event of a failure, in the language of the question.

    Only a model's failure says more than the code's message: its ``reason`` is ours, never the
    endpoint's own text.
    """
    message = failure.message_zh if is_chinese else failure.message
    details = failure.details
    reason = (is_chinese and details.get("reason_zh")) or details.get("reason")
    if failure.code == ModelFailed.code and isinstance(reason, str):
        message = f"{message}: {reason}"
    # docs/reference/agentex-api.md, section 12.4.1 names this code.
    name = "LLM_ERROR" if failure.code == ModelFailed.code else failure.wire_name
    return Failed(name, message, failure.code, usage)
