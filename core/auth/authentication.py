"""Login, refresh, logout, and the lookup of principals by credential."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from pydantic import JsonValue
from sqlalchemy import bindparam, delete, or_, update
from sqlalchemy.orm import Mapped
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from core.audit.context import Actor
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.api_keys import hash_api_key
from core.auth.models import ApiKey, Role, TokenFamily, User, UserStatus
from core.auth.principal import Principal
from core.auth.roles import combined_permissions
from core.auth.users import find_user_by_login
from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, InvalidCredentials, InvalidToken, TokenExpired, TokenReused
from core.errors.base import AgentexError
from core.security.jwt import TokenIssuer
from core.security.passwords import verify_password

ACTIVE = UserStatus.ACTIVE.value
# Writing it at every request would turn each read into a write.
_LAST_USED_PRECISION = timedelta(minutes=1)


@dataclass(frozen=True)
class IssuedTokens:
    """Tokens of a login.

    Args:
        refresh_token: works once.
        expires_in: lifetime of the access token in seconds.
    """

    access_token: str
    refresh_token: str
    expires_in: int


class Authenticator:
    """Issues and checks credentials."""

    def __init__(self, issuer: TokenIssuer, *, access_seconds: int, refresh_seconds: int) -> None:
        self.issuer = issuer
        self._access_seconds = access_seconds
        self._refresh_seconds = refresh_seconds

    async def begin_login(self, session: AsyncSession, checked: User) -> tuple[User, IssuedTokens]:
        """Begin a token family and delete the account's expired ones; refused if the password changed meanwhile."""
        # Locked: this login and a parallel password change must see each other.
        user = await session.get(User, checked.id, with_for_update=True)
        if user is None or user.password_hash != checked.password_hash:
            raise InvalidCredentials
        return await self._begin(session, user, method="password")

    async def begin_vouched_login(self, session: AsyncSession, user_id: str) -> tuple[User, IssuedTokens]:
        """Begin a token family for a user whom an identity provider has authenticated."""
        user = await session.get(User, user_id, with_for_update=True)
        if user is None:
            raise InvalidCredentials
        return await self._begin(session, user, method="oidc")

    async def _begin(self, session: AsyncSession, user: User, *, method: str) -> tuple[User, IssuedTokens]:
        if user.status != ACTIVE:
            raise AccountDisabled
        user.last_login_at = utc_now()
        ended = (col(TokenFamily.user_id) == user.id, col(TokenFamily.expires_at) < utc_now())
        await session.exec(delete(TokenFamily).where(*ended))
        family = TokenFamily(
            user_id=user.id, current_token_id="", expires_at=utc_now() + timedelta(seconds=self._refresh_seconds)
        )
        tokens = self._issue(family)
        session.add_all([user, family])
        actor, target = Actor(user.id, user.username), AuditTarget("user", user.id, user.username)
        details: dict[str, JsonValue] = {"method": method}
        audit(session, AuditAction.LOGIN_SUCCEEDED, target, actor=actor, details=details)
        return user, tokens

    async def refresh(self, session: AsyncSession, refresh_token: str) -> IssuedTokens | TokenReused:
        """Exchange a refresh token for a new pair.

        A token that was exchanged before ends its family: either the owner or a thief has
        the newer one. That case is returned, not raised, so that the revocation is committed.
        """
        claims = self.issuer.verify(refresh_token, "refresh")
        family = (
            await session.exec(select(TokenFamily).where(TokenFamily.id == claims.family_id).with_for_update())
        ).first()
        user = await session.get(User, claims.user_id)
        if family is None or user is None or family.revoked_at is not None:
            raise InvalidToken
        if user.status != ACTIVE:
            raise AccountDisabled
        if family.current_token_id != claims.token_id:
            family.revoked_at = utc_now()
            session.add(family)
            # The caller may be the owner or a thief of the token.
            audit(session, AuditAction.TOKEN_REUSED, AuditTarget("user", user.id, user.username))
            return TokenReused()
        family.expires_at = utc_now() + timedelta(seconds=self._refresh_seconds)
        tokens = self._issue(family)
        session.add(family)
        return tokens

    def _issue(self, family: TokenFamily) -> IssuedTokens:
        if not family.id:
            family.id = new_id()
        access, _ = self.issuer.issue(
            "access", user_id=family.user_id, family_id=family.id, seconds=self._access_seconds
        )
        refresh, claims = self.issuer.issue(
            "refresh", user_id=family.user_id, family_id=family.id, seconds=self._refresh_seconds
        )
        family.current_token_id = claims.token_id
        return IssuedTokens(access, refresh, self._access_seconds)

    async def principal_of_token(self, database: Database, access_token: str) -> Principal:
        """The owner of an access token, with the rights that the database has now."""
        claims = self.issuer.verify(access_token, "access")
        parameters = {"user_id": claims.user_id, "family_id": claims.family_id}
        row = await database.look_up(lambda reads: reads.connection.execute(_by_family(), parameters).first())
        if row is None:
            raise InvalidToken
        *columns, family_id, revoked_at = row
        if revoked_at is not None:
            raise InvalidToken
        return replace(_principal(_Account(*columns)), family_id=family_id)


async def check_password(database: Database, *, login: str, password: str) -> User:
    """The account with this login and password.

    No session is open while the hash is computed: that takes long, and SQLite has one writer.
    Unknown users and wrong passwords raise the same error.
    """
    async with database.reading() as session:
        user = await find_user_by_login(session, login)
    matches = await verify_password(password, user.password_hash if user else None)
    if user is None or not matches:
        raise InvalidCredentials
    return user


async def audit_refused_sso_login(database: Database, error: AgentexError) -> None:
    """Audit that a user from the identity provider was refused, and why."""
    details: dict[str, JsonValue] = {"method": "oidc", "code": error.code}
    if isinstance(reason := error.details.get("reason"), str):
        details["reason"] = reason
    async with unit_of_work(database) as work:
        audit(work.session, AuditAction.LOGIN_FAILED, details=details)


async def audit_failed_login(database: Database, login: str) -> None:
    """Audit a failed login; the typed name is stored only if an account has it.

    A password typed into the wrong field must not get into the log.
    """
    async with unit_of_work(database) as work:
        user = await find_user_by_login(work.session, login)
        target = AuditTarget("user", user.id, user.username) if user else None
        audit(work.session, AuditAction.LOGIN_FAILED, target)


async def principal_for_api_key(database: Database, api_key: str) -> tuple[Principal, bool]:
    """The owner of an API key, and whether its use in this minute is stored already."""
    parameters = {"key_hash": hash_api_key(api_key)}
    row = await database.look_up(lambda reads: reads.connection.execute(_by_api_key(), parameters).first())
    if row is None:
        raise InvalidToken
    account, key = _Account(*row[:_WIDTH]), _Key(*row[_WIDTH:])
    if key.has_ended:
        raise TokenExpired
    noted = key.last_used_at is not None and key.last_used_at > utc_now() - _LAST_USED_PRECISION
    return _keyed(_principal(account), key), noted


async def principal_for_user(session: AsyncSession, user_id: str) -> Principal:
    """The principal of an account, for work on its behalf without a login."""
    row = (await session.exec(_accounts().where(col(User.id) == user_id))).first()
    if row is None:
        raise InvalidToken
    return _principal(_Account(*row))


# Columns and not objects: every request reads one of each, and objects of the ORM take five times
# as long (docs/decisions/0084).
class _Account(NamedTuple):
    """What makes a principal, of an account and its role; in the order of ``_accounts``."""

    user_id: str
    username: str
    status: str
    granted: list[str]
    revoked: list[str]
    model_access: list[str] | None
    mcp_access: list[str] | None
    role: str
    permissions: list[str]


_WIDTH = len(_Account._fields)


class _Key(NamedTuple):
    """What bounds the principal of an API key; in the order of ``_keys``."""

    id: str
    scopes: list[str] | None
    expires_at: datetime | None
    last_used_at: datetime | None

    @property
    def has_ended(self) -> bool:
        return self.expires_at is not None and self.expires_at <= utc_now()


_Rows = Select[*tuple[Any, ...]]


# Built once: building takes longer than running them, and every request runs one.
@cache
def _by_family() -> _Rows:
    return _families().where(col(User.id) == bindparam("user_id"), col(TokenFamily.id) == bindparam("family_id"))


@cache
def _by_api_key() -> _Rows:
    return _keys().where(col(ApiKey.key_hash) == bindparam("key_hash"))


def _families() -> _Rows:
    rows = _accounts(col(TokenFamily.id), col(TokenFamily.revoked_at))
    return rows.join(TokenFamily, col(TokenFamily.user_id) == col(User.id))


def _keys() -> _Rows:
    rows = _accounts(col(ApiKey.id), col(ApiKey.scopes), col(ApiKey.expires_at), col(ApiKey.last_used_at))
    return rows.join(ApiKey, col(ApiKey.user_id) == col(User.id))


def _accounts(*more: Mapped[Any]) -> _Rows:
    columns: tuple[Mapped[Any], ...] = (
        col(User.id),
        col(User.username),
        col(User.status),
        col(User.granted),
        col(User.revoked),
        col(User.model_access),
        col(User.mcp_access),
        col(Role.name),
        col(Role.permissions),
        *more,
    )
    return _Rows(*columns).join(Role, col(Role.id) == col(User.role_id))


def _principal(account: _Account) -> Principal:
    if account.status == UserStatus.DELETED:
        raise InvalidToken
    if account.status != ACTIVE:
        raise AccountDisabled
    return Principal(
        account.user_id,
        account.username,
        account.role,
        combined_permissions(tuple(account.permissions), tuple(account.granted), tuple(account.revoked)),
        model_access=_access_limit(account.model_access),
        mcp_access=_access_limit(account.mcp_access),
    )


def _keyed(owner: Principal, key: _Key) -> Principal:
    """The owner limited to the key's scopes."""
    if key.scopes is None:
        return replace(owner, key_id=key.id)
    allowed = owner.permissions.intersection(key.scopes)
    return replace(owner, key_id=key.id, is_scoped=True, permissions=allowed)


async def active_principals(
    session: AsyncSession, *, family_ids: Sequence[str], key_ids: Sequence[str]
) -> dict[str, Principal]:
    """Principals of those of these logins and API keys that are still valid, by their ids."""
    living: dict[str, Principal] = {}
    if family_ids:
        here = (col(TokenFamily.id).in_(family_ids), col(TokenFamily.expires_at) > utc_now())
        for row in (await session.exec(_families().where(*here))).all():
            *columns, family_id, revoked_at = row
            account = _Account(*columns)
            if revoked_at is None and account.status == ACTIVE:
                living[family_id] = _principal(account)
    if key_ids:
        for row in (await session.exec(_keys().where(col(ApiKey.id).in_(key_ids)))).all():
            account, key = _Account(*row[:_WIDTH]), _Key(*row[_WIDTH:])
            if not key.has_ended and account.status == ACTIVE:
                living[key.id] = _keyed(_principal(account), key)
    return living


def _access_limit(ids: list[str] | None) -> frozenset[str] | None:
    return None if ids is None else frozenset(ids)


async def revoke_family(session: AsyncSession, family_id: str) -> None:
    """End a login: its access and refresh tokens stop working at once."""
    await session.exec(
        update(TokenFamily)
        .where(col(TokenFamily.id) == family_id, col(TokenFamily.revoked_at).is_(None))
        .values(revoked_at=utc_now())
    )


async def change_password(session: AsyncSession, user: User, *, password_hash: str, keep_family_id: str | None) -> None:
    """Store the hash of a checked password and end the user's other logins."""
    user.password_hash = password_hash
    session.add(user)
    await end_logins(session, user.id, keep_family_id=keep_family_id)


async def end_logins(session: AsyncSession, user_id: str, *, keep_family_id: str | None = None) -> None:
    """End a user's logins at once, except for ``keep_family_id``."""
    statement = (
        update(TokenFamily)
        .where(col(TokenFamily.user_id) == user_id, col(TokenFamily.revoked_at).is_(None))
        .values(revoked_at=utc_now())
    )
    if keep_family_id is not None:
        statement = statement.where(col(TokenFamily.id) != keep_family_id)
    await session.exec(statement)


async def touch_api_key(session: AsyncSession, api_key: str) -> None:
    """Store that a key was used now, unless another request did so a moment ago."""
    now, noted = utc_now(), col(ApiKey.last_used_at)
    await session.exec(
        update(ApiKey)
        .where(col(ApiKey.key_hash) == hash_api_key(api_key), or_(noted.is_(None), noted < now - _LAST_USED_PRECISION))
        .values(last_used_at=now)
    )
