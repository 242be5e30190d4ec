"""ReAct: think, act, observe, until the model answers or a budget ends it."""

from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import RunEvent
from agents.llm.base import ModelMessage
from agents.run_context import RunContext
from agents.strategies.shared.prompts import CITE
from agents.strategies.shared.tool_loop import Answer, CheckCitations, CitedAnswerStrategy
from core.errors.server import ModelFailed


class Act(Event):
    """Calls are decided."""


class Observe(Event):
    """Their results arrived."""


class Think(Event):
    """The model should go on thinking."""


class React(CitedAnswerStrategy):
    """One run; each call's output decides about the next."""

    purpose = "A task that takes tools one after another, where each result decides what comes next."

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self._exchange: list[ModelMessage] = []

    def initial_event(self) -> RunEvent:
        return self.initial_state()

    @step
    async def think(self, event: StartEvent | Think) -> Act | Answer | CheckCitations | StopEvent:
        return await self.run_step("think", self._think)

    @step
    async def act(self, event: Act) -> Observe | StopEvent:
        return await self.run_step("act", self._act)

    @step
    async def observe(self, event: Observe) -> Think | Answer | StopEvent:
        return await self.run_step("observe", self._observe)

    @step
    async def answer(self, event: Answer) -> CheckCitations | StopEvent:
        return await self.run_step("answer", self._answer)

    async def _think(self) -> Act | Answer | CheckCitations:
        self.answer_turn = await self.ask_model([*self.conversation(REACT), *self._exchange])
        if self.answer_turn is None:
            return Answer()
        if self.answer_turn.calls:
            return Act()
        if not self.answer_turn.text:
            raise ModelFailed(reason="the model gave an empty answer")
        return CheckCitations()

    async def _act(self) -> Observe:
        if self.answer_turn is not None:
            self._exchange += (await self.run_tool_calls(self.answer_turn)).messages
        return Observe()

    async def _observe(self) -> Think | Answer:
        self.show_evidence()
        return Answer() if self.budget.is_over() else Think()

    async def _answer(self) -> CheckCitations:
        self.answer_turn = await self.answer_now([*self.conversation(REACT), *self._exchange])
        return CheckCitations()


REACT = f"""You answer the user by working with tools, step by step: think about what is missing, \
call the tool that gives it, look at the result, and go on until the answer is complete.
- For questions of fact, look things up with a tool; do not answer from memory when a tool can \
tell.
- Call several tools in one turn when they do not depend on each other. Never repeat a call with \
the same arguments.
- When a tool fails, try another way, or say what could not be done.
- When no tool is needed, as for greetings, answer at once.
{CITE}
Answer in the language of the user's last message, to the point, in Markdown."""
