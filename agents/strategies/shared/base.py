"""Base class of all strategies and its services."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from pydantic import JsonValue
from workflows import Workflow
from workflows.events import StopEvent
from workflows.handler import WorkflowHandler

from agents.citations import Citation
from agents.events import (
    PROGRESS,
    RUNNING,
    ActivityChanged,
    ActivityStarted,
    Finished,
    Interrupt,
    RunEvent,
    RunUsage,
    StateSnapshot,
    StepFinished,
    StepStarted,
)
from agents.llm.base import TokenUsage
from agents.run_context import RunContext
from agents.strategies.shared.event_channel import EventChannel
from core.errors.base import AgentexError
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

    def start_progress(self, agent_type: str) -> None:
        """Start the run's activity message; its status follows from the run's end."""
        content: dict[str, JsonValue] = {"agent_type": agent_type, "status": RUNNING}
        self.emit(ActivityStarted(self.new_id(), PROGRESS, {**content, **self.progress()}))

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
        try:
            following = await work()
        except Suspended as suspended:
            self.waits_for = suspended.waiting
            return StopEvent()
        except AgentexError as error:
            self.failure = error
            return StopEvent()
        # The edge of the run: every failure of a step must end in one terminal event.
        except Exception as error:  # noqa: BLE001
            _log.error("strategy.step_failed", step=name, error=type(error).__name__)
            self.failure = AgentexError()
            return StopEvent()
        self.show_progress()
        self.emit(StepFinished(name))
        return following
