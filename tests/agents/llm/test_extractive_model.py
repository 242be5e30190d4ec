"""The offline (extractive) model on conversations as strategies hand them to it."""

import pytest

from agents.evidence import Evidence, read_passages
from agents.llm.base import ModelEnd, ModelEvent, ModelMessage, ModelText, ModelToolCall, TokenUsage, ToolCall, ToolSpec
from agents.llm.extractive.model import ExtractiveModel, quote_passages
from tests.agents.fakes import CHINESE, INSTALL, LIBRARY, SETTINGS, passage

pytestmark = pytest.mark.anyio

SEARCH = ToolSpec(
    "search_knowledge_base",
    "Searches.",
    {"type": "object", "properties": {"query": {"type": "string"}}},
)
CLOCK = ToolSpec("clock", "Tells the time.", {"type": "object", "properties": {}})
ENGLISH_NOTICE = "No language model is configured"
CHINESE_NOTICE = "当前未配置语言模型"


async def turn(*messages: ModelMessage, tools: tuple[ToolSpec, ...] = (SEARCH,)) -> list[ModelEvent]:
    return [event async for event in ExtractiveModel().events(messages, tools)]


def search_turn(query: str, *passages) -> list[ModelMessage]:
    evidence = Evidence()
    numbers = evidence.add(passages, query=query)
    call = ToolCall(f"call-{query}", "search_knowledge_base", f'{{"query": "{query}"}}')
    content = evidence.text(numbers, limit=100_000)
    return [
        ModelMessage("assistant", tool_calls=(call,)),
        ModelMessage("tool", content, tool_call_id=call.id),
    ]


def text(events: list[ModelEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ModelText))


def query_of(events: list[ModelEvent]) -> str:
    call = events[0]
    assert isinstance(call, ModelToolCall)
    assert call.opens
    assert events[-1] == ModelEnd("tool_calls")
    return call.arguments_delta


async def test_question_is_searched_for_when_nothing_was_retrieved():
    events = await turn(ModelMessage("user", "How do I install it on Windows?"))

    assert query_of(events) == '{"query": "How do I install it on Windows?"}'
    assert TokenUsage(0, 0) in events


async def test_answer_quotes_with_citations_and_says_so_at_its_start():
    question = "Which port does it listen on?"
    events = await turn(ModelMessage("user", question), *search_turn(question, INSTALL, SETTINGS))

    answer = text(events)
    assert answer.startswith(ENGLISH_NOTICE)
    assert "> It listens on port 8000. [1]" in answer
    assert events[-2:] == [TokenUsage(0, 0), ModelEnd("stop")]


async def test_answer_is_chinese_when_the_question_is():
    question = "默认端口是多少？"
    answer = text(await turn(ModelMessage("user", question), *search_turn(question, CHINESE, INSTALL)))

    assert answer.startswith(CHINESE_NOTICE)
    assert "> 默认端口是 8000，可以通过环境变量修改。 [1]" in answer


async def test_missing_terms_are_searched_for_when_coverage_is_low():
    question = "Which port does the zebra connector use?"
    events = await turn(ModelMessage("user", question), *search_turn(question, INSTALL))

    assert query_of(events) == '{"query": "zebra connector"}'


async def test_second_search_is_the_last_one():
    question = "Which port does the zebra connector use?"
    events = await turn(
        ModelMessage("user", question),
        *search_turn(question, INSTALL),
        *search_turn("zebra connector", SETTINGS),
    )

    assert events[-1] == ModelEnd("stop")


async def test_terms_that_no_quote_covers_are_named():
    question = "How is the port changed, and what does the zebra connector do?"
    answer = text(await turn(ModelMessage("user", question), *search_turn(question, SETTINGS), tools=()))

    assert "AGENTEX_PORT. [1]" in answer
    assert "zebra" in answer.rpartition("say nothing about")[2]


@pytest.mark.parametrize(
    ("question", "notice", "advice"),
    [
        ("What is the capital of France?", ENGLISH_NOTICE, "What you can try"),
        ("Which port is the capital of the province?", ENGLISH_NOTICE, "What you can try"),
        ("法国的首都在哪里？", CHINESE_NOTICE, "您可以尝试"),
    ],
)
async def test_abstains_and_says_what_was_searched_when_nothing_scores(question, notice, advice):
    answer = text(await turn(ModelMessage("user", question), *search_turn(question, *LIBRARY), tools=()))

    assert answer.startswith(notice)
    assert f"“{question}”" in answer
    assert advice in answer
    assert "[1]" not in answer


async def test_follow_up_without_terms_takes_those_of_the_last_question():
    events = await turn(
        ModelMessage("user", "What is the default port?"),
        ModelMessage("assistant", "8000"),
        ModelMessage("user", "why?"),
    )

    assert query_of(events) == '{"query": "What is the default port? why?"}'


async def test_follow_up_with_own_terms_stands_alone():
    events = await turn(ModelMessage("user", "What is the default port?"), ModelMessage("user", "And on Windows?"))

    assert query_of(events) == '{"query": "And on Windows?"}'


@pytest.mark.parametrize("greeting", ["hello", "你好"])
async def test_greeting_is_answered_without_a_search(greeting):
    events = await turn(ModelMessage("user", greeting))

    assert events[-1] == ModelEnd("stop")
    assert "model" in text(events) or "模型" in text(events)


async def test_says_that_no_knowledge_base_is_selected_when_nothing_can_search():
    assert "no knowledge base" in text(await turn(ModelMessage("user", "Which port?"), tools=(CLOCK,)))


async def test_failed_search_is_reported_not_repeated():
    call = ToolCall("c", "search_knowledge_base", "{}")
    failed = [
        ModelMessage("assistant", tool_calls=(call,)),
        ModelMessage("tool", "The tool failed.", tool_call_id="c"),
    ]
    assert "The tool failed." in text(await turn(ModelMessage("user", "Which port?"), *failed))


async def test_slash_command_becomes_the_call_it_spells():
    events = await turn(ModelMessage("user", '/tool clock {"zone": "UTC"}'), tools=(SEARCH, CLOCK))

    call = events[0]
    assert isinstance(call, ModelToolCall)
    assert (call.name, call.arguments_delta) == ("clock", '{"zone": "UTC"}')


async def test_slash_command_shows_the_result_when_it_is_no_search():
    call = ToolCall("c", "clock", "{}")
    result = [
        ModelMessage("assistant", tool_calls=(call,)),
        ModelMessage("tool", "12:00", tool_call_id="c"),
    ]
    assert "12:00" in text(await turn(ModelMessage("user", "/tool clock {}"), *result, tools=(CLOCK,)))


async def test_slash_command_search_is_answered_by_its_query():
    found_by = search_turn("Which port", INSTALL)
    command = ModelMessage("user", '/tool search_knowledge_base {"query": "Which port"}')

    assert "port 8000. [1]" in text(await turn(command, *found_by))


async def test_unknown_tool_of_a_slash_command_is_named():
    answer = text(await turn(ModelMessage("user", "/tool nope {}"), tools=(CLOCK,)))

    assert "`nope`" in answer
    assert "`clock`" in answer


def quotes(question: str, *passages) -> list[tuple[int, str]]:
    evidence = Evidence()
    evidence.add(passages, query=question)
    read = read_passages(evidence.text(evidence.numbers(), limit=100_000))
    assert read is not None
    return [(quote.number, quote.text) for quote in quote_passages(question, read).quotes]


def test_same_sentence_is_quoted_once_when_passages_overlap():
    again = passage(INSTALL.content, id="again")

    assert quotes("Which port does it listen on?", INSTALL, again) == [
        (1, "Start it with `agentex serve`."),
        (1, "It listens on port 8000."),
    ]


def test_at_most_three_quotes_best_first():
    many = passage(
        "The cache is warmed at start. The cache holds pages. The cache is cleared at midnight. "
        "The cache lives in memory. Nothing else matters here.",
        id="many",
    )
    other = passage("A cache costs memory.", id="other")
    result = quotes("How does the cache use memory and pages at midnight?", other, many)

    assert 1 < len(result) <= 3
    assert result[0] != (2, "Nothing else matters here.")


def test_quote_that_points_back_brings_the_sentence_before_it():
    content = "The scheduler wakes once an hour. It deletes expired leases from the table."

    assert quotes("What deletes expired leases?", passage(content)) == [
        (1, "The scheduler wakes once an hour."),
        (1, "It deletes expired leases from the table."),
    ]


def test_heading_leads_to_the_sentences_below_it():
    section = passage("Run the two commands of the quick start.", id="a", headings=("Uninstalling the worker",))
    noise = passage("Workers are processes that parse.", id="b")

    assert quotes("How do I go about uninstalling?", noise, section) == [
        (2, "Run the two commands of the quick start.")
    ]


def test_reference_marks_of_the_source_are_not_quoted():
    wiki = passage("Normandy lies in the north of France.[7] It is green.")

    assert quotes("Where is Normandy in France?", wiki)[0] == (
        1,
        "Normandy lies in the north of France.",
    )
