"""One document of one user behind many of another: ``python -m benchmarks.fairness``.

From its upload until it can be searched, while 500 documents of somebody else's wait; the baseline
is such a document on the same server when nothing else is to be done. Not more than twice as long
is wanted: a ratio of 0.5 (docs/decisions/0074-encoder-shares-per-owner.md).
"""

import asyncio
import itertools
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.generated import paragraphs
from benchmarks.product import Product, SampleDocument, Session, logged_in, running_product
from benchmarks.table import Row, show

_QUEUED = 500
# Passages of each document: of those that wait, and of the one.
_QUEUES, _SIZES = (1, 10), (1, 10, 40)
_ROUNDS = 5
_LOOK_SECONDS = 0.01
_SETTLE_SECONDS = 2
_PASSWORD = "benchmark-Person-1"
_seeds = itertools.count(10)


def _documents(count: int, passages: int) -> list[SampleDocument]:
    seed = next(_seeds)
    texts = paragraphs(count * passages, seed=seed)
    parts = [texts[n * passages : (n + 1) * passages] for n in range(count)]
    return [SampleDocument(f"{seed}-{n}.txt", "\n\n".join(part).encode()) for n, part in enumerate(parts)]


async def _until_searchable(session: Session, kb_id: str, upload: SampleDocument) -> float:
    started = time.perf_counter()
    (document_id,) = (await session.upload(kb_id, [upload])).values()
    path = f"/api/v1/knowledge-bases/{kb_id}/documents/{document_id}"
    while (await session.call("GET", path))["status"] != "completed":  # noqa: ASYNC110 - another process
        await asyncio.sleep(_LOOK_SECONDS)
    return time.perf_counter() - started


async def _behind(
    many: Session, single: Session, kb_id: str, queue: Sequence[SampleDocument], ones: Sequence[SampleDocument]
) -> list[float]:
    """Seconds of each of the single documents that ended while others still waited."""
    theirs = await many.create(f"of somebody else {time.time_ns()}")
    await many.upload_together(theirs, queue)
    took: list[float] = []
    for one in ones:
        seconds = await _until_searchable(single, kb_id, one)
        if await many.count(theirs, "pending"):
            took.append(seconds)
    await many.delete(f"/api/v1/knowledge-bases/{theirs}")
    await asyncio.sleep(_SETTLE_SECONDS)
    if not took:
        raise SystemExit("nobody waited any more: queue more documents")
    return took


async def _measure(product: Product) -> list[Row]:
    rows: list[Row] = []
    async with logged_in(product) as many:
        account = {"username": "other", "email": "other@example.com", "password": _PASSWORD}
        await many.call("POST", "/api/v1/admin/users", account)
        other = Product(product.url, "other", _PASSWORD, product.data_dir, product.pid)
        async with logged_in(other) as single:
            mine = await single.create("one document at a time")
            await _until_searchable(single, mine, *_documents(1, 1))
            for queued, size in itertools.product(_QUEUES, _SIZES):
                ones = _documents(_ROUNDS, size)
                idle = median([await _until_searchable(single, mine, one) for one in ones])
                queue, ones = _documents(_QUEUED, queued), _documents(_ROUNDS, size)
                busy = median(await _behind(many, single, mine, queue, ones))
                what = f"a document of {size} passages behind {_QUEUED} of {queued}"
                ours = f"{1000 * busy:.0f} ms"
                rows.append(Row(what, ours, f"alone {1000 * idle:.0f} ms", idle / busy))
    return rows


def run() -> list[Row]:
    """Seconds until a document can be searched, by its size and that of those that wait."""
    with running_product() as product:
        return asyncio.run(_measure(product))


if __name__ == "__main__":
    show(run())
