"""Reflexion: attempt, evaluate, reflect on what fell short, attempt again, keep the best."""

import json

from pydantic import JsonValue
from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import PatchOperation, RunEvent, StateDelta
from agents.evidence import NumberedText, read_passages
from agents.llm.base import Message
from agents.llm.extractive.model import answer_from, is_command, quote_passages, reflection_on
from agents.llm.extractive.terms import surface_text
from agents.strategies.base import StrategyInput
from agents.strategies.checked_answer import CheckCitations, CheckedAnswer
from agents.strategies.prompts import delimited
from agents.strategies.reflexion_prompts import ATTEMPT, EVALUATE, REFLECT
from agents.strategies.structured_output import ask_for
from agents.strategies.subtask import Worked, work_on
from agents.strategies.trials import Trial, Verdict, best_of, judge, judge_quotes
from agents.tools import search_knowledge_base


class Attempt(Event):
    """There is something to do differently."""


class Evaluate(Event):
    """An attempt was made."""


class Reflect(Event):
    """It fell short."""


class Answer(Event):
    """It is good enough, or no more may be tried."""


class Reflexion(CheckedAnswer):
    """One run; attempts are shown as thoughts, and the best one becomes the answer."""

    purpose = (
        "A question where being right matters most, so that the answer is checked and tried again."
    )

    def __init__(self, inputs: StrategyInput) -> None:
        super().__init__(inputs)
        self._trials: list[Trial] = []
        self._begun = 0
        self._reflections: list[str] = []
        self._draft = ""
        # Searches of the offline model: those made, and the one its reflection came to.
        self._queries: list[str] = []
        self._next_query = ""
        self._is_looked_up = True

    def opening(self) -> RunEvent:
        """The caller's state with what earlier runs reflected, and room for what this one does."""
        earlier = list[JsonValue](self.inputs.reflections)
        return self.opened(attempts=[], reflections=[], earlier_reflections=earlier)

    def progress(self) -> dict[str, JsonValue]:
        """Which attempt it is, of how many, and what was found of the last one."""
        last = self._trials[-1] if self._trials else None
        verdict: JsonValue = None
        if last is not None:
            verdict = {"score": round(last.score, 2), "passed": last.passed}
        most = self.inputs.limits.max_attempts
        return {
            **super().progress(),
            "attempt": self._begun,
            "most_attempts": most,
            "verdict": verdict,
        }

    @step
    async def make_attempt(self, event: StartEvent | Attempt) -> Evaluate | StopEvent:
        """Work out an answer."""
        return await self.attempt("attempt", self._attempt)

    @step
    async def evaluate(self, event: Evaluate) -> Reflect | Answer | StopEvent:
        """Hold it against the question and the evidence."""
        return await self.attempt("evaluate", self._evaluate)

    @step
    async def reflect(self, event: Reflect) -> Attempt | StopEvent:
        """Say what to do differently."""
        return await self.attempt("reflect", self._reflect)

    @step
    async def answer(self, event: Answer) -> CheckCitations | StopEvent:
        """Give the best attempt."""
        return await self.attempt("answer", self._answer)

    async def _attempt(self) -> Evaluate:
        self._begun += 1
        self.show_progress()
        if self.inputs.model.is_extractive:
            self._draft = await self._quote()
        else:
            asked = [*self.conversation(ATTEMPT), *self._lessons()]
            worked = await work_on(self, asked, voice="thought", lookup=self.standalone)
            self._draft = worked.text
        return Evaluate()

    def _lessons(self) -> list[Message]:
        """What the next attempt is to learn from: the reflections, the best draft, the passages."""
        best = best_of(self._trials)
        lessons: dict[str, JsonValue] = {}
        if self.inputs.reflections:
            lessons["earlier_reflections"] = list[JsonValue](self.inputs.reflections)
        if self._reflections:
            lessons["reflections"] = list[JsonValue](self._reflections)
        if best is not None:
            lessons["best_attempt"] = self._trials[best].draft
        if not lessons:
            return []
        told = delimited("lessons", json.dumps(lessons, ensure_ascii=False))
        if not self._trials:
            return [Message("user", told)]
        return [Message("user", f"{told}\n\n{delimited('passages', self.passages())}")]

    async def _quote(self) -> str:
        """An attempt of the offline model: its own searches first, then those it reflected on."""
        if not self._next_query:
            asked = [*self.past(), Message("user", self.inputs.question)]
            worked = await work_on(self, asked, voice="silent", lookup=self.standalone)
            # A tool that was called by its name was asked for that call, not for an answer.
            self._is_looked_up = bool(worked.passages) and not is_command(self.inputs.question)
            self._queries += _queries_of(worked) if self._is_looked_up else []
            return worked.text
        self.begin_task(self._next_query)
        self._queries.append(self._next_query)
        await self.act_on(self.searching_turn(self._next_query))
        self.show_evidence()
        return answer_from(self.standalone, self._found(), self._queries)

    def _found(self) -> list[NumberedText]:
        return read_passages(self.passages()) or []

    async def _evaluate(self) -> Reflect | Answer:
        trial = await self._judged()
        self._trials.append(trial)
        attempts: list[JsonValue] = [
            one.to_json(number) for number, one in enumerate(self._trials, start=1)
        ]
        self.emit(StateDelta((PatchOperation("replace", "/attempts", attempts),)))
        is_last = len(self._trials) >= self.inputs.limits.max_attempts
        if trial.passed or is_last or self.budget.is_over():
            return Answer()
        if self.inputs.model.is_extractive:
            self._next_query = self._untried_query()
            return Reflect() if self._next_query else Answer()
        return Reflect()

    async def _judged(self) -> Trial:
        draft = self._draft
        if self.inputs.model.is_extractive:
            if not self._is_looked_up:
                # A greeting, a tool called by its name, no knowledge base: nothing to measure.
                return Trial(draft, 1.0, passed=True)
            quotation = quote_passages(self.standalone, self._found())
            return judge_quotes(draft, quotation, surface_text(quotation.missing))
        if not draft:
            return Trial("", 0.0, passed=False, problems=("The attempt came to no answer.",))
        data = json.dumps({"question": self.inputs.question, "answer": draft}, ensure_ascii=False)
        told = f"{delimited('attempt', data)}\n\n{delimited('passages', self.passages())}"
        asked = [Message("system", EVALUATE), *self.past(), Message("user", told)]
        verdict = await ask_for(self, asked, Verdict)
        return judge(draft, self.evidence, None if verdict is None else verdict.value)

    def _untried_query(self) -> str:
        """The words that are not covered, together, then each of them alone."""
        if not self.can_search:
            return ""
        missing = surface_text(quote_passages(self.standalone, self._found()).missing)
        tried = {query.casefold() for query in self._queries}
        # Long words say more than short ones.
        alone = sorted(missing.split(), key=len, reverse=True)
        return next((q for q in (missing, *alone) if q and q.casefold() not in tried), "")

    async def _reflect(self) -> Attempt:
        trial = self._trials[-1]
        if self.inputs.model.is_extractive:
            reflection = reflection_on(self.inputs.question, self._next_query)
            self.muse(reflection)
        else:
            about: dict[str, JsonValue] = {
                "question": self.inputs.question,
                "attempt": trial.draft,
                "problems": list(trial.problems),
            }
            told = delimited("attempt", json.dumps(about, ensure_ascii=False))
            asked = [Message("system", REFLECT), Message("user", told)]
            turn = await self.think_turn(asked, voice="thought", tools=False)
            reflection = (turn.text if turn else "").strip() or " ".join(trial.problems)
        self._reflections.append(reflection)
        reflections = list[JsonValue](self._reflections)
        self.emit(StateDelta((PatchOperation("replace", "/reflections", reflections),)))
        return Attempt()

    async def _answer(self) -> CheckCitations:
        best = best_of(self._trials)
        if best is None:
            # No attempt came to anything: what was found is all there is.
            passages = delimited("passages", self.passages())
            self.answer_turn = await self.answer_now(
                [*self.conversation(ATTEMPT), Message("user", passages)]
            )
            return CheckCitations()
        self.emit(StateDelta((PatchOperation("add", "/best_attempt", best + 1),)))
        self.answer_turn = self.say(self._trials[best].draft)
        return CheckCitations()


def _queries_of(worked: Worked) -> list[str]:
    calls = [call for message in worked.messages for call in message.tool_calls]
    return [
        search_knowledge_base.query_of(call.arguments)
        for call in calls
        if call.name == search_knowledge_base.NAME
    ]
