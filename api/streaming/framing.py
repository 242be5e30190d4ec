"""How the events of a run become bytes: server-sent events, or protobuf messages."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol, cast

import orjson

from agents.agui.protobuf.encoder import encode
from agents.events import WireEvent
from agents.runs.event_log import LogEntry
from api.streaming.cursor import format_cursor
from api.streaming.negotiation import EVENT_STREAM
from api.streaming.response import EventStream

STREAM_HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}
"""Of streamed answers: nothing in between keeps or holds back what is sent."""
Speller = Callable[[WireEvent], WireEvent]


class Framing(Protocol):
    """What a stream is made of.

    Attributes:
        media_type: of the answer.
        keep_alive: what is sent where nothing happens; empty where readers take nothing.
    """

    @property
    def media_type(self) -> str: ...

    @property
    def keep_alive(self) -> bytes: ...

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes:
        """Events of a run's log."""
        ...

    async def prelude(self, events: Sequence[WireEvent], cursor: str) -> bytes:
        """Events for one reader alone, which bring it to a place of the log."""
        ...


class SseFraming:
    """Server-sent events; LF only, because stock clients split on it.

    Args:
        spell: how the caller's dialect writes an event; None for AG-UI's own wire.
        respelled: the types that it writes otherwise than AG-UI; None for all.
    """

    media_type = EVENT_STREAM
    keep_alive = b": keep-alive\n\n"

    def __init__(
        self, spell: Speller | None = None, respelled: frozenset[str] | None = None
    ) -> None:
        self._spell = spell
        self._respelled = respelled

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes:
        """A frame per event, with its place."""
        return b"".join(self._frame(run_id, entry) for entry in entries)

    def _frame(self, run_id: str, entry: LogEntry) -> bytes:
        payload = entry.payload.encode()
        if self._spell is not None and (self._respelled is None or entry.type in self._respelled):
            payload = orjson.dumps(self._spell(cast(WireEvent, orjson.loads(payload))))
        return b"event: %s\nid: %s\ndata: %s\n\n" % (
            entry.type.encode(),
            format_cursor(run_id, entry.seq).encode(),
            payload,
        )

    async def prelude(self, events: Sequence[WireEvent], cursor: str) -> bytes:
        """A frame per event; the last one carries the place."""
        frames: list[bytes] = []
        for event in events:
            payload = orjson.dumps(self._spell(event) if self._spell is not None else event)
            frames.append(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), payload))
        if frames:
            frames[-1] = b"id: %s\n%s" % (cursor.encode(), frames[-1])
        return b"".join(frames)


class ProtobufFraming:
    """A message behind its length per event. Places are counted by the reader: there is no room.

    Nothing keeps a silent stream alive: readers fail at a frame that holds no event.

    Args:
        media_type: the name by which it was asked for.
    """

    keep_alive = b""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes:
        """A frame per event of a run's log; ``run_id`` stands in its first one."""
        # A snapshot can take long: not on the event loop.
        return await asyncio.to_thread(_encode_payloads, [entry.payload for entry in entries])

    async def prelude(self, events: Sequence[WireEvent], cursor: str) -> bytes:
        """A frame per event; the place behind them has no room."""
        return await asyncio.to_thread(lambda: b"".join(map(encode, events)))


def _encode_payloads(payloads: Sequence[str]) -> bytes:
    return b"".join(encode(cast(WireEvent, orjson.loads(payload))) for payload in payloads)


def framing_of(
    media_type: str, spell: Speller | None = None, respelled: frozenset[str] | None = None
) -> Framing:
    """The framing of a media type that ``choose_media_type`` gave; only text has spellings."""
    if media_type == EVENT_STREAM:
        return SseFraming(spell, respelled)
    return ProtobufFraming(media_type)


def stream(
    pieces: AsyncGenerator[bytes], framing: Framing = SseFraming(), farewell: bytes = b""
) -> EventStream:
    """The answer that streams frames; an empty piece says that nothing has happened for a while.

    ``farewell`` goes to a reader whose access ends.
    """
    # As a header, because a media type would get a charset that clients do not expect.
    headers = {"Content-Type": framing.media_type, **STREAM_HEADERS}
    return EventStream(pieces, headers, framing.keep_alive, farewell)
