"""Secrets of sources that their services replace when they are used: used by one worker at a time, and never lost half way."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.now import database_now
from core.db.types import new_id
from core.security.vault import Vault
from kb_service.knowledge_sources.credentials import VALUES, unseal
from kb_service.models import KnowledgeSource

ROTATION_SECONDS = 60
"""How long one worker may take to use a secret; longer than any request to a token endpoint."""
_ROTATION, _HOLDER, _UNTIL = "rotation", "holder", "until"


class SecretGone(Exception):
    """The source has no such secret any more, or it belongs to another address now."""


@dataclass(frozen=True)
class SecretClaim:
    """A secret that its holder alone may use; ``sealed`` tells whether it is still the one that is stored."""

    source_id: str
    name: str
    holder: str
    sealed: str
    value: str


async def claim_secret(
    session: AsyncSession, vault: Vault, source_id: str, *, name: str, target: str
) -> SecretClaim | None:
    """The secret as it is now, claimed by the caller; None while somebody else holds it.

    Args:
        target: the address that the credentials must have been given for.

    Raises:
        SecretGone, SecretKeyMismatchError.
    """
    row = await session.get(KnowledgeSource, source_id, with_for_update=True, populate_existing=True)
    sealed = dict(row.sealed_credentials or {}) if row is not None else {}
    value = unseal(vault, sealed, target).get(name)
    if row is None or value is None:
        raise SecretGone
    now = await database_now(session)
    if _is_held(sealed, now):
        return None
    holder, until = new_id(), now + timedelta(seconds=ROTATION_SECONDS)
    row.sealed_credentials = {**sealed, _ROTATION: {_HOLDER: holder, _UNTIL: until.timestamp()}}
    session.add(row)
    return SecretClaim(source_id, name, holder, sealed[VALUES][name], value)


def _is_held(sealed: dict[str, Any], now: datetime) -> bool:
    left = float(sealed.get(_ROTATION, {}).get(_UNTIL, 0)) - now.timestamp()
    # What ends later than any holder may hold it was written by a clock that went wrong.
    return 0 < left <= 2 * ROTATION_SECONDS


async def release_secret(session: AsyncSession, vault: Vault, claim: SecretClaim, replacement: str | None) -> bool:
    """Store what replaces a claimed secret, if anything does, and let others use it.

    Returns:
        Whether the secret was still there: whoever gave another one meanwhile keeps that.
    """
    row = await session.get(KnowledgeSource, claim.source_id, with_for_update=True, populate_existing=True)
    sealed = dict(row.sealed_credentials or {}) if row is not None else {}
    values: dict[str, str] = sealed.get(VALUES, {})
    is_same = values.get(claim.name) == claim.sealed
    if row is None or not is_same:
        return False
    if replacement is not None:
        sealed[VALUES] = values | {claim.name: vault.encrypt(replacement)}
    if sealed.get(_ROTATION, {}).get(_HOLDER) == claim.holder:
        del sealed[_ROTATION]
    row.sealed_credentials = sealed
    session.add(row)
    return True
