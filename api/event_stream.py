"""A streamed answer that costs little while nothing happens."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

_LOOK_SECONDS = 1.0


class EventStream(Response):
    """Sends pieces as they come, until they end or the reader has left.

    Starlette's streamed answer waits for the end of the connection beside the stream, with two tasks
    for each reader. Here one task sends, and looks for that end where the stream is silent.

    Args:
        pieces: of the body; an empty one says that nothing has happened for a while.
        headers: of the answer, its content type included.
        status_code: of the answer.
    """

    def __init__(
        self, pieces: AsyncGenerator[bytes], headers: Mapping[str, str], status_code: int = 200
    ) -> None:
        self.status_code = status_code
        self.background = None
        self._pieces = pieces
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the whole answer."""
        start = {"type": "http.response.start", "headers": self.raw_headers}
        await send({**start, "status": self.status_code})
        looked = time.monotonic()
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if not piece or time.monotonic() - looked > _LOOK_SECONDS:
                    if await _has_left(receive):
                        return
                    looked = time.monotonic()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _has_left(receive: Receive) -> bool:
    try:
        async with asyncio.timeout(0):
            return (await receive())["type"] == "http.disconnect"
    except TimeoutError:
        return False
