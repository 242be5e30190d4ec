"""Offline chat model without weights: retrieves and quotes, or says that it found nothing."""

import json
import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from agents.evidence import LONGEST_QUERY, NumberedText, read_passages
from agents.llm.base import (
    FinishReason,
    ModelEnd,
    ModelEvent,
    ModelMessage,
    ModelText,
    ModelToolCall,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agents.llm.extractive.quotes import Quotation, Quote, QuoteSource, select_quotes
from agents.llm.extractive.terms import content_terms, surface_text
from agents.llm.text_tools import is_json_object
from core.json_access import as_object, as_text, parse
from kb_service.text.tokenizer import is_cjk_dominant

ENOUGH_COVERAGE = 0.6
# Skills are procedures, which this model can't follow: no searches, no quotes.
_OF_SKILLS = frozenset({"load_skill", "read_skill_file", "find_skills", "complete_step"})
_MOST_SEARCHES = 2
_SLASH_COMMAND = re.compile(r"^/tool(?=\s|$)\s*(?P<name>[\w.-]*)\s*(?P<arguments>.*)$", re.DOTALL)
# Reference marks of the source would read as our citations.
_REFERENCE_MARK = re.compile(r"\s?[\[【]\d{1,3}[\]】]")


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one language; names in braces are filled in."""

    quoted: str
    partial: str
    abstained: str
    nothing_found: str
    tries: str
    no_knowledge_base: str
    greeting: str
    search_failed: str
    unknown_tool: str
    tool_result: str
    skills: str
    bad_arguments: str
    part_not_found: str
    part_quoted_above: str
    reflection: str
    separator: str
    open_quote: str
    close_quote: str


ENGLISH = Wording(
    quoted="No language model is configured, so this answer is quoted from your documents.",
    partial="The documents found say nothing about: {missing}.",
    abstained="No language model is configured: I can only quote, and found nothing to quote.",
    nothing_found="I searched for {queries} and read {count} passages, but no sentence in them answers the question.",
    tries="""What you can try:
- use the words that the documents themselves use: only the same words are recognised;
- ask for one thing at a time;
- check that the right knowledge bases are selected and their documents are processed;
- configure a language model (`AGENTEX_LLM_BASE_URL`, `AGENTEX_LLM_MODEL`) for answers in its own
  words.""",
    no_knowledge_base="No language model is configured: I can only quote, and no knowledge base "
    "is selected to quote from. Select one and ask again.",
    greeting="Hello! No language model is configured, so I can't converse: I search the selected "
    "knowledge bases and quote the sentences that answer a question, with their sources. "
    "Ask about something your documents describe.",
    search_failed="No language model is configured: I can only quote, and the search failed: {reason}",
    unknown_tool="No language model is configured. There is no tool `{name}`. Tools: {names}.",
    tool_result="No language model is configured. The tool's result as it came:",
    skills="No language model is configured, so nobody can carry out these steps for you. The skill as it is written:",
    bad_arguments="No language model is configured. What follows the tool's name is no JSON object, "
    'so `{name}` was not called. Write it like this: `/tool {name} {{"name": "value"}}`.',
    part_not_found="No sentence in the documents found answers this.",
    part_quoted_above="See the quotes above.",
    reflection="The quotes so far say nothing about: {missing}. Next I search for exactly that.",
    separator=", ",
    open_quote="“",
    close_quote="”",
)
CHINESE = Wording(
    quoted="当前未配置语言模型，以下回答直接引用自您的文档。",
    partial="找到的文档中没有提到：{missing}。",
    abstained="当前未配置语言模型，只能引用原文，而这次没有找到可以引用的内容。",
    nothing_found="我搜索了{queries}，读了 {count} 个段落，其中没有能回答这个问题的句子。",
    tries="""您可以尝试：
- 使用文档中的原词提问：只能识别相同的词语；
- 一次只问一件事；
- 确认已选择正确的知识库，并且其中的文档已处理完成；
- 配置语言模型（`AGENTEX_LLM_BASE_URL`、`AGENTEX_LLM_MODEL`），以获得归纳后的回答。""",
    no_knowledge_base="当前未配置语言模型，只能引用原文，但还没有选择知识库。请选择知识库后再提问。",
    greeting="您好！当前未配置语言模型，我无法对话，只能在所选知识库中搜索，并引用能回答问题的原句及其出处。"
    "请就文档中的内容提问。",
    search_failed="当前未配置语言模型，只能引用原文，而搜索失败：{reason}",
    unknown_tool="当前未配置语言模型。没有名为 `{name}` 的工具。可用的工具：{names}。",
    tool_result="当前未配置语言模型。工具返回的原始结果：",
    skills="当前未配置语言模型，无法代您执行这些步骤。技能原文如下：",
    bad_arguments="当前未配置语言模型。工具名后面不是 JSON 对象，因此没有调用 `{name}`。"
    '请这样写：`/tool {name} {{"参数": "值"}}`。',
    part_not_found="找到的文档中没有能回答这一点的句子。",
    part_quoted_above="见上面的引用。",
    reflection="目前的引用没有提到：{missing}。接下来专门搜索这些内容。",
    separator="、",
    open_quote="“",
    close_quote="”",
)


def wording_for(question: str) -> Wording:
    """The language of the question: Chinese when enough of it is Chinese, else English."""
    return CHINESE if is_cjk_dominant(question) else ENGLISH


@dataclass(frozen=True, slots=True)
class _ToolResult:
    """Result of one call of this turn; ``passages`` is None if it was no search."""

    call: ToolCall
    content: str
    passages: list[NumberedText] | None

    @property
    def query(self) -> str:
        return _argument(self.call.arguments, "query")


@dataclass(frozen=True, slots=True)
class _Turn:
    question: str
    standalone: str
    command: re.Match[str] | None
    results: tuple[_ToolResult, ...]
    skills: tuple[str, ...] = ()

    @property
    def searches(self) -> list[_ToolResult]:
        return [result for result in self.results if result.passages is not None]


class ExtractiveModel:
    """A ``ChatModel`` that can only retrieve and quote."""

    name = "extractive"
    provider = "agentex"
    is_extractive = True
    sees_images = False
    # No limit.
    context_window = 1_000_000

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """One turn: a search, a second search for what the first did not cover, or the answer.

        Any offered tool with a string parameter ``query`` is a search tool. A question ``/tool name {json}`` becomes
        that call.
        """
        turn = _read(messages)
        call = _next_call(turn, tools)
        finish_reason: FinishReason = "stop"
        if call is not None:
            yield ModelToolCall(call.id, call.name, call.arguments, opens=True)
            finish_reason = "tool_calls"
        else:
            for paragraph in _answer(turn, tools):
                yield ModelText(paragraph)
        yield TokenUsage(0, 0)
        yield ModelEnd(finish_reason)


def standalone_question(question: str, earlier: Sequence[str]) -> str:
    """The question, preceded by an earlier question if it has no content terms of its own.

    Longer questions are cut to a query's length in the middle, where people paste text.
    """
    condensed = _condensed(question)
    if content_terms(condensed):
        return condensed
    for previous in map(_condensed, reversed(earlier)):
        if content_terms(previous):
            return _condensed(f"{previous} {condensed}")
    return condensed


def _condensed(text: str) -> str:
    if len(text) <= LONGEST_QUERY:
        return text
    half = LONGEST_QUERY // 2 - 1
    return f"{text[:half]} {text[-half:]}"


def is_command(question: str) -> bool:
    """Whether the question names a tool to call: ``/tool name {json}``."""
    return _SLASH_COMMAND.match(question.strip()) is not None


def quote_passages(question: str, passages: Sequence[NumberedText]) -> Quotation:
    """The quotes that answer the question; also the offline grade of the passages."""
    sources = [
        QuoteSource(p.number, p.document_name.rpartition(".")[0] or p.document_name, p.heading_path, text)
        for p in passages
        if (text := _REFERENCE_MARK.sub("", p.text))
    ]
    return select_quotes(question, sources)


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of the question, and what was found for it."""

    task: str
    passages: Sequence[NumberedText]


def answer_parts(question: str, parts: Sequence[AnswerPart]) -> str:
    """The answer to a decomposed question: quotes under each part, each quote once."""
    wording = wording_for(question)
    paragraphs: list[str] = []
    quoted: set[Quote] = set()
    for part in parts:
        quotes = quote_passages(part.task, part.passages).quotes
        fresh = [quote for quote in quotes if quote not in quoted]
        quoted.update(fresh)
        paragraphs.append(f"**{part.task}**")
        paragraphs += [_block(quote) for quote in fresh]
        if not quotes:
            paragraphs.append(wording.part_not_found)
        elif not fresh:
            paragraphs.append(wording.part_quoted_above)
    if quoted:
        return "\n\n".join([wording.quoted, *paragraphs])
    count = len({passage.number for part in parts for passage in part.passages})
    return "".join(_abstained((part.task for part in parts), count, wording))


def answer_from(question: str, passages: Sequence[NumberedText], queries: Sequence[str]) -> str:
    """The answer quoted from these passages, or what was not found."""
    wording = wording_for(question)
    quoted = _quoted(question, passages, wording)
    return "".join(quoted or _abstained(queries, len(passages), wording))


def reflection_on(question: str, missing: str) -> str:
    """The offline model's reasoning when its quotes leave something out."""
    wording = wording_for(question)
    return wording.reflection.format(missing=wording.separator.join(missing.split()))


def _read(messages: Sequence[ModelMessage]) -> _Turn:
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    last = users[-1] if users else 0
    question = messages[last].content if users else ""
    calls: dict[str, ToolCall] = {}
    results: list[_ToolResult] = []
    skills: list[str] = []
    command = _SLASH_COMMAND.match(question.strip())
    for message in messages[last + 1 :]:
        calls.update((call.id, call) for call in message.tool_calls)
        if message.role == "tool" and (call := calls.get(message.tool_call_id)) is not None:
            if call.name in _OF_SKILLS and not (command and command["name"] == call.name):
                skills.append(message.content)
                continue
            passages = read_passages(message.content)
            results.append(_ToolResult(call, message.content, passages))
    query_text = _condensed(question)
    if command and (query := _argument(command["arguments"], "query")):
        query_text = query
    standalone = standalone_question(query_text, [messages[index].content for index in users[:-1]])
    return _Turn(query_text, standalone, command, tuple(results), tuple(skills))


def _next_call(turn: _Turn, tools: Sequence[ToolSpec]) -> ToolCall | None:
    if turn.command:
        if (
            turn.results
            or not _is_offered(turn.command, tools)
            or not is_json_object(turn.command["arguments"].strip() or "{}")
        ):
            return None
        return _call(turn.command["name"], turn.command["arguments"].strip() or "{}")
    tool = next((tool.name for tool in tools if _takes_query(tool)), None)
    has_failed = len(turn.searches) < len(turn.results)
    if tool is None or has_failed or not content_terms(turn.standalone):
        return None
    if not turn.searches:
        return _call(tool, _query(turn.standalone))
    quotation = quote_passages(turn.standalone, _passages(turn))
    if quotation.coverage >= ENOUGH_COVERAGE or len(turn.searches) >= _MOST_SEARCHES:
        return None
    missing = surface_text(quotation.missing)
    return _call(tool, _query(missing)) if missing else None


def _answer(turn: _Turn, tools: Sequence[ToolSpec]) -> list[str]:
    wording = wording_for(turn.question)
    if turn.command and not turn.results and _is_offered(turn.command, tools):
        return [wording.bad_arguments.format(name=turn.command["name"])]
    if turn.command and not turn.results:
        names = wording.separator.join(f"`{tool.name}`" for tool in tools) or "-"
        return [wording.unknown_tool.format(name=turn.command["name"] or "?", names=names)]
    if turn.searches and not _is_other_tool(turn.command):
        passages = _passages(turn)
        queries = [result.query for result in turn.searches if result.query]
        return _quoted(turn.standalone, passages, wording) or _abstained(queries, len(passages), wording)
    if turn.command:
        return [wording.tool_result, f"\n\n```\n{turn.results[-1].content}\n```"]
    if turn.results:
        return [wording.search_failed.format(reason=turn.results[-1].content)]
    if turn.skills:
        return [wording.skills, *(f"\n\n````\n{text}\n````" for text in turn.skills)]
    if not content_terms(turn.standalone):
        return [wording.greeting]
    return [wording.no_knowledge_base]


def _quoted(question: str, passages: Sequence[NumberedText], wording: Wording) -> list[str]:
    quotation = quote_passages(question, passages)
    if not quotation.quotes:
        return []
    paragraphs = [wording.quoted, *(f"\n\n{_block(quote)}" for quote in quotation.quotes)]
    if quotation.coverage < ENOUGH_COVERAGE and quotation.missing:
        missing = wording.separator.join(surface_text(quotation.missing).split())
        paragraphs.append(f"\n\n{wording.partial.format(missing=missing)}")
    return paragraphs


def _block(quote: Quote) -> str:
    lines = quote.text.splitlines()
    mark = f"[{quote.number}]"
    # A mark on the line of a closing fence would be part of the code.
    lines = [*lines, mark] if lines[-1] == "```" else [*lines[:-1], f"{lines[-1]} {mark}"]
    return "\n".join(f"> {line}" for line in lines)


def _abstained(queries: Iterable[str], count: int, wording: Wording) -> list[str]:
    quoted_queries = wording.separator.join(
        f"{wording.open_quote}{query}{wording.close_quote}" for query in dict.fromkeys(queries)
    )
    return [
        wording.abstained,
        f"\n\n{wording.nothing_found.format(queries=quoted_queries, count=count)}",
        f"\n\n{wording.tries}",
    ]


def _passages(turn: _Turn) -> list[NumberedText]:
    by_number = {p.number: p for result in turn.searches for p in result.passages or ()}
    return list(by_number.values())


def _is_offered(command: re.Match[str], tools: Sequence[ToolSpec]) -> bool:
    return any(command["name"] == (tool.own_name or tool.name) for tool in tools)


def _is_other_tool(command: re.Match[str] | None) -> bool:
    return command is not None and not _argument(command["arguments"], "query")


def _takes_query(tool: ToolSpec) -> bool:
    if tool.name in _OF_SKILLS:
        return False
    query = as_object(as_object(tool.parameters.get("properties")).get("query"))
    return query.get("type") == "string"


def _call(name: str, arguments: str) -> ToolCall:
    return ToolCall(f"call_{uuid4().hex}", name, arguments)


def _query(text: str) -> str:
    return json.dumps({"query": text}, ensure_ascii=False)


def _argument(arguments: str, name: str) -> str:
    try:
        return as_text(as_object(parse(arguments)).get(name))
    except ValueError:
        return ""
