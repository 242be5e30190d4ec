"""The log of a run as a stream of frames, from any place of it."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from agents.events import WireEvent
from agents.runs.service import RunService
from api.cursors import format_cursor
from api.event_stream import EventStream
from api.framings import Framing, SseFraming

# Proxies cut streams that are silent for 30 to 60 seconds.
_KEEP_ALIVE_SECONDS = 15
_HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}


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


async def kept_alive(
    pieces: AsyncGenerator[bytes], keep_alive: bytes = SseFraming.keep_alive
) -> AsyncGenerator[bytes]:
    """The pieces of a stream, with a sign of life where it is silent (empty pieces) for long."""
    spoken = time.monotonic()
    async with aclosing(pieces):
        async for piece in pieces:
            if piece or time.monotonic() - spoken > _KEEP_ALIVE_SECONDS:
                spoken = time.monotonic()
                yield piece or keep_alive
            else:
                yield piece


async def frames(runs: RunService, place: RunPlace, framing: Framing) -> AsyncGenerator[bytes]:
    """The frames of a run; an empty piece where nothing happened for a while."""
    if place.prelude:
        yield await framing.prelude(place.prelude, format_cursor(place.run_id, place.after))
    async with aclosing(runs.follow(place.run_key, after=place.after)) as followed:
        async for entries in followed:
            yield await framing.logged(place.run_id, entries)


def stream_run(runs: RunService, place: RunPlace, framing: Framing) -> EventStream:
    """The answer that streams a run from a place on, in a form that was negotiated."""
    answer = stream(frames(runs, place, framing), framing)
    answer.headers["Vary"] = "Accept"
    return answer


def stream(pieces: AsyncGenerator[bytes], framing: Framing = SseFraming()) -> EventStream:
    """The answer that streams frames."""
    # As a header, because a media type would get a charset that clients do not expect.
    headers = {"Content-Type": framing.media_type, **_HEADERS}
    return EventStream(kept_alive(pieces, framing.keep_alive), headers)
