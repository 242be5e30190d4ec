"""API keys: 256 random bits, shown once, kept as a hash."""

import hashlib
import secrets

PREFIX = "sk-"


def generate_api_key() -> str:
    """A new key as its owner sees it, once."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_api_key(key: str) -> str:
    """SHA-256 in hex; a key of 256 random bits needs no slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


def display_prefix(key: str) -> str:
    """What a list shows of a key (seed 002, section 3.4: ``sk-...abc``)."""
    return f"{PREFIX}...{key[-3:]}"
