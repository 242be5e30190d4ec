"""Rate limits per key, counted in this process or in a shared Redis.

The generic cell rate algorithm (GCRA, ITU-T I.371): per key one time is stored, until which the
used amount lasts. A burst of the whole limit passes, then as much as the limit gives back.
"""

# redis has partial types.
# pyright: reportUnknownMemberType=false

import asyncio
import math
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Protocol, cast

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from core.errors.requests import TooManyRequests
from core.logging import get_logger

log = get_logger(__name__)

_PREFIX = "agentex:rate:"
_SWEEP_SECONDS = 60.0
# A request must not wait for a count; and not each of them for the same silent server.
_LONGEST_WAIT = 0.5
_PAUSE_SECONDS = 5.0
# All or nothing: what one key refuses is not taken from the others. Microseconds, because Redis
# cuts what a script gives back to whole numbers.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local wait, ends = 0, {}
for i, key in ipairs(KEYS) do
    local interval, window = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    ends[i] = math.max(tonumber(redis.call('GET', key) or '0'), now) + interval
    wait = math.max(wait, ends[i] - window - now)
end
if wait > 0 then return math.ceil(wait) end
for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.0f', ends[i]), 'PX', math.ceil((ends[i] - now) / 1000))
end
return 0
"""
_GIVE_BACK = """
for i, key in ipairs(KEYS) do
    if redis.call('EXISTS', key) == 1 then redis.call('DECRBY', key, ARGV[i]) end
end
"""


@dataclass(frozen=True)
class Limit:
    """A number of uses within a number of seconds; 0 is no limit."""

    most: int
    seconds: float

    @property
    def interval(self) -> float:
        """Seconds until one use is given back."""
        return self.seconds / self.most


@dataclass(frozen=True)
class Charge:
    """One use of a key's limit; the key names what is counted, as in ``user:1``."""

    key: str
    limit: Limit


class RateLimiter(Protocol):
    """Counts uses of limits."""

    async def take(self, charges: Sequence[Charge]) -> float:
        """Take one from each, or none from any; returns the seconds to wait, 0 if it was taken."""
        ...

    async def give_back(self, charges: Sequence[Charge]) -> None:
        """Undo one taking."""
        ...


class LocalRateLimiter:
    """Counts in this process."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}
        self._swept = time.monotonic()

    async def take(self, charges: Sequence[Charge]) -> float:
        now = time.monotonic()
        self._sweep(now)
        counted = [charge for charge in charges if charge.limit.most]
        ends = [max(self._ends.get(charge.key, now), now) + charge.limit.interval for charge in counted]
        waits = [end - charge.limit.seconds - now for charge, end in zip(counted, ends, strict=True)]
        # Sums of fractions: a limit of ten must let through ten.
        if waits and (wait := max(waits)) > 1e-6:
            return wait
        self._ends.update((charge.key, end) for charge, end in zip(counted, ends, strict=True))
        return 0.0

    async def give_back(self, charges: Sequence[Charge]) -> None:
        for charge in charges:
            if charge.key in self._ends:
                self._ends[charge.key] -= charge.limit.interval

    def _sweep(self, now: float) -> None:
        """Delete expired keys: anybody can create new ones, by another name at each login."""
        if now - self._swept > _SWEEP_SECONDS:
            self._swept = now
            self._ends = {key: end for key, end in self._ends.items() if end > now}


class SharedRateLimiter:
    """Counts in Redis for all processes; while it is down each process counts by itself."""

    def __init__(self, redis: Redis) -> None:
        self._take = redis.register_script(_TAKE)
        self._give_back = redis.register_script(_GIVE_BACK)
        self._local = LocalRateLimiter()
        self._away_until = 0.0

    async def take(self, charges: Sequence[Charge]) -> float:
        counted = [charge for charge in charges if charge.limit.most]
        if not counted:
            return 0.0
        arguments = [
            round(seconds * 1_000_000)
            for charge in counted
            for seconds in (charge.limit.interval, charge.limit.seconds)
        ]
        wait = await self._ask(self._take, counted, arguments)
        return await self._local.take(charges) if wait is None else wait / 1_000_000

    async def give_back(self, charges: Sequence[Charge]) -> None:
        counted = [charge for charge in charges if charge.limit.most]
        arguments = [round(charge.limit.interval * 1_000_000) for charge in counted]
        if counted and await self._ask(self._give_back, counted, arguments) is None:
            await self._local.give_back(counted)

    async def _ask(self, script: AsyncScript, charges: Sequence[Charge], arguments: Sequence[int]) -> int | None:
        """Run a script in Redis; None while it is down."""
        if time.monotonic() < self._away_until:
            return None
        names = [f"{_PREFIX}{charge.key}" for charge in charges]
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                answer = await cast(Awaitable[int], script(keys=names, args=arguments))
                return int(answer or 0)
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until = time.monotonic() + _PAUSE_SECONDS
            log.warning("rate_limits.not_shared", cause=type(error).__name__)
            return None


async def charge_or_refuse(limiter: RateLimiter, charges: Sequence[Charge], error: type[TooManyRequests]) -> None:
    """Take one from each, or raise ``error`` and take none."""
    if wait := await limiter.take(charges):
        raise error(math.ceil(wait))


def address_range(address: str) -> str:
    """The network that counts as one client.

    An owner of one IPv6 address has 2**64 of them, so the network counts (RFC 6177).
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, 64), strict=False))
