"""The worker's queue while Redis is away."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from arq.connections import RedisSettings, create_pool
from arq.typing import WorkerCoroutine
from arq.worker import func

from ingestion.worker.main import QueueWorker
from tests.fixtures.servers.redis_server import RedisServer

pytestmark = pytest.mark.anyio


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - the worker tells nobody
            await asyncio.sleep(0.05)


async def test_jobs_are_taken_again_when_redis_is_back():
    redis = RedisServer()
    settings, ran = RedisSettings.from_dsn(redis.url), list[str]()

    async def note(ctx: dict[Any, Any], name: str) -> None:
        del ctx
        ran.append(name)

    async def enqueue(name: str) -> None:
        pool = await create_pool(settings)
        await pool.enqueue_job("note", name)
        await pool.aclose()

    worker = QueueWorker(
        [func(cast(WorkerCoroutine, note), name="note")],
        redis_settings=settings,
        poll_delay=0.05,
        handle_signals=False,
    )
    running = asyncio.create_task(worker.async_run())
    try:
        await enqueue("before")
        await until(lambda: ran == ["before"])
        redis.kill()
        await until(lambda: worker.is_away)
        assert not running.done()
        redis.start()
        await enqueue("after")
        await until(lambda: ran == ["before", "after"])
        assert not worker.is_away
    finally:
        running.cancel()
        await asyncio.wait({running})
        await worker.pool.aclose(close_connection_pool=True)
        redis.kill()
