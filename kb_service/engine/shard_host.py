"""Routing of a shard's requests: its backend, ordered writes, and moves between processes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from kb_service.engine.handlers import EngineTask, Target
from kb_service.engine.write_log import WriteLog
from kb_service.engine_client.protocol import IndexHealth, UpkeepState, WireMessage
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.shard_directory import ShardDirectory, ShardRecord


class ShardBackend:
    """Where a shard's requests are carried out; ``close`` runs when no request uses it any more."""

    def __init__(
        self, carry_out: Callable[[EngineTask], Awaitable[WireMessage]], close: Callable[[], Awaitable[None]]
    ) -> None:
        self._carry_out = carry_out
        self._close = close
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    async def use(self, task: EngineTask) -> WireMessage:
        self._users += 1
        self._unused.clear()
        try:
            return await self._carry_out(task)
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def retire(self) -> None:
        """Wait until it is unused, then close the shard."""
        await self._unused.wait()
        await self._close()


class ShardHost:
    """Routes a model's requests to its shard, initially at ``place`` in this process: reads at once, writes one by
    one.
    """

    def __init__(self, directory: ShardDirectory, place: ShardBackend, shard: Shard, backend: str) -> None:
        self.model = directory.model
        self.directory = directory
        self._backend = backend
        self.upkeep: UpkeepState = "none"
        self.problem: str | None = None
        self._place = place
        self._shard: Shard | None = shard
        self._reported = (0, 0, 0)
        self._write_log: WriteLog | None = None
        self._writing = asyncio.Lock()
        # Changes counted by the backend, and how many of them the record includes.
        self._recorded = (0, 0)

    async def answer(self, task: EngineTask) -> WireMessage:
        if task.target is not Target.WRITES_INDEX:
            return await self._place.use(task)
        async with self._writing:
            try:
                answer = await self._place.use(task)
            except BaseException:
                if self._write_log is not None:
                    self._write_log.invalidate()
                raise
            if self._write_log is not None:
                self._write_log.append(task.request)
            return answer

    def report(self, points: int, written: int, deleted: int) -> None:
        """Update the counts from another process: points, and changes since it opened the shard."""
        self._reported = (points, written, deleted)

    @property
    def is_local(self) -> bool:
        return self._shard is not None

    @property
    def points(self) -> int:
        """Points in the shard, by its last report."""
        return self._counts()[0]

    @property
    def record(self) -> ShardRecord:
        saved = self.directory.record
        written, deleted = (now - before for now, before in zip(self._counts()[1:], self._recorded, strict=True))
        made_now = self._backend if self.points else None
        return saved.model_copy(
            update={
                "backend": saved.backend or made_now,
                "written": saved.written + written,
                "deleted": saved.deleted + deleted,
            }
        )

    def health(self) -> IndexHealth:
        record = self.record
        return IndexHealth(
            model=self.model,
            points=self.points,
            upkeep=self.upkeep,
            written=record.written,
            deleted=record.deleted,
            optimised=record.optimised_at is not None,
            own_process=self._shard is None,
            vectors_by=record.backend,
            problem=self.problem,
        )

    @asynccontextmanager
    async def writes_paused(self) -> AsyncGenerator[ShardBackend]:
        """Hold back writes; queries go on."""
        async with self._writing:
            yield self._place

    @property
    def write_log(self) -> WriteLog:
        """The writes since ``start_write_log``; only between that and ``stop_write_log``."""
        if self._write_log is None:
            raise RuntimeError("no journal is kept")
        return self._write_log

    def start_write_log(self, write_log: WriteLog) -> None:
        """Log every write from now on; only while writes are paused."""
        self._write_log = write_log

    def stop_write_log(self) -> None:
        if self._write_log is not None:
            self._write_log.close()
            self._write_log = None

    async def move(self, place: ShardBackend, record: ShardRecord) -> ShardBackend:
        """Switch to a backend with the same points and return the former, while writes are paused; no change on an
        OSError.
        """
        await asyncio.to_thread(self.directory.write, record)
        former, self._place = self._place, place
        self._reported, self._recorded = (self.points, 0, 0), (0, 0)
        self._shard = None
        return former

    def save_record(self) -> None:
        """Save the counts, so that they outlive this process."""
        record, counts = self.record, self._counts()
        if record != self.directory.record:
            self.directory.write(record)
            self._recorded = counts[1:]

    def _counts(self) -> tuple[int, int, int]:
        if self._shard is None:
            return self._reported
        return self._shard.points, self._shard.written, self._shard.deleted
