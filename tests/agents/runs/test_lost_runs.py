"""Runs whose process died: closed by another one, with the text so far."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from pydantic import JsonValue
from sqlmodel import select

from agents import event_log
from agents.agui.encoder import AguiEncoder
from agents.agui.verifier import verify
from agents.event_log import LogAddition, LogClosed, LogEntry
from agents.events import (
    PROGRESS,
    ActivityStarted,
    Finished,
    RunEvent,
    RunUsage,
    StepStarted,
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
    WireEvent,
)
from agents.journal import Effect
from agents.llm.extractive.model import ExtractiveModel
from agents.llm_registry.models import ModelUsage
from agents.models import AgentRun, LoggedEvent, RunStatus
from agents.runs import finish, journal_store, store
from agents.runs.recovery import MOST_TAKEOVERS
from agents.runs.store import StartedRun
from agents.sessions import service as sessions
from agents.strategies.shared.event_channel import EventBatch
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import ThreadBusy
from core.errors.server import RunLost
from tests.agents.runs.helpers import (
    PacedModel,
    activities_of,
    follow,
    logged_events,
    make_request,
    plan_of,
    register,
    rows_of,
    service_of,
    until,
    verified_events,
)
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio

# The last message and the second call are cut off.
WORK: Sequence[RunEvent] = (
    StepStarted("decide"),
    ThoughtStarted("thought"),
    ThoughtDelta("thought", "Let me "),
    ThoughtDelta("thought", "look."),
    ThoughtEnded("thought"),
    ActivityStarted("progress", PROGRESS, {"status": "running"}),
    TextStarted("announcement"),
    TextDelta("announcement", "I will look."),
    TextEnded("announcement"),
    ToolCallStarted("call-1", "search", "announcement"),
    ToolCallArgs("call-1", '{"query": '),
    ToolCallArgs("call-1", '"port"}'),
    ToolCallEnded("call-1"),
    ToolCallResult("result-1", "call-1", '{"passages": []}'),
    ToolCallStarted("call-2", "search", "announcement"),
    ToolCallArgs("call-2", '{"query": "ho'),
    TextStarted("answer"),
    TextDelta("answer", "The port"),
    TextDelta("answer", " is"),
)


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def begin(
    database: Database,
    principal: Principal,
    work: Sequence[RunEvent] = WORK,
    *,
    question: str = "Which port?",
    lease: float = -1,
) -> StartedRun:
    """A run of a process that is no more; its lease ends in so many seconds."""
    request = make_request(question)
    plan = plan_of(request, seconds=lease)
    async with unit_of_work(database) as unit:
        run = await store.start(unit, principal, plan, recheck=True)
        row = await unit.session.get_one(AgentRun, run.key)
        # It ended its drivers before: it is not taken up once more.
        row.takeovers = MOST_TAKEOVERS
        # The opening events are appended below.
        row.last_seq = 0
        unit.session.add(row)
        await unit.session.flush()
        clock = count(1_700_000_000_000, 10)
        mapper = AguiEncoder(run.thread_id, run.run_id, now=lambda: next(clock))
        wire = [mapper.started(), *(w for event in work for w in mapper.translate(event))]
        await event_log.append(unit.session, run.key, wire)
    return run


async def appended(
    database: Database, run_key: str, events: Sequence[WireEvent], *, driver: str
) -> list[LogEntry] | None:
    """What a driver could append to a run's log."""
    async with unit_of_work(database) as unit:
        addition = LogAddition(run_key, events)
        (entries,) = await event_log.append_all(unit.session, [addition], driver=driver)
    return entries


async def test_lost_run_is_closed_with_what_it_had_said(database: Database, principal: Principal):
    lost = await begin(database, principal)
    runs = service_of(database, ExtractiveModel())
    assert await runs.recover_lost() == 1

    events = await follow(runs, lost.key)
    verify(events, thread_id=lost.thread_id, run_id=lost.run_id)
    shown = [(activity["status"], activity["failure"]) for activity in activities_of(events)]
    assert shown == [("failed", events[-1]["message"])]
    assert events[-1] | {"timestamp": 0} == {
        "type": "RUN_ERROR",
        "timestamp": 0,
        "code": "RUN_LOST",
        "message": "The process that drove the run stopped",
        "usage": [{"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}],
    }
    run, thread, messages = await rows_of(database, lost.key)
    assert (run.status, thread.active_run_id) == (RunStatus.FAILED, None)
    assert run.finished_at is not None
    _, announcement, answer = messages
    assert (announcement.message_id, announcement.content) == ("announcement", "I will look.")
    assert "stopped" not in announcement.details
    assert (answer.message_id, answer.content) == ("answer", "The port is")
    assert answer.details.pop("duration") >= 0
    assert answer.details == {
        "agent_type": "agentic_rag",
        "citations": [],
        "stopped": True,
        "thinking": [
            {"type": "thought", "content": "Let me look."},
            {"type": "action", "tool": "search", "input": {"query": "port"}},
            {"type": "action", "tool": "search", "input": '{"query": "ho'},
        ],
        "tool_calls": [
            {
                "tool": "search",
                "input": {"query": "port"},
                "output": {"passages": []},
                "duration": 40,
            },
            {"tool": "search", "input": '{"query": "ho', "output": None, "duration": 0},
        ],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
    }


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_lost_run_counts_what_its_turns_spent(database: Database, principal: Principal, is_stopped: bool):
    lost = await begin(database, principal)
    spent: list[JsonValue] = [
        {"prompt_tokens": 100, "completion_tokens": 20, "reasoning_tokens": 5},
        {"prompt_tokens": 1, "completion_tokens": 2, "is_estimated": True},
    ]
    turns = [
        Effect(0, "turn:0", "done", {"turn": None, "usage": spent[:1], "ended_by": None}),
        Effect(1, "call:a", "done", {"content": "x"}),
        Effect(2, "turn:1", "done", {"turn": None, "usage": spent, "ended_by": None}),
        Effect(3, "turn:2", "done", {"refused": "no tools"}),
    ]
    async with unit_of_work(database) as unit:
        row = await unit.session.get_one(AgentRun, lost.key)
        row.model_id, row.model = "configured", "gpt"
        unit.session.add(row)
        await journal_store.write(unit.session, lost.task_id, turns, stored=0)
        assert not is_stopped or await store.request_stop(unit, lost.key)
    await service_of(database, ExtractiveModel()).recover_lost()

    run, _, messages = await rows_of(database, lost.key)
    assert (run.prompt_tokens, run.completion_tokens) == (201, 42)
    counts = {"prompt_tokens": 201, "completion_tokens": 42, "is_estimated": True}
    assert messages[-1].details["usage"] == counts
    told = (await logged_events(database, lost.key))[-1]["usage"]
    assert (told[0]["model"], told[0]["totalTokens"], told[0]["reasoningTokens"]) == (
        "gpt",
        243,
        10,
    )
    async with database.reading() as session:
        (day,) = (await session.exec(select(ModelUsage))).all()
    assert (day.runs, day.prompt_tokens, day.completion_tokens) == (1, 201, 42)


@one_database
@pytest.mark.parametrize("place", [0, 3, 6, 12, 16, 17, 19])
async def test_lost_run_that_was_to_stop_ends_as_stopped(database: Database, principal: Principal, place: int):
    lost = await begin(database, principal, WORK[:place])
    async with unit_of_work(database) as unit:
        assert await store.request_stop(unit, lost.key)
    runs = service_of(database, ExtractiveModel())
    await runs.recover_lost()

    events = await follow(runs, lost.key)
    verify(events, thread_id=lost.thread_id, run_id=lost.run_id)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert (await rows_of(database, lost.key))[0].status == RunStatus.CANCELLED
    # Before the sixth event it had not begun to show its progress.
    assert [shown["status"] for shown in activities_of(events)] == ["stopped"] * (place > 5)


async def test_stop_closes_a_run_whose_driver_does_not_answer(database: Database, principal: Principal):
    silent = await begin(database, principal, lease=60)
    runs = service_of(database, ExtractiveModel())
    started = time.monotonic()
    assert await runs.stop(principal, silent.run_id)
    # Its lease lasts a minute.
    assert time.monotonic() - started < 20

    events = await follow(runs, silent.key)
    verify(events)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert not await appended(database, silent.key, [events[1]], driver="gone")
    assert await logged_events(database, silent.key) == events


async def test_run_is_left_alone_while_its_lease_holds(database: Database, principal: Principal):
    living = await begin(database, principal, lease=60)

    assert await service_of(database, ExtractiveModel()).recover_lost() == 0
    assert (await rows_of(database, living.key))[0].status == RunStatus.RUNNING


async def test_run_is_left_alone_when_its_lease_was_renewed_in_time(database: Database, principal: Principal):
    run = await begin(database, principal)
    async with unit_of_work(database) as unit:
        await store.renew(unit, [run.key], driver=run.driver, seconds=60)
        assert not await finish.abort(unit, run.key, RunLost(), if_lost=True)

    assert (await rows_of(database, run.key))[0].status == RunStatus.RUNNING


async def test_own_run_is_left_alone_when_the_process_had_slept(database: Database, principal: Principal):
    model, request = PacedModel("Hel"), make_request()
    runs = service_of(database, model)
    key = await runs.start(principal, request)
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    async with database.writing() as session:
        (await session.get_one(AgentRun, key)).lease_until = utc_now() - timedelta(hours=1)
    assert await runs.recover_lost() == 0
    model.say("lo", last=True)

    assert (await verified_events(runs, key, request))[-1]["type"] == "RUN_FINISHED"


async def test_own_run_is_left_alone_when_the_process_slept_before_it_was_launched(
    database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    request, prepared = make_request(), asyncio.Event()
    runs = service_of(database, ExtractiveModel())
    build_new, is_prepared = runs._builder.build_new, asyncio.Event()

    async def slowly(*given: Any) -> Any:
        prepared.set()
        await is_prepared.wait()
        return await build_new(*given)

    monkeypatch.setattr(runs._builder, "build_new", slowly)
    beginning = asyncio.create_task(runs.start(principal, request))
    await asyncio.wait_for(prepared.wait(), 10)
    async with database.writing() as session:
        (run,) = (await session.exec(select(AgentRun).where(AgentRun.run_id == request.run_id))).all()
        run.lease_until = utc_now() - timedelta(hours=1)
    assert await runs.recover_lost() == 0
    is_prepared.set()

    assert (await verified_events(runs, await beginning, request))[-1]["type"] == "RUN_FINISHED"


async def test_driver_that_lost_its_run_neither_ends_nor_closes_it(database: Database, principal: Principal):
    # The first thing that a run writes down is which skills it works with.
    model, turn = PacedModel("Hel"), Effect(1, "turn:0", "done", {})
    runs = service_of(database, model)
    key = await runs.start(principal, make_request())
    await until(runs, key, "TEXT_MESSAGE_CONTENT")
    # Another process has taken it up, and written down the turn that is under way here.
    async with database.writing() as session:
        run = await session.get_one(AgentRun, key)
        run.lease_owner = "another"
        session.add(run)
        await journal_store.write(session, run.task_id, [turn], stored=1)
    before, driver = await logged_events(database, key), runs._drivers[key]
    with pytest.raises(LogClosed):
        await driver._store(before[-1:], EventBatch([Finished(RunUsage())], [turn], 1))
    assert not await runs._abort_own(key, RunLost())
    model.say("lo", last=True)
    async with asyncio.timeout(10):
        await asyncio.gather(*runs._tasks)

    assert await logged_events(database, key) == before
    assert (await rows_of(database, key))[0].status == RunStatus.RUNNING


async def test_lost_run_is_closed_once_when_many_sweep(database: Database, principal: Principal):
    lost = [await begin(database, principal) for _ in range(3)]
    sweepers = [service_of(database, ExtractiveModel()) for _ in range(4)]
    closed = await asyncio.gather(*(runs.recover_lost() for runs in sweepers))

    assert sum(closed) == 3
    for run in lost:
        verify(await logged_events(database, run.key))
        assert len((await rows_of(database, run.key))[2]) == 3


async def test_other_lost_runs_are_closed_when_one_can_not_be(database: Database, principal: Principal):
    lost = [await begin(database, principal) for _ in range(3)]
    async with database.writing() as session:
        broken = await session.get_one(LoggedEvent, (lost[1].key, 1))
        broken.payload = "not JSON"

    assert await service_of(database, ExtractiveModel()).recover_lost() == 2
    statuses = [(await rows_of(database, run.key))[0].status for run in lost]
    assert statuses == [RunStatus.FAILED, RunStatus.RUNNING, RunStatus.FAILED]


async def test_who_joins_while_a_run_ends_is_told_its_end(database: Database, principal: Principal):
    # The row as it was read before the end was written.
    ending = await begin(database, principal, (Finished(RunUsage()),), lease=60)
    joined = await service_of(database, ExtractiveModel()).join(principal, ending.thread_id)

    assert joined.prelude[-1]["type"] == "RUN_FINISHED"


async def test_loss_is_told_in_the_language_of_the_question(database: Database, principal: Principal):
    lost = await begin(database, principal, question="端口是多少？")
    await service_of(database, ExtractiveModel()).recover_lost()

    assert (await logged_events(database, lost.key))[-1]["message"] == "执行该运行的进程已停止"


async def test_thread_is_used_again_after_a_loss(database: Database, principal: Principal):
    lost = await begin(database, principal)
    runs = service_of(database, ExtractiveModel())
    request = make_request("And now?", threadId=lost.thread_id)
    with pytest.raises(ThreadBusy):
        await runs.start(principal, request)
    await runs.recover_lost()
    key = await runs.start(principal, request)

    assert (await follow(runs, key))[-1]["type"] == "RUN_FINISHED"
    assert len((await rows_of(database, key))[2]) == 5


async def test_log_has_no_gaps_when_appended_by_many(database: Database, principal: Principal):
    run = await begin(database, principal, (), lease=60)
    event = (await logged_events(database, run.key))[0]

    async def append(size: int) -> None:
        assert await appended(database, run.key, [event] * size, driver="gone")

    await asyncio.gather(*(append(size) for size in range(1, 9)))
    async with database.reading() as session:
        entries = await event_log.read(session, run.key, after=0)
        assert [entry.seq for entry in entries] == list(range(1, 38))
        assert [e.seq for e in await event_log.read(session, run.key, after=30)] == [*range(31, 38)]


async def test_log_is_refused_to_other_drivers(database: Database, principal: Principal):
    run = await begin(database, principal, lease=60)
    before = await logged_events(database, run.key)

    assert not await appended(database, run.key, before[:1], driver="another")
    assert await logged_events(database, run.key) == before


async def test_long_log_is_read_in_parts(database: Database, principal: Principal):
    deltas = [TextDelta("m", f"{number} ") for number in range(1200)]
    run = await begin(database, principal, [TextStarted("m"), *deltas])
    runs = service_of(database, ExtractiveModel())
    await runs.recover_lost()

    assert len(await follow(runs, run.key)) == 1203
    content = (await rows_of(database, run.key))[2][1].content
    assert content == "".join(delta.delta for delta in deltas)


async def test_session_is_not_deleted_under_a_run_that_has_just_begun(database: Database, principal: Principal):
    run = await begin(database, principal, lease=60)
    async with database.reading() as session:
        row = await sessions.get(session, principal, run.session_key)
    # As it was when the request read it.
    row.active_run_id = None
    with pytest.raises(ThreadBusy):
        async with unit_of_work(database) as unit:
            await sessions.delete(unit, [row])

    assert (await rows_of(database, run.key))[0].status == RunStatus.RUNNING
