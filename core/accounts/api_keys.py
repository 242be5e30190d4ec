"""A user's API keys."""

from collections.abc import Sequence

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.models import ApiKey
from core.errors import ApiKeyNotFound
from core.security.api_keys import display_prefix, generate_api_key, hash_api_key


async def list_api_keys(session: AsyncSession, user_id: str) -> Sequence[ApiKey]:
    """The user's keys, newest first."""
    query = select(ApiKey).where(ApiKey.user_id == user_id).order_by(col(ApiKey.created_at).desc())
    return (await session.exec(query)).all()


async def create_api_key(session: AsyncSession, user_id: str, *, name: str) -> tuple[ApiKey, str]:
    """Make a key.

    Returns:
        The row, and the key itself, which can't be had again.
    """
    key = generate_api_key()
    row = ApiKey(
        user_id=user_id, name=name, key_hash=hash_api_key(key), key_prefix=display_prefix(key)
    )
    session.add(row)
    await session.flush()
    return row, key


async def revoke_api_key(session: AsyncSession, user_id: str, key_id: str) -> None:
    """Delete one of the user's keys; it stops working at once.

    Raises:
        ApiKeyNotFound: the user has no such key.
    """
    query = select(ApiKey).where(ApiKey.id == key_id, ApiKey.user_id == user_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise ApiKeyNotFound
    await session.delete(row)
