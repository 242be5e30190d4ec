"""API keys of users, with at most the rights and lifetime of the credential that creates them."""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import ApiKey, TokenFamily, User
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.errors.auth import ApiKeyNotFound, InvalidToken
from core.errors.conflicts import ApiKeysFull
from core.errors.requests import InvalidRequest

MAX_API_KEYS = 100
"""API keys of one account."""
SORT_FIELDS = ("created_at", "name")


@dataclass(frozen=True)
class ApiKeyDraft:
    """A key to create.

    Args:
        scopes: its only permissions, as long as the owner has them; None for all of the owner's.
        expires_at: None for never.
    """

    name: str
    scopes: Iterable[Permission] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class ApiKeyListing:
    """A page of keys and the total count."""

    items: Sequence[ApiKey]
    total: int


async def list_api_keys(session: AsyncSession, user_id: str, page: PageRequest) -> ApiKeyListing:
    """One page of the user's keys."""
    query = paginate(
        select(ApiKey).where(ApiKey.user_id == user_id),
        page,
        columns={"created_at": col(ApiKey.created_at), "name": col(ApiKey.name)},
        tie=col(ApiKey.id),
    )
    rows = (await session.exec(query)).all()
    mine = select(func.count()).select_from(ApiKey).where(ApiKey.user_id == user_id)
    return ApiKeyListing(rows, (await session.exec(mine)).one())


async def create_api_key(session: AsyncSession, principal: Principal, draft: ApiKeyDraft) -> tuple[ApiKey, str]:
    """Create a key for the caller; return its row and the key itself, which is not stored.

    A key created with another key expires no later than that one.
    """
    principal.require_whole()
    if draft.scopes is not None:
        principal.require_all(draft.scopes)
    # Locked: two parallel requests would not count each other's key.
    await session.get(User, principal.user_id, with_for_update={"key_share": True})
    await _require_login(session, principal)
    mine = select(func.count()).select_from(ApiKey).where(ApiKey.user_id == principal.user_id)
    if (await session.exec(mine)).one() >= MAX_API_KEYS:
        raise ApiKeysFull(most=MAX_API_KEYS)
    expires_at = draft.expires_at
    if principal.key_id is not None:
        maker = await session.get(ApiKey, principal.key_id, with_for_update=True)
        if maker is None:
            raise InvalidToken
        expires_at = expires_at or maker.expires_at
        if maker.expires_at is not None and expires_at and expires_at > maker.expires_at:
            raise InvalidRequest("expires_at", "Later than the end of the key you use")
    if expires_at is not None and expires_at <= utc_now():
        raise InvalidRequest("expires_at", "Use a time to come")
    bounded = replace(draft, expires_at=expires_at)
    return await _add(session, principal.user_id, bounded, made_with=principal.key_id)


async def _require_login(session: AsyncSession, principal: Principal) -> None:
    """Refuse a login that ended (by a new password) while this waited for the account's lock."""
    if principal.family_id is None:
        return
    alive = select(TokenFamily.id).where(TokenFamily.id == principal.family_id, col(TokenFamily.revoked_at).is_(None))
    if (await session.exec(alive)).first() is None:
        raise InvalidToken


async def _add(
    session: AsyncSession, user_id: str, draft: ApiKeyDraft, *, made_with: str | None = None
) -> tuple[ApiKey, str]:
    key = generate_api_key()
    row = ApiKey(
        user_id=user_id,
        name=draft.name,
        key_hash=hash_api_key(key),
        key_prefix=display_prefix(key),
        scopes=None if draft.scopes is None else sorted(draft.scopes),
        expires_at=draft.expires_at,
        made_with=made_with,
    )
    session.add(row)
    await session.flush()
    audit(session, AuditAction.API_KEY_CREATED, AuditTarget("api_key", row.id))
    return row, key


async def revoke_api_key(session: AsyncSession, principal: Principal, key_id: str) -> None:
    """Delete one of the caller's keys, and recursively the keys created with it.

    They stop working at once, on open streams within seconds. A key with scopes may only delete itself.
    """
    row = await get_api_key_for_update(session, principal.user_id, key_id)
    if row.id != principal.key_id:
        principal.require_whole()
    await delete_api_key_tree(session, row)


async def get_api_key_for_update(session: AsyncSession, user_id: str, key_id: str) -> ApiKey:
    """One of an account's keys, locked until the transaction ends."""
    query = select(ApiKey).where(ApiKey.id == key_id, ApiKey.user_id == user_id)
    # Locked: a key being created with it either exists already or fails.
    row = (await session.exec(query.with_for_update())).first()
    if row is None:
        raise ApiKeyNotFound
    return row


async def delete_api_key_tree(session: AsyncSession, row: ApiKey, owner: User | None = None) -> None:
    """Delete a key, and recursively the keys created with it; the audit log names ``owner`` if it is not the caller."""
    # A thief of the key may have created others with it.
    revoked = {row.id: row}
    makers = [row.id]
    while makers:
        made = select(ApiKey).where(col(ApiKey.made_with).in_(makers)).with_for_update()
        children = {key.id: key for key in (await session.exec(made)).all() if key.id not in revoked}
        revoked |= children
        makers = list(children)
    details: dict[str, JsonValue] = {}
    if owner is not None:
        details = {"user_id": owner.id, "username": owner.username}
    for key in revoked.values():
        audit(session, AuditAction.API_KEY_REVOKED, AuditTarget("api_key", key.id), details=details)
        await session.delete(key)


PREFIX = "sk-"


def generate_api_key() -> str:
    """A new key in plain text."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_api_key(key: str) -> str:
    """SHA-256 in hex; a key of 256 random bits needs no slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


def display_prefix(key: str) -> str:
    """The part of a key that lists show (docs/reference/agentex-api.md, section 3.4: ``sk-...abc``)."""
    return f"{PREFIX}...{key[-3:]}"
