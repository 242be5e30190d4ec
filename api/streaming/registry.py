"""Registry of open streams, which ends those whose credential expired or lost permissions."""

import asyncio

from core.auth.authentication import active_principals
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.base import AgentexError
from core.logging import get_logger

OPEN_STREAMS = "open_streams"
"""The key of a request's state that holds the registry."""

log = get_logger(__name__)

_LOOK_SECONDS = 5.0
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
            await asyncio.sleep(_LOOK_SECONDS)
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
