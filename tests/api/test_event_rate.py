"""The limit on signed events of one event source."""

import pytest

from api.http.rate_limit import RequestLimits
from core.errors.requests import TooManyEvents
from core.security.rate_limiter import LocalRateLimiter
from core.settings import Settings


@pytest.mark.anyio
async def test_source_that_sends_too_many_events_is_slowed_down_and_no_other():
    limits = RequestLimits(LocalRateLimiter(), Settings(_env_file=None, source_events_per_minute=2))
    for _ in range(2):
        await limits.admit_event("first")
    with pytest.raises(TooManyEvents) as refusal:
        await limits.admit_event("first")
    assert 0 < refusal.value.details["retry_after"] <= 60
    await limits.admit_event("second")


@pytest.mark.anyio
async def test_limit_of_zero_is_none():
    limits = RequestLimits(LocalRateLimiter(), Settings(_env_file=None, source_events_per_minute=0))
    for _ in range(1000):
        await limits.admit_event("first")
