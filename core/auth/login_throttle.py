"""Rate limits on wrong passwords that don't lock out an account's owner."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from core.errors.requests import TooManyLogins, TooManyRequests
from core.security.rate_limiter import Charge, Limit, RateLimiter, address_range, charge_or_refuse
from core.settings.http import AccessSettings
from core.text.confusables import name_key

_LOGIN_SECONDS = 300.0
_REGISTRATION_SECONDS = 3600.0
_SIGN_INS_PER_WRONG_LOGIN = 10
"""A sign-in that was begun guesses nothing: an office behind one address begins many at once."""


class LoginThrottle:
    """Counts wrong passwords per account and address, and per address.

    There is no count per account alone: anybody who knows a name could lock its owner out. Unknown
    names are counted the same way, so that a refusal reveals nothing.
    """

    def __init__(self, limiter: RateLimiter, settings: AccessSettings) -> None:
        self._limiter = limiter
        self._per_account = Limit(settings.wrong_logins, _LOGIN_SECONDS)
        self._per_address = Limit(settings.address_wrong_logins, _LOGIN_SECONDS)
        self._sign_ins = Limit(settings.address_wrong_logins * _SIGN_INS_PER_WRONG_LOGIN, _LOGIN_SECONDS)
        self._registrations = Limit(settings.address_registrations, _REGISTRATION_SECONDS)

    @asynccontextmanager
    async def attempt(self, login: str, address: str) -> AsyncGenerator[None]:
        """Check a password inside; an attempt that raises counts as a wrong password.

        It is counted before, so that parallel attempts don't exceed the limit. Over the limit nothing is checked.
        """
        place = address_range(address)
        account = name_key(login.strip())
        charges = (Charge(f"login:{place}:{account}", self._per_account), Charge(f"logins:{place}", self._per_address))
        await charge_or_refuse(self._limiter, charges, TooManyLogins)
        yield
        await self._limiter.give_back(charges)

    async def register(self, address: str) -> None:
        """Count a registration: each computes a slow hash, and reveals which names are taken."""
        place = address_range(address)
        charge = Charge(f"register:{place}", self._registrations)
        await charge_or_refuse(self._limiter, [charge], TooManyRequests)

    async def begin_sign_in(self, address: str) -> None:
        """Count a sign-in through a provider; a successful one is given back.

        Each is a row, and may cause a request to the provider. The return is not counted: it needs a
        state and a code that nobody can guess, and other people's attempts must not block it.
        """
        await charge_or_refuse(self._limiter, [self._sign_in(address)], TooManyLogins)

    async def end_sign_in(self, address: str) -> None:
        """Give back the count of a successful sign-in."""
        await self._limiter.give_back([self._sign_in(address)])

    def _sign_in(self, address: str) -> Charge:
        return Charge(f"sign-in:{address_range(address)}", self._sign_ins)
