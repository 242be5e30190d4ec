"""Prints the table of ingestion failures for ``docs/ingestion.md``.

``python -m scripts.failure_table``; a test keeps the page equal to the code.
"""

import sys

from ingestion.parsers.errors import FailureReason, ParseFailure

_HEAD = "| reason | what it says | what to do |\n|---|---|---|\n"


def render() -> str:
    """The table in Markdown, one row per reason."""
    failures = (ParseFailure(reason) for reason in FailureReason)
    rows = [f"| `{failure.reason.value}` | {failure.message} | {failure.next_action} |\n" for failure in failures]
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(render())
