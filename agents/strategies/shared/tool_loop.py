"""Base of strategies with tools: turns within a budget, calls, evidence, the checked answer."""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import asdict, replace

from pydantic import JsonValue
from workflows import step
from workflows.events import Event, StopEvent

from agents.events import (
    Citations,
    PatchOperation,
    StateDelta,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    ToolCallArgs,
    ToolCallEnded,
    ToolCallResult,
    ToolCallStarted,
)
from agents.evidence import Evidence
from agents.llm.base import ModelMessage, TokenUsage, ToolCall, ToolSpec, ToolsRefused
from agents.llm.extractive.model import is_command, standalone_question
from agents.run_context import RunContext
from agents.run_request import ContextItem
from agents.skills.run_skills import COMPLETE, LOAD, RunSkills
from agents.strategies.shared.base import NextT, Strategy
from agents.strategies.shared.budget import Budget
from agents.strategies.shared.citation_check import check_citations, unsupported_claims, without_marks
from agents.strategies.shared.model_turn import ModelCaller, Turn, Voice
from agents.strategies.shared.prompts import ATTACHED, BUDGET_ENDED, delimited, question_with_context
from agents.strategies.shared.tool_calls import (
    ToolCallRunner,
    ToolRound,
    call_signature,
    is_success,
    is_uncited_source,
    load_call,
    search_call,
)
from agents.tools import build_toolbox, search_knowledge_base
from agents.tools.base import ToolOutput, ToolScope
from core.errors.server import ModelFailed

MOST_CALLS = 4
CUT_CALL = "Not run: the arguments were cut off by the model's output limit."
EXTRA_CALL = "Not run: too many calls in one turn."
_REPEATED_CALL = (
    "Not run again: the same call with the same arguments was made before, and its result stands "
    "above. Use it, call something else, or answer."
)
_RESULT_SHARE = 2
# Quotation marks and line ends double in JSON: what was attached must not be cut by that.
_ATTACHED_SHARE = 3
_ATTACHED_CALL = "attached"
# For endpoints that do not count: low for Chinese, high for English.
_CHARACTERS_PER_TOKEN = 3


class ToolLoopStrategy(Strategy):
    """Base of the strategies that call tools; ``uses_tools`` is False once the endpoint refused tools."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.evidence = Evidence()
        # First, so that a replay numbers them in the same way.
        self._attached = self.evidence.add(context.attached.passages, query="")
        self.tools = build_toolbox(ToolScope(context, self.evidence, context.limits.top_k))
        self._budget = Budget(context.limits, context.journal)
        self.model_caller = ModelCaller(self, self._budget)
        self.model_caller.label = lambda name: self.tools.label(name)
        self.call_runner = ToolCallRunner(self, self._budget, self.evidence)
        self.uses_tools = True
        questions = [m.content for m in context.history if m.role == "user"]
        self.standalone = standalone_question(context.question, questions)
        # Success of each call so far, by signature.
        self._outcomes: dict[str, bool] = {}
        self._lookup = self.standalone
        # Tool output without numbers to cite.
        self._uncited: list[str] = []
        self._made_calls = 0
        self._shown_evidence = 0
        self._counted_tokens = 0

    async def run_step(self, name: str, work: Callable[[], Awaitable[NextT]]) -> NextT | StopEvent:
        """Run a step; the first one of the run loads the chosen skills."""

        async def prepared() -> NextT:
            await self._load_chosen()
            return await work()

        return await super().run_step(name, prepared)

    async def _load_chosen(self) -> None:
        skills = self.context.skills
        if skills is None or not skills.start_loading_chosen():
            return
        calls = [self.announce_call(load_call(skill.key, self.new_id())) for skill in skills.chosen]
        for output in await self.call(calls):
            if output.failure is not None:
                # Without the skill the run would not be bound by its restrictions.
                raise output.failure

    @property
    def budget(self) -> Budget:
        return self._budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._budget = self.model_caller.budget = self.call_runner.budget = budget

    @property
    def can_search(self) -> bool:
        return search_knowledge_base.NAME in self.tools

    def progress(self) -> dict[str, JsonValue]:
        """Counts of turns, finished calls and passages, and the budget's end."""
        ended_by = self.budget.ended_by
        return {
            "turns": self.context.journal.turns,
            "calls": self._made_calls,
            "passages": len(self.evidence.numbers()),
            **({"ended_by": ended_by} if ended_by else {}),
        }

    def opening_progress(self) -> dict[str, JsonValue]:
        """The tools that the model is not offered, each with the reason."""
        items: list[JsonValue] = [asdict(tool) for tool in self.tools.left_out]
        return {"tools_left_out": items} if items else {}

    def add_usage(self, usage: TokenUsage) -> None:
        super().add_usage(usage)
        self._counted_tokens += usage.prompt_tokens + usage.completion_tokens

    def conversation(self, system: str) -> list[ModelMessage]:
        question = question_with_context(self.context.question, self.caller_context)
        message = ModelMessage("user", f"{question}{self.attached_text}", images=self.context.vision.images)
        if self.attached_text:
            system = f"{system}\n{ATTACHED}"
        return [ModelMessage("system", system), *self.past(), message, *self.attached_result()]

    @property
    def has_attached(self) -> bool:
        """Whether the conversation brought documents along."""
        return bool(self._attached)

    @property
    def attached_text(self) -> str:
        """The attached documents as data behind the question; the offline model gets them as a result."""
        if not self._attached or self.context.model.is_extractive:
            return ""
        return f"\n\n{delimited('attached_files', self._attached_passages())}"

    def attached_result(self) -> list[ModelMessage]:
        """The attached documents for the offline model, as the result of a search that was made already."""
        is_quoted = self.context.model.is_extractive and not is_command(self.context.question)
        if not self._attached or not is_quoted:
            return []
        call = search_call("", _ATTACHED_CALL)
        result = ModelMessage("tool", self._attached_passages(), tool_call_id=call.id)
        return [ModelMessage("assistant", tool_calls=(call,)), result]

    def _attached_passages(self) -> str:
        return self.evidence.text(self._attached, limit=_ATTACHED_SHARE * self.context.limits.evidence_characters)

    @property
    def caller_context(self) -> tuple[ContextItem, ...]:
        """Context of the caller's page; none for the offline model, which would search every word."""
        context = self.context
        return () if context.model.is_extractive else (*context.caller_context, *context.vision.unseen_notice)

    def past(self) -> list[ModelMessage]:
        """Earlier messages, without marks that mean other passages now."""
        context = self.context
        return [
            replace(message, content=without_marks(message.content))
            for message in context.history[-context.limits.history_messages :]
        ]

    async def ask_model(
        self, messages: Sequence[ModelMessage], *, voice: Voice = "answer", tools: bool = True
    ) -> Turn | None:
        """One turn of the model, counted and in time; None if time was used up before any usable output.

        An endpoint that refuses tools is asked without them, after a search of the knowledge bases.
        """
        if tools and self.uses_tools:
            try:
                offered = self.tools.specs
                return await self.ask_model_in_time(self.equipped(messages), offered, voice=voice)
            except ToolsRefused:
                self.uses_tools = False
        messages = self.equipped(messages) if tools else messages
        if tools and self.can_search and not self._outcomes:
            return self.search_turn(self._lookup)
        return await self.ask_model_in_time(messages, (), voice=voice)

    def equipped(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages with the active skills, and the index of skills if they can be loaded."""
        return with_skills(self.context.skills, messages, self.tools if self.uses_tools else ())

    def start_subtask(self, lookup: str) -> None:
        """Begin a new subtask; ``lookup`` is the search for an endpoint without tool calling."""
        self._lookup = lookup
        self._outcomes.clear()
        self.budget.reset_repeats()

    def search_turn(self, query: str) -> Turn:
        return Turn(self.new_id(), "", "", (self.announce_search(query),), "tool_calls")

    async def ask_model_in_time(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec], *, voice: Voice = "answer"
    ) -> Turn | None:
        """As ``ask_model``, but raises ``ToolsRefused`` if the endpoint can't do tool calling."""
        sent = self._as_asked(messages)
        counted = self._counted_tokens
        seconds = self.budget.acting_seconds_left
        turn = await self.model_caller.call(sent, tools, voice=voice, seconds=seconds)
        if turn is not None and self.budget.ended_by != "time":
            self.budget.spend_turn(self._tokens_since(counted, sent, turn))
        return turn

    def _as_asked(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        limit = _RESULT_SHARE * self.context.limits.evidence_characters
        fitted = fit_messages(limit, messages)
        gone = {message.tool_call_id for message in fitted if message.content == LEFT_OUT}
        for call in (call for message in messages for call in message.tool_calls):
            if call.id in gone:
                # The model no longer sees the result, so the call may be repeated.
                self._outcomes.pop(call_signature(call), None)
        return fitted if self.uses_tools else results_as_user_messages(fitted)

    def _tokens_since(self, counted: int, sent: Sequence[ModelMessage], turn: Turn) -> int:
        tokens = self._counted_tokens - counted
        if tokens or self.context.model.is_extractive:
            return tokens
        characters = sum(len(message.content) for message in sent) + len(turn.text)
        return characters // _CHARACTERS_PER_TOKEN

    async def run_tool_calls(self, turn: Turn) -> ToolRound:
        """Run the calls of a turn; each gets a result, and repeats are not run."""
        refused, repeated = self._refused(turn)
        ready = [call for call in turn.calls if call.id not in refused]
        for call in ready:
            # A call that failed may be tried once more.
            repeated += call_signature(call) in self._outcomes
        outputs = await self.call(ready)
        for call, output in zip(ready, outputs, strict=True):
            signature = call_signature(call)
            self._outcomes[signature] = is_success(output) or signature in self._outcomes
        by_call = {call.id: output for call, output in zip(ready, outputs, strict=True)} | refused
        good = sum(is_success(output) for output in by_call.values())
        answers = [ModelMessage("tool", by_call[call.id].content, tool_call_id=call.id) for call in turn.calls]
        self.budget.observe_round(only_repeats=repeated == len(turn.calls))
        return ToolRound((turn.message, *answers), good, len(by_call) - good)

    def _refused(self, turn: Turn) -> tuple[dict[str, ToolOutput], int]:
        """The results of calls that are not run, and the number of repeats."""
        refused: dict[str, ToolOutput] = {}
        repeated = 0
        signatures: set[str] = set()
        for index, call in enumerate(turn.calls):
            signature = call_signature(call)
            if turn.is_cut and index == len(turn.calls) - 1:
                refused[call.id] = ToolOutput(CUT_CALL, ran=False)
            elif index >= MOST_CALLS:
                refused[call.id] = ToolOutput(EXTRA_CALL, ran=False)
            elif self._outcomes.get(signature) or signature in signatures:
                repeated += 1
                refused[call.id] = ToolOutput(_REPEATED_CALL)
            signatures.add(signature)
        for call_id, output in refused.items():
            self.refuse(call_id, output.content)
        return refused, repeated

    def refuse(self, call_id: str, why: str) -> None:
        self.emit(ToolCallResult(f"result_{call_id}", call_id, why))

    async def call(self, calls: Sequence[ToolCall]) -> list[ToolOutput]:
        outputs = await self.call_runner.run(calls, self.tools)
        self._made_calls += len(calls)
        self.show_skills()
        self.show_progress()
        pairs = zip(calls, outputs, strict=True)
        self._uncited += [output.content for call, output in pairs if is_uncited_source(call, output)]
        return outputs

    def show_skills(self, *, force: bool = False) -> None:
        """Update the shared state with the active skills and their steps."""
        skills = self.context.skills
        news = None if skills is None else skills.state_update(anew=force)
        if news:
            self.emit(StateDelta((PatchOperation("add", "/skills", news),)))

    def announce_search(self, query: str) -> ToolCall:
        """A search of the strategy's own, shown like a model's."""
        return self.announce_call(search_call(query, self.new_id()))

    def announce_call(self, call: ToolCall) -> ToolCall:
        """A call of the strategy's own, shown like a model's."""
        started = ToolCallStarted(call.id, call.name, self.new_id())
        for event in (started, ToolCallArgs(call.id, call.arguments), ToolCallEnded(call.id)):
            self.emit(event)
        return call

    def show_evidence(self) -> None:
        if len(self.evidence.numbers()) == self._shown_evidence:
            return
        self._shown_evidence = len(self.evidence.numbers())
        self.emit(StateDelta((PatchOperation("add", "/evidence", self.evidence.to_json()),)))

    def passages(self, *, relevant_only: bool = False) -> str:
        """The evidence as JSON text that fits into a prompt."""
        numbers = self.evidence.numbers(relevant_only=relevant_only)
        return self.evidence.text(numbers, limit=self.context.limits.evidence_characters)

    def emit_thought(self, thought: str) -> None:
        thought_id = self.new_id()
        self.emit(ThoughtStarted(thought_id))
        self.emit(ThoughtDelta(thought_id, thought))
        self.emit(ThoughtEnded(thought_id))

    def emit_answer(self, text: str) -> Turn:
        """Begin the answer with a finished text; it stays open."""
        message_id = self.new_id()
        self.emit(TextStarted(message_id))
        if text:
            self.emit(TextDelta(message_id, text))
        return Turn(message_id, text, "", (), "stop")

    async def answer_now(self, messages: Sequence[ModelMessage]) -> Turn:
        """The answer without tools, from the available evidence if a budget was used up."""
        sent = self._as_asked(with_skills(self.context.skills, messages, ()))
        if self.budget.ended_by is not None and not self.context.model.is_extractive:
            sent.append(ModelMessage("user", BUDGET_ENDED))
        seconds = self.budget.answer_seconds_left
        turn = await self.model_caller.call(sent, (), voice="answer", seconds=seconds)
        if turn is not None and turn.text:
            return turn
        if self.budget.ended_by is None:
            raise ModelFailed(reason="the model gave an empty answer")
        return self.emit_answer("")

    def finish_answer(self, turn: Turn | None) -> StopEvent:
        """Check the answer against its sources and end its message with the result."""
        if turn is None:
            return StopEvent()
        about = (self.context.vision, self.context.attached, self.budget)
        notes = "\n\n".join(filter(None, (source.note(is_chinese=self.is_chinese) for source in about)))
        if notes:
            self.emit(TextDelta(turn.message_id, f"\n\n{notes}" if turn.text else notes))
        checked = check_citations(turn.text, self.evidence)
        # The offline model only quotes; its own sentences are no claims about the documents.
        is_quoted = self.context.model.is_extractive
        uncited = "\n".join(self._uncited)
        unsupported = () if is_quoted else unsupported_claims(turn.text, self.evidence, uncited=uncited)
        self.citations = checked.citations
        self.emit(Citations(checked.citations, checked.invalid_numbers, unsupported))
        self.emit(
            TextEnded(
                turn.message_id,
                checked.citations,
                checked.invalid_numbers,
                truncated=turn.is_cut,
                ended_by=self.budget.ended_by or "",
                unsupported=unsupported,
            )
        )
        return StopEvent()


class Answer(Event):
    """Nothing but the answer is left to write: enough is known, or no more may be tried."""


class CheckCitations(Event):
    """The answer is complete."""


class CitedAnswerStrategy(ToolLoopStrategy):
    """A run that holds its answer as ``answer_turn`` until the citations are checked."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        self.answer_turn: Turn | None = None

    @property
    def answer_text(self) -> str:
        return "" if self.answer_turn is None else self.answer_turn.text

    @step
    async def check_citations(self, event: CheckCitations) -> StopEvent:
        """Resolve each cited number and end the message with its citations."""
        return await self.run_step("check_citations", self._check_citations)

    async def _check_citations(self) -> StopEvent:
        return self.finish_answer(self.answer_turn)


def with_skills(
    skills: RunSkills | None, messages: Sequence[ModelMessage], tools: Container[str]
) -> list[ModelMessage]:
    """The messages with the active skills, and with the index of skills if ``tools`` can load them."""
    if skills is None:
        return list(messages)
    extended = skills.with_active_skills(messages)
    if LOAD in tools and skills.index.text and extended and extended[0].role == "system":
        extended[0] = replace(extended[0], content=f"{extended[0].content}\n\n{skills.render_index()}")
    return extended


LEFT_OUT = "Left out: this result is too far back. Make another call if it is needed again."


def fit_messages(limit: int, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without the oldest results, if all are more than a model can read."""
    fitted: list[ModelMessage] = []
    skill_calls = {call.id for earlier in messages for call in earlier.tool_calls if call.name in (LOAD, COMPLETE)}
    for message in reversed(messages):
        # Skills and their steps are never left out.
        if _counts(message, skill_calls):
            is_newest = not any(_counts(later, skill_calls) for later in fitted)
            limit -= len(message.content)
            if limit < 0 and not is_newest:
                message = replace(message, content=LEFT_OUT)
        fitted.append(message)
    return fitted[::-1]


def _counts(message: ModelMessage, skill_calls: set[str]) -> bool:
    return message.role == "tool" and message.tool_call_id not in skill_calls


def results_as_user_messages(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Calls and results for an endpoint without tool calling: the results as the user's data."""
    plain: list[ModelMessage] = []
    for message in messages:
        if message.role == "tool":
            plain.append(ModelMessage("user", delimited("result", message.content)))
        elif not message.tool_calls:
            plain.append(message)
    return plain
