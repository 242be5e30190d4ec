"""``python -m benchmarks``: ratios against named baselines, in one run of a few minutes."""

from benchmarks import (
    api_latency,
    authenticated,
    encoder,
    fairness,
    ingest,
    memory,
    offline_answer,
    search,
    skills,
    upkeep,
)
from benchmarks.runs import every as runs
from benchmarks.table import show

if __name__ == "__main__":
    parts = (
        encoder,
        skills,
        ingest,
        fairness,
        search,
        upkeep,
        api_latency,
        authenticated,
        runs,
        memory,
        offline_answer,
    )
    show([row for part in parts for row in part.run()])
