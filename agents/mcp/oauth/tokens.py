"""Access tokens of OAuth connections, renewed by one process at a time."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

from agents.mcp.config import McpTarget
from agents.mcp.errors import McpFault
from agents.mcp.oauth import flow, store
from agents.mcp.oauth.faults import OAuthFailure, OAuthFault
from agents.mcp.oauth.flow import OAuthGrant
from agents.mcp.oauth.http import oauth_http
from agents.mcp.oauth.store import StoredGrant
from core.db.database import Database
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from core.outbound.guard import OutboundGuards
from core.security.vault import Vault

log = get_logger(__name__)

_EARLY_SECONDS = 60
_RENEW_SECONDS = 15
_LOOK_SECONDS = 0.2
_STORE_ATTEMPTS = 10
_CLOSE_SECONDS = 20
_UNAUTHORISED, _FORBIDDEN = 401, 403
_MOST_CHALLENGES = 1000
_LONGEST_CHALLENGE = 4096
# With these a server says that the grant or its client is no more (RFC 6749, section 5.2).
_ENDED = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})


class TokenFailure(Exception):
    """No token can be had; ``fault`` says why."""

    def __init__(self, fault: McpFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class AccessTokens:
    """The access tokens of connections, read from the database at each use: any process may have renewed them."""

    def __init__(self, database: Database, vault: Vault, guards: OutboundGuards) -> None:
        self._database = database
        self._vault = vault
        self._guards = guards
        self._renewals: dict[tuple[str, int], asyncio.Task[StoredGrant | None]] = {}
        self._challenges: dict[str, str] = {}

    async def current(self, target: McpTarget) -> str:
        """The token to send, renewed if it ends soon; empty where the connection is not authorized."""
        stored = await self._read(target)
        if stored is None:
            return ""
        if stored.can_renew and stored.ends_within(_EARLY_SECONDS):
            try:
                stored = await self._renew(target, stored)
            except TokenFailure:
                # The one that is there may do for the rest of its time.
                if stored.ends_within(0):
                    raise
        return stored.access_token if stored else ""

    async def after_refusal(self, target: McpTarget, refused: str) -> str:
        """Another token than the one that the server has refused; empty if there can be none."""
        stored = await self._read(target)
        if stored is None:
            return ""
        if stored.access_token != refused:
            return stored.access_token
        if not stored.can_renew:
            await self._end(stored)
            return ""
        renewed = await self._renew(target, stored)
        return renewed.access_token if renewed else ""

    def note_challenge(self, target: McpTarget, response: httpx2.Response) -> McpFault | None:
        """The fault of a refusal that an authorization would mend, with what the server asks for kept; else None."""
        challenge = response.headers.get("WWW-Authenticate", "")
        is_bearer = challenge.lower().startswith("bearer")
        if response.status_code == _UNAUTHORISED and (target.is_oauth or (not target.token and is_bearer)):
            fault = McpFault.NEEDS_AUTHORIZATION
        elif response.status_code == _FORBIDDEN and target.is_oauth and asks_for_scope(response):
            fault = McpFault.INSUFFICIENT_SCOPE
        else:
            return None
        self._challenges.pop(target.connection_id, None)
        self._challenges[target.connection_id] = challenge if len(challenge) <= _LONGEST_CHALLENGE else ""
        if len(self._challenges) > _MOST_CHALLENGES:
            del self._challenges[next(iter(self._challenges))]
        return fault

    def challenge(self, connection_id: str) -> str:
        """What the server of a connection asked for last."""
        return self._challenges.get(connection_id, "")

    async def revoke(self, target: McpTarget, grant: OAuthGrant) -> bool:
        """End tokens at their server; whether it said that it did."""
        guard = self._guards.of(is_administrator=target.is_administrators)
        try:
            async with oauth_http(guard, seconds=_RENEW_SECONDS) as http:
                return await flow.revoke(http, grant)
        except OAuthFailure:
            return False

    async def close(self) -> None:
        """Wait for renewals: their tokens would be lost, and the old ones may have ended."""
        if self._renewals:
            await asyncio.wait(self._renewals.values(), timeout=_CLOSE_SECONDS)

    async def _read(self, target: McpTarget) -> StoredGrant | None:
        async with self._database.reading() as session:
            stored = await store.read_grant(session, self._vault, target.connection_id)
        is_there = stored is not None and stored.is_valid and stored.grant_id == target.grant_id
        return stored if is_there else None

    async def _renew(self, target: McpTarget, stored: StoredGrant) -> StoredGrant | None:
        """The grant after its next renewal, by this process or another one; None if it has ended."""
        key = (stored.grant_id, stored.revision)
        task = self._renewals.get(key)
        if task is None:
            task = self._renewals[key] = asyncio.create_task(self._renew_once(target, stored))
            task.add_done_callback(lambda done: self._renewal_done(key, done))
        # Who waits may give up; the renewal goes on, as the server may have made the old refresh token invalid.
        return await asyncio.shield(task)

    def _renewal_done(self, key: tuple[str, int], task: asyncio.Task[StoredGrant | None]) -> None:
        del self._renewals[key]
        # Nobody need be waiting for it any more.
        if not task.cancelled():
            task.exception()

    async def _renew_once(self, target: McpTarget, stored: StoredGrant) -> StoredGrant | None:
        me = new_id()
        while not await self._begin(stored, me):
            # Ends with the other process's renewal, or with its time.
            await asyncio.sleep(_LOOK_SECONDS)
            present = await self._read(target)
            if present is None or present.revision != stored.revision:
                return present
            if not await self._has_renewer(present):
                # It tried and failed just now.
                raise TokenFailure(McpFault.NOT_RENEWED)
        return await self._renew_as(me, target, stored)

    async def _begin(self, stored: StoredGrant, me: str) -> bool:
        async with unit_of_work(self._database) as work:
            return await store.begin_renewal(work.session, stored, me)

    async def _has_renewer(self, stored: StoredGrant) -> bool:
        async with self._database.reading() as session:
            return await store.has_renewer(session, stored)

    async def _renew_as(self, me: str, target: McpTarget, stored: StoredGrant) -> StoredGrant | None:
        guard = self._guards.of(is_administrator=target.is_administrators)
        try:
            async with oauth_http(guard, seconds=_RENEW_SECONDS) as http:
                renewed = await flow.renew(http, stored.grant)
        except OAuthFailure as failure:
            if failure.fault is OAuthFault.DENIED and failure.code in _ENDED:
                log.info("mcp.authorization_ended", connection=stored.connection_id, reason=failure.code)
                await self._end(stored)
                return None
            log.warning("mcp.authorization_not_renewed", connection=stored.connection_id, fault=failure.fault.name)
            await self._store(me, stored, None)
            raise TokenFailure(McpFault.NOT_RENEWED) from failure
        if not await self._store(me, stored, renewed):
            # Signed out meanwhile.
            await self.revoke(target, renewed)
            return None
        return await self._read(target)

    async def _store(self, me: str, stored: StoredGrant, grant: OAuthGrant | None) -> bool:
        """Store the outcome of a renewal, again if the database is away: the old refresh token may be of no use."""

        async def store_once() -> bool:
            async with unit_of_work(self._database, urgent=True) as work:
                return await store.end_renewal(work.session, self._vault, stored, me, grant)

        return await _persistently(store_once)

    async def _end(self, stored: StoredGrant) -> None:
        async with unit_of_work(self._database) as work:
            await store.end_grant(work.session, self._vault, stored)


async def _persistently(act: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(_STORE_ATTEMPTS - 1):
        try:
            return await act()
        except AgentexError as error:
            log.warning("mcp.authorization_not_stored", code=error.code)
            await asyncio.sleep(1)
    return await act()


def asks_for_scope(response: httpx2.Response) -> bool:
    """Whether a server refuses because the token was given for too little (RFC 6750, section 3.1)."""
    return extract_field_from_www_auth(response, "error") == "insufficient_scope"
