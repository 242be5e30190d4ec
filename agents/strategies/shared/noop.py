"""A run with nothing to do: its answers are known already, or can't be used."""

from workflows import step
from workflows.events import StartEvent, StopEvent

from agents.events import RunEvent, StateSnapshot
from agents.run_context import RunContext
from agents.strategies.shared.base import Strategy
from core.errors.base import AgentexError


class NoOpStrategy(Strategy):
    """Ends at once, in an error if ``refused`` is set."""

    def __init__(self, context: RunContext, refused: AgentexError | None) -> None:
        super().__init__(context)
        self._refused = refused

    def initial_event(self) -> RunEvent:
        return StateSnapshot(self.context.state)

    @step
    async def settle(self, event: StartEvent) -> StopEvent:
        self.failure = self._refused
        return StopEvent()
