"""The log of a run as a stream of frames."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from agents.events import WireEvent
from agents.runs.service import RunService
from api.streaming.cursor import format_cursor
from api.streaming.framing import Framing, stream_response
from api.streaming.response import EventStream


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
