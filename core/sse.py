"""Incremental decoder of server-sent events (HTML Living Standard, section 9.2.6).

Not `httpx-sse`: that has no limit for one event, drops an event whose last blank line is missing, and
takes only responses, whereas model endpoints are read as bytes.
"""

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """An event is larger than the limit."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its name, the last id seen and its data lines joined by line feeds."""

    event: str
    id: str
    data: str


class SseDecoder:
    """Turns byte chunks, cut anywhere, into events, in linear time.

    Line ends are LF, CRLF or CR; comments and unknown fields are ignored.
    """

    def __init__(self, *, max_event_bytes: int = 16 * 2**20) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._is_first_line = True
        self._event = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes, in order; raises ``EventTooLarge``."""
        if not piece:
            return []
        # The line feed of a CRLF may come with the next piece.
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        events: list[ServerSentEvent] = []
        for part in piece.splitlines(keepends=True):
            self._line.append(part)
            self._size += len(part)
            if self._size > self._max_event_bytes:
                raise EventTooLarge
            if part.endswith((b"\n", b"\r")):
                events += self._end_line()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The last event if the stream ended without its blank line.

        Only for readers that can tell a whole event from half of one.
        """
        events = self._end_line() if self._line else []
        return events + self._end_event()

    def _end_line(self) -> list[ServerSentEvent]:
        line = b"".join(self._line).rstrip(b"\r\n")
        self._line.clear()
        if self._is_first_line:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._is_first_line = False
        if not line:
            return self._end_event()
        field, _, rest = line.partition(b":")
        value = rest.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value
        elif field == b"id" and "\0" not in value:
            self._id = value
        return []

    def _end_event(self) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        if self._data:
            name = self._event or "message"
            events.append(ServerSentEvent(name, self._id, "\n".join(self._data)))
        self._event = ""
        self._data.clear()
        self._size = 0
        return events


async def read_events(pieces: AsyncIterable[bytes]) -> AsyncIterator[ServerSentEvent]:
    """The events of a response body, without an incomplete last one."""
    decoder = SseDecoder()
    async for piece in pieces:
        for event in decoder.feed(piece):
            yield event
