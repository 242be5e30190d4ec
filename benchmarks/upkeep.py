"""A large index before, while and after it is optimised: ``python -m benchmarks.upkeep [POINTS]``.

Talks to an engine over its socket. The longest wait of a question from the first write that makes
the index due until a while after it has moved is shown beside the longest in the same engine just
before, which is what the machine itself does to questions at that hour. Questions come without a
second's pause, so that the memory of the former shard is not given up meanwhile.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

from benchmarks.table import Row, percentile, show
from core.errors.server import EngineUnavailable
from core.settings import Settings
from kb_service.embeddings.catalog import DEFAULT
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import IndexHealth
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, point_id

_SIZES = (1_000, 10_000, 100_000)
# The most that is done in about a minute.
_QUICK = 10_000
_BATCH = 1_000
# What makes the index due, as a part of its points.
_LAST_PART = 10
_CLUSTERS, _TERMS, _TERMS_EACH, _TERMS_ASKED = 200, 50_000, 30, 6
_PER_DOCUMENT = 50
_CALM_SECONDS = 20.0
_PAUSE_SECONDS = 0.005
_LONGEST_SECONDS = 3600.0

_RANDOM = np.random.default_rng(1)
_CENTRES = _RANDOM.normal(size=(_CLUSTERS, DEFAULT.dimension)).astype(np.float32)
# Word frequencies as in natural text.
_ZIPF = 1 / np.arange(1, _TERMS + 1)
_RISING = np.cumsum(_ZIPF) / _ZIPF.sum()


def _dense(random: np.random.Generator) -> np.ndarray:
    vector = _CENTRES[random.integers(_CLUSTERS)] + 0.7 * random.normal(size=DEFAULT.dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _sparse(random: np.random.Generator, terms: int) -> SparseVector:
    chosen = np.unique(np.searchsorted(_RISING, random.random(terms)).clip(max=_TERMS - 1))
    return SparseVector(tuple(chosen.tolist()), (1.0,) * len(chosen))


def _points(start: int, count: int) -> list[ChunkPoint]:
    random = np.random.default_rng(start)
    return [
        ChunkPoint(
            id=point_id(f"d{number // _PER_DOCUMENT}", 1, number),
            kb_id=f"kb{number % 3}",
            document_id=f"d{number // _PER_DOCUMENT}",
            revision=1,
            index=number,
            dense=_dense(random),
            sparse=_sparse(random, _TERMS_EACH),
        )
        for number in range(start, start + count)
    ]


@asynccontextmanager
async def _engine(folder: Path, optimise: int) -> AsyncGenerator[EngineClient]:
    settings = Settings(_env_file=None, data_dir=folder)
    variables = {
        "AGENTEX_DATA_DIR": str(folder),
        "AGENTEX_INDEX_OPTIMISE_POINTS": str(optimise),
        "AGENTEX_LOG_LEVEL": "warning",
    }
    process = subprocess.Popen(  # noqa: ASYNC220 - started before anything else runs
        [sys.executable, "-m", "kb_service.engine"], env={**os.environ, **variables}
    )
    client = EngineClient(settings.effective_engine_socket)
    try:
        while await _health(client) is None:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
        yield client
    finally:
        await client.close()
        process.terminate()
        process.wait(60)


async def _health(client: EngineClient) -> IndexHealth | None:
    with contextlib.suppress(EngineUnavailable):
        health = await client.health()
        if health.state == "ready":
            return health.indexes[0]
    return None


class _Asker:
    """Asks question after question and keeps how long each took, in milliseconds."""

    def __init__(self, index: EngineVectorIndex) -> None:
        self._index = index
        self._random = np.random.default_rng(7)

    async def ask(self, pause: float = 0.0) -> float:
        dense, sparse = _dense(self._random), _sparse(self._random, _TERMS_ASKED)
        started = time.perf_counter()
        await self._index.query(kb_ids=["kb1"], dense=dense, sparse=sparse, depth=100)
        took = (time.perf_counter() - started) * 1000
        await asyncio.sleep(pause)
        return took

    async def ask_for(self, seconds: float) -> list[float]:
        until = time.monotonic() + seconds
        times: list[float] = []
        while time.monotonic() < until:
            times.append(await self.ask(_PAUSE_SECONDS))
        return times

    async def ask_until_moved(self, client: EngineClient) -> list[float]:
        times: list[float] = []
        deadline = time.monotonic() + _LONGEST_SECONDS
        moved = False
        while not moved and time.monotonic() < deadline:
            times += await self.ask_for(0.5)
            health = await _health(client)
            moved = health is not None and health.own_process
        return times


async def _measure(points: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="agentex-upkeep-") as name:
        folder = Path(name)
        async with _engine(folder, points) as client:
            index = EngineVectorIndex(client, DEFAULT.name, DEFAULT.dimension)
            last = points - points // _LAST_PART
            for start in range(0, last, _BATCH):
                await index.upsert(_points(start, min(_BATCH, last - start)))
            asker = _Asker(index)
            before = await asker.ask_for(_CALM_SECONDS)
            # With these the index is due, in an engine whose pages and kernels are warm.
            await index.upsert(_points(last, points - last))
            started = time.monotonic()
            meanwhile = await asker.ask_until_moved(client)
            seconds = time.monotonic() - started
            after = await asker.ask_for(_CALM_SECONDS)
            longest = max([*meanwhile, *after])
    slow, fast = percentile(before, 0.5), percentile(after, 0.5)
    return [
        Row(
            f"query {points} points, p50, optimised",
            f"{fast:.2f} ms",
            f"{slow:.2f} ms before",
            slow / fast,
        ),
        Row(
            f"longest wait in {seconds:.0f} s of optimising {points} points and just after",
            f"{longest:.0f} ms",
            f"{max(before):.0f} ms before",
            max(before) / longest,
        ),
        Row(
            f"p99 of questions meanwhile, {points} points",
            f"{percentile(meanwhile, 0.99):.1f} ms",
            f"{percentile(before, 0.99):.1f} ms before",
            percentile(before, 0.99) / percentile(meanwhile, 0.99),
        ),
    ]


def run() -> list[Row]:
    """Measure the size that is quick enough for ``make bench``."""
    return asyncio.run(_measure(_QUICK))


def main() -> None:
    """Measure the sizes named on the command line, or all."""
    sizes = [int(size) for size in sys.argv[1:]] or _SIZES
    for size in sizes:
        show(asyncio.run(_measure(size)))


if __name__ == "__main__":
    main()
