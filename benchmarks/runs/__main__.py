"""``python -m benchmarks.runs [PART...]``: the run engine, part by part."""

import argparse

from benchmarks.runs.every import PARTS, run
from benchmarks.table import show

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}; all without one")
parser.add_argument("--database-url", help="PostgreSQL instead of SQLite")
parser.add_argument("--redis-url", help="Redis instead of a private one")
arguments = parser.parse_args()
if unknown := set(arguments.part) - set(PARTS):
    parser.error(f"there is no part {', '.join(sorted(unknown))}")
shape = {"AGENTEX_DATABASE_URL": arguments.database_url, "AGENTEX_REDIS_URL": arguments.redis_url}
show(run(arguments.part or tuple(PARTS), {name: url for name, url in shape.items() if url}))
