"""Registry of open streams, which ends those whose credential expired or lost permissions."""

import asyncio

from core.auth.authentication import active_principals
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.base import AgentexError
from core.logging import get_logger

OPEN_STREAMS = "open_streams"
"""Where in a request's state these are, beside the principal."""

log = get_logger(__name__)

_LOOK_SECONDS = 5.0
# One look at all of them must not hold up the others of this process.
_MOST_AT_ONCE = 200


class OpenStream:
    """What the streams of one credential share.

    Args:
        permissions: what the credential allowed when they were opened, all of them together.
    """

    __slots__ = ("is_ended", "permissions", "readers")

    def __init__(self, permissions: frozenset[Permission]) -> None:
        self.permissions = permissions
        self.is_ended = False
        self.readers = 0


_Streams = dict[tuple[str | None, str | None], OpenStream]


class StreamLease:
    """One stream, as long as it is open; a class, because a generator takes seven times as much.

    Args:
        streams: of this process, by login or key.
        principal: whose credential it was opened with.
    """

    __slots__ = ("_credential", "_permissions", "_stream", "_streams")

    def __init__(self, streams: _Streams, principal: Principal) -> None:
        self._streams = streams
        self._credential = (principal.family_id, principal.key_id)
        self._permissions = principal.permissions
        self._stream = streams.get(self._credential) or OpenStream(principal.permissions)

    def __enter__(self) -> OpenStream:
        """Count it."""
        self._streams[self._credential] = self._stream
        # What was gained since the first one was opened may be what this one needs.
        self._stream.permissions |= self._permissions
        self._stream.readers += 1
        return self._stream

    def __exit__(self, *_error: object) -> None:
        """Forget the credential with its last stream."""
        self._stream.readers -= 1
        if not self._stream.readers and self._streams.get(self._credential) is self._stream:
            del self._streams[self._credential]


class OpenStreams:
    """The credentials that streams of this process were opened with, looked at again and again.

    A stream checks nothing itself: thousands of silent ones cost one query every few seconds.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # By login or key.
        self._open: _Streams = {}

    def reading(self, principal: Principal) -> "StreamLease":
        """Tell inside whether the credential still counts."""
        return StreamLease(self._open, principal)

    async def watch(self) -> None:
        """Look, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.look()
            except AgentexError as error:
                # Nobody's access ended; the next look asks again.
                log.warning("streams.not_checked", code=error.code)
            except Exception:
                log.exception("streams.check_crashed")

    async def look(self) -> None:
        """End those whose credential does not count any more."""
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
        # Who still may comes again, and is asked for what the stream needs.
        del self._open[credential]
        stream.is_ended = True
