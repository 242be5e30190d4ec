"""Streams of run events: cursors, and framings as server-sent events or protobuf messages."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Protocol, cast
from urllib.parse import quote, unquote

import orjson
from fastapi import Depends, Request

from agents.agui.protobuf.encoder import MEDIA_TYPE as PROTOBUF
from agents.agui.protobuf.encoder import encode
from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.runs.service import RunService
from api.streaming.response import EventStream
from core.errors.requests import InvalidCursor

# A header line carries printable ASCII only; a blank at its end is lost, a percent sign escapes.
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")
# As long as a sequence number gets; int() would read a million digits, too.
_SEQ = re.compile(r"([0-9]{1,15})(?:\.([1-9]))?")
_LONGEST = 4000


def format_cursor(run_id: str, seq: int, part: int = 0) -> str:
    """The position behind event ``seq`` of a run: ``<runId>:<seq>``, with unsafe characters percent-encoded.

    In a stream that makes several events of one, ``.<part>`` counts those of the next event that are behind it, too.
    """
    return f"{quote(run_id, safe=_PLAIN)}:{seq}{f'.{part}' if part else ''}"


def parse_cursor(text: str) -> tuple[str, int]:
    """The run id, which may hold colons, and the number of the last event that was read."""
    run_id, seq, part = parse_thread_cursor(text)
    if part:
        raise _invalid_cursor(text)
    return run_id, seq


def parse_thread_cursor(text: str) -> tuple[str, int, int]:
    """As ``parse_cursor``, and the number of parts of the next event that were read."""
    run_id, colon, place = text.strip().rpartition(":")
    numbers = _SEQ.fullmatch(place)
    if len(text) > _LONGEST or not (run_id and colon and numbers):
        raise _invalid_cursor(text)
    return unquote(run_id, errors="replace"), int(numbers[1]), int(numbers[2] or 0)


def _invalid_cursor(text: str) -> InvalidCursor:
    return InvalidCursor(cursor=text[:_LONGEST], error="Give an id of this stream as it came")


EVENT_STREAM = "text/event-stream"
OCTET_STREAM = "application/octet-stream"
# The first of those that a client likes best is taken.
_BINARY = (PROTOBUF, OCTET_STREAM)
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def choose_media_type(accept: str) -> str:
    """The media type that an ``Accept`` header (lines joined by commas) asks for (RFC 9110, section 12.5.1).

    Among equal weights a named binary type comes first, then server-sent events: ``*/*`` is sent by clients that read
    text. Text is also the fallback.
    """
    ranges = _read_ranges(accept or "*/*")
    named_binary = [kind for kind in _BINARY if kind in ranges]
    offered = [*named_binary, EVENT_STREAM, *(kind for kind in _BINARY if kind not in named_binary)]
    best = max(offered, key=lambda kind: _quality(ranges, kind))
    return best if _quality(ranges, best) > 0 else EVENT_STREAM


def _quality(ranges: dict[str, float], kind: str) -> float:
    for media_range in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if media_range in ranges:
            return ranges[media_range]
    return 0.0


def _read_ranges(accept: str) -> dict[str, float]:
    ranges: dict[str, float] = {}
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        weights = [p.partition("=")[2].strip() for p in parameters if p.startswith("q=")]
        weight = weights[0] if weights else "1"
        if name and _QUALITY.fullmatch(weight):
            ranges[name] = float(weight)
    return ranges


async def _of_request(request: Request) -> str:
    return choose_media_type(",".join(request.headers.getlist("accept")))


NegotiatedMediaType = Annotated[str, Depends(_of_request)]
EVENT_CONTENT: dict[str, dict[str, object]] = {
    EVENT_STREAM: {},
    **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in _BINARY},
}
"""Media types of run events, for OpenAPI."""


STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Connection": "keep-alive"}
"""Headers that keep proxies from caching and buffering a stream."""
Speller = Callable[[WireEvent], WireEvent]


class Framing(Protocol):
    """The wire format of a stream; ``keep_alive`` is sent while nothing happens, unless it is empty."""

    @property
    def media_type(self) -> str: ...

    @property
    def keep_alive(self) -> bytes: ...

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes: ...

    async def prelude(self, events: Sequence[WireEvent], cursor: str) -> bytes: ...


class SseFraming:
    """Server-sent events; LF only, because stock clients split on it.

    ``spell`` writes an event in the caller's dialect, or the ``respelled`` types only; None for AG-UI's own format.
    """

    media_type = EVENT_STREAM
    keep_alive = b": keep-alive\n\n"

    def __init__(self, spell: Speller | None = None, respelled: frozenset[str] | None = None) -> None:
        self._spell = spell
        self._respelled = respelled

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes:
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
        """A frame per event; the last frame carries the cursor."""
        frames: list[bytes] = []
        for event in events:
            payload = orjson.dumps(self._spell(event) if self._spell is not None else event)
            frames.append(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), payload))
        if frames:
            frames[-1] = b"id: %s\n%s" % (cursor.encode(), frames[-1])
        return b"".join(frames)


class ProtobufFraming:
    """Length-prefixed messages, named by ``media_type``. They carry no cursors: the reader counts events.

    Nothing keeps a silent stream alive: readers fail at a frame that holds no event.
    """

    keep_alive = b""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    async def logged(self, run_id: str, entries: Sequence[LogEntry]) -> bytes:
        """A frame per event of a run's log; ``run_id`` is in its first event."""
        # A snapshot can take long: not on the event loop.
        return await asyncio.to_thread(_encode_payloads, [entry.payload for entry in entries])

    async def prelude(self, events: Sequence[WireEvent], cursor: str) -> bytes:
        return await asyncio.to_thread(lambda: b"".join(map(encode, events)))


def _encode_payloads(payloads: Sequence[str]) -> bytes:
    return b"".join(encode(cast(WireEvent, orjson.loads(payload))) for payload in payloads)


def choose_framing(media_type: str, spell: Speller | None = None, respelled: frozenset[str] | None = None) -> Framing:
    """The framing of a media type of ``choose_media_type``; only text has dialects."""
    if media_type == EVENT_STREAM:
        return SseFraming(spell, respelled)
    return ProtobufFraming(media_type)


def stream_response(
    pieces: AsyncGenerator[bytes], framing: Framing = SseFraming(), farewell: bytes = b""
) -> EventStream:
    """A response that streams frames; ``farewell`` goes to a client whose access ends.

    An empty piece means that nothing happened for a while.
    """
    # As a header, because a media type would get a charset that clients do not expect.
    headers = {"Content-Type": framing.media_type, **STREAM_HEADERS}
    return EventStream(pieces, headers, framing.keep_alive, farewell)


@dataclass(frozen=True)
class RunPosition:
    """The position at which a client starts to read a run: behind event ``after``.

    ``prelude`` are events outside the log that bring this client there.
    """

    run_key: str
    run_id: str
    after: int = 0
    prelude: Sequence[WireEvent] = ()


async def run_frames(runs: RunService, place: RunPosition, framing: Framing) -> AsyncGenerator[bytes]:
    """The frames of a run; an empty piece when nothing happened for a while."""
    if place.prelude:
        yield await framing.prelude(place.prelude, format_cursor(place.run_id, place.after))
    async with aclosing(runs.follow(place.run_key, after=place.after)) as followed:
        async for entries in followed:
            yield await framing.logged(place.run_id, entries)


def stream_run(runs: RunService, place: RunPosition, framing: Framing) -> EventStream:
    """A response that streams a run from a position on, in the negotiated framing."""
    answer = stream_response(run_frames(runs, place, framing), framing)
    answer.headers["Vary"] = "Accept"
    return answer
