"""The API while documents are ingested at full speed: ``python -m benchmarks.api_latency``.

Requests go out at a fixed rate, whether or not the one before was answered, so that a stall shows
in all that fall into it. The baseline is the same requests to the same idle server. Measured twice:
while a backlog is worked off, and while eight uploads at a time come in as well. Those come from
another process, so that what the requests wait for is the server and not their own client.
How fast the backlog is worked off meanwhile is shown beside its speed without requests.
"""

import asyncio
import itertools
import multiprocessing
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager

from benchmarks.generated import paragraphs, questions
from benchmarks.product import Product, SampleDocument, Session, logged_in, running_product
from benchmarks.table import Row, percentile, show

_SECONDS = 20
_PER_SECOND = 25
_STORED = 20
# Of ten passages each: more than is worked off while it is measured, with and without requests.
_BACKLOG = 1000
_UNDISTURBED_SECONDS = 15
_PARAGRAPHS = 10
# Loading what an uploading process needs.
_START_SECONDS = 3


def _documents(count: int, *, seed: int) -> Iterator[SampleDocument]:
    texts = paragraphs(count * _PARAGRAPHS, seed=seed)
    for number in range(count):
        page = texts[number * _PARAGRAPHS : (number + 1) * _PARAGRAPHS]
        yield SampleDocument(f"{seed}-{number}.txt", "\n\n".join(page).encode())


class _Load:
    """Reads and searches at a fixed rate, and how long each took in milliseconds."""

    def __init__(self, session: Session, kb_id: str) -> None:
        self._session = session
        self._kb_id = kb_id
        self._asked = itertools.cycle(questions(paragraphs(50), 40))
        self.reads: list[float] = []
        self.searches: list[float] = []

    async def run(self) -> None:
        """Ask for a while; every fourth request is a search."""
        started, number = time.perf_counter(), 0
        async with asyncio.TaskGroup() as group:
            while (due := started + number / _PER_SECOND) < started + _SECONDS:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                group.create_task(self._search() if number % 4 == 0 else self._read(number))
                number += 1

    async def _read(self, number: int) -> None:
        base = f"/api/v1/knowledge-bases/{self._kb_id}"
        path = (base, f"{base}/documents?page_size=20", "/api/v1/users/me")[number % 3]
        started = time.perf_counter()
        await self._session.call("GET", path)
        self.reads.append((time.perf_counter() - started) * 1000)

    async def _search(self) -> None:
        started = time.perf_counter()
        await self._session.search(self._kb_id, next(self._asked), top_k=5)
        self.searches.append((time.perf_counter() - started) * 1000)


async def _ingest_on_and_on(product: Product, kb_id: str) -> None:
    async with logged_in(product) as session:
        for seed in itertools.count(100):
            await session.ingest(kb_id, _documents(16, seed=seed))


def _ingest_elsewhere(product: Product, kb_id: str) -> None:
    asyncio.run(_ingest_on_and_on(product, kb_id))


@contextmanager
def _uploads(product: Product, kb_id: str) -> Generator[None]:
    """Somebody uploads all the while, in a process of their own."""
    spawn = multiprocessing.get_context("spawn")
    other = spawn.Process(target=_ingest_elsewhere, args=(product, kb_id), daemon=True)
    other.start()
    try:
        time.sleep(_START_SECONDS)
        yield
    finally:
        other.terminate()
        other.join()


@asynccontextmanager
async def _pace(session: Session, kb_id: str, paces: list[float]) -> AsyncGenerator[None]:
    """Note how many documents a second are worked off meanwhile."""
    started, before = time.perf_counter(), await session.count(kb_id, "completed")
    yield
    done = await session.count(kb_id, "completed") - before
    paces.append(done / (time.perf_counter() - started))


async def _measure(product: Product) -> tuple[dict[str, _Load], list[float]]:
    """The requests of each phase; documents a second without requests, then beside them."""
    paces = list[float]()
    async with logged_in(product) as session:
        kb_id = await session.create("read and searched")
        await session.ingest(kb_id, _documents(_STORED, seed=3))
        phases = ("warm", "idle", "with a backlog", "with uploads")
        loads = {phase: _Load(session, kb_id) for phase in phases}
        await loads["warm"].run()
        await loads["idle"].run()
        second = await session.create("ingested")
        await session.upload(second, _documents(_BACKLOG, seed=4))
        async with _pace(session, second, paces):
            await asyncio.sleep(_UNDISTURBED_SECONDS)
        async with _pace(session, second, paces):
            await loads["with a backlog"].run()
        with _uploads(product, second):
            await loads["with uploads"].run()
    return loads, paces


def run() -> list[Row]:
    """p50 and p99 of reads and of searches; a ratio of 0.33 is three times the idle time."""
    with running_product() as product:
        loads, (alone, beside) = asyncio.run(_measure(product))
    idle = loads["idle"]
    rows: list[Row] = []
    for phase in ("with a backlog", "with uploads"):
        busy = loads[phase]
        pairs = (("read", idle.reads, busy.reads), ("search", idle.searches, busy.searches))
        for (name, before, during), share in itertools.product(pairs, (0.5, 0.99)):
            ours, theirs = percentile(during, share), percentile(before, share)
            rows.append(
                Row(
                    f"{name} {phase}, p{100 * share:.0f}",
                    f"{ours:.1f} ms",
                    f"the same server idle {theirs:.1f} ms",
                    theirs / ours,
                )
            )
    what = f"documents ingested a second beside {_PER_SECOND} requests a second"
    return [*rows, Row(what, f"{beside:.1f}", f"without requests {alone:.1f}", beside / alone)]


if __name__ == "__main__":
    show(run())
