"""Passwords: Argon2id, and the rules a new one must meet."""

import argon2
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from core.errors.requests import WeakPassword

MIN_LENGTH = 8
MAX_LENGTH = 256
# Each hash takes 64 MiB: a burst of logins must wait, not fill the memory.
_HASHES_AT_ONCE = 4
_limiters: RunVar[CapacityLimiter] = RunVar("password hashes")

_ROUNDS, _KIB, _LANES = (argon2.DEFAULT_TIME_COST, argon2.DEFAULT_MEMORY_COST, argon2.DEFAULT_PARALLELISM)
_hasher = PasswordHash((Argon2Hasher(time_cost=_ROUNDS, memory_cost=_KIB, parallelism=_LANES),))
# Checked when the user is unknown, so that both answers take the same time: salt and hash of zeros,
# which no password has. Making a real one would take every process a fifth of a second.
_decoy = f"$argon2id$v=19$m={_KIB},t={_ROUNDS},p={_LANES}${'A' * 22}${'A' * 43}"


def check_strength(password: str, *, username: str) -> None:
    """Refuse passwords that are too short, too long, without letter and digit, or the user's own name."""
    rule = None
    if len(password) < MIN_LENGTH:
        rule = f"at least {MIN_LENGTH} characters"
    elif len(password) > MAX_LENGTH:
        rule = f"at most {MAX_LENGTH} characters"
    elif not any(map(str.isalpha, password)) or all(map(str.isalpha, password)):
        rule = "at least one letter and one digit or sign"
    elif password.casefold() == username.casefold():
        rule = "not the user name"
    if rule is not None:
        raise WeakPassword(field="password", error=f"The password must have: {rule}")


async def hash_password(password: str) -> str:
    """The Argon2id hash of a password, computed in a thread."""
    return await to_thread.run_sync(_hasher.hash, password, limiter=_limiter())


async def verify_password(password: str, stored: str | None) -> bool:
    """Whether the password belongs to the stored hash; equally slow if there is none."""
    checked_hash = stored or _decoy
    matches = await to_thread.run_sync(_hasher.verify, password, checked_hash, limiter=_limiter())
    # An account with an empty hash has no password, not the decoy's.
    return matches and bool(stored)


def _limiter() -> CapacityLimiter:
    try:
        return _limiters.get()
    except LookupError:
        limiter = CapacityLimiter(_HASHES_AT_ONCE)
        _limiters.set(limiter)
        return limiter
