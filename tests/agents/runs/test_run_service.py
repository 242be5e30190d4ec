"""The run service: ends, stops, subscribers, several processes; on both databases where SQL decides."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from agents.agui.verifier import verify
from agents.llm.base import ChatModel
from agents.llm.extractive.model import ExtractiveModel
from agents.models import AgentRun, RunStatus
from agents.runs import driver, service, subscribers
from agents.runs.service import RunService
from api.streaming import framing
from api.streaming import response as event_stream
from api.streaming.framing import RunPosition, SseFraming
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.auth import RunNotFound, SessionNotFound
from core.errors.base import AgentexError
from core.errors.conflicts import RunIdTaken, ThreadBusy
from core.errors.requests import InvalidRunInput
from core.errors.server import ShuttingDown
from kb_service.retrieval.service import Searcher
from tests.agents.runs.helpers import (
    PacedModel,
    StubbornModel,
    add_knowledge_base,
    follow,
    hanging_searcher,
    logged_events,
    make_request,
    register,
    rows_of,
    service_of,
    until,
    verified_events,
)
from tests.fixtures.database.databases import one_database
from tests.fixtures.http.asgi_connection import Connection

pytestmark = pytest.mark.anyio
MakeService = Callable[..., RunService]


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


@pytest.fixture
async def services(database: Database) -> AsyncIterator[MakeService]:
    """Makes run engines on the test's database, each as in a process of its own."""
    made: list[RunService] = []

    def make(model: ChatModel | None = None, searcher: Searcher | None = None) -> RunService:
        made.append(service_of(database, model or ExtractiveModel(), searcher))
        return made[-1]

    yield make
    await asyncio.gather(*(made_one.drain(0) for made_one in made))


async def test_run_ends_with_its_answer_stored_and_the_thread_free(
    services: MakeService, database: Database, principal: Principal
):
    runs, request = services(PacedModel()), make_request("Who are you?")
    runs._builder.models.built_in[0].model.say("I am ", "held.", last=True)
    key = await runs.start(principal, request)
    events = await verified_events(runs, key, request)

    assert [event["type"] for event in events].count("RUN_FINISHED") == 1
    run, thread, messages = await rows_of(database, key)
    assert (run.status, run.last_seq) == (RunStatus.COMPLETED, len(events))
    assert (thread.active_run_id, thread.title, thread.message_count) == (None, "Who are you?", 2)
    assert [(m.role, m.content, m.position) for m in messages] == [
        ("user", "Who are you?", 1),
        ("assistant", "I am held.", 2),
    ]


async def stop_in_time(runs: RunService, principal: Principal, run_id: str) -> None:
    started = time.monotonic()
    assert await runs.stop(principal, run_id)
    assert time.monotonic() - started < 10


@one_database
@pytest.mark.parametrize("pieces", [(), ("The ", "port")])
async def test_stop_is_quick_when_the_model_is_slow(
    services: MakeService, database: Database, principal: Principal, pieces: tuple[str, ...]
):
    model, request = PacedModel(*pieces), make_request()
    runs = services(model)
    key = await runs.start(principal, request)
    await model.asked.wait()
    if pieces:
        await until(runs, key, "TEXT_MESSAGE_CONTENT")
    await stop_in_time(runs, principal, request.run_id)

    events = await verified_events(runs, key, request)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    run, thread, messages = await rows_of(database, key)
    assert (run.status, thread.active_run_id) == (RunStatus.CANCELLED, None)
    assert [m.content for m in messages[1:]] == (["The port"] if pieces else [])
    assert all(m.details["stopped"] for m in messages[1:])


@one_database
async def test_stop_is_quick_when_the_model_can_not_be_cancelled(services: MakeService, principal: Principal):
    model, request = StubbornModel(), make_request()
    runs = services(model)
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    await stop_in_time(runs, principal, request.run_id)

    assert (await verified_events(runs, key, request))[-1]["outcome"] == {"type": "cancelled"}


@one_database
async def test_stop_is_quick_when_a_search_hangs(
    services: MakeService, database: Database, principal: Principal, tmp_path: Path
):
    kb_id = await add_knowledge_base(database, principal)
    searcher, encoder = hanging_searcher(database, tmp_path)
    runs = services(ExtractiveModel(), searcher)
    request = make_request("Which port is it?", forwardedProps={"knowledge_base_ids": [kb_id]})
    key = await runs.start(principal, request)
    await asyncio.wait_for(encoder.asked.wait(), 10)
    await stop_in_time(runs, principal, request.run_id)

    events = await verified_events(runs, key, request)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    result = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    assert result["content"] == "Cancelled: the run was stopped."


class Preparation:
    """Holds the preparation of a service's runs until the test lets it go on."""

    def __init__(self, runs: RunService, monkeypatch: pytest.MonkeyPatch, name: str = "build_new"):
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self._prepare = getattr(runs._builder, name)
        monkeypatch.setattr(runs._builder, name, self._slowly)

    async def _slowly(self, *given: Any) -> Any:
        self.began.set()
        await self.may_end.wait()
        return await self._prepare(*given)


@one_database
@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "by another process"])
async def test_run_that_is_stopped_while_it_is_prepared_asks_no_model(
    services: MakeService,
    principal: Principal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_elsewhere: bool,
):
    # Nobody waits for a driver that does not answer; that of another process looks twice a second.
    monkeypatch.setattr(service, "_STOP_SECONDS", 200)
    model, request = PacedModel("Hello"), make_request()
    runs, others = services(model), services()
    preparation = Preparation(runs, monkeypatch)
    key = await runs.start(principal, request)
    await asyncio.wait_for(preparation.began.wait(), 10)
    async with asyncio.timeout(60):
        assert await (others if is_elsewhere else runs).stop(principal, request.run_id)
    preparation.may_end.set()
    await asyncio.wait_for(runs.drain(5), 10)

    assert (await verified_events(others, key, request))[-1]["outcome"] == {"type": "cancelled"}
    assert not model.asked.is_set()
    # To the operator it is no failure.
    assert "warning" not in capsys.readouterr().out


async def test_run_is_not_taken_for_lost_while_it_is_prepared(
    services: MakeService,
    database: Database,
    principal: Principal,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(driver, "_HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(driver, "LEASE_SECONDS", 0.06)
    request = make_request()
    runs = services()
    preparation = Preparation(runs, monkeypatch)
    key = await runs.start(principal, request)
    await asyncio.wait_for(preparation.began.wait(), 10)
    before = (await rows_of(database, key))[0].lease_until
    async with asyncio.timeout(10):
        # Nobody tells of it.
        while (await rows_of(database, key))[0].lease_until == before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    preparation.may_end.set()

    assert (await verified_events(runs, key, request))[-1].get("outcome") is None


async def test_run_that_is_stopped_while_it_is_taken_up_keeps_what_it_had_said(
    services: MakeService, database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    gone, request = services(PacedModel("Hello")), make_request()
    key = await gone.start(principal, request)
    await until(gone, key, "TEXT_MESSAGE_CONTENT")
    await gone.drain(0)
    model = PacedModel()
    runs = services(model)
    preparation = Preparation(runs, monkeypatch, "build_resumed")
    assert await asyncio.wait_for(runs.recover_lost(), 5) == 1
    await asyncio.wait_for(preparation.began.wait(), 10)
    assert await runs.stop(principal, request.run_id)

    assert (await verified_events(runs, key, request))[-1]["outcome"] == {"type": "cancelled"}
    assert [m.content for m in (await rows_of(database, key))[2][1:]] == ["Hello"]
    assert not model.asked.is_set()


async def test_stop_is_told_that_the_run_had_ended_when_it_did_so_meanwhile(
    services: MakeService, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    here, model, request = services(), PacedModel("Hel"), make_request()
    there = services(model)
    key = await there.start(principal, request)
    await until(there, key, "TEXT_MESSAGE_CONTENT")
    # As when its driver ends it between the last look at it and the closing.
    monkeypatch.setattr(service, "_STOP_SECONDS", 0)
    close = here._abort

    async def close_late(*given: Any, **named: Any) -> bool:
        model.say("lo", last=True)
        await verified_events(there, key, request)
        return await close(*given, **named)

    monkeypatch.setattr(here, "_abort", close_late)
    monkeypatch.setattr(driver, "_HEARTBEAT_SECONDS", 60)

    assert not await here.stop(principal, request.run_id)


async def test_no_run_begins_when_draining_began_while_it_was_planned(
    services: MakeService, database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    runs = services()
    plan = runs._planner.plan

    async def plan_long(*given: Any) -> Any:
        planned = await plan(*given)
        await runs.drain(0)
        return planned

    monkeypatch.setattr(runs._planner, "plan", plan_long)
    with pytest.raises(ShuttingDown):
        await runs.start(principal, make_request())

    async with database.reading() as session:
        assert (await session.exec(select(AgentRun))).first() is None


async def test_stop_of_a_run_that_is_over_changes_nothing(services: MakeService, principal: Principal):
    runs, request = services(), make_request()
    key = await runs.start(principal, request)
    events = await verified_events(runs, key, request)

    assert not await runs.stop(principal, request.run_id)
    assert await follow(runs, key) == events


async def test_run_is_unknown_to_others(services: MakeService, database: Database, principal: Principal):
    runs, request = services(), make_request()
    await follow(runs, await runs.start(principal, request))

    with pytest.raises(RunNotFound):
        await runs.stop(await register(database), request.run_id)


@one_database
async def test_run_goes_on_when_its_followers_leave(services: MakeService, database: Database, principal: Principal):
    model, request = PacedModel("Hel"), make_request()
    runs = services(model)
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    reading = asyncio.create_task(follow(runs, key))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    model.say("lo", last=True)

    assert (await verified_events(runs, key, request))[-1]["type"] == "RUN_FINISHED"
    assert (await rows_of(database, key))[2][1].content == "Hello"


@one_database
async def test_every_follower_gets_the_same(services: MakeService, principal: Principal):
    model, request = PacedModel(), make_request()
    runs = services(model)
    key = await runs.start(principal, request)
    subscribers = [asyncio.create_task(follow(runs, key)) for _ in range(5)]
    for number in range(20):
        model.say(f"{number} ")
        await asyncio.sleep(0)
    model.say(last=True)
    heard = await asyncio.gather(*subscribers)

    verify(heard[0])
    assert all(events == heard[0] for events in heard)
    for place in range(len(heard[0]) + 1):
        assert await follow(runs, key, after=place) == heard[0][place:]


@one_database
async def test_follower_of_a_deleted_run_is_let_go(services: MakeService, database: Database, principal: Principal):
    runs, request = services(), make_request()
    key = await runs.start(principal, request)
    await follow(runs, key)
    _, thread, _ = await rows_of(database, key)
    async with database.writing() as session:
        await session.delete(await session.get_one(type(thread), thread.id))

    assert await follow(runs, key) == []


async def test_run_of_another_process_is_followed_and_stopped(services: MakeService, principal: Principal):
    here, there = services(), services(PacedModel("Hello"))
    request = make_request()
    key = await there.start(principal, request)
    reading = asyncio.create_task(verified_events(here, key, request))
    await until(here, key, "TEXT_MESSAGE_CONTENT")
    await stop_in_time(here, principal, request.run_id)

    events = await reading
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert events == await follow(there, key)


async def test_only_one_of_many_runs_gets_a_new_thread(services: MakeService, principal: Principal):
    processes = [services(PacedModel()) for _ in range(3)]
    requests = [make_request(threadId="t") for _ in range(9)]
    answers = await asyncio.gather(
        *(processes[n % 3].start(principal, request) for n, request in enumerate(requests)),
        return_exceptions=True,
    )

    assert sorted(type(answer).__name__ for answer in answers) == [*["ThreadBusy"] * 8, "str"]


async def test_only_one_of_many_runs_gets_an_id(services: MakeService, principal: Principal):
    processes = [services(PacedModel()) for _ in range(3)]
    answers = await asyncio.gather(
        *(processes[n % 3].start(principal, make_request(runId="r")) for n in range(9)),
        return_exceptions=True,
    )

    assert sorted(type(answer).__name__ for answer in answers) == [*["RunIdTaken"] * 8, "str"]


async def test_thread_is_handed_on_with_all_that_was_said(
    services: MakeService, database: Database, principal: Principal
):
    model = PacedModel("One.")
    runs = services(model)
    first = await runs.start(principal, make_request("first", threadId="t"))
    with pytest.raises(ThreadBusy):
        await runs.start(principal, make_request("second", threadId="t"))
    model.say(last=True)
    await follow(runs, first)
    model.say("Two.", last=True)
    second = await runs.start(principal, make_request("second", threadId="t"))
    await follow(runs, second)

    _, thread, messages = await rows_of(database, second)
    assert [m.content for m in messages] == ["first", "One.", "second", "Two."]
    assert (thread.title, thread.message_count) == ("first", 4)


@one_database
async def test_run_is_refused_on_somebody_elses_session(
    services: MakeService, database: Database, principal: Principal
):
    runs = services()
    key = await runs.start(principal, make_request())
    _, thread, _ = await rows_of(database, key)

    with pytest.raises(SessionNotFound):
        await runs.start(await register(database), make_request(threadId=thread.id))


async def test_refused_run_leaves_nothing(services: MakeService, database: Database, principal: Principal):
    runs, request = services(PacedModel()), make_request("first")
    key = await runs.start(principal, request)
    again = make_request("other", runId=request.run_id, threadId="another")
    with pytest.raises(RunIdTaken):
        await runs.start(principal, again)
    with pytest.raises(ThreadBusy):
        await runs.start(principal, make_request("other", threadId=request.thread_id))
    taken = request.messages[0].id
    stolen = {"id": taken, "role": "user", "content": "another text"}
    await runs.stop(principal, request.run_id)
    with pytest.raises(InvalidRunInput):
        await runs.start(principal, make_request(threadId=request.thread_id, messages=[stolen]))

    _, thread, messages = await rows_of(database, key)
    assert [m.content for m in messages] == ["first"]
    assert thread.active_run_id is None


async def test_draining_hands_runs_over_and_takes_no_new_ones(
    services: MakeService, database: Database, principal: Principal
):
    model = PacedModel("Hel")
    runs, request = services(model), make_request()
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    draining = asyncio.create_task(runs.drain(0.2))
    await asyncio.sleep(0)
    with pytest.raises(ShuttingDown):
        await runs.start(principal, make_request())
    await asyncio.wait_for(draining, 5)

    assert (await logged_events(database, key))[-1]["type"] == "TEXT_MESSAGE_CONTENT"
    successor = services(PacedModel("Hello again"))
    successor._builder.models.built_in[0].model.say(last=True)
    assert await successor.recover_lost() == 1
    events = await verified_events(successor, key, request)
    assert events[-1].get("outcome") is None
    # What the first process had begun to say is closed, and taken from who follows the run.
    kinds = [event["type"] for event in events]
    closed = kinds.index("TEXT_MESSAGE_END")
    assert kinds[closed + 1 : closed + 3] == ["MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]
    _, _, messages = await rows_of(database, key)
    assert [message.content for message in messages[1:]] == ["Hello again"]


@one_database
async def test_draining_lets_a_run_finish_that_is_quick(services: MakeService, principal: Principal):
    model = PacedModel("Hel")
    runs, request = services(model), make_request()
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    draining = asyncio.create_task(runs.drain(10))
    model.say("lo", last=True)
    await asyncio.wait_for(draining, 5)

    assert (await verified_events(runs, key, request))[-1].get("outcome") is None


@one_database
async def test_crash_of_a_run_is_told_at_once(services: MakeService, database: Database, principal: Principal):
    runs, request = services(PacedModel("Hello")), make_request()
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    # No JSON can hold half a pair: writing the log fails in a way that nobody foresaw.
    runs._builder.models.built_in[0].model.say("\ud800")
    events = await verified_events(runs, key, request)

    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "INTERNAL")
    run, thread, messages = await rows_of(database, key)
    assert (run.status, thread.active_run_id) == (RunStatus.FAILED, None)
    assert messages[1].content == "Hello"


async def test_text_is_stored_when_the_model_says_what_no_database_keeps(
    services: MakeService, database: Database, principal: Principal
):
    runs, request = services(PacedModel()), make_request()
    runs._builder.models.built_in[0].model.say("a\0b", last=True)
    key = await runs.start(principal, request)
    await verified_events(runs, key, request)

    assert (await rows_of(database, key))[2][1].content == "a\ufffdb"


@one_database
async def test_stream_is_kept_alive_while_a_run_is_silent(
    services: MakeService, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_stream, "_KEEP_ALIVE_SECONDS", 0)
    monkeypatch.setattr(subscribers, "_SILENT_SECONDS", 0.01)
    model = PacedModel()
    runs, request = services(model), make_request()
    key = await runs.start(principal, request)

    def answer(piece: bytes) -> None:
        if piece == SseFraming.keep_alive:
            model.say("Hello", last=True)

    connection = Connection(answer)
    place = RunPosition(key, request.run_id)
    async with asyncio.timeout(10):
        await connection.serve(framing.stream_run(runs, place, SseFraming()))

    assert SseFraming.keep_alive in connection.pieces
    assert b"RUN_FINISHED" in connection.pieces[-1]
    assert all(piece.endswith(b"\n\n") for piece in connection.pieces)


@one_database
async def test_log_is_not_written_after_the_end(services: MakeService, database: Database, principal: Principal):
    here, there = services(), services(PacedModel("Hello"))
    request = make_request()
    key = await there.start(principal, request)
    await until(here, key, "TEXT_MESSAGE_CONTENT")
    # As when the other process was taken for dead, but only slept.
    assert await here._abort(key, AgentexError(), if_lost=False)
    closed = await logged_events(database, key)
    there._builder.models.built_in[0].model.say(" again", last=True)
    await asyncio.wait_for(there.drain(5), 10)

    assert await logged_events(database, key) == closed
    verify(closed)
    assert [m.content for m in (await rows_of(database, key))[2][1:]] == ["Hello"]
