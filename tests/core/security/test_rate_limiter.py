"""Rate limits: counted in one process, in Redis for several, and while Redis is away."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
from redis.asyncio import Redis

from core.auth.login_throttle import LoginThrottle
from core.db.types import new_id
from core.errors.auth import InvalidCredentials
from core.errors.requests import TooManyLogins
from core.redis.client import open_redis
from core.security.rate_limiter import Charge, Limit, LocalRateLimiter, RateLimiter, SharedRateLimiter, address_range
from core.settings import Settings
from core.settings.http import AccessSettings

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["local", "shared", "away"])
async def limiter(request: pytest.FixtureRequest, find_redis: Callable[[], str]) -> AsyncIterator[RateLimiter]:
    if request.param == "local":
        yield LocalRateLimiter()
        return
    url = find_redis() if request.param == "shared" else "redis://127.0.0.1:1"
    redis: Redis = open_redis(Settings(_env_file=None, redis_url=url))
    yield SharedRateLimiter(redis)
    await redis.aclose()


def charge(most: int, seconds: float) -> Charge:
    return Charge(f"test:{new_id()}", Limit(most, seconds))


async def test_burst_of_the_limit_is_let_through_and_no_more(limiter: RateLimiter):
    one = charge(5, 600)
    waits = await asyncio.gather(*(limiter.take([one]) for _ in range(8)))
    assert sorted(wait > 0 for wait in waits) == [False] * 5 + [True] * 3
    # The next is given back after a fifth of the time.
    assert 100 < max(waits) <= 120


async def test_what_was_used_up_is_given_back_by_and_by(limiter: RateLimiter):
    one = charge(2, 2)
    assert [await limiter.take([one]) for _ in range(2)] == [0, 0]
    began = time.monotonic()
    waits: list[float] = []
    while wait := await limiter.take([one]):
        waits.append(wait)
        await asyncio.sleep(wait)
    assert 0 < waits[0] <= 1
    # What is told is what has to be waited for.
    assert len(waits) <= 3
    assert time.monotonic() - began < 5


async def test_refusal_by_one_key_takes_nothing_from_another(limiter: RateLimiter):
    narrow, wide = charge(1, 600), charge(2, 600)
    assert await limiter.take([narrow, wide]) == 0
    assert await limiter.take([narrow, wide]) > 0
    assert await limiter.take([wide]) == 0
    assert await limiter.take([wide]) > 0


async def test_what_is_given_back_can_be_taken_again(limiter: RateLimiter):
    one = charge(1, 600)
    await limiter.give_back([one])
    assert await limiter.take([one]) == 0
    await limiter.give_back([one])
    assert await limiter.take([one]) == 0
    assert await limiter.take([one]) > 0


async def test_limit_of_zero_is_none(limiter: RateLimiter):
    one = charge(0, 600)
    assert [await limiter.take([one]) for _ in range(5)] == [0] * 5
    await limiter.give_back([one])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
async def test_ipv6_counts_by_network(address: str, expected: str):
    assert address_range(address) == expected


async def test_sign_ins_that_end_well_are_not_counted_and_many_others_are():
    throttle = LoginThrottle(LocalRateLimiter(), AccessSettings(address_wrong_logins=1))
    for _ in range(50):
        await throttle.begin_sign_in("192.0.2.1")
        await throttle.end_sign_in("192.0.2.1")
    for _ in range(10):
        await throttle.begin_sign_in("192.0.2.1")
    with pytest.raises(TooManyLogins):
        await throttle.begin_sign_in("192.0.2.1")
    await throttle.begin_sign_in("192.0.2.2")
    async with throttle.attempt("anna", "192.0.2.1"):
        pass


async def test_right_password_is_not_counted_and_wrong_ones_in_any_spelling_are():
    throttle = LoginThrottle(LocalRateLimiter(), AccessSettings(wrong_logins=2))
    for _ in range(5):
        async with throttle.attempt("anna", "192.0.2.1"):
            pass
    for name in ("anna", " ＡNNA "):
        with pytest.raises(InvalidCredentials):
            async with throttle.attempt(name, "192.0.2.1"):
                raise InvalidCredentials
    with pytest.raises(TooManyLogins) as error:
        async with throttle.attempt("Anna", "192.0.2.1"):
            pytest.fail("no password may be checked any more")
    assert 0 < error.value.details["retry_after"] <= 150
    async with throttle.attempt("anna", "192.0.2.2"):
        pass
