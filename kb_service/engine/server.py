"""The engine: its resources and the answers to requests."""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from core.errors.base import AgentexError
from core.errors.server import ShuttingDown
from core.logging import get_logger
from core.process import freeze_loaded_objects
from core.settings import Settings
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.engine_encoder import EmbedReply, EmbedRequest
from kb_service.embeddings.stepwise import lane_count
from kb_service.engine.handlers import EngineTask, Target, parse
from kb_service.engine.maintenance import IndexMaintenance, MaintenancePolicy
from kb_service.engine.resources import Resources
from kb_service.engine.scheduler import JobSteps, Scheduler
from kb_service.engine.shard_host import ShardBackend, ShardHost
from kb_service.engine_client.protocol import EncoderHealth, EngineHealth, EngineRequest, IndexHealth, WireMessage
from kb_service.vector_index.edge_shard import Shard, presync
from kb_service.vector_index.engine_index import QueryReply, SearchReply, SearchRequest

_log = get_logger(__name__)

# Flushing when idle is free; otherwise the next start replays the log.
_FLUSH_SECONDS = 1.0
# An import writes thousands of points a second, and flushes grow with their number.
_LOOK_SECONDS = 0.25
# The backend's name for vectors made elsewhere.
_ENDPOINT = "endpoint"
_MOST_UNFLUSHED = 8192
# Freeing a shard's memory holds Python's interpreter lock: 95 ms for 100,000 points.
_CALM_SECONDS = 1.0
_LONGEST_KEPT_SECONDS = 600.0


class Engine:
    """Encoders and shards, opened by ``load`` behind one thread, with lanes beside it that encode passages."""

    def __init__(self, settings: Settings, load: Callable[[], Resources]) -> None:
        self._settings = settings
        self._open = load
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        width = lane_count(settings.effective_encoder_threads)
        self._encode_threads = ThreadPoolExecutor(width, thread_name_prefix="encoder")
        self._schedule = Scheduler(self._thread, self._encode_threads, width)
        self._resources: Resources | None = None
        self._indexes: dict[str, ShardHost] = {}
        policy = MaintenancePolicy(settings.index_optimise_points)
        self._upkeep = IndexMaintenance(self._indexes, policy, settings.effective_engine_socket)
        self._ready = asyncio.Event()
        self._answering = 0
        self._last_asked = 0.0
        self._former: set[asyncio.Task[None]] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._draining = False

    async def run(self) -> None:
        """Load everything, then work until cancelled; AgentexError when loading fails or a shard is lost."""
        loop = asyncio.get_running_loop()
        resources = await loop.run_in_executor(self._thread, self._open)
        for model, directory in resources.directories.items():
            encoder = resources.encoders.get(model)
            self._indexes[model] = ShardHost(
                directory,
                self._local_backend(model),
                resources.shards[model],
                encoder.backend if encoder else _ENDPOINT,
            )
        self._resources = resources
        freeze_loaded_objects()
        self._ready.set()
        _log.info("engine.ready", encoders=len(resources.encoders), points=self.health().points)
        tasks = [
            asyncio.create_task(work)
            for work in (self._schedule.work(), self._keep_flushed(resources), self._upkeep.run())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def answer(self, request: EngineRequest) -> WireMessage:
        """Answer one request; during loading, all but ``health`` wait."""
        if request.op == "health":
            return self.health()
        if self._draining:
            raise ShuttingDown
        task = parse(request)
        self._answering += 1
        self._quiet.clear()
        try:
            await self._ready.wait()
            index = None if task.target is Target.ENCODER else self._indexes.get(task.model)
            if index is None:
                return await self._locally(task)
            if task.target is Target.READS_BOTH and not index.is_local:
                return await self._search_elsewhere(task.request, index)
            return await index.answer(task)
        finally:
            self._answering -= 1
            if not self._answering:
                self._quiet.set()
            if task.interactive:
                self._last_asked = time.monotonic()

    def health(self) -> EngineHealth:
        """The engine's state; never waits for the thread."""
        state: Literal["starting", "ready", "draining"] = "ready"
        if self._draining:
            state = "draining"
        elif not self._ready.is_set():
            state = "starting"
        encoders, indexes = self._encoders(), self._index_healths()
        default = next((item for item in encoders if item.model == DEFAULT.name), None)
        runtime, _, dtype = ((default and default.backend) or "").partition("-")
        return EngineHealth(
            state=state,
            pid=os.getpid(),
            model=DEFAULT.name,
            dimension=DEFAULT.dimension,
            backend=runtime or None,
            dtype=dtype or None,
            points=sum(index.points for index in indexes) if indexes else None,
            waiting=self._schedule.waiting,
            encoders=encoders,
            indexes=indexes,
        )

    async def drain(self) -> None:
        """Refuse new work, finish queued work within ``drain_seconds``."""
        self._draining = True
        try:
            async with asyncio.timeout(self._settings.drain_seconds):
                await self._quiet.wait()
        except TimeoutError:
            _log.warning("engine.drain_cut", waiting=self._schedule.waiting)

    async def close(self) -> None:
        resources, self._resources = self._resources, None
        self._ready.set()
        await self._upkeep.close()
        for former in self._former:
            former.cancel()
        await asyncio.gather(*self._former, return_exceptions=True)
        if resources is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, resources.close)
        for index in self._indexes.values():
            with contextlib.suppress(OSError):
                index.save_record()
        self._thread.shutdown()
        self._encode_threads.shutdown()

    async def _locally(self, task: EngineTask) -> WireMessage:
        if self._resources is None:
            raise ShuttingDown
        answer = await self._schedule.run(
            task.work(self._resources),
            interactive=task.interactive,
            account=task.account,
            inline_ok=task.inline_ok and self._resources.answers_soon(task.model),
        )
        if not isinstance(answer, WireMessage):
            raise TypeError(task.request.op)
        return answer

    async def _search_elsewhere(self, request: EngineRequest, index: ShardHost) -> WireMessage:
        """Encode a question here and query the process that has the shard."""
        body = SearchRequest.model_validate(request.body)
        started = time.perf_counter()
        embed = EmbedRequest(model=body.model, role="query", texts=[body.question])
        embedding = request.model_copy(update={"op": "embed", "body": embed.model_dump()})
        embedded = EmbedReply.model_validate((await self._locally(parse(embedding))).model_dump())
        encoding_ms = 1000 * (time.perf_counter() - started)
        body = body.encoded(embedded.data)
        asking = request.model_copy(update={"op": "query", "body": body.model_dump()})
        legs = QueryReply.model_validate((await index.answer(parse(asking))).model_dump())
        return SearchReply(dense=legs.dense, sparse=legs.sparse, vector=embedded.data, encoding_ms=encoding_ms)

    def _local_backend(self, model: str) -> ShardBackend:
        async def close() -> None:
            if self._resources is not None:
                loop = asyncio.get_running_loop()
                # On the thread: it may be flushing this very shard.
                shard = await loop.run_in_executor(self._thread, self._resources.shards.pop, model)
                await asyncio.to_thread(shutil.rmtree, shard.folder, ignore_errors=True)
                former = asyncio.create_task(self._abandon_when_calm(shard))
                self._former.add(former)
                former.add_done_callback(self._former.discard)

        return ShardBackend(self._locally, close)

    async def _abandon_when_calm(self, shard: Shard) -> None:
        """Release a replaced shard's memory while no question is in progress."""
        latest = time.monotonic() + _LONGEST_KEPT_SECONDS
        while True:
            left = min(self._last_asked + _CALM_SECONDS, latest) - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(left)
        await asyncio.get_running_loop().run_in_executor(self._thread, shard.abandon)

    async def _keep_flushed(self, resources: Resources) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            idle = self._schedule.idle_seconds > _FLUSH_SECONDS
            for shard in list(resources.shards.values()):
                if shard.unflushed > (0 if idle else _MOST_UNFLUSHED):
                    await asyncio.to_thread(presync, shard.folder)
                    await self._schedule.run(_flush(resources, shard), interactive=False)

    def _encoders(self) -> list[EncoderHealth]:
        if self._resources is None:
            return []
        failures = self._resources.failures
        return [
            EncoderHealth(model=model, backend=encoder.backend if encoder else None, problem=failures.get(model))
            for model, encoder in ({**dict.fromkeys(failures), **self._resources.encoders}).items()
        ]

    def _index_healths(self) -> list[IndexHealth]:
        if self._indexes or self._resources is None:
            return [index.health() for index in self._indexes.values()]
        return [_bare_health(*entry) for entry in self._resources.shards.items()]


def _flush(resources: Resources, shard: Shard) -> JobSteps:
    yield
    # It may have been closed after a move to another process.
    if shard in resources.shards.values() and shard.unflushed:
        try:
            shard.flush()
        except AgentexError as error:
            _log.warning("engine.not_flushed", error=type(error).__name__, code=error.code)


def _bare_health(model: str, shard: Shard) -> IndexHealth:
    return IndexHealth(
        model=model,
        points=shard.points,
        upkeep="none",
        written=shard.written,
        deleted=shard.deleted,
        optimised=False,
        own_process=False,
        vectors_by=None,
        problem=None,
    )
