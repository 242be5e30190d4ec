"""A client of streams that costs little: many of them run beside what is measured."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httptools
import orjson

_READ_BYTES = 2**18


class _Pieces:
    """Takes an HTTP answer apart; what its body is made of waits in ``waiting``."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.is_over = False

    def on_body(self, body: bytes) -> None:
        self.waiting.append(body)

    def on_message_complete(self) -> None:
        self.is_over = True


@dataclass(frozen=True)
class Address:
    """Where streams are asked for.

    Args:
        url: of the endpoint.
        token: a bearer token, if one is needed.
    """

    url: str
    token: str = ""

    def request(self, body: dict | None) -> bytes:
        """The bytes of a request: a POST with a body, else a GET."""
        parts = urlsplit(self.url)
        content = b"" if body is None else orjson.dumps(body)
        lines = [
            f"{'GET' if body is None else 'POST'} {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
            "Connection: close",
        ]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "", ""]).encode() + content


async def read_pieces(address: Address, body: dict | None) -> AsyncGenerator[bytes]:
    """The body of an answer as it comes.

    Raises:
        AssertionError: the answer is not 200.
    """
    parts = urlsplit(address.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_READ_BYTES)
    pieces = _Pieces()
    parser = httptools.HttpResponseParser(pieces)
    try:
        writer.write(address.request(body))
        while not pieces.is_over and (data := await reader.read(_READ_BYTES)):
            parser.feed_data(data)
            status = parser.get_status_code()
            if status != 200:
                raise AssertionError(f"{address.url} answered {status}: {data[:2000]!r}")
            waiting, pieces.waiting = pieces.waiting, []
            if waiting:
                yield b"".join(waiting)
    finally:
        writer.close()


@dataclass
class Heard:
    """What a client heard of one stream; moments are those of ``time.perf_counter``.

    Args:
        asked: when the request went out.
        first_event: when the first event came.
        first_text: when the first text came.
        text_events: in how many events the text came.
        characters: how long it was.
        late_ms: of each token that is the millisecond of its sending, how long it took.
        error: how the run broke off, if it did.
    """

    asked: float = field(default_factory=time.perf_counter)
    first_event: float = 0.0
    first_text: float = 0.0
    text_events: int = 0
    characters: int = 0
    late_ms: list[int] = field(default_factory=list[int])
    error: str = ""

    def take(self, data: bytes) -> None:
        """Take in the data of one event, ours or the model's."""
        now = time.perf_counter()
        self.first_event = self.first_event or now
        if data == b"[DONE]":
            return
        event = orjson.loads(data)
        if event.get("type") == "RUN_ERROR":
            self.error = str(event)
        text = _text_of(event)
        if not text:
            return
        self.first_text = self.first_text or now
        self.text_events += 1
        self.characters += len(text)
        if text[:1].isdecimal():
            arrived = time.time_ns() // 1_000_000
            self.late_ms += [arrived - int(sent) for sent in text.split()]


def _text_of(event: dict) -> str:
    if event.get("type", "TEXT_MESSAGE_CONTENT") != "TEXT_MESSAGE_CONTENT":
        return ""
    if "delta" in event:
        return event["delta"]
    return "".join(choice["delta"].get("content") or "" for choice in event.get("choices", ()))


async def hear(address: Address, body: dict | None, *, until_text: bool = False) -> Heard:
    """Hear a stream to its end, or to its first text.

    Raises:
        AssertionError: the run broke off.
    """
    heard, rest = Heard(), b""
    async with aclosing(read_pieces(address, body)) as pieces:
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.startswith(b"data: "):
                    heard.take(line[6:])
            if until_text and heard.first_text:
                break
    if heard.error:
        raise AssertionError(heard.error)
    return heard
