"""Request limits per user, per API key, and per address for anonymous callers."""

from starlette.types import Scope

from core.auth.principal import Principal
from core.errors.requests import TooManyEvents, TooManyRequests
from core.security.rate_limiter import Charge, Limit, RateLimiter, address_range, charge_or_refuse
from core.settings.http import AccessSettings

_MINUTE = 60.0


def client_address(scope: Scope) -> str:
    """The address of a request as far as its proxies are trusted; empty over a socket file."""
    client = scope.get("client")
    return client[0] if client else ""


class RequestLimits:
    """Admits requests, or says when to come again."""

    def __init__(self, limiter: RateLimiter, settings: AccessSettings) -> None:
        self._limiter = limiter
        self._general = Limit(settings.requests_per_minute, _MINUTE)
        self._per_key = Limit(settings.key_requests_per_minute, _MINUTE)
        self._per_source = Limit(settings.source_events_per_minute, _MINUTE)

    async def admit(self, principal: Principal) -> None:
        charges = [Charge(f"user:{principal.user_id}", self._general)]
        if principal.key_id is not None:
            charges.append(Charge(f"key:{principal.key_id}", self._per_key))
        await charge_or_refuse(self._limiter, charges, TooManyRequests)

    async def admit_stranger(self, scope: Scope) -> None:
        """Count a request without a valid credential; others' valid requests from the same address do not count."""
        charge = Charge(f"address:{address_range(client_address(scope))}", self._general)
        await charge_or_refuse(self._limiter, [charge], TooManyRequests)

    async def admit_event(self, source_id: str) -> None:
        """Count a signed event of an event source; forged ones count as strangers' only, and take nothing from it."""
        await charge_or_refuse(self._limiter, [Charge(f"events:{source_id}", self._per_source)], TooManyEvents)
