"""The key pairs that sign tokens, kept in the database so that every process has the same."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.models import StoredSigningKey
from core.security.secrets import Vault
from core.security.tokens import SigningKey, TokenIssuer, generate_signing_key

PURPOSE = "signing-keys"


async def ensure_signing_key(session: AsyncSession, vault: Vault) -> None:
    """Make the first key pair if there is none."""
    if (await session.exec(select(StoredSigningKey.id))).first() is not None:
        return
    key = generate_signing_key()
    session.add(
        StoredSigningKey(
            id=key.key_id,
            sealed_private_pem=vault.encrypt(key.private_pem),
            public_pem=key.public_pem,
        )
    )


async def load_token_issuer(session: AsyncSession, vault: Vault) -> TokenIssuer:
    """The issuer with all stored keys; the newest signs.

    Raises:
        SecretKeyMismatchError: the keys were stored under another secret key.
    """
    query = select(StoredSigningKey).order_by(col(StoredSigningKey.created_at).desc())
    rows = (await session.exec(query)).all()
    keys = [
        SigningKey(row.id, vault.decrypt(row.sealed_private_pem), row.public_pem) for row in rows
    ]
    return TokenIssuer(keys[0], keys)
