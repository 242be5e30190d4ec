"""Authorizations of connections by their owners: begun, completed, ended."""

from dataclasses import dataclass, field
from datetime import datetime

import httpx2
from mcp.client.auth.utils import extract_scope_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull

from agents.mcp import connections
from agents.mcp.config import McpTarget, McpType
from agents.mcp.errors import McpFault
from agents.mcp.models import OAUTH, McpConnection, McpStatus
from agents.mcp.oauth import flow, store
from agents.mcp.oauth.authorizations import delete_authorization
from agents.mcp.oauth.client import AuthorizationAnswer, OAuthClient
from agents.mcp.oauth.faults import OAuthFailure, OAuthFault
from agents.mcp.oauth.flow import OAuthFlow, OAuthGrant, OAuthRequest, check_issuer, state_of
from agents.mcp.oauth.http import oauth_http, require_secure
from agents.mcp.oauth.tokens import asks_for_scope
from agents.mcp.service import McpService
from core.audit.log import AuditAction, audit
from core.auth.locks import lock_owner
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.conflicts import McpAuthorizationNotOpen, McpNotAuthorizable
from core.outbound.guard import OutboundGuard

_PREPARE_SECONDS = 30
_EXCHANGE_SECONDS = 15
_UNAUTHORISED, _FORBIDDEN = 401, 403


@dataclass(frozen=True)
class AuthorizationOffer:
    """Where a person authorizes a connection, and until when they may come back."""

    url: str = field(repr=False)
    expires_at: datetime


class McpAuthorizer:
    """Authorizes connections of the person who owns them.

    Args:
        client: how Agentex presents itself to authorization servers.
    """

    def __init__(self, database: Database, service: McpService, client: OAuthClient) -> None:
        self._database = database
        self._service = service
        self._client = client

    async def begin(self, row: McpConnection) -> AuthorizationOffer:
        """Find the server's authorization server, register there if needed, and keep the secrets of a request."""
        if row.type != McpType.STANDARD or row.auth_type not in ("none", OAUTH):
            raise McpNotAuthorizable
        async with self._database.reading() as session:
            stored = await store.read_grant(session, self._service.vault, row.id)
        is_of_use = stored is not None and (stored.is_valid or stored.grant.is_preregistered)
        last = stored.grant if stored is not None and is_of_use else None
        guard = await self._service.guard_of(row.owner_id)
        try:
            url, request = await self._prepare(row, guard, last)
        except OAuthFailure as failure:
            raise failure.error(row.id) from failure
        async with unit_of_work(self._database) as work:
            present = await connections.get(work.session, row.owner_id, row.id)
            if present.version != row.version:
                raise McpAuthorizationNotOpen
            ends = await store.write_attempt(
                work.session, self._service.vault, present, state=state_of(url), request=request
            )
        return AuthorizationOffer(url, ends)

    async def _prepare(
        self, row: McpConnection, guard: OutboundGuard, last: OAuthGrant | None
    ) -> tuple[str, OAuthRequest]:
        async def check_url(url: str) -> None:
            await require_secure(url, guard)

        challenge = _challenge(row)
        started = OAuthFlow(
            row.url,
            self._client,
            check_url,
            last=last,
            preregistered=self._preregistered(row),
            scope=extract_scope_from_www_auth(challenge),
        )
        async with oauth_http(guard, seconds=_PREPARE_SECONDS) as http:
            await check_url(row.url)
            return await started.prepare(http, challenge)

    def _preregistered(self, row: McpConnection) -> OAuthClientInformationFull | None:
        if row.client_id is None:
            return None
        sealed = row.sealed_client_secret
        secret = self._service.vault.decrypt(sealed) if sealed else None
        return OAuthClientInformationFull(client_id=row.client_id, client_secret=secret)

    async def complete(self, owner_id: str, state: str, answer: AuthorizationAnswer) -> McpConnection:
        """Exchange the code that a person has come back with, and store the tokens; a state works once."""
        async with unit_of_work(self._database) as work:
            row, request = await store.redeem_attempt(work.session, self._service.vault, owner_id, state)
        target = await self._service.target(row)
        try:
            grant = await self._exchange(request, answer, await self._service.guard_of(owner_id))
        except OAuthFailure as failure:
            raise failure.error(row.id) from failure
        async with unit_of_work(self._database) as work:
            present = await self._store(work, row, grant)
        if present is None:
            await self._revoke(target, grant)
            raise McpAuthorizationNotOpen
        await self._service.discard(row.id)
        return present

    async def _exchange(self, request: OAuthRequest, answer: AuthorizationAnswer, guard: OutboundGuard) -> OAuthGrant:
        check_issuer(request.grant, answer.issuer)
        if answer.error is not None or not answer.code:
            raise OAuthFailure(OAuthFault.DENIED, answer.error)
        async with oauth_http(guard, seconds=_EXCHANGE_SECONDS) as http:
            return await flow.exchange(http, request, answer.code)

    async def _store(self, work: UnitOfWork, row: McpConnection, grant: OAuthGrant) -> McpConnection | None:
        """The connection with its tokens, unless it was changed or deleted while the code was exchanged."""
        await lock_owner(work.session, row.owner_id)
        present = await work.session.get(McpConnection, row.id)
        if present is None or present.version != row.version:
            return None
        await store.write_grant(work.session, self._service.vault, row.id, grant)
        present.auth_type, present.challenge = OAUTH, None
        _changed(work, present, McpStatus.UNKNOWN, None)
        audit(work.session, AuditAction.MCP_CONNECTION_AUTHORIZED, connections.audit_target(row.id))
        return present

    async def end(self, owner_id: str, connection_id: str) -> bool:
        """Forget a connection's tokens and client, and revoke the tokens; whether their server said that it did."""
        async with unit_of_work(self._database) as work:
            await lock_owner(work.session, owner_id)
            row = await connections.get(work.session, owner_id, connection_id)
            if row.auth_type != OAUTH:
                raise McpNotAuthorizable
            stored = await store.read_grant(work.session, self._service.vault, row.id)
            await delete_authorization(work.session, row.id)
            _changed(work, row, McpStatus.NEEDS_AUTHORIZATION, McpFault.NEEDS_AUTHORIZATION)
            audit(work.session, AuditAction.MCP_CONNECTION_SIGNED_OUT, connections.audit_target(row.id))
        await self._service.discard(connection_id)
        if stored is None or stored.grant.tokens is None:
            return False
        return await self._revoke(await self._service.target(row), stored.grant)

    async def _revoke(self, target: McpTarget, grant: OAuthGrant) -> bool:
        return await (await self._service.tokens()).revoke(target, grant)


def _changed(work: UnitOfWork, row: McpConnection, status: McpStatus, fault: McpFault | None) -> None:
    row.version += 1
    row.status, row.fault = status.value, None if fault is None else fault.name.lower()
    row.updated_at = utc_now()
    work.session.add(row)


def _challenge(row: McpConnection) -> httpx2.Response:
    """The refusal that the server gave last, as the library reads it."""
    headers = [(b"WWW-Authenticate", row.challenge.encode())] if row.challenge else []
    challenge = httpx2.Response(_UNAUTHORISED, headers=headers, request=httpx2.Request("POST", row.url))
    if asks_for_scope(challenge):
        challenge.status_code = _FORBIDDEN
    return challenge
