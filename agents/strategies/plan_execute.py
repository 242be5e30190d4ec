"""Plan-and-execute: plan, execute each step, replan where needed, synthesise the results."""

import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import PatchOperation, RunEvent, StateDelta
from agents.llm.base import ModelMessage
from agents.llm.extractive.model import AnswerPart, answer_parts, is_command, quote_passages
from agents.llm.extractive.terms import content_terms, surface_text
from agents.run_context import RunContext
from agents.strategies.shared.heuristics import split_question
from agents.strategies.shared.prompts import ATTACHED, CITE, delimited
from agents.strategies.shared.structured_output import InvalidStructuredOutput, ask_structured, read_object
from agents.strategies.shared.subtask import SubtaskResult, run_subtask
from agents.strategies.shared.tool_loop import CheckCitations, CitedAnswerStrategy

StepStatus = Literal["pending", "running", "done", "failed", "skipped"]
PlanSource = Literal["", "model", "repaired", "rules"]
_LONGEST_TASK = 1000


def _step(value: object) -> object:
    """Accept a step given as its sentence alone, as models write it."""
    return {"task": value} if isinstance(value, str) else value


class DraftedStep(BaseModel):
    """A step as the model writes it."""

    model_config = ConfigDict(str_strip_whitespace=True)

    task: str = Field(min_length=1, max_length=_LONGEST_TASK)


class DraftedPlan(BaseModel):
    """A plan as the model writes it."""

    steps: list[Annotated[DraftedStep, BeforeValidator(_step)]] = Field(min_length=1)


class DraftedRest(BaseModel):
    """The steps that remain after a change of plan; none when enough is known."""

    steps: list[Annotated[DraftedStep, BeforeValidator(_step)]]


class StepOutcome(BaseModel):
    """What the model says at the end of a step."""

    model_config = ConfigDict(str_strip_whitespace=True)

    outcome: Literal["done", "failed", "replan"]
    result: str = Field(min_length=1)


@dataclass(slots=True)
class PlanStep:
    """One step of a plan; ``query`` is searched first, after the task alone found nothing."""

    task: str
    status: StepStatus = "pending"
    result: str = ""
    query: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        return {"task": self.task, "status": self.status, "result": self.result}


@dataclass(slots=True)
class Plan:
    """The plan and its progress.

    ``source`` is ``rules`` if the model gave no readable plan; ``revision`` counts changes from 1.
    """

    source: PlanSource = ""
    revision: int = 0
    steps: list[PlanStep] = field(default_factory=list[PlanStep])

    @property
    def next_index(self) -> int | None:
        waiting = (place for place, planned in enumerate(self.steps) if planned.status == "pending")
        return next(waiting, None)

    def replace_rest(self, steps: list[PlanStep]) -> None:
        self.steps = [planned for planned in self.steps if planned.status != "pending"] + steps
        self.revision += 1

    def to_json(self) -> dict[str, JsonValue]:
        steps: list[JsonValue] = [planned.to_json() for planned in self.steps]
        return {"source": self.source, "revision": self.revision, "steps": steps}


class Execute(Event):
    """A step waits."""


class Replan(Event):
    """A step failed, or taught something."""


class Synthesise(Event):
    """Nothing is left to do."""


class PlanExecute(CitedAnswerStrategy):
    """One run; its plan is shared state, with a status for each step."""

    purpose = "A request of several parts, such as a comparison or an overview, that is best worked off step by step."

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self._plan = Plan()
        self._parts: dict[str, AnswerPart] = {}
        # The offline model's text at the end of the last step.
        self._only_answer = ""

    def initial_event(self) -> RunEvent:
        return self.initial_state(plan=self._plan.to_json())

    def progress(self) -> dict[str, JsonValue]:
        statuses = [planned.status for planned in self._plan.steps]
        steps: dict[str, JsonValue] = {
            "done": statuses.count("done"),
            "failed": statuses.count("failed"),
            "total": len(statuses),
        }
        return {**super().progress(), "steps": steps}

    @step
    async def plan(self, event: StartEvent) -> Execute | Synthesise | StopEvent:
        return await self.run_step("plan", self._make_plan)

    @step
    async def execute(self, event: Execute) -> Execute | Replan | Synthesise | StopEvent:
        return await self.run_step("execute", self._execute)

    @step
    async def replan(self, event: Replan) -> Execute | Synthesise | StopEvent:
        return await self.run_step("replan", self._replan)

    @step
    async def synthesise(self, event: Synthesise) -> CheckCitations | StopEvent:
        return await self.run_step("synthesise", self._synthesise)

    async def _make_plan(self) -> Execute | Synthesise:
        plan = self._plan
        tasks = split_question(self.context.question)
        plan.source = "rules"
        if not self.context.model.is_extractive:
            limits = self.context.limits
            names = ", ".join(spec.name for spec in self.tools.specs)
            system = PLAN.format(most=limits.max_plan_steps, tools=names)
            drafted = await ask_structured(self, self.equipped(self.conversation(system)), DraftedPlan)
            if drafted is not None:
                tasks = [planned.task for planned in drafted.value.steps]
                plan.source = "repaired" if drafted.is_repaired else "model"
            elif len(tasks) == 1:
                # The rules found no parts; a follow-up must at least stand alone.
                tasks = [self.standalone]
        self._put_in_force(tasks)
        return self._next()

    def _put_in_force(self, tasks: list[str]) -> None:
        steps = [PlanStep(task) for task in tasks[: self.context.limits.max_plan_steps]]
        self._plan.replace_rest(steps)
        self._show_plan()

    def _show_plan(self) -> None:
        self.emit(StateDelta((PatchOperation("replace", "/plan", self._plan.to_json()),)))

    def _next(self) -> Execute | Synthesise:
        is_over = self.budget.is_over()
        return Synthesise() if is_over or self._plan.next_index is None else Execute()

    async def _execute(self) -> Execute | Replan | Synthesise:
        index = self._plan.next_index
        if index is None:
            return Synthesise()
        current = self._plan.steps[index]
        current.status = "running"
        self._show_step(index)
        if self.context.model.is_extractive:
            outcome = await self._quote_for(current)
        else:
            outcome = await self._carry_out(current)
        current.status = "failed" if outcome.outcome == "failed" else "done"
        current.result = outcome.result
        self._show_step(index)
        return Replan() if self._should_change(outcome) else self._next()

    def _should_change(self, outcome: StepOutcome) -> bool:
        is_allowed = self._plan.revision <= self.context.limits.max_replans
        if outcome.outcome == "done" or not is_allowed or self.budget.is_over():
            return False
        return not self.context.model.is_extractive or bool(self._retried())

    def _show_step(self, index: int) -> None:
        value = self._plan.steps[index].to_json()
        self.emit(StateDelta((PatchOperation("replace", f"/plan/steps/{index}", value),)))

    async def _carry_out(self, current: PlanStep) -> StepOutcome:
        plan_text = delimited("plan", json.dumps(self._plan_json(), ensure_ascii=False))
        images = self.context.vision.images
        task = ModelMessage("user", f"{current.task}\n\n{plan_text}{self.attached_text}", images=images)
        system = f"{EXECUTE}\n{ATTACHED}" if self.has_attached else EXECUTE
        messages = [ModelMessage("system", system), task]
        worked = await run_subtask(self, messages, voice="silent", lookup=current.task)
        outcome = _outcome(worked)
        self.emit_thought(outcome.result)
        return outcome

    def _plan_json(self) -> dict[str, object]:
        return {"question": self.context.question, **self._plan.to_json()}

    async def _quote_for(self, current: PlanStep) -> StepOutcome:
        """Execute a step with the offline model: done if something can be quoted."""
        if current.query:
            self.start_subtask(current.query)
            acted = await self.run_tool_calls(self.search_turn(current.query))
            self.show_evidence()
            messages = (*self.attached_result(), *acted.messages)
            worked = SubtaskResult("", messages, acted.ran, acted.failed)
        else:
            past = self.past() if len(self._plan.steps) == 1 else []
            attached = self.attached_result()
            task = [*past, ModelMessage("user", current.task), *attached]
            worked = await run_subtask(self, task, voice="silent", lookup=current.task)
            worked = replace(worked, messages=(*attached, *worked.messages))
            self._only_answer = worked.text
        is_direct = not worked.passages or is_command(current.task)
        if is_direct and worked.failed == 0:
            # Nothing had to be looked up, or a tool was called by its name.
            return StepOutcome(outcome="done", result=worked.text or "-")
        quotes = quote_passages(current.task, worked.passages).quotes
        part = AnswerPart(current.task, worked.passages)
        self._parts = {**self._parts, part.task: part}
        if current.query and quotes:
            self._only_answer = ""
        result = "\n".join(f"{quote.text} [{quote.number}]" for quote in quotes)
        return StepOutcome(outcome="done" if quotes else "failed", result=result or "-")

    async def _replan(self) -> Execute | Synthesise:
        if self.context.model.is_extractive:
            self._plan.replace_rest([*self._retried(), *self._waiting()])
            self._show_plan()
            return self._next()
        most = self.context.limits.max_plan_steps
        plan_text = delimited("plan", json.dumps(self._plan_json(), ensure_ascii=False))
        system = REPLAN.format(most=most)
        messages = [ModelMessage("system", system), ModelMessage("user", f"{self.context.question}\n\n{plan_text}")]
        drafted = await ask_structured(self, messages, DraftedRest)
        # An unreadable change is ignored.
        if drafted is not None:
            self._put_in_force([planned.task for planned in drafted.value.steps])
        return self._next()

    def _waiting(self) -> list[PlanStep]:
        return [planned for planned in self._plan.steps if planned.status == "pending"]

    def _retried(self) -> list[PlanStep]:
        """The step that just failed, again, with the words of the whole question."""
        failed = [planned for planned in self._plan.steps if planned.status == "failed"][-1:]
        query = surface_text(content_terms(self.standalone))
        return [
            PlanStep(planned.task, query=query)
            for planned in failed
            if self.can_search and not is_command(planned.task) and not planned.query and query != planned.task
        ]

    async def _synthesise(self) -> CheckCitations:
        for index, planned in enumerate(self._plan.steps):
            if planned.status == "pending":
                planned.status = "skipped"
                self._show_step(index)
        if self.context.model.is_extractive:
            is_whole = len(self._parts) <= 1 and self._only_answer
            parts = [*self._parts.values()]
            text = self._only_answer if is_whole else answer_parts(self.context.question, parts)
            self.answer_turn = self.emit_answer(text)
            return CheckCitations()
        plan_text = delimited("steps", json.dumps(self._plan_json()["steps"], ensure_ascii=False))
        passages = delimited("passages", self.passages())
        findings = ModelMessage("user", f"{plan_text}\n\n{passages}")
        self.answer_turn = await self.answer_now([*self.conversation(SYNTHESISE), findings])
        return CheckCitations()


def _outcome(worked: SubtaskResult) -> StepOutcome:
    """A step's outcome; output that ignores the format counts as the result."""
    if not worked.text:
        return StepOutcome(outcome="failed", result="The step came to no result.")
    try:
        outcome = read_object(worked.text, StepOutcome)
    except InvalidStructuredOutput:
        outcome = StepOutcome(outcome="done", result=worked.text)
    if worked.found_nothing and outcome.outcome == "done":
        return StepOutcome(outcome="failed", result=outcome.result)
    return outcome


PLAN = """You plan how to answer the user's last message with tools; you do not answer it yet. \
Answer with one JSON object and nothing else:
{{"steps": [{{"task": "what to find out or do, in one sentence"}}]}}
- From 1 to {most} steps, in the order in which they are done; one step when one is enough.
- Each task must make sense by itself: name things, no "it" or "that". Tasks that need an earlier \
result say which.
- No step for writing the answer: that is done afterwards.
- Tasks are in the language of the user's last message.
Tools that the steps can use: {tools}."""

EXECUTE = f"""You carry out one step of a plan with tools. The plan and the results so far are \
given as JSON data. Do this step only. When it is done, or can't be done, answer with one JSON \
object and nothing else:
{{"outcome": "done", "failed" or "replan", "result": "what was found out or done, in full"}}
"failed" when the step could not be done; "replan" when what was found makes the rest of the plan \
wrong or superfluous.
{CITE}
Write the result in the language of the question."""

REPLAN = """You change a plan while it is carried out. The question, the plan and the results so \
far are given. Answer with one JSON object and nothing else:
{{"steps": [{{"task": "what to find out or do, in one sentence"}}]}}
These are the steps that remain to be done, at most {most}; steps that are done are not repeated, \
a step that failed is tried in another way or left out. An empty list when enough is known, or \
nothing more can be done."""

SYNTHESISE = f"""You answer the user's last message from the results of a plan that was carried \
out. The steps with their results, and the passages that were found, are given as JSON data.
- Put the results together into one answer; do not tell the plan.
- Say plainly which part of the question could not be answered, and why.
{CITE}
Answer in the language of the user's last message, to the point, in Markdown."""
