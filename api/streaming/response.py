"""Streamed responses that cost little while they are idle."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TypeVar

from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from api.streaming.registry import OPEN_STREAMS, OpenStream

ContentT = TypeVar("ContentT")
_LOOK_SECONDS = 1.0
# Proxies cut streams that are silent for 30 to 60 seconds.
_KEEP_ALIVE_SECONDS = 15
_MORE = {"type": "http.response.body", "more_body": True}


class EventStream(Response):
    """Sends pieces as they come, until they end or the client disconnects.

    Starlette's streaming response uses two tasks per client, one of them to wait for the disconnect. Here a single task
    sends, and looks for the disconnect when the stream is silent.

    Args:
        pieces: of the body; an empty piece means that nothing happened for a while.
        keep_alive: sent when the stream is silent for long; empty if clients accept nothing.
        farewell: sent last to a client whose access ends.
        status_code: read by FastAPI for the OpenAPI document.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        keep_alive: bytes = b"",
        farewell: bytes = b"",
        status_code: int = 200,
    ) -> None:
        self.status_code = status_code
        self._farewell = farewell
        self.background = None
        self._pieces = pieces
        self._keep_alive = keep_alive
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _reading(scope) as access:
            await self._stream(access, receive, send)

    async def _stream(self, access: OpenStream, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "headers": self.raw_headers}
        await send({**start, "status": self.status_code})
        looked = spoken = time.monotonic()
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                if access.is_ended:
                    await send({**_MORE, "body": self._farewell})
                    break
                now = time.monotonic()
                if not piece or now - looked > _LOOK_SECONDS:
                    if await _has_left(receive):
                        return
                    looked = now
                if not piece and now - spoken > _KEEP_ALIVE_SECONDS:
                    piece = self._keep_alive
                if piece:
                    await send({**_MORE, "body": piece})
                    spoken = now
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class ExportResponse(StreamingResponse):
    """A file that is generated while it is sent; it breaks off when the client's access ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file; a break-off sends no final chunk, so no client takes it for complete."""
        with _reading(scope) as access:
            self.body_iterator = _while_open(self.body_iterator, access)
            await super().__call__(scope, receive, send)


async def _while_open(pieces: AsyncIterable[ContentT], access: OpenStream) -> AsyncGenerator[ContentT]:
    async for piece in pieces:
        if access.is_ended:
            raise ClientDisconnect
        yield piece


def _reading(scope: Scope) -> AbstractContextManager[OpenStream]:
    """The lease of the caller's credential; anonymous streams never end by it."""
    state = scope.get("state", {})
    if OPEN_STREAMS not in state:
        return nullcontext(OpenStream(frozenset()))
    return state[OPEN_STREAMS].reading(state["principal"])


async def _has_left(receive: Receive) -> bool:
    try:
        async with asyncio.timeout(0):
            return (await receive())["type"] == "http.disconnect"
    except TimeoutError:
        return False
