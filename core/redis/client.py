"""The connection to Redis, which wakes workers and carries live events but is never the source of truth."""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from core.settings import Settings


def open_redis(settings: Settings) -> Redis:
    """A client with short timeouts, which connects at first use."""
    return Redis.from_url(  # pyright: ignore[reportUnknownMemberType] # redis has partial types
        settings.effective_redis_url,
        socket_timeout=5,
        socket_connect_timeout=2,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
        health_check_interval=15,
    )
