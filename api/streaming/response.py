"""Streamed responses that cost little while they are idle, and the registry that ends them with their credential."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TypeVar

from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from core.auth.authentication import active_principals
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.base import AgentexError
from core.logging import get_logger

OPEN_STREAMS = "open_streams"
"""The key of a request's state that holds the registry."""

log = get_logger(__name__)

_REVOCATION_POLL_SECONDS = 5.0
# A single check of all of them must not block this process.
_MOST_AT_ONCE = 200


class OpenStream:
    """State shared by all streams of a credential, with all permissions that it had when any stream was opened."""

    __slots__ = ("is_ended", "permissions", "readers")

    def __init__(self, permissions: frozenset[Permission]) -> None:
        self.permissions = permissions
        self.is_ended = False
        self.readers = 0


_Streams = dict[tuple[str | None, str | None], OpenStream]


class StreamLease:
    """A context manager around an open stream; a generator would take seven times its memory."""

    __slots__ = ("_credential", "_permissions", "_stream", "_streams")

    def __init__(self, streams: _Streams, principal: Principal) -> None:
        self._streams = streams
        self._credential = (principal.family_id, principal.key_id)
        self._permissions = principal.permissions
        self._stream = streams.get(self._credential) or OpenStream(principal.permissions)

    def __enter__(self) -> OpenStream:
        self._streams[self._credential] = self._stream
        # This stream may need permissions that were granted after the first one was opened.
        self._stream.permissions |= self._permissions
        self._stream.readers += 1
        return self._stream

    def __exit__(self, *_error: object) -> None:
        self._stream.readers -= 1
        if not self._stream.readers and self._streams.get(self._credential) is self._stream:
            del self._streams[self._credential]


class OpenStreams:
    """The credentials of this process's streams, checked periodically.

    Streams check nothing themselves: thousands of silent ones cost a query every few seconds.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # By login or key.
        self._open: _Streams = {}

    def reading(self, principal: Principal) -> "StreamLease":
        return StreamLease(self._open, principal)

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(_REVOCATION_POLL_SECONDS)
            try:
                await self.look()
            except AgentexError as error:
                # No access has ended; the next check asks again.
                log.warning("streams.not_checked", code=error.code)
            except Exception:
                log.exception("streams.check_crashed")

    async def look(self) -> None:
        credentials = list(self._open)
        for start in range(0, len(credentials), _MOST_AT_ONCE):
            some = credentials[start : start + _MOST_AT_ONCE]
            async with self._database.reading() as session:
                living = await active_principals(
                    session,
                    family_ids=[family_id for family_id, _ in some if family_id],
                    key_ids=[key_id for _, key_id in some if key_id],
                )
            for credential in some:
                principal = living.get(credential[0] or credential[1] or "")
                self._judge(credential, principal)

    def _judge(self, credential: tuple[str | None, str | None], now: Principal | None) -> None:
        stream = self._open.get(credential)
        if stream is None or (now is not None and stream.permissions <= now.permissions):
            return
        # A client that still may reconnects, and its permissions are checked then.
        del self._open[credential]
        stream.is_ended = True


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
