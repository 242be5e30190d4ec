"""What Agentex holds in memory, part by part: ``python -m benchmarks.memory [--documents N]``.

Resident sizes count shared pages once per process; the proportional size (PSS, Linux) counts each
page once in all, so its sum is what the whole tree takes from the machine. With ``--documents``,
small documents are ingested in parts of a thousand: the first part warms everything up, and what
grows afterwards grows with the documents. The limit for the idle tree is 600 MB.
"""

import argparse
import asyncio
import sys
import time

import psutil

from benchmarks.generated import paragraphs
from benchmarks.product import Product, SampleDocument, logged_in, part_of, running_product
from benchmarks.table import Row

_IDLE_SECONDS = 20
_PART = 1000
_MIB = 2**20
_LIMIT_MIB = 600_000_000 / _MIB


def _sizes(process: psutil.Process) -> tuple[str, float, float] | None:
    try:
        full = process.memory_full_info()
        name = part_of(process.cmdline())
    except psutil.NoSuchProcess:
        return None
    return name, full.rss / _MIB, getattr(full, "pss", full.uss) / _MIB


def measure(pid: int) -> list[tuple[str, float, float]]:
    """Name, resident and proportional MiB of a process and of all below it, and their sums."""
    root = psutil.Process(pid)
    found = [_sizes(process) for process in (root, *root.children(recursive=True))]
    rows = [sizes for sizes in found if sizes is not None]
    return [*rows, ("all", sum(row[1] for row in rows), sum(row[2] for row in rows))]


def _show(when: str, rows: list[tuple[str, float, float]]) -> None:
    for name, resident, proportional in rows:
        line = f"{when:<20}{name:<36}{resident:9.0f} MiB RSS{proportional:9.0f} MiB PSS\n"
        sys.stdout.write(line)
    sys.stdout.flush()


async def _grow(product: Product, documents: int) -> None:
    """Ingest part after part and show what the parts of the product hold at rest after each."""
    texts = paragraphs(documents)
    async with logged_in(product) as session:
        kb_id = await session.create("grows")
        for start in range(0, documents, _PART):
            part = enumerate(texts[start : start + _PART], start=start)
            uploads = [SampleDocument(f"{number}.txt", text.encode()) for number, text in part]
            done = await session.ingest(kb_id, uploads)
            if done.failures:
                raise SystemExit(f"documents failed: {done.failures}")
            await asyncio.sleep(_IDLE_SECONDS)
            _show(f"{start + len(uploads)} documents", measure(product.pid))


def run() -> list[Row]:
    """The idle tree against its limit."""
    with running_product() as product:
        time.sleep(_IDLE_SECONDS)
        _, resident, proportional = measure(product.pid)[-1]
    ours = f"{proportional:.0f} MiB ({resident:.0f} MiB with shared pages counted twice)"
    ratio = _LIMIT_MIB / proportional
    return [Row("memory of the idle tree", ours, f"limit {_LIMIT_MIB:.0f} MiB", ratio)]


def main(documents: int) -> None:
    """Start the product, let it come to rest, print the table; then what documents add."""
    with running_product() as product:
        time.sleep(_IDLE_SECONDS)
        _show("idle", measure(product.pid))
        if documents:
            asyncio.run(_grow(product, documents))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=0, help="how many to ingest")
    main(parser.parse_args().documents)
