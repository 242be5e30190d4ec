"""The worker agent type: a router picks another type for the request and runs it."""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel, JsonValue
from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import PatchOperation, RunEvent, StateDelta
from agents.run_context import RunContext
from agents.strategies.shared.base import Strategy
from agents.strategies.shared.heuristics import route_question
from agents.strategies.shared.structured_output import ask_structured
from agents.strategies.shared.tool_loop import ToolLoopStrategy


class RouteChoice(BaseModel):
    """What the model says of a request."""

    agent_type: str
    reason: str = ""


class RunRouted(Event):
    """The agent type is chosen."""


class RouterStrategy(ToolLoopStrategy):
    """One run; the chosen strategy shares its steps, events and budget."""

    def __init__(self, context: RunContext, choices: Mapping[str, type[Strategy]]) -> None:
        super().__init__(context)
        self._choices = choices
        self._route: dict[str, JsonValue] = {}
        self._chosen: Strategy | None = None

    def initial_event(self) -> RunEvent:
        return self.initial_state(route=None)

    def progress(self) -> dict[str, JsonValue]:
        if not self._route:
            return super().progress()
        progress = super().progress() if self._chosen is None else self._chosen.progress()
        return {**progress, "agent_type": self._route["agent_type"]}

    @property
    def answer_text(self) -> str:
        return "" if self._chosen is None else self._chosen.answer_text

    @step
    async def router(self, event: StartEvent) -> RunRouted | StopEvent:
        return await self.run_step("router", self._pick)

    @step
    async def worker(self, event: RunRouted) -> StopEvent:
        return await self.run_step("worker", self._work)

    async def _pick(self) -> RunRouted:
        choice = None if self.context.model.is_extractive else await self._ask()
        if choice is not None and choice.agent_type in self._choices:
            by, name, reason = "model", choice.agent_type, choice.reason
        else:
            name = route_question(self.context.question, can_search=self.can_search)
            by, reason = "rules", ""
        self._route = {"agent_type": name, "by": by, "reason": reason}
        self.emit(StateDelta((PatchOperation("replace", "/route", self._route),)))
        return RunRouted()

    async def _ask(self) -> RouteChoice | None:
        described = "\n".join(f'- "{name}": {choice.purpose}' for name, choice in self._choices.items())
        is_there = "are" if self.can_search else "are not"
        system = ROUTE.format(choices=described, searchable=is_there)
        chosen = await ask_structured(self, self.conversation(system), RouteChoice)
        return None if chosen is None else chosen.value

    async def _work(self) -> StopEvent:
        name = str(self._route["agent_type"])
        state = {**self.context.state, "route": self._route}
        chosen = self._choices[name](replace(self.context, state=state))
        if isinstance(chosen, ToolLoopStrategy):
            chosen.budget = self.budget
        self._chosen = chosen
        self.emit(chosen.initial_event())
        self.show_skills(force=True)
        await chosen.run_inside(self)
        return StopEvent()


ROUTE = """You route a request to the agent that answers it best; you do not answer it. The \
agents:
{choices}
The user's documents {searchable} searchable in this run. Answer with one JSON object and nothing \
else:
{{"agent_type": "one of the names above", "reason": "why, in one short sentence"}}"""
