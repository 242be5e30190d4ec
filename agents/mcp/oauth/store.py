"""Authorizations and attempts in the database, sealed with the installation's key."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, or_
from sqlalchemy import update as update_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.models import McpAuthorization, McpAuthorizationAttempt, McpConnection, McpStatus
from agents.mcp.oauth.flow import OAuthGrant, OAuthRequest
from core.db.types import new_id, utc_now
from core.errors.conflicts import McpAuthorizationNotOpen
from core.security.one_time_tokens import digest
from core.security.vault import Vault

ATTEMPT_SECONDS = 600
RENEWER_SECONDS = 60
"""How long one process may take to renew; longer than any request to an authorization server."""
_LONGEST_LIFE = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """A grant as it was read; ``expires_at`` is the access token's end, None if unknown."""

    connection_id: str
    grant_id: str
    grant: OAuthGrant
    is_valid: bool
    expires_at: datetime | None
    revision: int

    @property
    def access_token(self) -> str:
        tokens = self.grant.tokens
        return tokens.access_token if tokens else ""

    @property
    def can_renew(self) -> bool:
        tokens = self.grant.tokens
        return tokens is not None and tokens.refresh_token is not None

    def ends_within(self, seconds: float) -> bool:
        return self.expires_at is not None and self.expires_at <= utc_now() + timedelta(seconds=seconds)


async def read_grant(session: AsyncSession, vault: Vault, connection_id: str) -> StoredGrant | None:
    """The last grant of a connection, valid or not."""
    row = await session.get(McpAuthorization, connection_id)
    if row is None:
        return None
    grant = OAuthGrant.model_validate_json(vault.decrypt(row.sealed_grant))
    return StoredGrant(row.connection_id, row.grant_id, grant, row.is_valid, row.expires_at, row.revision)


async def write_grant(session: AsyncSession, vault: Vault, connection_id: str, grant: OAuthGrant) -> None:
    """Store a new grant in place of the last one."""
    row = await session.get(McpAuthorization, connection_id)
    row = row or McpAuthorization(connection_id=connection_id, issuer="", sealed_grant="")
    row.grant_id, row.is_valid, row.issuer = new_id(), True, grant.issuer
    row.sealed_grant, row.expires_at = vault.encrypt(grant.model_dump_json()), _end(grant)
    row.scope = grant.tokens.scope if grant.tokens else None
    row.revision += 1
    row.renewer = row.renewer_until = None
    row.authorized_at = utc_now()
    session.add(row)


async def begin_renewal(session: AsyncSession, stored: StoredGrant, renewer: str) -> bool:
    """Whether ``renewer`` is now the only one that renews this revision of a grant."""
    now = utc_now()
    until = col(McpAuthorization.renewer_until)
    statement = update_rows(McpAuthorization).where(
        *_revision(stored), or_(until.is_(None), until < now, until > now + timedelta(seconds=2 * RENEWER_SECONDS))
    )
    statement = statement.values(renewer=renewer, renewer_until=now + timedelta(seconds=RENEWER_SECONDS))
    return (await session.exec(statement.execution_options(synchronize_session=False))).rowcount > 0


async def has_renewer(session: AsyncSession, stored: StoredGrant) -> bool:
    """Whether some process renews this revision of a grant now."""
    query = select(McpAuthorization.renewer).where(*_revision(stored))
    return (await session.exec(query)).first() is not None


async def end_renewal(
    session: AsyncSession, vault: Vault, stored: StoredGrant, renewer: str, grant: OAuthGrant | None
) -> bool:
    """Store renewed tokens, or none where the renewal failed; whether the grant is still there to take them."""
    values: dict[str, object] = {"renewer": None, "renewer_until": None}
    if grant is not None:
        values |= {
            "sealed_grant": vault.encrypt(grant.model_dump_json()),
            "expires_at": _end(grant),
            "scope": grant.tokens.scope if grant.tokens else None,
            "revision": stored.revision + 1,
        }
    statement = update_rows(McpAuthorization).where(*_revision(stored), col(McpAuthorization.renewer) == renewer)
    statement = statement.values(**values).execution_options(synchronize_session=False)
    return (await session.exec(statement)).rowcount > 0


async def end_grant(session: AsyncSession, vault: Vault, stored: StoredGrant) -> None:
    """Drop the tokens of a grant that its server does not honour any more, and have the owner authorize again."""
    bare = stored.grant.model_copy(update={"tokens": None})
    statement = update_rows(McpAuthorization).where(*_revision(stored))
    statement = statement.values(
        is_valid=False,
        sealed_grant=vault.encrypt(bare.model_dump_json()),
        expires_at=None,
        revision=stored.revision + 1,
        renewer=None,
        renewer_until=None,
    )
    if (await session.exec(statement.execution_options(synchronize_session=False))).rowcount == 0:
        return
    status = McpStatus.NEEDS_AUTHORIZATION.value
    waiting = update_rows(McpConnection).where(col(McpConnection.id) == stored.connection_id)
    await session.exec(waiting.values(status=status, fault=status).execution_options(synchronize_session=False))


def _revision(stored: StoredGrant) -> tuple[ColumnElement[bool], ...]:
    return (
        col(McpAuthorization.connection_id) == stored.connection_id,
        col(McpAuthorization.grant_id) == stored.grant_id,
        col(McpAuthorization.revision) == stored.revision,
    )


def _end(grant: OAuthGrant) -> datetime | None:
    seconds = grant.tokens.expires_in if grant.tokens else None
    if seconds is None:
        return None
    return utc_now() + timedelta(seconds=min(max(seconds, 0), _LONGEST_LIFE))


async def write_attempt(
    session: AsyncSession, vault: Vault, row: McpConnection, *, state: str, request: OAuthRequest
) -> datetime:
    """Store an attempt in place of an earlier one of the connection; its end."""
    ends = utc_now() + timedelta(seconds=ATTEMPT_SECONDS)
    attempt = McpAuthorizationAttempt(
        connection_id=row.id,
        state_digest=digest(state),
        sealed_request=vault.encrypt(request.model_dump_json()),
        version=row.version,
        expires_at=ends,
    )
    await session.merge(attempt)
    return ends


async def redeem_attempt(
    session: AsyncSession, vault: Vault, owner_id: str, state: str
) -> tuple[McpConnection, OAuthRequest]:
    """The attempt of this person that they return from, and its connection; works once.

    Somebody else's stays open: who knows only the state could end it otherwise.
    """
    query = (
        select(McpAuthorizationAttempt, McpConnection)
        .join(McpConnection, col(McpConnection.id) == col(McpAuthorizationAttempt.connection_id))
        .where(McpAuthorizationAttempt.state_digest == digest(state), McpConnection.owner_id == owner_id)
    )
    pair = (await session.exec(query.with_for_update())).first()
    if pair is None:
        raise McpAuthorizationNotOpen
    attempt, row = pair
    mine = col(McpAuthorizationAttempt.state_digest) == attempt.state_digest
    if (await session.exec(delete(McpAuthorizationAttempt).where(mine))).rowcount == 0:
        raise McpAuthorizationNotOpen
    if attempt.expires_at <= utc_now() or attempt.version != row.version:
        raise McpAuthorizationNotOpen
    return row, OAuthRequest.model_validate_json(vault.decrypt(attempt.sealed_request))
