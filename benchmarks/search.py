"""Search through the HTTP API, by number of chunks: ``python -m benchmarks.search [--large]``.

What counts is the time that a caller waits, from the request to the whole answer, with the client's
own part; the server's own time stands beside it.

Baselines are what every dense search has to do at least, encoding the question: once with our own
encoder alone in this process, where one question after the other finds the weights in the caches,
once as it was in these searches, and once with sentence-transformers on the same weights.
``--large`` goes on to 100,000 chunks. Processor time is that of a whole request: other programs disturb it less.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence

from benchmarks import baseline
from benchmarks.alone import Alone
from benchmarks.filled import fill
from benchmarks.generated import paragraphs, questions
from benchmarks.product import Product, Session, logged_in, running_product
from benchmarks.table import Row, median_ms, percentile, show

_SIZES = (1_000, 10_000)
_LARGE = 100_000
_QUERIES = 50
_ROUNDS = 4
_SETTLE_SECONDS = 5
_PARTS = ("api", "kb_service.engine")


async def _ask(session: Session, kb_id: str, asked: Sequence[str]) -> tuple[list[float], float]:
    """Wall times of each search and the median of the server's own, in milliseconds."""
    server, wall = list[float](), list[float]()
    for query in asked:
        started = time.perf_counter()
        found = await session.search(kb_id, query, top_k=5)
        wall.append((time.perf_counter() - started) * 1000)
        server.append(found.took_ms)
    return wall, statistics.median(server)


async def _encoding(session: Session, kb_id: str, asked: Sequence[str]) -> float:
    """The median time that the encoding of a question takes in its search, in milliseconds."""
    path = f"/api/v1/knowledge-bases/{kb_id}/search"
    times = list[float]()
    for query in asked:
        found = await session.call("POST", path, {"query": query, "top_k": 5, "explain": True})
        times.append(found["explain"]["timings"]["encode_ms"])
    return statistics.median(times)


async def _processor_ms(product: Product, session: Session, kb_id: str, asked: Sequence[str]) -> dict[str, float]:
    """Processor time of one search in milliseconds, by part of the product: the least of rounds."""
    rounds = list[dict[str, float]]()
    for _ in range(_ROUNDS):
        before = product.processor_seconds()
        for query in asked:
            await session.search(kb_id, query, top_k=5)
        after = product.processor_seconds()
        rounds.append({part: 1000 * (after[part] - before[part]) / len(asked) for part in after})
    return {part: min(each[part] for each in rounds) for part in rounds[0]}


async def _measure(product: Product, sizes: Sequence[int]) -> list[Row]:
    encoder = Alone()
    texts = paragraphs(max(sizes))
    asked = questions(texts[: min(sizes)], _QUERIES)
    baseline.encode(asked[:2])
    rows, medians = list[Row](), list[float]()
    async with logged_in(product) as session:
        kb_id, filled = await session.create("bench"), 0
        for size in sizes:
            await fill(product, kb_id, texts[filled:size])
            filled = size
            # What was written is flushed and, where there is much, optimised beside the searches.
            await asyncio.sleep(_SETTLE_SECONDS)
            rounds = [
                (
                    await _ask(session, kb_id, asked),
                    median_ms(encoder.encode_question, asked),
                    median_ms(lambda text: baseline.encode([text]), asked),
                    await _encoding(session, kb_id, asked),
                )
                for _ in range(_ROUNDS)
            ]
            wall, server = min((each[0] for each in rounds), key=lambda r: statistics.median(r[0]))
            median = statistics.median(wall)
            medians.append(median)
            alone, theirs, within = (min(each[part] for each in rounds) for part in (1, 2, 3))
            what = f"search {size:,} chunks, wall, p50 (p99 {percentile(wall, 0.99):.1f} ms)"
            ours = f"{median:.1f} ms (server {server:.1f} ms)"
            rows.append(Row(what, ours, f"our encoder alone {alone:.1f} ms", alone / median))
            rows.append(Row(what, ours, f"the encoding in it {within:.1f} ms", within / median))
            rows.append(Row(what, ours, f"sentence-transformers {theirs:.1f} ms", theirs / median))
            used = await _processor_ms(product, session, kb_id, asked)
            what = f"search {size:,} chunks, processor time of API and engine"
            parts = [used.get(part, 0.0) for part in _PARTS]
            ours = f"{sum(parts):.1f} ms ({parts[0]:.1f} and {parts[1]:.1f})"
            rows.append(Row(what, ours, f"our encoder alone {alone:.1f} ms", alone / sum(parts)))
    what = f"search, growth from {sizes[0]:,} to {sizes[-1]:,} chunks"
    growth = medians[0] / medians[-1]
    return [*rows, Row(what, f"{medians[-1]:.1f} ms", f"{medians[0]:.1f} ms", growth)]


def run(*, large: bool = False) -> list[Row]:
    """Median wall time at each size, of the least disturbed round, and how it grows."""
    sizes = (*_SIZES, _LARGE) if large else _SIZES
    with running_product() as product:
        return asyncio.run(_measure(product, sizes))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="go on to 100,000 chunks")
    show(run(large=parser.parse_args().large))
