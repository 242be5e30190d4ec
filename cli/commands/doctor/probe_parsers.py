"""Probe of the parsing services that are switched on: a child process that prints JSON, as ``probe_backends`` does."""

import asyncio
import json
import sys
from contextlib import redirect_stdout

from core.settings import get_settings
from ingestion.parsers.remote.checks import check_services


def main() -> None:
    """Print the states as JSON, by the names of the parsers."""
    # Standard output is for the result, not for logs.
    with redirect_stdout(sys.stderr):
        states = asyncio.run(check_services(get_settings()))
    json.dump(states, sys.stdout)


if __name__ == "__main__":
    main()
