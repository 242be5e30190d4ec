"""ReAct: think, act, observe, until the model answers or a budget ends it."""

from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import RunEvent, StateSnapshot
from agents.models.port import Message
from agents.strategies.base import StrategyInput
from agents.strategies.model_turn import Turn
from agents.strategies.react_prompts import REACT
from agents.strategies.tool_strategy import ToolStrategy
from core.errors import ModelFailed


class Act(Event):
    """Calls are decided."""


class Observe(Event):
    """Their results are there."""


class Think(Event):
    """More is to be thought about."""


class Answer(Event):
    """A budget is used up: no more but the answer."""


class CheckCitations(Event):
    """The answer stands."""


class React(ToolStrategy):
    """One run: what each call gave decides about the next one."""

    purpose = (
        "A task that takes tools one after another, where each result decides what comes next."
    )

    def __init__(self, inputs: StrategyInput) -> None:
        super().__init__(inputs)
        self._exchange: list[Message] = []
        self._turn: Turn | None = None

    def opening(self) -> RunEvent:
        """The caller's state with room for what this run finds."""
        return StateSnapshot({**self.inputs.state, "citations": [], "evidence": []})

    @step
    async def think(self, event: StartEvent | Think) -> Act | Answer | CheckCitations | StopEvent:
        """What to do next, or the answer."""
        return await self.attempt("think", self._think)

    @step
    async def act(self, event: Act) -> Observe | StopEvent:
        """Run the calls."""
        return await self.attempt("act", self._act)

    @step
    async def observe(self, event: Observe) -> Think | Answer | StopEvent:
        """Take in what came back, and whether the run may go on."""
        return await self.attempt("observe", self._observe)

    @step
    async def answer(self, event: Answer) -> CheckCitations | StopEvent:
        """Answer from what is there."""
        return await self.attempt("answer", self._answer)

    @step
    async def check_citations(self, event: CheckCitations) -> StopEvent:
        """Resolve each cited number and end the message with what it resolves to."""
        return await self.attempt("check_citations", self._check_citations)

    async def _think(self) -> Act | Answer | CheckCitations:
        self._turn = await self.think_turn([*self.conversation(REACT), *self._exchange])
        if self._turn is None:
            return Answer()
        if self._turn.calls:
            return Act()
        if not self._turn.text:
            raise ModelFailed(reason="the model gave an empty answer")
        return CheckCitations()

    async def _act(self) -> Observe:
        if self._turn is not None:
            self._exchange += (await self.act_on(self._turn)).messages
        return Observe()

    async def _observe(self) -> Think | Answer:
        self.show_evidence()
        return Answer() if self.budget.is_over() else Think()

    async def _answer(self) -> CheckCitations:
        self._turn = await self.answer_now([*self.conversation(REACT), *self._exchange])
        return CheckCitations()

    async def _check_citations(self) -> StopEvent:
        return self.conclude(self._turn)
