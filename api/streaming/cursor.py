"""Cursors of event streams: the ``id:`` of a server-sent event."""

import re
from urllib.parse import quote, unquote

from core.errors.requests import InvalidCursor

# A header line carries printable ASCII only; a blank at its end is lost, a percent sign escapes.
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")
# As long as a sequence number gets; int() would read a million digits, too.
_SEQ = re.compile(r"[0-9]{1,15}")
_LONGEST = 4000


def format_cursor(run_id: str, seq: int) -> str:
    """The position behind event ``seq`` of a run: ``<runId>:<seq>``, with unsafe characters percent-encoded."""
    return f"{quote(run_id, safe=_PLAIN)}:{seq}"


def parse_cursor(text: str) -> tuple[str, int]:
    """The run id, which may hold colons, and the number of the last event that was read."""
    run_id, colon, seq = text.strip().rpartition(":")
    if len(text) > _LONGEST or not (run_id and colon and _SEQ.fullmatch(seq)):
        raise InvalidCursor(cursor=text[:_LONGEST], error="Give an id of this stream as it came")
    return unquote(run_id, errors="replace"), int(seq)
