"""A user's API keys: made with at most the rights and the life of what makes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Principal
from core.accounts.models import ApiKey
from core.accounts.permissions import Permission
from core.audit import AuditAction, Target, note
from core.database.types import utc_now
from core.errors import ApiKeyNotFound, InvalidRequest
from core.security.api_keys import display_prefix, generate_api_key, hash_api_key


@dataclass(frozen=True)
class ApiKeyDraft:
    """A key to be.

    Args:
        name: to tell keys apart.
        scopes: the only permissions it has, as long as its owner has them; None for all of them.
        expires_at: its end; None for none.
    """

    name: str
    scopes: Iterable[Permission] | None = None
    expires_at: datetime | None = None


async def list_api_keys(session: AsyncSession, user_id: str) -> Sequence[ApiKey]:
    """The user's keys, newest first."""
    query = select(ApiKey).where(ApiKey.user_id == user_id).order_by(col(ApiKey.created_at).desc())
    return (await session.exec(query)).all()


async def make_api_key(
    session: AsyncSession, principal: Principal, draft: ApiKeyDraft
) -> tuple[ApiKey, str]:
    """Make a key for the caller. One made with a key has that one's bounds where it names none.

    Returns:
        The row, and the key itself, which can't be had again.

    Raises:
        InvalidRequest: it would have ended already, or would outlive the key it is made with.
        PermissionDenied: the caller lacks a permission that it should have.
    """
    scopes = None if draft.scopes is None else frozenset(draft.scopes)
    expires_at = draft.expires_at
    if scopes is not None:
        principal.require_all(scopes)
    if principal.key_id is not None:
        maker = await session.get_one(ApiKey, principal.key_id)
        if scopes is None and maker.scopes is not None:
            scopes = frozenset(Permission(name) for name in maker.scopes)
        if maker.expires_at is not None:
            expires_at = expires_at or maker.expires_at
            if expires_at > maker.expires_at:
                raise InvalidRequest("expires_at", "Later than the end of the key you use")
    if expires_at is not None and expires_at <= utc_now():
        raise InvalidRequest("expires_at", "Use a time to come")
    return await _add(session, principal.user_id, ApiKeyDraft(draft.name, scopes, expires_at))


async def create_api_key(session: AsyncSession, user_id: str, *, name: str) -> tuple[ApiKey, str]:
    """Make a key with all rights of an account and without an end; as :func:`make_api_key`."""
    return await _add(session, user_id, ApiKeyDraft(name))


async def _add(session: AsyncSession, user_id: str, draft: ApiKeyDraft) -> tuple[ApiKey, str]:
    key = generate_api_key()
    row = ApiKey(
        user_id=user_id,
        name=draft.name,
        key_hash=hash_api_key(key),
        key_prefix=display_prefix(key),
        scopes=None if draft.scopes is None else sorted(draft.scopes),
        expires_at=draft.expires_at,
    )
    session.add(row)
    await session.flush()
    note(session, AuditAction.API_KEY_CREATED, Target("api_key", row.id))
    return row, key


async def revoke_api_key(session: AsyncSession, principal: Principal, key_id: str) -> None:
    """Delete one of the caller's keys; it stops working at once, on open streams within seconds.

    Raises:
        ApiKeyNotFound: the user has no such key.
        PermissionDenied: a key with scopes may end itself alone.
    """
    query = select(ApiKey).where(ApiKey.id == key_id, ApiKey.user_id == principal.user_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise ApiKeyNotFound
    if row.id != principal.key_id:
        principal.require_whole()
    note(session, AuditAction.API_KEY_REVOKED, Target("api_key", row.id))
    await session.delete(row)
