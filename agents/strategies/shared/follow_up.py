"""A task with the messages that came beside the answers it waited for."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import JsonValue
from workflows import step
from workflows.events import StartEvent, StopEvent

from agents.events import RunEvent
from agents.llm.base import ModelMessage
from agents.run_context import RunContext
from agents.strategies.shared.base import Strategy
from agents.strategies.shared.tool_loop import ToolLoopStrategy


class FollowUpStrategy(Strategy):
    """Runs a strategy to its end, then another one for each message, in one log and one journal.

    Up to the end of the first strategy its events, ids and effects are those of that strategy alone, because
    the task began without the messages.
    """

    def __init__(
        self, context: RunContext, follow_ups: Sequence[RunContext], create: Callable[[RunContext], Strategy]
    ) -> None:
        super().__init__(context)
        self._follow_ups = follow_ups
        self._create = create
        self._current = create(context)

    def initial_event(self) -> RunEvent:
        return self._current.initial_event()

    def progress(self) -> dict[str, JsonValue]:
        return self._current.progress()

    def opening_progress(self) -> dict[str, JsonValue]:
        return self._current.opening_progress()

    @property
    def answer_text(self) -> str:
        return self._current.answer_text

    @step
    async def answer_in_order(self, event: StartEvent) -> StopEvent:
        await self.attempt("follow_ups", self._answer_in_order)
        return StopEvent()

    async def _answer_in_order(self) -> None:
        await self._current.run_inside(self)
        for follow_up in self._follow_ups:
            past = self._current.context
            answer = self._current.answer_text
            exchange = [ModelMessage("user", past.question), *([ModelMessage("assistant", answer)] if answer else [])]
            history = (*past.history, *exchange, *follow_up.history)
            self._current = self._create(replace(follow_up, history=history))
            self.emit(self._current.initial_event())
            if isinstance(self._current, ToolLoopStrategy):
                self._current.channel = self.channel
                self._current.show_skills(force=True)
            await self._current.run_inside(self)
