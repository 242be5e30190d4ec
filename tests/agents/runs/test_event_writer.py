"""The shared writer of event logs and the renewal of leases for the runs of one process."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.event_log import LogAddition, LogClosed
from agents.journal import Effect
from agents.models import AgentRun
from agents.runs import driver, journal_store, store
from agents.runs.driver import EventWriter, Heartbeat, LogBatch, WriteResult
from agents.runs.store import StartedRun
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from tests.agents.runs.helpers import logged_events, make_request, plan_of, register, rows_of

pytestmark = pytest.mark.anyio
SAID = {"type": "TEXT_MESSAGE_CONTENT", "timestamp": 1, "messageId": "m", "delta": "Hi"}
EFFECT = Effect(0, "turn:0", "done", {"turn": None})


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def begin(database: Database, principal: Principal, driver: str = "me") -> StartedRun:
    """A run with an empty log, and a lease of a minute."""
    plan = plan_of(make_request(), driver=driver)
    async with unit_of_work(database) as work:
        run = await store.start(work, principal, plan, recheck=True)
        # The opening events are not written here.
        (await work.session.get_one(AgentRun, run.key)).last_seq = 0
        return run


async def write_at_once(
    database: Database, batches: Sequence[LogBatch]
) -> tuple[list[WriteResult | BaseException], int]:
    """What becomes of batches that wait at the same time, and in how many transactions."""
    commits: list[object] = []
    event.listen(database.engine.sync_engine, "commit", commits.append)
    writer = EventWriter(database, "me")
    outcomes = await asyncio.gather(*map(writer.write, batches), return_exceptions=True)
    return outcomes, len(commits)


async def test_runs_that_wait_are_written_in_one_transaction(database: Database, principal: Principal):
    runs = [await begin(database, principal) for _ in range(3)]
    batches = [
        LogBatch(LogAddition(run.key, [SAID] * size, own_events=size), run.task_id, [EFFECT])
        for size, run in enumerate(runs)
    ]
    outcomes, commits = await write_at_once(database, batches)

    assert commits == 1
    for size, (run, outcome) in enumerate(zip(runs, outcomes, strict=True)):
        assert isinstance(outcome, WriteResult)
        assert [entry.seq for entry in outcome.entries] == [*range(1, size + 1)]
        assert await logged_events(database, run.key) == [SAID] * size
        row, _, _ = await rows_of(database, run.key)
        assert (row.last_seq, row.own_events, outcome.stored) == (size, size, 1)
        async with database.reading() as session:
            assert await journal_store.read(session, run.task_id) == [EFFECT]


async def test_lost_lease_keeps_no_other_run_from_writing(database: Database, principal: Principal):
    lost = await begin(database, principal, driver="another")
    own = [await begin(database, principal) for _ in range(2)]
    batches = [LogBatch(LogAddition(run.key, [SAID]), run.task_id, [EFFECT]) for run in (own[0], lost, own[1])]
    outcomes, _ = await write_at_once(database, batches)

    assert [type(outcome) for outcome in outcomes] == [WriteResult, LogClosed, WriteResult]
    assert [len(await logged_events(database, run.key)) for run in (own[0], lost, own[1])] == [1, 0, 1]
    async with database.reading() as session:
        assert await journal_store.read(session, lost.task_id) == []


async def test_run_that_can_not_be_written_fails_alone(database: Database, principal: Principal):
    runs = [await begin(database, principal) for _ in range(3)]
    # Twice at one place of its journal.
    batches = [LogBatch(LogAddition(run.key, [SAID]), run.task_id, [EFFECT] * (1 + (run is runs[1]))) for run in runs]
    outcomes, _ = await write_at_once(database, batches)

    assert [type(outcome) for outcome in outcomes] == [WriteResult, IntegrityError, WriteResult]
    assert [len(await logged_events(database, run.key)) for run in runs] == [1, 0, 1]


async def test_nothing_is_written_twice_when_the_database_is_lost_at_its_commit(
    database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    runs = [await begin(database, principal) for _ in range(2)]
    batches = [LogBatch(LogAddition(run.key, [SAID]), run.task_id) for run in runs]
    writing = database.writing

    @asynccontextmanager
    async def unheard(*, urgent: bool = False) -> AsyncGenerator[AsyncSession]:
        async with writing(urgent=urgent) as session:
            yield session
        monkeypatch.undo()
        raise DatabaseUnavailable

    monkeypatch.setattr(database, "writing", unheard)
    outcomes, _ = await write_at_once(database, batches)

    assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * 2
    assert [len(await logged_events(database, run.key)) for run in runs] == [1, 1]


async def test_leases_are_kept_of_the_runs_that_are_driven_and_of_no_others(
    database: Database, principal: Principal, monkeypatch: pytest.MonkeyPatch
):
    driven, abandoned = [await begin(database, principal) for _ in range(2)]
    before = {run.key: (await rows_of(database, run.key))[0].lease_until for run in (driven, abandoned)}
    monkeypatch.setattr(driver, "_HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(driver, "LEASE_SECONDS", 0.01)
    beating = Heartbeat(database, "me", asyncio.Lock())

    async def stop() -> None:
        raise AssertionError("it may go on")

    async with asyncio.timeout(20):
        with beating.watching(driven.key, stop):
            # Nothing else tells that a row was renewed.
            while (  # noqa: ASYNC110
                (await rows_of(database, driven.key))[0].lease_until == before[driven.key]
            ):
                await asyncio.sleep(0.01)
    assert (await rows_of(database, abandoned.key))[0].lease_until == before[abandoned.key]
