"""Agentic RAG: decide, retrieve, grade, rewrite, answer with citations, check the citations."""

import json
from dataclasses import replace

from workflows import step
from workflows.events import Event, StartEvent, StopEvent

from agents.events import (
    Citations,
    PatchOperation,
    RunEvent,
    StateDelta,
    StateSnapshot,
    TextEnded,
    ToolCallArgs,
    ToolCallEnded,
    ToolCallResult,
    ToolCallStarted,
)
from agents.evidence import Evidence
from agents.models.extractive import standalone_question
from agents.models.port import Message, ToolCall, ToolsRefused
from agents.strategies.agentic_rag_prompts import (
    ANSWER,
    DECIDE,
    GRADE,
    NO_SOURCES,
    STANDALONE,
    delimited,
    question_with_context,
)
from agents.strategies.base import Strategy, StrategyInput, new_id
from agents.strategies.citation_check import check_citations, without_marks
from agents.strategies.grading import Grade, grade_by_terms, read_grade
from agents.strategies.model_turn import Turn, stream_turn
from agents.tools import search_knowledge_base, toolbox
from agents.tools.base import ToolScope
from core.errors import ModelFailed

_MOST_CALLS = 4
_CUT_CALL = "Not run: the arguments were cut off by the model's output limit."
_EXTRA_CALL = "Not run: too many calls in one turn."


class Retrieve(Event):
    """Calls are decided."""


class Judge(Event):
    """Passages came back."""


class Rewrite(Event):
    """They do not suffice."""


class Answer(Event):
    """Enough is known, or no more is to be had."""


class CheckCitations(Event):
    """The answer stands."""


class AgenticRag(Strategy):
    """One run; a model that refuses tools is given the passages directly."""

    def __init__(self, inputs: StrategyInput) -> None:
        super().__init__(inputs)
        self._evidence = Evidence()
        self._tools = toolbox(ToolScope(inputs.retriever, self._evidence, inputs.limits.top_k))
        self._uses_tools = True
        self._calls: tuple[ToolCall, ...] = ()
        self._is_cut = False
        self._exchange: list[Message] = []
        self._queries: list[str] = []
        self._next_query = ""
        self._turn: Turn | None = None
        asked = [m.content for m in inputs.history if m.role == "user"]
        self._standalone = standalone_question(inputs.question, asked)

    def opening(self) -> RunEvent:
        """The caller's state with room for what this run finds."""
        return StateSnapshot({**self.inputs.state, "citations": [], "evidence": []})

    @step
    async def decide(self, event: StartEvent) -> Retrieve | Answer | CheckCitations | StopEvent:
        """Whether and what to retrieve."""
        return await self.attempt("decide", self._decide)

    @step
    async def retrieve(self, event: Retrieve) -> Judge | Answer | StopEvent:
        """Run the calls."""
        return await self.attempt("retrieve", self._retrieve)

    @step
    async def grade(self, event: Judge) -> Rewrite | Answer | StopEvent:
        """Judge what came back."""
        return await self.attempt("grade", self._grade)

    @step
    async def rewrite(self, event: Rewrite) -> Retrieve | StopEvent:
        """Search once more, in other words."""
        return await self.attempt("rewrite", self._rewrite)

    @step
    async def answer(self, event: Answer) -> CheckCitations | StopEvent:
        """Write the answer."""
        return await self.attempt("answer", self._answer)

    @step
    async def check_citations(self, event: CheckCitations) -> StopEvent:
        """Resolve each cited number and end the message with what it resolves to."""
        return await self.attempt("check_citations", self._check_citations)

    async def _decide(self) -> Retrieve | Answer | CheckCitations:
        if not self._tools.specs:
            return Answer()
        messages = self._conversation(DECIDE)
        try:
            turn = await self._stream(messages, offer_tools=True)
        except ToolsRefused:
            self._uses_tools = False
            self._calls = (self._announced(await self._standalone_query()),)
            return Retrieve()
        if turn.text and not turn.calls:
            self._turn = turn
            return CheckCitations()
        self._calls, self._is_cut = turn.calls, turn.is_cut
        return Retrieve()

    async def _retrieve(self) -> Judge | Answer:
        calls, self._calls = self._calls, ()
        for index, call in enumerate(calls):
            if self._is_cut and index == len(calls) - 1:
                self._give_result(call, _CUT_CALL)
            elif index >= _MOST_CALLS:
                self._give_result(call, _EXTRA_CALL)
            else:
                await self._run(call)
        self._is_cut = False
        if not self._queries and not self._exchange:
            # Every call was unusable: the question itself is the best query left.
            await self._run(self._announced(self._standalone))
        return Judge() if self._evidence.numbers() else Answer()

    async def _grade(self) -> Rewrite | Answer:
        grade = await self._judge()
        self._evidence.grade(grade.relevant)
        self.emit(StateDelta((PatchOperation("add", "/evidence", self._evidence.to_json()),)))
        is_new = grade.next_query and grade.next_query not in self._queries
        if is_new and len(self._queries) < self.inputs.limits.max_searches:
            self._next_query = grade.next_query
            return Rewrite()
        return Answer()

    async def _rewrite(self) -> Retrieve:
        self._calls = (self._announced(self._next_query),)
        return Retrieve()

    async def _answer(self) -> CheckCitations:
        system = ANSWER if self._tools.specs else NO_SOURCES
        messages = [*self._conversation(system), *self._findings()]
        self._turn = await self._stream(messages, offer_tools=False)
        if not self._turn.text:
            raise ModelFailed(reason="the model gave an empty answer")
        return CheckCitations()

    async def _check_citations(self) -> StopEvent:
        turn = self._turn
        if turn is None or not turn.text:
            return StopEvent()
        checked = check_citations(turn.text, self._evidence)
        self.citations = checked.citations
        self.emit(Citations(checked.citations, checked.invalid_numbers))
        self.emit(
            TextEnded(
                turn.message_id,
                checked.citations,
                checked.invalid_numbers,
                truncated=turn.is_cut,
            )
        )
        return StopEvent()

    async def _stream(self, messages: list[Message], *, offer_tools: bool) -> Turn:
        tools = self._tools.specs if offer_tools else ()
        return await stream_turn(
            self.inputs.model, messages, tools, emit=self.emit, spend=self.spend
        )

    async def _ask(self, messages: list[Message]) -> str:
        """A turn nobody sees."""
        turn = await stream_turn(
            self.inputs.model, messages, (), emit=lambda _: None, spend=self.spend
        )
        return turn.text

    def _conversation(self, system: str) -> list[Message]:
        inputs = self.inputs
        # The offline model reads every word of the question as something to find.
        context = () if inputs.model.is_extractive else inputs.context
        history = [
            replace(message, content=without_marks(message.content))
            for message in inputs.history[-inputs.limits.history_messages :]
        ]
        question = question_with_context(inputs.question, context)
        return [Message("system", system), *history, Message("user", question)]

    def _findings(self) -> list[Message]:
        """What the tools gave, for the answer: a tool's message, or the user's if refused."""
        if not self._queries:
            return self._exchange
        if not self._uses_tools:
            return [Message("user", delimited("passages", self._passages(relevant_only=True)))]
        limit = self.inputs.limits.evidence_characters // len(self._queries)
        messages = list(self._exchange)
        for query in self._queries:
            call = _search_call(query)
            numbers = self._evidence.numbers(relevant_only=True, query=query)
            messages += _exchanged(call, self._evidence.text(numbers, limit=limit))
        return messages

    async def _judge(self) -> Grade:
        if self.inputs.model.is_extractive:
            return grade_by_terms(self._queries[0], self._passages())
        question = f"{self._queries[0]}\n({self.inputs.question})"
        passages = delimited("passages", self._passages())
        verdict = await self._ask(
            [Message("system", GRADE), Message("user", f"{question}\n\n{passages}")]
        )
        return read_grade(verdict, self._evidence.numbers())

    def _passages(self, *, relevant_only: bool = False) -> str:
        numbers = self._evidence.numbers(relevant_only=relevant_only)
        return self._evidence.text(numbers, limit=self.inputs.limits.evidence_characters)

    async def _standalone_query(self) -> str:
        if not self.inputs.history:
            return self.inputs.question
        query = await self._ask(self._conversation(STANDALONE))
        return query.strip() or self._standalone

    def _announced(self, query: str) -> ToolCall:
        """A search of the strategy's own, shown like a model's."""
        call = _search_call(query)
        self.emit(ToolCallStarted(call.id, call.name, new_id()))
        self.emit(ToolCallArgs(call.id, call.arguments))
        self.emit(ToolCallEnded(call.id))
        return call

    async def _run(self, call: ToolCall) -> None:
        output = await self._tools.call(call.name, call.arguments)
        if output.ran and call.name == search_knowledge_base.NAME:
            query = search_knowledge_base.query_of(call.arguments)
            self._queries += [] if query in self._queries else [query]
        elif output.ran or self.inputs.model.is_extractive:
            self._exchange += _exchanged(call, output.content)
        self._give_result(call, output.content)
        if output.failure is not None and call.name == search_knowledge_base.NAME:
            raise output.failure

    def _give_result(self, call: ToolCall, content: str) -> None:
        self.emit(ToolCallResult(new_id(), call.id, content))


def _search_call(query: str) -> ToolCall:
    arguments = json.dumps({"query": query}, ensure_ascii=False)
    return ToolCall(f"call_{new_id().replace('-', '')}", search_knowledge_base.NAME, arguments)


def _exchanged(call: ToolCall, content: str) -> list[Message]:
    return [
        Message("assistant", tool_calls=(call,)),
        Message("tool", content, tool_call_id=call.id),
    ]
