"""A streamed answer: everything in order, and nothing for who has left."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from api import event_stream
from api.event_stream import EventStream

pytestmark = pytest.mark.anyio


class Reader:
    """The server's side of a connection whose reader leaves when the test says so."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.left = asyncio.Event()
        self.is_closed = False

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def read(self, *pieces: bytes, leaves_at: int | None = None) -> list[bytes]:
        """What was sent of these pieces, where the reader leaves before one of them."""

        async def whole() -> AsyncGenerator[bytes]:
            try:
                for number, piece in enumerate(pieces):
                    if number == leaves_at:
                        self.left.set()
                    yield piece
            finally:
                self.is_closed = True

        answer = EventStream(whole(), {"Content-Type": "text/event-stream"})
        await answer({"type": "http"}, self.receive, self.send)  # type: ignore[arg-type]
        return [message["body"] for message in self.sent[1:]]


async def test_all_pieces_come_in_order_and_the_body_ends():
    reader = Reader()
    assert await reader.read(b"one", b"", b"two") == [b"one", b"two", b""]
    start, *_, end = reader.sent
    assert (start["status"], dict(start["headers"])) == (
        200,
        {b"content-type": b"text/event-stream"},
    )
    assert [m["more_body"] for m in reader.sent[1:]] == [True, True, False]
    assert (end["more_body"], reader.is_closed) == (False, True)


@pytest.mark.parametrize(
    ("pieces", "looks_after"), [((b"one", b"", b"two"), 3600.0), ((b"one", b"more", b"two"), -1.0)]
)
async def test_stream_ends_when_its_reader_has_left(
    monkeypatch: pytest.MonkeyPatch, pieces: Sequence[bytes], looks_after: float
):
    monkeypatch.setattr(event_stream, "_LOOK_SECONDS", looks_after)
    reader = Reader()
    sent = await reader.read(*pieces, leaves_at=1)
    assert sent == [piece for piece in pieces[:2] if piece]
    assert reader.is_closed
