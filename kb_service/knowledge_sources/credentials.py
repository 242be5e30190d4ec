"""Credentials of knowledge sources, sealed with the installation's secret key."""

from collections.abc import Mapping
from typing import Any

from core.errors.requests import InvalidRequest
from core.security.vault import Vault

PURPOSE = "knowledge source credentials"
_TARGET, VALUES = "target", "values"

SealedCredentials = Mapping[str, Any]
"""The column's JSON: sealed values by name, and the address that they were given for."""


def source_vault(secret_key: bytes) -> Vault:
    """The vault of the credentials of sources."""
    return Vault(secret_key, PURPOSE)


def seal(vault: Vault, target: str, values: Mapping[str, str]) -> SealedCredentials | None:
    """Seal credentials for an address (scheme, host and port); None where there are none."""
    if not values:
        return None
    return {_TARGET: target, VALUES: {name: vault.encrypt(value) for name, value in values.items()}}


def names_of(sealed: SealedCredentials | None) -> list[str]:
    """Which credentials are set."""
    return sorted(sealed[VALUES]) if sealed else []


def unseal(vault: Vault, sealed: SealedCredentials | None, target: str) -> dict[str, str]:
    """The values by name, none for another address than they were given for; raises ``SecretKeyMismatchError``."""
    if not sealed or sealed[_TARGET] != target:
        return {}
    return {name: vault.decrypt(value) for name, value in sealed[VALUES].items()}


def require_same_target(sealed: SealedCredentials | None, target: str) -> None:
    """Refuse to keep credentials for another address: else they could be sent to anybody's server."""
    if sealed and sealed[_TARGET] != target:
        raise InvalidRequest(
            "credentials",
            "The address is another one: give the credentials for it, or null for none",
            "地址已改变：请填写新地址的凭据，或用 null 表示没有",
        )
