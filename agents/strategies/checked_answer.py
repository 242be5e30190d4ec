"""The last step that every strategy with an answer of its own shares."""

from workflows import step
from workflows.events import Event, StopEvent

from agents.strategies.base import StrategyInput
from agents.strategies.model_turn import Turn
from agents.strategies.tool_loop import ToolStrategy


class CheckCitations(Event):
    """The answer stands."""


class CheckedAnswer(ToolStrategy):
    """A run whose answer is held as ``answer_turn`` until its citations are checked."""

    def __init__(self, inputs: StrategyInput) -> None:
        super().__init__(inputs)
        self.answer_turn: Turn | None = None

    @step
    async def check_citations(self, event: CheckCitations) -> StopEvent:
        """Resolve each cited number and end the message with what it resolves to."""
        return await self.attempt("check_citations", self._check_citations)

    async def _check_citations(self) -> StopEvent:
        return self.conclude(self.answer_turn)
