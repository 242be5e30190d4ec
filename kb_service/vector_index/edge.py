"""The vector index in this process: a shard behind one thread of its own."""

import asyncio
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import VectorIndexUnavailable
from kb_service.vector_index.protocol import (
    EVERY_DOCUMENT,
    Among,
    ChunkPoint,
    IndexedDocument,
    Legs,
    SparseVector,
)
from kb_service.vector_index.shard import Shard

_POINTS_PER_FLUSH = 8192
_T = TypeVar("_T")


class EdgeVectorIndex:
    """A ``VectorIndex`` over an Edge shard, for tools and tests without an engine process.

    Args:
        folder: ``<data_dir>/vectors/<model>``; created when missing.
        dimension: Length of the model's vectors.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="edge")
        self._shard: Shard | None = None

    async def ensure_ready(self) -> None:
        """Open the shard.

        Raises:
            VectorIndexUnavailable: Another process has it open, or it can't be read.
        """
        if self._shard is None:
            self._shard = await self._run(lambda: Shard(self._folder, self._dimension))

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """See ``VectorIndex.upsert``."""
        shard = self._opened()
        await self._run(lambda: run_steps(shard.upsert(points)))
        if shard.unflushed >= _POINTS_PER_FLUSH:
            await self._run(shard.flush)

    async def query(
        self,
        *,
        kb_ids: Sequence[str],
        dense: NDArray[np.float32] | None,
        sparse: SparseVector | None,
        depth: int,
        among: Among = EVERY_DOCUMENT,
    ) -> Legs:
        """See ``VectorIndex.query``."""
        shard = self._opened()
        return await self._run(
            lambda: shard.query(kb_ids, dense=dense, sparse=sparse, depth=depth, among=among)
        )

    async def delete_documents(
        self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None
    ) -> None:
        """See ``VectorIndex.delete_documents``."""
        shard = self._opened()
        await self._run(lambda: run_steps(shard.delete_documents(document_ids, revisions)))

    async def delete_knowledge_base(self, kb_id: str) -> None:
        """See ``VectorIndex.delete_knowledge_base``."""
        shard = self._opened()
        await self._run(lambda: run_steps(shard.delete_knowledge_base(kb_id)))

    async def count(self, *, kb_id: str | None = None, document_id: str | None = None) -> int:
        """See ``VectorIndex.count``."""
        shard = self._opened()
        return await self._run(lambda: shard.count(kb_id, document_id))

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """See ``VectorIndex.points``."""
        shard = self._opened()
        found: list[ChunkPoint] = []
        offset: str | None = None
        while True:
            page, offset = await self._run(partial(shard.points_of, document_id, revision, offset))
            found += page
            if offset is None:
                return found

    async def documents(self) -> list[IndexedDocument]:
        """See ``VectorIndex.documents``."""
        shard = self._opened()
        return await self._run(lambda: run_steps(shard.documents()))

    async def close(self) -> None:
        """Flush, give up the shard's lock and end the thread."""
        if self._shard is not None:
            shard, self._shard = self._shard, None
            await self._run(shard.close)
        self._thread.shutdown()

    def _opened(self) -> Shard:
        if self._shard is None:
            raise VectorIndexUnavailable(reason="the vector index is not open")
        return self._shard

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def run_steps(steps: Generator[None, None, _T]) -> _T:
    """Run a stepwise operation to its end and return its value."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
