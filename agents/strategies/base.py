"""What every strategy gets, and the one way to start, read and stop it."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from pydantic import JsonValue
from workflows import Workflow
from workflows.errors import WorkflowCancelledByUser
from workflows.events import StopEvent
from workflows.handler import WorkflowHandler

from agents.calendar.book import CalendarBook
from agents.citations import Citation, DocumentReader, Retriever
from agents.client_time import PersonTime
from agents.events import (
    Failed,
    Finished,
    Interrupt,
    RunEvent,
    StepFinished,
    StepStarted,
    Usage,
)
from agents.journal import Journal
from agents.models.port import ChatModel, Message, ModelUsage
from agents.recollections import LongTermMemory
from agents.requests import ClientTool, ContextItem
from agents.strategies.channel import Batch, EventChannel
from agents.tools.base import ToolRules
from core.errors import AgentexError, ErrorCode, RunTimedOut
from core.logging import get_logger
from core.tool_policies import ServerPolicies
from kb_service.text.lexical import is_cjk_dominant

NextT = TypeVar("NextT")
_REPLAY_POLL_SECONDS = 0.005

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run.

    Attributes:
        acting_seconds: After this long no more is thought or done, only answered.
        max_turns: Turns of the model in which it may call tools.
        max_tokens: Tokens, in and out, after which it is only answered.
        max_searches: Rounds of retrieval, the first one included.
        max_plan_steps: Steps of one plan.
        max_replans: Changes of a plan.
        max_attempts: Attempts at an answer, the first one included.
        history_messages: Earlier messages a model is given.
        evidence_characters: Longest text of passages in one prompt.
        policies: How freely tools may be called, within which people choose.
    """

    timeout_seconds: float = 300
    acting_seconds: float = 240
    max_turns: int = 24
    max_tokens: int = 400_000
    max_searches: int = 3
    max_plan_steps: int = 8
    max_replans: int = 2
    max_attempts: int = 3
    top_k: int = 8
    history_messages: int = 20
    evidence_characters: int = 40_000
    policies: ServerPolicies = field(default_factory=ServerPolicies)


# The rest is for the answer, so that a run that takes long still ends in one.
_ACTING_SHARE = 0.8


def limits_within(
    timeout_seconds: float, *, max_turns: int = 24, max_tokens: int = 400_000
) -> Limits:
    """The bounds of a run that must be over after some seconds."""
    return Limits(
        timeout_seconds,
        acting_seconds=_ACTING_SHARE * timeout_seconds,
        max_turns=max_turns,
        max_tokens=max_tokens,
    )


@dataclass(frozen=True, slots=True)
class StrategyInput:
    """One question with all a strategy may use to answer it.

    Attributes:
        history: Earlier user and assistant messages of the thread, oldest first.
        retriever: None when no knowledge base is selected.
        documents: Reads in the documents that the retriever searches.
        memory: None when the run's owner does not allow it.
        state: The shared state the caller sent.
        tools: Those of the caller's frontend.
        journal: What the run has done so far; empty for one that begins.
        reopens: Whether the run goes on in a log of its own.
        time: Whose time zones count.
        calendar: The user's; None where a run has none.
        rules: How freely tools may be called.
    """

    question: str
    model: ChatModel
    retriever: Retriever | None
    documents: DocumentReader | None = None
    memory: LongTermMemory | None = None
    history: tuple[Message, ...] = ()
    state: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    context: tuple[ContextItem, ...] = ()
    tools: tuple[ClientTool, ...] = ()
    limits: Limits = field(default_factory=Limits)
    journal: Journal = field(default_factory=Journal)
    reopens: bool = False
    time: PersonTime = field(default_factory=PersonTime)
    calendar: CalendarBook | None = None
    rules: ToolRules = field(default_factory=ToolRules)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for: answers of people, results of tools in the caller's frontend."""

    interrupts: tuple[Interrupt, ...] = ()
    client_calls: tuple[str, ...] = ()

    def ending(self, usage: Usage) -> Finished:
        """The terminal event of a run that can't go on without them."""
        if self.interrupts:
            return Finished(usage, outcome="interrupt", interrupts=self.interrupts)
        return Finished(usage, pending_call_ids=self.client_calls)


class Suspended(Exception):
    """Raised through a strategy that can't go on before somebody has answered."""

    def __init__(self, waiting: Waiting) -> None:
        super().__init__("the run waits")
        self.waiting = waiting


class Strategy(Workflow):
    """Base of the agent types: a workflow instance is one run and holds its state.

    Attributes:
        purpose: What it is good for, in one sentence for who chooses.
        usage: Tokens so far.
        citations: Citations of the answer, once they are checked.
        failure: Why the run broke off.
        waits_for: The answers without which it can't go on.
    """

    purpose: ClassVar[str] = ""

    def __init__(self, inputs: StrategyInput) -> None:
        # The run's deadline is StrategyRun's, which also ends a run that hangs outside a step.
        super().__init__(timeout=None)
        self.inputs = inputs
        self.channel = EventChannel(inputs.journal, reopens=inputs.reopens)
        self.usage = Usage(provider=inputs.model.provider, model=inputs.model.name)
        self.citations: tuple[Citation, ...] = ()
        self.failure: AgentexError | None = None
        self.waits_for: Waiting | None = None
        self._parent: Strategy | None = None

    @property
    def is_chinese(self) -> bool:
        """Whether what we say ourselves is said in Chinese: in the language of the question."""
        return is_cjk_dominant(self.inputs.question)

    @abstractmethod
    def opening(self) -> RunEvent:
        """The first event of the run: the state snapshot."""

    def new_id(self) -> str:
        """An id for a message, the same again when the run is taken up."""
        return self.inputs.journal.new_id()

    def emit(self, event: RunEvent) -> None:
        """Send an event of the strategy's own to the reader, once however often it is run."""
        if self.inputs.journal.count_own_event():
            self.channel.emit(event)
        else:
            self.channel.observe(event)

    def spend(self, usage: ModelUsage) -> None:
        """Add a model call's tokens."""
        self.usage = replace(
            self.usage,
            prompt_tokens=self.usage.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens + usage.completion_tokens,
            reasoning_tokens=self.usage.reasoning_tokens + usage.reasoning_tokens,
            is_estimated=self.usage.is_estimated or usage.is_estimated,
            cached_prompt_tokens=self.usage.cached_prompt_tokens + usage.cached_prompt_tokens,
        )
        if self._parent is not None:
            self._parent.spend(usage)

    async def run_inside(self, parent: "Strategy") -> None:
        """Run as a part of another strategy's step: its events and its tokens are the parent's.

        Raises:
            AgentexError: why it broke off.
        """
        self.channel, self._parent = parent.channel, parent
        handler = self.run()
        outcome = asyncio.ensure_future(handler.stop_event_result())
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

    async def attempt(self, name: str, work: Callable[[], Awaitable[NextT]]) -> NextT | StopEvent:
        """Run the body of a step between its two step events.

        A failure ends the workflow here, where it can be named: raised through the workflow it
        would be logged by the library with its text.
        """
        self.emit(StepStarted(name))
        try:
            following = await work()
        except Suspended as suspended:
            self.waits_for = suspended.waiting
            return StopEvent()
        except AgentexError as error:
            self.failure = error
            return StopEvent()
        # The edge of the run: whatever a step did wrong must still end in one terminal event.
        except Exception as error:  # noqa: BLE001
            _log.error("strategy.step_failed", step=name, error=type(error).__name__)
            self.failure = AgentexError()
            return StopEvent()
        self.emit(StepFinished(name))
        return following


class StrategyRun:
    """A strategy about to run, running or done.

    ``events`` raises nothing but its own reader's cancellation: whatever goes wrong ends in one
    terminal event (``Finished`` or ``Failed``), with everything open closed before it.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._channel = strategy.channel
        self._handler: WorkflowHandler | None = None
        self._cancelling: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    @property
    def usage(self) -> Usage:
        """Tokens so far."""
        return self._strategy.usage

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """The run's events one by one, once; closing the generator early stops the run."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for event in batch.events:
                    yield event

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """The run's events, once, all that wait at a time; what waits longer is joined more.

        A batch counts as written down when the next one is asked for. Closing the generator
        early stops the run.
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

        Async work is cancelled at once; what does not yield within the timeout is left behind,
        and what it still writes is dropped. Does nothing to a run that is over.
        """
        self._is_stopped = True
        await self._caught_up(timeout_seconds)
        if self._handler is not None and not self._handler.is_done():
            # The library's own timeout waits for work that does not let itself be cancelled.
            cancelling = asyncio.create_task(self._handler.cancel_run(timeout=timeout_seconds))
            self._cancelling.add(cancelling)
            cancelling.add_done_callback(self._cancelling.discard)
            await asyncio.wait({cancelling}, timeout=timeout_seconds)
        self._channel.finish(Finished(self._strategy.usage, outcome="cancelled"))

    async def _caught_up(self, seconds: float) -> None:
        """Wait until a run that was taken up knows again what it had left open."""
        journal = self._strategy.inputs.journal
        deadline = asyncio.get_running_loop().time() + seconds
        # Replay takes milliseconds, and is no place for a signal that every effect would set.
        while (  # noqa: ASYNC110
            journal.is_replaying
            and not self._channel.is_closed
            and asyncio.get_running_loop().time() < deadline
        ):
            await asyncio.sleep(_REPLAY_POLL_SECONDS)

    @property
    def known(self) -> frozenset[str]:
        """Ids of all messages, thoughts and calls so far, those of the run's past included."""
        return self._channel.known

    async def _drive(self) -> None:
        if self._is_stopped:
            return
        self._strategy.emit(self._strategy.opening())
        self._handler = self._strategy.run()
        outcome = asyncio.ensure_future(self._handler.stop_event_result())
        # wait, not wait_for: its timeout would cancel the workflow's own task half-way.
        inputs = self._strategy.inputs
        left = inputs.limits.timeout_seconds - inputs.journal.live_seconds
        await asyncio.wait({outcome}, timeout=max(0.0, left))
        if not outcome.done():
            self._fail(RunTimedOut())
            await self._handler.cancel_run(timeout=1.0)
            await asyncio.wait({outcome}, timeout=1.0)
        self._conclude(outcome)

    def _end_after(self, driver: asyncio.Task[None]) -> None:
        """Never leave the reader waiting, not even when the driver itself broke."""
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
        is_chinese = is_cjk_dominant(self._strategy.inputs.question)
        self._channel.finish(failed(failure, self._strategy.usage, is_chinese=is_chinese))


def failed(failure: AgentexError, usage: Usage, *, is_chinese: bool) -> Failed:
    """The terminal event of a failure, in the language of the question.

    Only a model's failure says more than the code's message: its ``reason`` is ours, never the
    endpoint's own text.
    """
    code = failure.code
    message = code.message_zh if is_chinese else code.message
    details = failure.details
    reason = (is_chinese and details.get("reason_zh")) or details.get("reason")
    if code is ErrorCode.MODEL_FAILED and isinstance(reason, str):
        message = f"{message}: {reason}"
    # Seed 002 section 12.4.1 names this one code.
    name = "LLM_ERROR" if code is ErrorCode.MODEL_FAILED else code.name
    return Failed(name, message, int(code), usage)
