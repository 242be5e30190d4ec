"""Secrets that work once: 256 random bits, of which only the hash is stored."""

import hashlib
import hmac
import secrets


def new_secret() -> str:
    """A new secret, as letters, digits, ``-`` and ``_``."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """SHA-256 in hex; 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_digest_of(stored: str, secret: str) -> bool:
    """Whether the hash is this secret's, in constant time."""
    return hmac.compare_digest(stored, digest(secret))
