"""The bytes of a thread's stream, whatever its feed does."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from agents.async_runs.thread_feed import Frame, find_place, follow_thread
from api import run_streams
from api.dialects import async_runs
from core.database.engine import Database
from tests.agents.run_parts import HeldModel, asking, register, service_of
from tests.fixtures.async_runs import frames_of

pytestmark = pytest.mark.anyio


async def test_stream_is_kept_alive_while_a_run_is_silent(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    principal = await register(database)
    monkeypatch.setattr(run_streams, "_KEEP_ALIVE_SECONDS", 0)
    model = HeldModel()
    runs, request = service_of(database, model), asking()
    await runs.begin(principal, request)
    async with database.reading() as session:
        place = await find_place(session, principal, request.thread_id, None)
    assert place is not None
    pieces: list[bytes] = []
    async with asyncio.timeout(20):
        feed = async_runs.pieces(follow_thread(database, runs, place))
        async for piece in run_streams.kept_alive(feed):
            pieces.append(piece)
            if piece == b": keep-alive\n\n":
                model.say("Hello", last=True)
    await runs.drain(5)

    assert b": keep-alive\n\n" in pieces
    assert all(piece.endswith(b"\n\n") for piece in pieces)
    assert frames_of(b"".join(pieces))[-1].name == "RUN_FINISHED"


async def test_only_the_last_event_of_a_place_names_it():
    async def feed() -> AsyncGenerator[list[Frame]]:
        yield [Frame("r:1", None, {"type": "A"}), Frame("r:1", 7, {"type": "B"})]

    sent = b"".join([piece async for piece in async_runs.pieces(feed())])

    assert sent == b'event: A\ndata: {"type":"A"}\n\nid: r:1:7\nevent: B\ndata: {"type":"B"}\n\n'
