"""The response of a stream: pieces in order, keep-alives, and the end when its reader leaves."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from api.streaming import response as event_stream
from api.streaming.response import EventStream
from tests.fixtures.http.asgi_connection import Connection

pytestmark = pytest.mark.anyio

HEADERS = {"Content-Type": "text/event-stream"}


class Pieces:
    """The pieces of a stream whose reader leaves before one of them."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.is_closed = False

    async def over(self, connection: Connection, leaves_at: int | None = None) -> AsyncGenerator[bytes]:
        try:
            for number, piece in enumerate(self._pieces):
                if number == leaves_at:
                    connection.left.set()
                yield piece
        finally:
            self.is_closed = True


async def test_all_pieces_come_in_order_and_the_body_ends():
    connection, pieces = Connection(), Pieces(b"one", b"", b"two")
    await connection.serve(EventStream(pieces.over(connection), HEADERS, b"alive"))
    assert connection.pieces == [b"one", b"two"]
    start, *_, end = connection.sent
    assert (start["status"], start["headers"]) == (200, [(b"content-type", b"text/event-stream")])
    assert (end["body"], end["more_body"], pieces.is_closed) == (b"", False, True)


@pytest.mark.parametrize(("keep_alive", "sent"), [(b"alive", [b"one", b"alive"]), (b"", [b"one"])])
async def test_silence_is_filled_where_readers_take_it(
    monkeypatch: pytest.MonkeyPatch, keep_alive: bytes, sent: list[bytes]
):
    monkeypatch.setattr(event_stream, "_KEEP_ALIVE_SECONDS", -1)
    connection = Connection()
    pieces = Pieces(b"one", b"").over(connection)
    await connection.serve(EventStream(pieces, HEADERS, keep_alive))
    assert connection.pieces == sent


@pytest.mark.parametrize(("given", "looks_after"), [((b"one", b"", b"two"), 3600.0), ((b"one", b"more", b"two"), -1.0)])
async def test_stream_ends_when_its_reader_has_left(
    monkeypatch: pytest.MonkeyPatch, given: Sequence[bytes], looks_after: float
):
    monkeypatch.setattr(event_stream, "_LOOK_SECONDS", looks_after)
    connection, pieces = Connection(), Pieces(*given)
    await connection.serve(EventStream(pieces.over(connection, leaves_at=1), HEADERS))
    assert connection.pieces == [b"one"]
    assert pieces.is_closed
