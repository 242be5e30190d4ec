"""The log of a run as server-sent events, from any place of it."""

import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import orjson
from fastapi.responses import StreamingResponse

from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.runs.service import RunService
from api.cursors import format_cursor

# Proxies cut streams that are silent for 30 to 60 seconds.
_KEEP_ALIVE_SECONDS = 15
STREAM_HEADERS = {
    # Given here, because a media type would get a charset that the document does not have.
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}
Speller = Callable[[WireEvent], WireEvent]


@dataclass(frozen=True)
class RunPlace:
    """Where a reader of a run begins.

    Args:
        run_key: of the run.
        run_id: the caller's id of it, for the places in the stream.
        after: the last event that was read before.
        prelude: events for this reader alone, which are in no log; they bring it to ``after``.
    """

    run_key: str
    run_id: str
    after: int = 0
    prelude: Sequence[WireEvent] = ()


def frame(run_id: str, entry: LogEntry, spell: Speller | None) -> bytes:
    """One server-sent event; LF only, because stock clients split on it."""
    payload = entry.payload.encode()
    if spell is not None:
        payload = orjson.dumps(spell(cast(WireEvent, orjson.loads(payload))))
    return b"event: %s\nid: %s\ndata: %s\n\n" % (
        entry.type.encode(),
        format_cursor(run_id, entry.seq).encode(),
        payload,
    )


def prelude_frames(place: RunPlace, spell: Speller | None) -> bytes:
    """The events that a reader gets before the log; the last one carries the place."""
    frames: list[bytes] = []
    for event in place.prelude:
        payload = orjson.dumps(spell(event) if spell is not None else event)
        frames.append(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), payload))
    if frames:
        cursor = format_cursor(place.run_id, place.after).encode()
        frames[-1] = b"id: %s\n%s" % (cursor, frames[-1])
    return b"".join(frames)


async def kept_alive(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The pieces of a stream, with a comment where it is silent (empty pieces) for long."""
    spoken = time.monotonic()
    async for piece in pieces:
        if piece:
            spoken = time.monotonic()
            yield piece
        elif time.monotonic() - spoken > _KEEP_ALIVE_SECONDS:
            spoken = time.monotonic()
            yield b": keep-alive\n\n"


async def frames(runs: RunService, place: RunPlace, spell: Speller | None) -> AsyncGenerator[bytes]:
    """The frames of a run; an empty piece where nothing happened for a while."""
    if place.prelude:
        yield prelude_frames(place, spell)
    async with aclosing(runs.follow(place.run_key, after=place.after)) as followed:
        async for entries in followed:
            yield b"".join(frame(place.run_id, entry, spell) for entry in entries)


def stream_run(
    runs: RunService, place: RunPlace, spell: Speller | None = None
) -> StreamingResponse:
    """The answer that streams a run from a place on."""
    return stream(frames(runs, place, spell))


def stream(pieces: AsyncIterable[bytes]) -> StreamingResponse:
    """The answer that streams frames of server-sent events."""
    return StreamingResponse(kept_alive(pieces), headers=STREAM_HEADERS)
