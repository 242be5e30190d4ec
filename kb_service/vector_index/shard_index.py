"""The points of an embedding model in the data folder, for programs that run while no engine does."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.protocol import ChunkPoint
from kb_service.vector_index.shard_directory import ShardDirectory

_T = TypeVar("_T")


class ShardIndex:
    """A model's shard, opened at its first use and only by this process.

    Args:
        root: ``<data_dir>/vectors``.

    Raises:
        VectorIndexUnavailable: by every method, if an engine has it open or it can't be read.
    """

    def __init__(self, root: Path, model: str, dimension: int) -> None:
        self._root, self._model, self._dimension = root, model, dimension
        self._directory: ShardDirectory | None = None
        self._shard: Shard | None = None
        # A shard belongs to the thread that opened it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="shard")

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """See ``VectorIndex.points``."""
        return await self._run(partial(self._points, document_id, revision))

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """See ``VectorIndex.upsert``."""
        await self._run(partial(self._upsert, points))

    async def count(self) -> int:
        """The number of points; a model without a folder has none, and gets none."""
        return await self._run(self._count)

    async def close(self) -> None:
        """Bring everything onto the disk, and the record that the next engine goes by."""
        await self._run(self._close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _count(self) -> int:
        if self._shard is None and not ShardDirectory(self._root, self._model, self._dimension).folder.exists():
            return 0
        return self._open().points

    def _close(self) -> None:
        if self._shard is None or self._directory is None:
            return
        shard, self._shard = self._shard, None
        record = self._directory.record
        changes = {"written": record.written + shard.written, "deleted": record.deleted + shard.deleted}
        shard.close()
        self._directory.write(record.model_copy(update=changes))

    def _open(self) -> Shard:
        if self._shard is None:
            self._directory = ShardDirectory(self._root, self._model, self._dimension)
            self._shard = Shard(self._directory.folder, self._dimension)
        return self._shard

    def _points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        points: list[ChunkPoint] = []
        offset: str | None = None
        while True:
            page, offset = self._open().scroll_points(document_id, revision, offset)
            points += page
            if offset is None:
                return points

    def _upsert(self, points: Sequence[ChunkPoint]) -> None:
        for _ in self._open().upsert(points):
            pass
