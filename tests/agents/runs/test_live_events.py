"""Delivery of run events to subscribers: from memory, over Redis, from SQL."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from sqlalchemy import event as sql_events

from agents.agui.verifier import verify
from agents.event_log import LogEntry
from agents.llm.base import ChatModel
from agents.runs import broadcaster, subscribers
from agents.runs.broadcaster import EventBroadcaster
from agents.runs.service import RunService
from agents.runs.subscribers import EventBuffer
from core.auth.principal import Principal
from core.db.database import Database
from tests.agents.runs.helpers import PacedModel, follow, make_request, register, service_of, until, verified_events

pytestmark = pytest.mark.anyio

MakeProcess = Callable[[ChatModel], RunService]


def entries(first: int, last: int) -> list[LogEntry]:
    return [LogEntry(seq, "CUSTOM", str(seq)) for seq in range(first, last + 1)]


@given(
    told=st.lists(st.tuples(st.integers(1, 900), st.integers(0, 300))),
    after=st.integers(0, 1_200),
)
async def test_tail_gives_all_that_follows_or_says_that_it_can_not(told: list[tuple[int, int]], after: int):
    buffer = EventBuffer()
    for first, more in told:
        buffer.add(entries(first, first + more))
    last = max((first + more for first, more in told), default=0)
    assert buffer.last_seq == last
    behind = buffer.entries_after(after)
    if after >= last:
        assert behind == []
    elif behind is not None:
        assert [entry.seq for entry in behind] == list(range(after + 1, last + 1))


def test_tail_has_what_was_told_without_a_gap():
    buffer = EventBuffer()
    buffer.open(10)
    buffer.add(entries(11, 12))
    buffer.add(entries(12, 14))
    assert [entry.seq for entry in buffer.entries_after(10) or ()] == [11, 12, 13, 14]
    assert buffer.entries_after(9) is None
    buffer.add(entries(20, 20))
    assert buffer.entries_after(14) is None
    assert [entry.seq for entry in buffer.entries_after(19) or ()] == [20]


@pytest.fixture
def database_kind() -> str:
    """What is on its way does not know which database holds the truth."""
    return "sqlite"


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


@asynccontextmanager
async def processes(database: Database, url: str | None) -> AsyncIterator[MakeProcess]:
    """Run engines as several processes have them, with a Redis between them if there is one."""
    made: list[RunService] = []
    clients: list[Redis] = []

    def make(model: ChatModel) -> RunService:
        between = None
        if url is not None:
            clients.append(Redis.from_url(url, socket_connect_timeout=2))
            between = EventBroadcaster(clients[-1])
        made.append(service_of(database, model, broadcaster=between))
        return made[-1]

    try:
        yield make
    finally:
        await asyncio.gather(*(runs.drain(0) for runs in made))
        await asyncio.gather(*(client.aclose() for client in clients))


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Redis is left, and it tells only what is asked for."""
    monkeypatch.setattr(subscribers, "_LOOK_SECONDS", 3600)
    monkeypatch.setattr(subscribers, "_LOOK_BESIDE_SECONDS", 3600)
    monkeypatch.setattr(broadcaster, "_BLOCK_MS", 3_600_000)


@dataclass(frozen=True)
class Followed:
    """A run that has begun to speak, and its reader at another process."""

    driving: RunService
    reading: RunService
    key: str
    model: PacedModel
    reader: asyncio.Task[list[dict[str, Any]]]


async def followed(make: MakeProcess, principal: Principal) -> Followed:
    model = PacedModel("Hello")
    driving, reading = make(model), make(PacedModel())
    request = make_request()
    key = await driving.start(principal, request)
    reader = asyncio.create_task(verified_events(reading, key, request))
    await until(reading, key, "TEXT_MESSAGE_CONTENT")
    return Followed(driving, reading, key, model, reader)


@pytest.mark.usefixtures("never_looks")
async def test_run_of_another_process_is_followed_live_over_redis(
    database: Database, principal: Principal, find_redis: Callable[[], str]
):
    async with processes(database, find_redis()) as make:
        run = await followed(make, principal)
        # Another one, while the first is waited for.
        second = make_request()
        other = PacedModel("Other", " words")
        other.say(last=True)
        other_key = await make(other).start(principal, second)
        assert (await verified_events(run.reading, other_key, second))[-1]["type"] == "RUN_FINISHED"
        run.model.say(" there", last=True)
        assert await run.reader == await follow(run.driving, run.key)


@pytest.mark.usefixtures("never_looks")
async def test_flushed_redis_leaves_no_gap(database: Database, principal: Principal, find_redis: Callable[[], str]):
    url = find_redis()
    async with processes(database, url) as make, Redis.from_url(url) as redis:
        run = await followed(make, principal)
        await redis.flushdb()
        run.model.say(" again")
        await asyncio.wait_for(_grown(run.driving, run.key, "again"), 20)
        await redis.flushdb()
        run.model.say(" and again", last=True)
        assert await run.reader == await follow(run.driving, run.key)


async def _grown(runs: RunService, key: str, said: str) -> None:
    async for some in runs.follow(key):
        if any(said in entry.payload for entry in some):
            return


@pytest.mark.parametrize("url", [None, "redis://127.0.0.1:1"], ids=["no redis", "redis is down"])
async def test_run_of_another_process_is_followed_without_redis(
    database: Database, principal: Principal, url: str | None
):
    async with processes(database, url) as make:
        model = PacedModel("Hello")
        driving, reading = make(model), make(PacedModel())
        request = make_request()
        key = await driving.start(principal, request)
        readers = [asyncio.create_task(verified_events(reading, key, request)) for _ in range(3)]
        await until(reading, key, "TEXT_MESSAGE_CONTENT")
        model.say(" there", last=True)
        whole = await follow(driving, key)
        assert await asyncio.gather(*readers) == [whole] * 3


async def test_followers_of_an_own_run_read_no_log(database: Database, principal: Principal):
    statements: list[str] = []
    sql_events.listen(
        database.engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _k, statement, *_: statements.append(statement),
    )
    async with processes(database, None) as make:
        model = PacedModel("The", " port", " is", " 8080")
        model.say(last=True)
        runs = make(model)
        request = make_request()
        key = await runs.start(principal, request)
        verify(await follow(runs, key), thread_id=request.thread_id, run_id=request.run_id)
    assert any("INSERT INTO logged_event" in statement for statement in statements)
    assert not any("FROM logged_event" in statement for statement in statements)
