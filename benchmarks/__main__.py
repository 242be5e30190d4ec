"""``python -m benchmarks``: ratios against named baselines, in one run of a few minutes."""

from benchmarks import api_latency, encoder, ingest, memory, search
from benchmarks.table import show

if __name__ == "__main__":
    show([row for part in (encoder, ingest, search, api_latency, memory) for row in part.run()])
