"""Jobs: JSON payloads, and one job for each key."""

import asyncio
import base64
import json
import zlib
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from core.db.database import Database
from core.db.outbox import OutboxJob
from core.db.unit_of_work import unit_of_work
from core.redis.heartbeats import count_workers, remove_heartbeat, send_heartbeat, worker_name
from core.redis.jobs import QUEUE_NAME, JobQueue, deserialize_job, queue_depth, serialize_job
from core.redis.notify import wake_signals

pytestmark = pytest.mark.anyio
# What a pickle that runs a command looks like; nothing here loads it.
PICKLE = base64.b64decode("gASVIQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAR0cnVllIWUUpQu")


def test_payload_is_json():
    job = {"t": 1, "f": "document.erase", "a": [{"document_id": "d"}], "k": {}, "et": 5}
    assert deserialize_job(serialize_job(job)) == job
    assert serialize_job(job).startswith(b"{")


@pytest.mark.parametrize("raw", [PICKLE, b"", b"\x80\x04K\x01.", zlib.compress(b"{}")])
def test_what_is_not_json_is_not_loaded(raw: bytes):
    with pytest.raises(json.JSONDecodeError):
        deserialize_job(raw)


async def enqueue(database: Database, *keys: str) -> list[OutboxJob]:
    async with unit_of_work(database) as work:
        for key in keys:
            work.enqueue("document.erase", {"document_id": key}, key=key)
        return work.jobs


async def test_two_jobs_of_one_key_are_one_job(database: Database, redis: Redis):
    queue = JobQueue(database, redis)
    await queue.push(await enqueue(database, "a", "a", "b"))
    assert await queue.queued_keys() == {"a", "b"}
    assert await queue_depth(redis) == await redis.zcard(QUEUE_NAME) == 2
    await queue.push(await enqueue(database, "a"))
    assert await queue_depth(redis) == 2


async def test_what_lies_in_redis_is_json(database: Database, redis: Redis):
    await JobQueue(database, redis).push(await enqueue(database, "a"))
    raw = await redis.get("arq:job:a")
    assert deserialize_job(raw)["a"] == [{"document_id": "a"}]


async def test_who_listens_is_woken_at_once_and_at_every_wake_up(database: Database, redis: Redis):
    queue = JobQueue(database, redis)
    listening = wake_signals(redis)
    # What came before anybody listened must not be missed.
    await asyncio.wait_for(anext(listening), 10)
    for _ in range(2):
        await queue.push([], wake=True)
        await asyncio.wait_for(anext(listening), 10)
    await queue.push([])
    again = asyncio.ensure_future(anext(listening))
    assert not (await asyncio.wait({again}, timeout=0.3))[0]
    again.cancel()
    await asyncio.wait({again})
    assert await queue_depth(redis) == 0


async def test_redis_that_is_down_is_no_reason_to_fail_a_wake_up(database: Database, tmp_path: Path):
    async with Redis(unix_socket_path=str(tmp_path / "nobody.sock")) as nobody:
        await JobQueue(database, nobody).push([], wake=True)
        with pytest.raises(RedisError):
            await anext(wake_signals(nobody))


async def test_workers_that_live_are_counted(redis: Redis):
    assert await count_workers(redis) == 0
    names = [worker_name(), worker_name()]
    for name in names:
        await send_heartbeat(redis, name)
    assert await count_workers(redis) == 2
    assert 0 < await redis.ttl(f"agentex:worker:{names[0]}") <= 15
    await remove_heartbeat(redis, names[0])
    assert await count_workers(redis) == 1


async def test_sweep_leaves_young_jobs_to_their_request_but_not_at_a_worker_s_start(database: Database, redis: Redis):
    queue = JobQueue(database, redis)
    await enqueue(database, "a")
    assert await queue.sweep() == 0
    assert await queue.sweep(grace=timedelta(0)) == 1
    assert await queue.queued_keys() == {"a"}
    assert await queue.sweep(grace=timedelta(0)) == 0
