"""Wake-up message to the workers: something waits in SQL."""

# redis has partial types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from collections.abc import AsyncGenerator

from redis.asyncio import Redis

_CHANNEL = "agentex:wake"
_LISTEN_SECONDS = 5.0


async def wake_workers(redis: Redis) -> None:
    """Wake every worker that listens; if Redis fails, workers still poll every second."""
    await redis.publish(_CHANNEL, b"")


async def wake_signals(redis: Redis) -> AsyncGenerator[None]:
    """Yields once at the beginning, then at each wake-up; a broken connection raises, and messages may be lost."""
    async with redis.pubsub() as channel:
        await channel.subscribe(_CHANNEL)
        yield
        while True:
            message = await channel.get_message(ignore_subscribe_messages=True, timeout=_LISTEN_SECONDS)
            if message is not None:
                yield
