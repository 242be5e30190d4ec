"""The registry of open streams: each ends with the credential that it was opened with."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from api.streaming.response import OPEN_STREAMS, EventStream, ExportResponse, OpenStreams
from core.auth.models import TokenFamily, User
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from tests.fixtures.database.rows import add_user

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True),
]


class Caller:
    """Somebody logged in, and what they are sent."""

    def __init__(self, database: Database, user_id: str, family_id: str) -> None:
        self.streams = OpenStreams(database)
        self.sent: list[dict[str, Any]] = []
        self._database, self._ids = database, (user_id, family_id)

    async def read(self, answer: EventStream | ExportResponse, *permissions: Permission) -> None:
        """Read an answer with what the account may do at this moment."""
        user_id, family_id = self._ids
        principal = Principal(user_id, "", "user", frozenset(permissions), family_id)
        state = {"principal": principal, OPEN_STREAMS: self.streams}
        scope = {"type": "http", "state": state, "asgi": {"spec_version": "2.4"}}
        await answer(scope, self._receive, self._send)

    async def lose(self, *permissions: Permission) -> None:
        """Take permissions away, and let the streams be looked at."""
        async with unit_of_work(self._database) as work:
            user = await work.session.get_one(User, self._ids[0])
            user.revoked = [permission.value for permission in permissions]
            work.session.add(user)
        await self.streams.look()

    async def _receive(self) -> dict[str, Any]:
        raise TimeoutError

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


@pytest.fixture
async def caller(database: Database) -> Caller:
    async with unit_of_work(database) as work:
        user = await add_user(work)
        ends = utc_now() + timedelta(hours=1)
        family = TokenFamily(user_id=user.id, current_token_id="", expires_at=ends)
        work.session.add(family)
        await work.session.flush()
        return Caller(database, user.id, family.id)


async def test_later_stream_ends_with_what_only_it_needs(caller: Caller):
    async def inner() -> AsyncGenerator[bytes]:
        yield b"one"
        await caller.lose(Permission.KB_VIEW)
        yield b"two"

    async def outer() -> AsyncGenerator[bytes]:
        # The login had this alone when its first stream was opened.
        later = EventStream(inner(), {}, farewell=b"farewell")
        await caller.read(later, Permission.AGENT_RUN, Permission.KB_VIEW)
        yield b""

    await caller.read(EventStream(outer(), {}), Permission.AGENT_RUN)
    bodies = [message.get("body") for message in caller.sent]
    assert b"farewell" in bodies
    assert b"two" not in bodies


async def test_export_breaks_off_when_its_reader_may_see_no_more(caller: Caller):
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"one"
        await caller.lose(Permission.KB_VIEW)
        yield b"two"

    with pytest.raises(ClientDisconnect):
        await caller.read(ExportResponse(pieces()), Permission.KB_VIEW)
    assert caller.sent[-1]["body"] == b"one"
    assert caller.sent[-1]["more_body"], "a file without an end is not taken for a whole one"
