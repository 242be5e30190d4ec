"""The optimisation of large indexes beside the running engine, through crashes."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import psutil
import pytest

from core.errors.server import EngineUnavailable
from core.settings import Settings
from kb_service.embeddings.catalog import DEFAULT
from kb_service.engine.main import serve
from kb_service.engine.maintenance import MaintenancePolicy
from kb_service.engine.resources import load_resources
from kb_service.engine.server import Engine
from kb_service.engine.shadow_rebuild import BuildProcess, start_build
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import IndexHealth
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import ChunkPoint, HybridQuery, SparseVector, point_id
from tests.fixtures.product.engine_processes import AT_ONCE, RunningEngine, running_engine, until, until_ready

# Each starts several processes, which takes long where many tests share a machine.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
POINTS_EACH = 25
PATIENCE_SECONDS = 60.0
P = ParamSpec("P")
R = TypeVar("R")
ENOUGH = 1500
LOW = {"AGENTEX_INDEX_OPTIMISE_POINTS": str(ENOUGH)}


def chunks(number: int) -> list[ChunkPoint]:
    random = np.random.default_rng(number)
    return [
        ChunkPoint(
            id=point_id(f"document-{number}", 1, index),
            kb_id="kb",
            document_id=f"document-{number}",
            revision=1,
            index=index,
            dense=random.normal(size=DEFAULT.dimension).astype(np.float32),
            sparse=SparseVector((number, 1_000_000 + index), (1.0, 0.5)),
        )
        for index in range(POINTS_EACH)
    ]


async def patiently(operation: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of an operation of the index, repeated while a busy machine keeps the engine from answering in time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await operation(*args, **kwargs)
        except EngineUnavailable:
            if time.monotonic() > end:
                raise
        await asyncio.sleep(0.1)


@dataclass
class Writer:
    """Writes and deletes documents; ``kept`` is what was acknowledged, ``open`` what was not."""

    index: EngineVectorIndex
    kept: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    next: int = 0

    async def write(self, documents: int) -> None:
        for number in range(self.next, self.next + documents):
            self.next = number + 1
            self.open.add(number)
            await patiently(self.index.upsert, chunks(number))
            self.open.discard(number)
            self.kept.add(number)

    async def delete(self, number: int) -> None:
        self.open.add(number)
        await patiently(self.index.delete_documents, [f"document-{number}"])
        self.open.discard(number)
        self.kept.discard(number)

    async def churn(self) -> None:
        """Write and delete until something stops it."""
        while True:
            await self.write(3)
            await self.delete(min(self.kept))
            await asyncio.sleep(0.02)

    async def check(self) -> None:
        """The index holds all that was acknowledged, whole, and nothing else."""
        listed = {entry.document_id: entry.count for entry in await patiently(self.index.documents)}
        unsure = {f"document-{number}" for number in self.open}
        expected = {f"document-{number}": POINTS_EACH for number in self.kept}
        for name in unsure:
            listed.pop(name, None)
            expected.pop(name, None)
        assert listed == expected
        for number in sorted(self.kept - self.open)[::7]:
            (point, *_) = chunks(number)
            legs = await patiently(self.index.query, kb_ids=["kb"], dense=point.dense, sparse=point.sparse, depth=3)
            assert legs.dense[0].id == point.id
            assert {hit.document_id for hit in legs.sparse} == {point.document_id}


def health_of(engine_health) -> IndexHealth:
    return next(index for index in engine_health.indexes if index.model == DEFAULT.name)


@asynccontextmanager
async def engine_of(folder: Path, **variables: str) -> AsyncIterator[tuple[RunningEngine, EngineClient]]:
    with running_engine(folder, **variables) as running:
        client = EngineClient(running.settings.effective_engine_socket)
        try:
            await until_ready(client)
            yield running, client
        finally:
            await client.close()


class NoEncoder:
    """Stands for the encoder where nothing is encoded: loading one costs more than all else."""

    backend = "none"

    def warm_up(self) -> None:
        """There is nothing to warm up."""


@pytest.fixture
def opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., AbstractAsyncContextManager[EngineClient]]:
    """Opens the folder of an engine that is gone as the next one does, in this process."""
    monkeypatch.setattr("kb_service.engine.resources.open_encoder", lambda *_: NoEncoder())
    # That is for a process that does nothing else.
    monkeypatch.setattr("kb_service.engine.server.freeze_loaded_objects", lambda: None)

    @asynccontextmanager
    async def open_again(folder: Path, optimise: int = 0) -> AsyncIterator[EngineClient]:
        settings = Settings(data_dir=folder, engine_socket=None, index_optimise_points=optimise)
        engine = Engine(settings, lambda: load_resources(settings))
        socket = settings.effective_engine_socket
        serving = asyncio.create_task(serve(socket, engine, stop_on=()))
        client = EngineClient(socket)
        try:
            await until(client, lambda health: serving.done() or health.state == "ready")
            yield client
        finally:
            await client.close()
            await stopped(serving)

    return open_again


@pytest.fixture
def unflushed_at_copying(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Points that each shard that was ever flushed has still to flush when its folder is copied."""
    flushed, seen = list[Shard](), list[int]()
    flush = Shard.flush

    def note(shard: Shard) -> None:
        flush(shard)
        flushed.append(shard)

    async def start(source: Path, target: Path, dimension: int) -> BuildProcess:
        seen.extend(shard.unflushed for shard in set(flushed) if shard.folder == source)
        return await start_build(source, target, dimension)

    monkeypatch.setattr(Shard, "flush", note)
    monkeypatch.setattr("kb_service.engine.maintenance.start_build", start)
    return seen


def index_of(client: EngineClient) -> EngineVectorIndex:
    return EngineVectorIndex(client, DEFAULT.name, DEFAULT.dimension)


def folders(folder: Path) -> set[str]:
    return {path.name for path in (folder / "vectors").glob(f"{DEFAULT.name}*") if path.is_dir()}


async def moved(client: EngineClient, seconds: float = 240) -> IndexHealth:
    return health_of(await until(client, lambda health: health_of(health).own_process, seconds))


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def test_large_index_is_optimised_while_it_is_written_and_searched(tmp_path):
    folder = tmp_path / "data"
    async with engine_of(folder, **LOW) as (running, client):
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        churning = asyncio.create_task(writer.churn())
        health = await moved(client)
        assert (health.optimised, health.problem) == (True, None)
        await asyncio.sleep(0.5)
        await stopped(churning)
        await writer.check()
        assert folders(folder) == {f"{DEFAULT.name}@2"}
        # The engine has let go of its own shard, whose room is free again.
        await until(client, lambda _: str(folder / "vectors" / DEFAULT.name) not in running.maps, 30)
        # It goes on from there, in its own process and once more after a restart.
        question = HybridQuery("A question as text", SparseVector((1,), (1.0,)), ["kb"], 10)
        answered = await writer.index.search(question)
        assert answered.legs == await writer.index.query(
            kb_ids=["kb"], dense=answered.dense, sparse=question.sparse, depth=10
        )
        assert len(answered.legs.dense) == 10
        await writer.write(4)
        await writer.check()
        assert await asyncio.to_thread(running.stop) == 0
    async with engine_of(folder, **LOW) as (_, client):
        writer.index = index_of(client)
        assert not health_of(await client.health()).own_process
        await writer.check()


async def test_nothing_is_left_to_flush_when_an_index_is_copied(tmp_path, opened_again, unflushed_at_copying):
    # The engine's own flush would change the files under who copies them.
    async with opened_again(tmp_path / "data", optimise=ENOUGH) as client:
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        # An index at rest would be flushed anyway.
        churning = asyncio.create_task(writer.churn())
        await moved(client)
        await stopped(churning)
        await writer.check()
    assert unflushed_at_copying == [0]


async def test_room_of_deleted_points_is_freed_and_the_index_moves_again(tmp_path):
    folder = tmp_path / "data"
    async with engine_of(folder, **LOW) as (_, client):
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        await moved(client)
        for number in list(writer.kept)[: ENOUGH // POINTS_EACH // 2]:
            await writer.delete(number)
        await until(client, lambda _: folders(folder) == {f"{DEFAULT.name}@3"}, 240)
        assert (health_of(await until_ready(client))).deleted == 0
        await writer.check()


@pytest.mark.parametrize("state", ["copying", "optimising", "replaying", "swapping", "moved"])
async def test_nothing_acknowledged_is_lost_when_the_engine_is_killed_while(tmp_path, state, opened_again):
    folder = tmp_path / "data"
    async with engine_of(folder, **LOW) as (running, client):
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        churning = asyncio.create_task(writer.churn())
        passed = ["copying", "optimising", "replaying", "swapping"]

        def is_there(health) -> bool:
            index = health_of(health)
            at = len(passed) if index.own_process else -1
            at = passed.index(index.upkeep) if index.upkeep in passed else at
            return at >= [*passed, "moved"].index(state)

        await until(client, is_there, 240, pause=AT_ONCE)
        children = psutil.Process(running.process.pid).children(recursive=True)
        running.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(running.process.wait, 20)
        await stopped(churning)
        assert psutil.wait_procs(children, timeout=10)[1] == []
    async with opened_again(folder) as client:
        writer.index = index_of(client)
        await writer.check()
        assert len(folders(folder)) == 1


async def test_engine_ends_to_be_started_again_when_the_process_of_its_index_dies(tmp_path, opened_again):
    folder = tmp_path / "data"
    async with engine_of(folder, **LOW) as (running, client):
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        await moved(client)
        (host,) = hosts(running)
        host.kill()
        assert await asyncio.to_thread(running.process.wait, 30) == 1
    async with opened_again(folder) as client:
        writer.index = index_of(client)
        await writer.check()


def hosts(running: RunningEngine, module: str = "kb_service.engine.shard_host_main") -> list[psutil.Process]:
    children = psutil.Process(running.process.pid).children(recursive=True)
    found: list[psutil.Process] = []
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            if module in child.cmdline():
                found.append(child)
    return found


async def test_index_goes_on_and_says_why_when_the_optimiser_dies(tmp_path):
    folder = tmp_path / "data"
    async with engine_of(folder, **LOW) as (running, client):
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        await until(
            client,
            lambda health: health_of(health).upkeep == "optimising",
            120,
            pause=AT_ONCE,
        )
        for builder in hosts(running, "kb_service.engine.shadow_rebuild"):
            builder.kill()
        health = health_of(await until(client, lambda health: bool(health_of(health).problem), 120))
        assert health.problem == "the copy of the index could not be optimised"
        assert (health.upkeep, health.own_process) == ("none", False)
        await writer.check()
        await writer.write(1)
        await until(client, lambda _: folders(folder) == {DEFAULT.name}, 60)


async def test_no_question_waits_long_while_an_index_is_optimised(tmp_path):
    async with engine_of(tmp_path / "data", AGENTEX_INDEX_OPTIMISE_POINTS="4000") as (_, client):
        writer = Writer(index_of(client))
        await writer.write(4000 // POINTS_EACH)
        waits: list[float] = []
        started = time.monotonic()
        moving = asyncio.create_task(moved(client, 240))
        dense = chunks(1)[0].dense
        while not moving.done():
            began = time.monotonic()
            await writer.index.query(kb_ids=["kb"], dense=dense, sparse=None, depth=10)
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.005)
        await moving
        # On a busy machine all is slow; optimised in place, one question waits for most of it.
        assert max(waits) < max(1.0, (time.monotonic() - started) / 2)


async def test_former_shard_is_given_up_when_nobody_has_asked_for_a_while(tmp_path, opened_again, monkeypatch):
    # That freezes the engine, the longer the more points it had.
    monkeypatch.setattr("kb_service.engine.server._CALM_SECONDS", 3.0)
    given_up: list[float] = []
    abandon = Shard.abandon

    def note(shard: Shard) -> None:
        given_up.append(time.monotonic())
        abandon(shard)

    monkeypatch.setattr(Shard, "abandon", note)
    async with opened_again(tmp_path / "data", optimise=ENOUGH) as client:
        writer = Writer(index_of(client))
        await writer.write(ENOUGH // POINTS_EACH)
        moving = asyncio.create_task(moved(client))
        dense = chunks(1)[0].dense
        more, asked = 20, 0.0
        while more and not given_up:
            await writer.index.query(kb_ids=["kb"], dense=dense, sparse=None, depth=10)
            asked = time.monotonic()
            await asyncio.sleep(0.05)
            more -= moving.done()
        await until(client, lambda _: bool(given_up), 30)
    assert given_up[0] - asked > 1.0


@pytest.mark.parametrize(
    ("points", "written", "deleted", "optimised", "due"),
    [
        (49_999, 49_999, 0, False, False),
        (50_000, 0, 0, False, True),
        (50_000, 19_999, 0, True, False),
        (50_000, 20_000, 0, True, True),
        (1_000_000, 99_999, 0, True, False),
        (1_000_000, 100_000, 0, True, True),
        (10_000, 0, 4_999, False, False),
        (10_000, 0, 5_000, False, True),
        (100_000, 0, 20_000, True, False),
        (80_000, 0, 20_000, True, True),
    ],
)
def test_index_is_due_when_enough_has_changed(points, written, deleted, optimised, due):
    health = IndexHealth(
        model="m",
        points=points,
        upkeep="none",
        written=written,
        deleted=deleted,
        optimised=optimised,
        own_process=False,
        vectors_by=None,
        problem=None,
    )
    assert MaintenancePolicy(50_000).is_due(health) is due
    assert not MaintenancePolicy(0).is_due(health)
