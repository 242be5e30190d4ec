"""A run with nothing to do: what it was to answer is answered, or can't be."""

from workflows import step
from workflows.events import StartEvent, StopEvent

from agents.events import RunEvent, StateSnapshot
from agents.run_context import RunContext
from agents.strategies.shared.base import Strategy
from core.errors.base import AgentexError


class NoOpStrategy(Strategy):
    """Ends at once.

    Args:
        refused: why it ends in an error; None ends it as a success.
    """

    def __init__(self, context: RunContext, refused: AgentexError | None) -> None:
        super().__init__(context)
        self._refused = refused

    def initial_event(self) -> RunEvent:
        """The caller's state."""
        return StateSnapshot(self.context.state)

    @step
    async def settle(self, event: StartEvent) -> StopEvent:
        """End."""
        self.failure = self._refused
        return StopEvent()
