"""Ingestion in any order: uploads, changes, pauses, deletions, crashes, stopped workers.

Whatever happens, a searched document is whole at every moment; and once everything has come to
rest, there is exactly what one undisturbed ingestion of each document's last bytes would leave.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from redis.asyncio import Redis
from sqlalchemy import update
from sqlmodel import col, select

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import Conflict
from core.redis.jobs import JobQueue
from core.settings import Settings
from ingestion.attempts.claim import claim
from ingestion.attempts.failures import remove_orphan_points
from ingestion.context import WorkerContext
from ingestion.parsers.file_type import detect_type
from ingestion.parsers.sandbox.client import ParserPool
from ingestion.pipeline import process_documents
from ingestion.worker.deletion import erase_document
from ingestion.worker.reconciler import OrphanSweep
from kb_service.documents import actions as document_actions
from kb_service.documents import storage as document_storage
from kb_service.documents import upload as document_upload
from kb_service.documents.actions import ActionName
from kb_service.documents.storage import FileType
from kb_service.documents.upload import Upload, UploadOutcome, UploadResult
from kb_service.embedding_spaces import EmbeddingSpace, EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.factory import open_encoder
from kb_service.engine_client.client import EngineClient
from kb_service.models import Chunk, Document, DocumentStatus, KnowledgeBase
from kb_service.object_storage.local import LocalObjectStore
from kb_service.text.token_counter import token_counter
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.crash_points import CrashPoint, Fault, WorkerKilled, with_crash_point
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import blocks

LONG = 600
ROUNDS_TO_REST = 30
NAMES = st.sampled_from(["a.md", "b.md"])
VERSIONS = st.integers(1, 4)
POINTS = st.integers(1, 24)
ACTIONS = st.sampled_from([name for name in ActionName if name is not ActionName.DELETE])
DONE = {"completed", "failed"}


def content(version: int) -> bytes:
    """Bytes that give as many chunks as the version's number, each with the version in it."""
    parts = [f"## Part {n}\n\n" + f"version{version} animal sleeps. " * 12 for n in range(version)]
    return "\n\n".join(parts).encode()


async def ingest_with_others(context: WorkerContext, document_id: str) -> None:
    """What a worker's slot does: small documents that wait beside one are worked on with it."""
    await process_documents(context, await claim(context, document_id))


Job = Callable[[WorkerContext, str], Coroutine[Any, Any, None]]
INGESTING = st.sampled_from([ingest, ingest_with_others])


@dataclass
class World:
    """What all runs of the machine share: real parts, and the loop that drives them."""

    runner: asyncio.Runner
    context: WorkerContext

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(coroutine)


@contextmanager
def open_world(folder: Path, url: str, engine_socket: Path) -> Iterator[World]:
    with asyncio.Runner() as runner:
        database = Database(url)
        engine = EngineClient(engine_socket)
        index = EdgeVectorIndex(folder / "vectors", DEFAULT.dimension)
        space = EmbeddingSpace(DEFAULT, open_encoder(engine), index, token_counter())
        context = WorkerContext(
            # So long that the lease ends only where the machine says so.
            settings=Settings(_env_file=None, data_dir=folder, lease_seconds=LONG, ingest_attempts=1000),
            owner="worker",
            database=database,
            # Never asked: the machine itself is the queue, and starts any job at any moment.
            queue=JobQueue(database, Redis(unix_socket_path="/nowhere")),
            store=LocalObjectStore(folder / "files"),
            spaces=EmbeddingSpaces([space]),
            parser=ParserPool(2),
        )
        runner.run(index.ensure_ready())
        try:
            yield World(runner, context)
        finally:
            for close in (context.parser.close, index.close, engine.close, database.close):
                runner.run(close())


class AnyOrder(RuleBasedStateMachine):
    """One knowledge base; ``wanted`` is what its owner was told is in it, by name."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.run = world.run
        self.wanted: dict[str, tuple[str, int]] = {}
        self.ids: list[str] = []
        self.cancelled: set[str] = set()
        self.workers = itertools.count(1)
        self.stopped: tuple[CrashPoint, asyncio.Task[None]] | None = None
        self.sweep = OrphanSweep(world.context)
        self.crash_point = CrashPoint()
        self.kb_id: str = self.run(self._make_knowledge_base())

    async def _make_knowledge_base(self) -> str:
        async with unit_of_work(self.world.context.database) as work:
            return (await add_knowledge_base(work, chunk_size=64, chunk_overlap=0)).id

    # What a person does.

    @rule(name=NAMES, version=VERSIONS)
    def upload(self, name: str, version: int) -> None:
        row, outcome = self.run(self._upload(name, content(version)))
        before = self.wanted.get(name)
        if before is None:
            assert outcome is UploadOutcome.CREATED
            self.ids.append(row.id)
        else:
            # The same bytes set going again what was cancelled.
            again = row.id in self.cancelled
            same = UploadOutcome.RETRIED if again else UploadOutcome.UNCHANGED
            is_same = before == (row.id, version)
            assert outcome is (same if is_same else UploadOutcome.REPLACED)
        self.cancelled.discard(row.id)
        self.wanted[name] = (row.id, version)

    async def _upload(self, name: str, data: bytes) -> tuple[Document, UploadOutcome]:
        context = self.world.context
        file = await document_storage.store_stream(context.store, blocks(data), max_bytes=10**6)
        found = detect_type(name, data, len(data))
        kind = FileType(found.name, found.file_type)
        async with unit_of_work(context.database) as work:
            knowledge_base = await work.session.get_one(KnowledgeBase, self.kb_id)
            (result,) = await document_upload.apply_uploads(
                work, SYSTEM_VIEWER, knowledge_base, [Upload(name, file, kind)]
            )
        assert isinstance(result, UploadResult)
        for key in result.spare_keys:
            await context.store.delete(key)
        return result.document, result.outcome

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.wanted:
            document_id, _ = self.wanted.pop(name)
            self.run(self._act(ActionName.DELETE, document_id))

    @rule(name=NAMES, action=ACTIONS)
    def act(self, name: str, action: ActionName) -> None:
        if name in self.wanted:
            document_id, _ = self.wanted[name]
            # What the document's status does not allow is refused: here it changes nothing.
            with suppress(Conflict):
                self.run(self._act(action, document_id))
                if action is ActionName.CANCEL:
                    self.cancelled.add(document_id)
                elif action is ActionName.RETRY:
                    self.cancelled.discard(document_id)

    async def _act(self, action: ActionName, document_id: str) -> None:
        async with unit_of_work(self.world.context.database) as work:
            await document_actions.apply_action(work, SYSTEM_VIEWER, action, self.kb_id, document_id)

    # What workers do: any job, at any moment, as often as the queue may bring it.

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), ingesting=INGESTING)
    def work(self, data: st.DataObject, ingesting: Job = ingest) -> None:
        self.hit(data, CrashPoint(), ingesting)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), point=POINTS, ingesting=INGESTING)
    def work_and_be_killed(self, data: st.DataObject, point: int, ingesting: Job) -> None:
        self.hit(data, CrashPoint(Fault.KILL, point), ingesting)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), point=POINTS, ingesting=INGESTING)
    def work_and_be_cancelled(self, data: st.DataObject, point: int, ingesting: Job) -> None:
        self.hit(data, CrashPoint(Fault.CANCEL, point), ingesting)

    @precondition(lambda self: self.ids and self.stopped is None)
    @rule(data=st.data(), point=POINTS, ingesting=INGESTING)
    def work_and_be_stopped(self, data: st.DataObject, point: int, ingesting: Job) -> None:
        crash_point = CrashPoint(Fault.STOP, point)
        self.stopped = self.run(self._until_stopped(self._pick(data), crash_point, ingesting))

    @precondition(lambda self: self.stopped is not None)
    @rule()
    def wake_the_stopped_worker(self) -> None:
        if self.stopped is not None:
            crash_point, task = self.stopped
            self.stopped = None
            crash_point.going_on.set()
            self.run(asyncio.wait_for(task, 60))

    @rule()
    def leases_and_pauses_end(self) -> None:
        self.run(self._end_waiting())

    @rule()
    def sweep_once(self) -> None:
        self.run(self.sweep.run())

    def hit(self, data: st.DataObject, crash_point: CrashPoint, ingesting: Job = ingest) -> None:
        """Let a worker do one job, with what the fuse does to it."""
        self.run(self._job(self._pick(data), crash_point, ingesting))

    def _pick(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.ids), label="document")

    async def _job(self, document_id: str, crash_point: CrashPoint, ingesting: Job = ingest) -> None:
        self.crash_point = crash_point
        context = with_crash_point(self.world.context, f"worker-{next(self.workers)}", crash_point)
        row = await self._row(document_id)
        act = ingesting
        if row is not None and row.deleted_at is not None:
            act = erase_document
        elif row is not None and row.status == DocumentStatus.CANCELLED:
            act = remove_orphan_points
        crash_point.victim = task = asyncio.create_task(act(context, document_id))
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            assert isinstance(error, WorkerKilled), error

    async def _until_stopped(
        self, document_id: str, crash_point: CrashPoint, ingesting: Job
    ) -> tuple[CrashPoint, asyncio.Task[None]] | None:
        task = asyncio.create_task(self._job(document_id, crash_point, ingesting))
        stopped = asyncio.create_task(crash_point.stopped.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            return crash_point, task
        await task
        return None

    async def _row(self, document_id: str) -> Document | None:
        async with self.world.context.database.reading() as session:
            return await session.get(Document, document_id)

    async def _end_waiting(self) -> None:
        async with unit_of_work(self.world.context.database) as work:
            mine = col(Document.knowledge_base_id) == self.kb_id
            await work.session.exec(update(Document).where(mine).values(retry_at=None))
            held = mine & col(Document.lease_until).is_not(None)
            past = Document.created_at
            await work.session.exec(update(Document).where(held).values(lease_until=past))

    # What must hold.

    @invariant()
    def what_is_searched_is_whole(self) -> None:
        rows, chunks, points = self.run(self._look())
        for row in rows:
            if row.deleted_at is not None or row.active_revision is None:
                continue
            active = [c for c in chunks if (c.document_id, c.revision) == _active(row)]
            versions = {c.content.partition("version")[2].partition(" ")[0] for c in active}
            assert len(versions) == 1, (row, versions)
            assert len(active) == row.chunk_count == int(versions.pop())
            assert points.get(_active(row), 0) == row.chunk_count, (row, points)

    async def _look(self) -> tuple[list[Document], list[Chunk], dict[tuple[str, int], int]]:
        async with self.world.context.database.reading() as session:
            mine = select(Document).where(Document.knowledge_base_id == self.kb_id)
            rows = list((await session.exec(mine)).all())
            inside = select(Chunk).where(Chunk.knowledge_base_id == self.kb_id)
            chunks = list((await session.exec(inside)).all())
        index = self.world.context.spaces.default.index
        indexed = await index.documents()
        points = {(e.document_id, e.revision): e.count for e in indexed if e.document_id in self.ids}
        return rows, chunks, points

    def teardown(self) -> None:
        self.wake_the_stopped_worker()
        self.run(self._come_to_rest())
        rows, chunks, points = self.run(self._look())
        assert {row.name: row.id for row in rows} == {name: id_ for name, (id_, _) in self.wanted.items()}
        for row in rows:
            version = self.wanted[row.name][1]
            assert (row.status, row.chunk_count) == ("completed", version), row
        assert {(c.document_id, c.revision) for c in chunks} == {_active(row) for row in rows}
        assert points == {_active(row): row.chunk_count for row in rows}
        self.what_is_searched_is_whole()
        keys = {row.storage_key for row in rows}
        assert set(self.run(self.world.context.store.keys())) == keys
        # The next run begins with nothing.
        for document_id in [id_ for id_, _ in self.wanted.values()]:
            self.run(self._act(ActionName.DELETE, document_id))
        self.run(self._come_to_rest())
        assert self.run(self._look()) == ([], [], {})

    async def _go_on(self, rows: Sequence[Document]) -> None:
        """Set going again what a person stopped; what was cancelled has left nothing behind."""
        for row in rows:
            if row.deleted_at is None and row.status == DocumentStatus.PAUSED:
                await self._act(ActionName.RESUME, row.id)
            elif row.deleted_at is None and row.status == DocumentStatus.CANCELLED:
                await self._job(row.id, CrashPoint())
                _, _, points = await self._look()
                assert [number for id_, number in points if id_ == row.id] == (
                    [row.active_revision] if row.active_revision else []
                )
                await self._act(ActionName.RETRY, row.id)

    async def _come_to_rest(self) -> None:
        for _ in range(ROUNDS_TO_REST):
            await self._end_waiting()
            rows, _, _ = await self._look()
            await self._go_on(rows)
            rows, _, _ = await self._look()
            open_ones = [r.id for r in rows if r.deleted_at is not None or r.status not in DONE]
            if not open_ones:
                break
            for document_id in open_ones:
                await self._job(document_id, CrashPoint())
        else:
            raise AssertionError(f"no rest: {rows}")
        # A file is taken for an orphan only when two sweeps miss it.
        await self.sweep.run()
        await self.sweep.run()


def _active(row: Document) -> tuple[str, int]:
    return row.id, row.active_revision or 0


class Chosen:
    """Draws what a test says, where the machine would draw anything."""

    def __init__(self, value: str) -> None:
        self._value = value

    def draw(self, *_: object, **__: object) -> Any:
        return self._value


@pytest.fixture
def world(tmp_path: Path, sqlite_template: Path, encoder_socket: Path) -> Iterator[World]:
    copy(sqlite_template, tmp_path / "agentex.db")
    url = f"sqlite+aiosqlite:///{tmp_path / 'agentex.db'}"
    with open_world(tmp_path, url, encoder_socket) as world:
        yield world


@pytest.mark.parametrize(
    ("ingesting", "meanwhile"),
    [(ingest, "nothing"), (ingest, "changed"), (ingest, "deleted"), (ingest_with_others, "changed")],
)
@pytest.mark.parametrize("fault", Fault)
def test_fault_at_each_point_while_others_go_on(world: World, fault: Fault, meanwhile: str, ingesting: Job):
    """The worker is hit at its first crash point, its second, and so on, until it passes all."""
    for point in itertools.count(1):
        machine = AnyOrder(world)
        machine.upload("a.md", 3)
        if ingesting is ingest_with_others:
            machine.upload("b.md", 2)
        one: Any = Chosen(machine.ids[0])
        if fault is Fault.STOP:
            machine.work_and_be_stopped(one, point, ingesting)
        else:
            machine.hit(one, CrashPoint(fault, point), ingesting)
        was_hit = machine.stopped is not None or len(machine.crash_point.passed) >= point
        if meanwhile == "changed":
            machine.upload("a.md", 2)
        elif meanwhile == "deleted":
            machine.delete("a.md")
        machine.leases_and_pauses_end()
        machine.work(one)
        machine.what_is_searched_is_whole()
        machine.wake_the_stopped_worker()
        machine.what_is_searched_is_whole()
        machine.teardown()
        if not was_hit:
            assert point > 10
            return


def run_machine(world: World, *, examples: int) -> None:
    run_state_machine_as_test(
        lambda: AnyOrder(world),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


@pytest.mark.timeout(600)
def test_ingestion_has_one_effect_in_any_order(world: World):
    run_machine(world, examples=15)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_ingestion_has_one_effect_in_any_order_for_long(world: World):
    run_machine(world, examples=2000)
