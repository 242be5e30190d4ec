"""Key pairs that sign tokens, stored in the database so that all processes share them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import StoredSigningKey, TokenFamily
from core.db.types import utc_now
from core.security.jwt import SigningKey, TokenIssuer, generate_signing_key
from core.security.vault import Vault

PURPOSE = "signing-keys"
# A new key signs nothing until every process and reader of the key set knows it.
_SETTLING = timedelta(minutes=1)


async def ensure_signing_key(session: AsyncSession, vault: Vault) -> None:
    """Create the first key pair if there is none."""
    if (await session.exec(select(StoredSigningKey.id))).first() is None:
        _add_key(session, vault)


async def rotate_signing_key(
    session: AsyncSession, vault: Vault, *, token_seconds: int, end_logins: bool = False
) -> str:
    """Create a new signing key and return its id; running processes follow within a minute.

    Args:
        token_seconds: the longest lifetime of a token; the old keys stay valid for that long.
        end_logins: distrust the old keys, because somebody else may have one: every login and its
            streams end at once.
    """
    now = utc_now()
    old = delete(StoredSigningKey)
    if not end_logins:
        old = old.where(col(StoredSigningKey.retired_at) < now)
        until = now + 2 * _SETTLING + timedelta(seconds=token_seconds)
        await session.exec(
            update(StoredSigningKey).where(col(StoredSigningKey.retired_at).is_(None)).values(retired_at=until)
        )
    else:
        # Access tokens end when each process has reloaded the keys; the logins end here.
        living = update(TokenFamily).where(col(TokenFamily.revoked_at).is_(None))
        await session.exec(living.values(revoked_at=now))
    await session.exec(old)
    key_id = _add_key(session, vault)
    target, details = AuditTarget("signing_key", key_id), {"logins_ended": end_logins}
    audit(session, AuditAction.SIGNING_KEY_ROTATED, target, details=details)
    return key_id


def _add_key(session: AsyncSession, vault: Vault) -> str:
    key = generate_signing_key()
    session.add(
        StoredSigningKey(id=key.key_id, sealed_private_pem=vault.encrypt(key.private_pem), public_pem=key.public_pem)
    )
    return key.key_id


class SigningKeys:
    """The stored keys, cached by one process."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known: tuple[str, ...] = ()
        self._issuer: TokenIssuer | None = None

    async def issuer(self, session: AsyncSession) -> TokenIssuer:
        """The issuer with all valid keys; the same object until they change."""
        now = utc_now()
        query = (
            select(StoredSigningKey)
            .where(or_(col(StoredSigningKey.retired_at).is_(None), col(StoredSigningKey.retired_at) > now))
            .order_by(col(StoredSigningKey.created_at).desc())
        )
        rows = (await session.exec(query)).all()
        signing = _signing(rows, now)
        key_ids = (signing.id, *(row.id for row in rows))
        if self._issuer is None or key_ids != self._known:
            keys = {row.id: self._open(row) for row in rows}
            self._issuer = TokenIssuer(keys[signing.id], list(keys.values()))
            self._known = key_ids
        return self._issuer

    def _open(self, row: StoredSigningKey) -> SigningKey:
        return SigningKey(row.id, self._vault.decrypt(row.sealed_private_pem), row.public_pem)


def _signing(rows: Sequence[StoredSigningKey], now: datetime) -> StoredSigningKey:
    """The newest key that every process knows; the oldest if all are new."""
    settled = (row for row in rows if row.created_at <= now - _SETTLING)
    return next(settled, rows[-1])
