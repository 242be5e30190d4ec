"""What an idle Agentex holds in memory, part by part: ``python -m benchmarks.memory``.

Resident sizes count shared pages once per process; the proportional size (PSS, Linux) counts each
page once in all, so its sum is what the whole tree takes from the machine.
"""

import sys
import time

import psutil

from benchmarks.product import part_of, running_product

_IDLE_SECONDS = 20
_MIB = 2**20


def _sizes(process: psutil.Process) -> tuple[str, float, float] | None:
    try:
        full = process.memory_full_info()
        name = part_of(process.cmdline())
    except psutil.NoSuchProcess:
        return None
    return name, full.rss / _MIB, getattr(full, "pss", full.uss) / _MIB


def measure(pid: int) -> list[tuple[str, float, float]]:
    """Name, resident and proportional MiB of a process and of all below it."""
    root = psutil.Process(pid)
    found = [_sizes(process) for process in (root, *root.children(recursive=True))]
    return [sizes for sizes in found if sizes is not None]


def main() -> None:
    """Start the product, let it come to rest, print the table."""
    with running_product() as product:
        time.sleep(_IDLE_SECONDS)
        rows = measure(product.pid)
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    for name, resident, proportional in rows:
        sys.stdout.write(f"{name:<36}{resident:9.0f} MiB RSS{proportional:9.0f} MiB PSS\n")


if __name__ == "__main__":
    main()
