"""One model's shard: who serves it now, its writes in order, and moving it elsewhere."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from kb_service.engine.handlers import Part, Task
from kb_service.engine.write_log import Journal
from kb_service.engine_client.protocol import IndexHealth, Message, UpkeepState
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.shard_directory import ShardHome, ShardRecord


class Place:
    """Where a shard's requests are carried out.

    Args:
        carry_out: does one.
        close: gives the shard up; called when no request uses it any more.
    """

    def __init__(
        self,
        carry_out: Callable[[Task], Awaitable[Message]],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._carry_out = carry_out
        self._close = close
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    async def use(self, task: Task) -> Message:
        """Carry out one request.

        Raises:
            AgentexError: what its caller is told.
        """
        self._users += 1
        self._unused.clear()
        try:
            return await self._carry_out(task)
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def retire(self) -> None:
        """Wait for those who still use it, then give the shard up."""
        await self._unused.wait()
        await self._close()


class ServedIndex:
    """Sends a model's requests to the place of its shard: reads at once, writes one by one.

    Args:
        home: the shard's folders and record.
        place: who serves it at first: this process.
        shard: what that place serves.
        backend: what makes this model's vectors now.
    """

    def __init__(self, home: ShardHome, place: Place, shard: Shard, backend: str) -> None:
        self.model = home.model
        self.home = home
        self._backend = backend
        self.upkeep: UpkeepState = "none"
        self.problem: str | None = None
        self._place = place
        self._shard: Shard | None = shard
        self._reported = (0, 0, 0)
        self._journal: Journal | None = None
        self._writing = asyncio.Lock()
        # Changes as the place counts them, and how many of those the record has already.
        self._recorded = (0, 0)

    async def answer(self, task: Task) -> Message:
        """Carry out a request.

        Raises:
            AgentexError: what its caller is told.
        """
        if task.part is not Part.WRITES_INDEX:
            return await self._place.use(task)
        async with self._writing:
            try:
                answer = await self._place.use(task)
            except BaseException:
                if self._journal is not None:
                    self._journal.spoil()
                raise
            if self._journal is not None:
                self._journal.append(task.request)
            return answer

    def note(self, points: int, written: int, deleted: int) -> None:
        """Note what another process reports: points, and changes since it opened the shard."""
        self._reported = (points, written, deleted)

    @property
    def is_here(self) -> bool:
        """Whether this process has the shard."""
        return self._shard is not None

    @property
    def points(self) -> int:
        """Points in the shard, by its last report."""
        return self._counts()[0]

    @property
    def record(self) -> ShardRecord:
        """The shard's record with all that happened until now."""
        kept = self.home.record
        written, deleted = (
            now - before for now, before in zip(self._counts()[1:], self._recorded, strict=True)
        )
        made_now = self._backend if self.points else None
        return kept.model_copy(
            update={
                "backend": kept.backend or made_now,
                "written": kept.written + written,
                "deleted": kept.deleted + deleted,
            }
        )

    def health(self) -> IndexHealth:
        """The index as the engine's health shows it."""
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
    async def standing_still(self) -> AsyncGenerator[Place]:
        """Keep writes waiting; questions go on."""
        async with self._writing:
            yield self._place

    @property
    def journal(self) -> Journal:
        """The writes since ``start_journal``; only between that and ``stop_journal``."""
        if self._journal is None:
            raise RuntimeError("no journal is kept")
        return self._journal

    def start_journal(self, journal: Journal) -> None:
        """Keep every write from now on; only while the index stands still."""
        self._journal = journal

    def stop_journal(self) -> None:
        """Keep writes no longer."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    async def move(self, place: Place, record: ShardRecord) -> Place:
        """Let another place serve from now on; only while the index stands still.

        Args:
            place: has the same points, in another process.
            record: names its folder.

        Returns:
            The former place, to be retired.

        Raises:
            OSError: the record can't be written; nothing has changed.
        """
        await asyncio.to_thread(self.home.write, record)
        former, self._place = self._place, place
        self._reported, self._recorded = (self.points, 0, 0), (0, 0)
        self._shard = None
        return former

    def save_record(self) -> None:
        """Write down the counts, so that they outlive this process.

        Raises:
            OSError: the record can't be written.
        """
        record, counts = self.record, self._counts()
        if record != self.home.record:
            self.home.write(record)
            self._recorded = counts[1:]

    def _counts(self) -> tuple[int, int, int]:
        if self._shard is None:
            return self._reported
        return self._shard.points, self._shard.written, self._shard.deleted
