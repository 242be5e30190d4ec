"""Progress and questions of running calls, against real servers of every kind of session."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.elicitation import Elicitation, ElicitationAnswer
from agents.mcp.errors import McpRefusal
from agents.mcp.exchange import AnswerTooLate, CallFeed, CallHooks, CallReply, InputNeeded, InputRound, McpProgress
from agents.mcp.held_calls import HeldCalls
from agents.mcp.pool import McpPool
from agents.mcp.results import McpResult, read_call_result
from agents.mcp.session import McpSession
from core.errors.server import McpUnavailable
from core.outbound.guard import OutboundGuard, OutboundGuards
from tests.fixtures.servers.live_mcp_server import SIGN_IN, LiveMcpServer, live_mcp_server

pytestmark = pytest.mark.anyio
LIMITS = McpLimits(connect_seconds=5, list_seconds=5, call_seconds=10)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveMcpServer]:
    with live_mcp_server(tmp_path_factory.mktemp("live")) as server:
        yield server


def newest(server: LiveMcpServer) -> McpTarget:
    return McpTarget("newest", McpType.STANDARD, server.url)


def handshake(server: LiveMcpServer) -> McpTarget:
    return McpTarget("handshake", McpType.STANDARD, server.old_url)


def websocket(server: LiveMcpServer) -> McpTarget:
    return McpTarget("websocket", McpType.WEBSOCKET, server.ws_url)


@asynccontextmanager
async def session_of(target: McpTarget, server: LiveMcpServer, limits: McpLimits = LIMITS) -> AsyncIterator[McpSession]:
    guard = OutboundGuard(tuple(server.targets.split(",")))
    pool = McpPool(OutboundGuards(guard, guard), limits)
    yield (await pool.session(target)).session
    await pool.close()


def text_of(result: object) -> str:
    return read_call_result(result).text  # type: ignore[arg-type]


def accepting(**content: object) -> ElicitationAnswer:
    return ElicitationAnswer("accept", content)  # type: ignore[arg-type]


@pytest.mark.parametrize("target_of", [newest, handshake, websocket])
async def test_progress_of_each_call_is_heard_by_its_own_caller(live: LiveMcpServer, target_of):
    heard: dict[str, list[McpProgress]] = {"a": [], "b": []}
    async with session_of(target_of(live), live) as session:
        calls = [
            session.call("count", {"steps": 3, "message": name}, CallHooks(on_progress=reports.append))
            for name, reports in heard.items()
        ]
        results = await asyncio.gather(*calls)
    assert [text_of(result) for result in results] == ["counted to 3"] * 2
    for name, reports in heard.items():
        assert [(report.progress, report.total, report.message) for report in reports] == [
            (step, 3, f"{name} {step}") for step in (1, 2, 3)
        ]


@pytest.mark.parametrize("target_of", [handshake, websocket])
async def test_question_of_an_open_call_is_answered_and_its_time_limit_stands_still(live: LiveMcpServer, target_of):
    questions: list[Elicitation] = []

    async def ask(question: Elicitation) -> ElicitationAnswer:
        questions.append(question)
        # Longer than the call may take.
        await asyncio.sleep(1.2)
        return accepting(quantity=2, colour="green")

    async with session_of(target_of(live), live, replace(LIMITS, call_seconds=1)) as session:
        result = await session.call("reserve", {"thing": "x"}, CallHooks(ask=ask))
    assert text_of(result) == "reserved 2 green, accept"
    assert [question.message for question in questions] == ["For how many?", "And really?"]
    quantity = questions[0].schema["properties"]["quantity"]  # type: ignore[index,call-overload]
    assert quantity == {
        "type": "integer", "minimum": 1, "maximum": 9, "title": "How many", "description": "Pieces to order"
    }  # fmt: skip


@pytest.mark.parametrize("target_of", [handshake, websocket])
async def test_call_without_anybody_to_ask_is_declined(live: LiveMcpServer, target_of):
    async with session_of(target_of(live), live) as session:
        assert text_of(await session.call("reserve", {"thing": "x"})) == "not reserved: decline"


async def test_page_to_visit_reaches_the_person_as_it_is(live: LiveMcpServer):
    questions: list[Elicitation] = []

    async def ask(question: Elicitation) -> ElicitationAnswer:
        questions.append(question)
        return ElicitationAnswer("accept")

    async with session_of(handshake(live), live) as session:
        assert text_of(await session.call("sign_in", {}, CallHooks(ask=ask))) == "signed in: accept"
    assert [(question.url, question.schema) for question in questions] == [(SIGN_IN, {})]


async def test_questions_of_two_open_calls_reach_their_own_callers_over_http(live: LiveMcpServer):
    def asking(quantity: int) -> CallHooks:
        async def ask(question: Elicitation) -> ElicitationAnswer:
            # Both calls ask before one of them is answered.
            await asyncio.sleep(0.3)
            return accepting(quantity=quantity)

        return CallHooks(ask=ask)

    async with session_of(handshake(live), live) as session:
        calls = [session.call("reserve", {"thing": str(n)}, asking(n)) for n in (3, 7)]
        results = await asyncio.gather(*calls)
    assert [text_of(result) for result in results] == ["reserved 3 red, accept", "reserved 7 red, accept"]


async def test_question_that_may_be_of_either_open_call_is_refused_over_a_websocket(live: LiveMcpServer):
    async def ask(question: Elicitation) -> ElicitationAnswer:
        return accepting(quantity=1)

    async with session_of(websocket(live), live) as session:
        waiting = asyncio.create_task(session.call("count", {"steps": 10, "seconds": 0.2}))
        with pytest.raises(McpRefusal) as refused:
            await session.call("reserve", {"thing": "x"}, CallHooks(ask=ask))
        assert "which of the open calls" in refused.value.text
        assert text_of(await waiting) == "counted to 10"


async def test_call_of_the_newest_version_comes_back_with_questions_and_is_made_again(live: LiveMcpServer):
    async with session_of(newest(live), live) as session:
        round_ = await session.call("order", {"thing": "nuts"})
        assert isinstance(round_, InputRound)
        # As it lies in the journal meanwhile.
        kept = InputRound.from_json(round_.to_json())
        assert kept == round_
        assert kept.next_question is not None
        assert kept.next_question.message == "Which colour, and how many?"
    before = [call for call in live.calls if "nuts" in call]
    # In another session, as of another process.
    async with session_of(newest(live), live) as session:
        answered = kept.answered(accepting(quantity=4, colour="green"))
        result = await session.call("order", {"thing": "nuts"}, answered=answered)
        assert text_of(result) == "ordered 4 green nuts"
    assert (before, [call for call in live.calls if "nuts" in call]) == ([], ["order nuts 4 green"])


def held_calls(seconds: float = 60) -> HeldCalls:
    return HeldCalls(seconds)


async def _asks_twice(hooks: CallHooks) -> McpResult:
    assert hooks.ask is not None
    answers = [await hooks.ask(Elicitation(message, {})) for message in ("first", "second")]
    return McpResult({}, " ".join(answer.action for answer in answers))


def reply(action: str) -> CallReply:
    return CallReply(ElicitationAnswer(action))  # type: ignore[arg-type]


async def test_held_call_goes_on_from_question_to_question_to_its_result():
    held = held_calls()
    with pytest.raises(InputNeeded) as needed:
        await held.begin("owner", CallFeed("k"), _asks_twice)
    assert (needed.value.question.message, needed.value.state) == ("first", None)
    with pytest.raises(InputNeeded) as needed:
        await held.go_on(CallFeed("k"), reply("accept"))
    assert needed.value.question.message == "second"
    result = await held.go_on(CallFeed("k"), reply("decline"))
    assert result.text == "accept decline"
    with pytest.raises(AnswerTooLate):
        await held.go_on(CallFeed("k"), reply("accept"))


async def test_held_call_that_nobody_answers_is_cancelled_and_its_result_kept():
    held = held_calls(seconds=0.05)
    with pytest.raises(InputNeeded):
        await held.begin("owner", CallFeed("k"), _asks_twice)
    # Both questions have expired by then, or expire now.
    await asyncio.sleep(0.3)
    result = await held.go_on(CallFeed("k"), reply("cancel"))
    assert result.text == "cancel cancel"


async def test_person_has_a_bounded_number_of_held_calls():
    held = held_calls()
    for number in range(20):
        with pytest.raises(InputNeeded):
            await held.begin("owner", CallFeed(f"k{number}"), _asks_twice)
    assert (await held.begin("owner", CallFeed("more"), _asks_twice)).text == "cancel cancel"
    with pytest.raises(InputNeeded):
        await held.begin("another", CallFeed("other"), _asks_twice)
    await held.close()


async def test_run_that_ends_takes_its_open_call_along():
    held, ended = held_calls(), asyncio.Event()

    async def hangs(hooks: CallHooks) -> McpResult:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    running = asyncio.create_task(held.begin("owner", CallFeed("k"), hangs))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    async with asyncio.timeout(5):
        await ended.wait()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_call_is_still_ended_by_its_limit_after_an_answer(live: LiveMcpServer):
    async with session_of(handshake(live), live, replace(LIMITS, call_seconds=0.5)) as session:
        with pytest.raises(McpUnavailable):
            await session.call("count", {"steps": 100, "seconds": 1})
