"""The bytes of a thread's stream, for feeds that end, fail or fall silent."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from agents.async_runs.thread_stream import ThreadEvent, find_position, follow_thread
from agents.runs import subscribers
from api.agents import async_runs
from api.streaming import response as event_stream
from api.streaming.framing import SseFraming, stream_response
from core.db.database import Database
from tests.agents.runs.helpers import PacedModel, make_request, register, service_of
from tests.fixtures.http.asgi_connection import Connection
from tests.fixtures.runs.async_runs import frames_of

pytestmark = pytest.mark.anyio


async def test_stream_is_kept_alive_while_a_run_is_silent(database: Database, monkeypatch: pytest.MonkeyPatch):
    principal = await register(database)
    monkeypatch.setattr(event_stream, "_KEEP_ALIVE_SECONDS", 0)
    monkeypatch.setattr(subscribers, "_SILENT_SECONDS", 0.01)
    model = PacedModel()
    runs, request = service_of(database, model), make_request()
    await runs.start(principal, request)
    async with database.reading() as session:
        place = await find_position(session, principal, request.thread_id, None)
    assert place is not None

    def answer(piece: bytes) -> None:
        if piece == SseFraming.keep_alive:
            model.say("Hello", last=True)

    connection = Connection(answer)
    async with asyncio.timeout(20):
        feed = async_runs.pieces(follow_thread(database, runs, place))
        await connection.serve(stream_response(feed))
    await runs.drain(5)

    assert SseFraming.keep_alive in connection.pieces
    assert all(piece.endswith(b"\n\n") for piece in connection.pieces)
    assert frames_of(b"".join(connection.pieces))[-1].name == "RUN_FINISHED"


async def test_each_event_of_a_log_entry_names_a_place_of_its_own():
    async def feed() -> AsyncGenerator[list[ThreadEvent]]:
        yield [ThreadEvent("r:1", 6, {"type": "A"}, part=1), ThreadEvent("r:1", 7, {"type": "B"})]

    sent = b"".join([piece async for piece in async_runs.pieces(feed())])

    assert sent == b'id: r:1:6.1\nevent: A\ndata: {"type":"A"}\n\nid: r:1:7\nevent: B\ndata: {"type":"B"}\n\n'


async def test_feed_is_closed_when_its_reader_has_left():
    closed: list[bool] = []

    async def feed() -> AsyncGenerator[list[ThreadEvent]]:
        try:
            while True:
                yield []
        finally:
            closed.append(True)

    connection, kept = Connection(), feed()
    connection.left.set()
    await connection.serve(stream_response(async_runs.pieces(kept)))
    assert closed
