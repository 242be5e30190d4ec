"""The job queue: ARQ behind one interface, with JSON payloads, fed from the outbox."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import orjson
from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix
from redis.asyncio import ConnectionPool, Redis
from redis.exceptions import RedisError
from sqlalchemy import delete
from sqlmodel import col, select

from core.db.database import Database
from core.db.outbox import OutboxJob
from core.db.types import utc_now
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger
from core.redis.notify import wake_workers

log = get_logger(__name__)

QUEUE_NAME = "agentex:jobs"
# A job that its own request pushes within this time is not the sweeper's business.
_SWEEP_AFTER = timedelta(seconds=2)
_SWEEP_BATCH = 500
_PUSH_SECONDS = 1
_RUNNING_PREFIX = "agentex:running:"
_SHOWN_SECONDS = 15
_SHOWN_AFTER_SECONDS = 1.0

JobPayload = dict[str, str | int]
"""Ids and numbers; never rows, text or secrets."""


@dataclass(frozen=True)
class QueueJob:
    """A named coroutine for the worker.

    Args:
        name: ``noun.verb``, as it is enqueued.
        run: called with the worker's context and the payload.
        timeout: seconds after which the worker gives up on it.
    """

    name: str
    run: Callable[..., Awaitable[None]]
    timeout: float = field(default=900)


def serialize_job(job: dict[str, Any]) -> bytes:
    """JSON instead of ARQ's default pickle: write access to Redis must not mean code execution here."""
    return orjson.dumps(job, default=str)


def deserialize_job(raw: bytes) -> dict[str, Any]:
    """The counterpart of :func:`serialize_job`."""
    return orjson.loads(raw)


class JobQueue:
    """Pushes outbox jobs to Redis."""

    def __init__(self, database: Database, redis: Redis) -> None:
        self._database = database
        self._redis = redis
        self._arq = ArqRedis(
            cast(ConnectionPool, redis.connection_pool),
            job_serializer=serialize_job,
            job_deserializer=deserialize_job,
            default_queue_name=QUEUE_NAME,
        )

    async def push(self, jobs: Sequence[OutboxJob], *, wake: bool = False) -> None:
        """Push jobs to the workers and delete them from the outbox; ``wake`` also makes the workers poll SQL.

        Failures of Redis or the database are ignored, as the jobs were committed: the rows stay, and the
        sweeper retries.
        """
        pushed: list[str] = []
        with suppress(RedisError, OSError):
            for job in jobs:
                # A request waits for this: it must not wait for a Redis that hangs.
                async with asyncio.timeout(_PUSH_SECONDS):
                    await self._arq.enqueue_job(job.name, job.payload, _job_id=job.key)
                pushed.append(job.id)
        if wake or pushed:
            with suppress(RedisError, OSError):
                async with asyncio.timeout(_PUSH_SECONDS):
                    await wake_workers(self._redis)
        if len(pushed) < len(jobs):
            log.warning("outbox.push_postponed", jobs=len(jobs) - len(pushed))
        if pushed:
            with suppress(DatabaseUnavailable):
                async with self._database.writing() as session:
                    await session.exec(delete(OutboxJob).where(col(OutboxJob.id).in_(pushed)))

    async def queued_keys(self) -> set[str]:
        """The keys of all waiting and running jobs."""
        keys = cast(list[bytes], await self._arq.zrange(QUEUE_NAME, 0, -1))  # pyright: ignore[reportUnknownMemberType] # redis has partial types
        return {key.decode() for key in keys}

    async def release_abandoned(self) -> int:
        """Release the jobs of dead workers, so that they can start again; return their number.

        ARQ itself would wait until their timeout. A mistake does no harm: a job that is started twice
        has one effect.
        """
        lost = await self._not_shown([key.decode() for key in await self._oldest()])
        if lost:
            # A worker takes a job first and shows it a moment later.
            await asyncio.sleep(_SHOWN_AFTER_SECONDS)
            lost = await self._not_shown(lost)
        if lost:
            log.info("jobs.released", jobs=len(lost))
            await self._arq.delete(*(in_progress_key_prefix + key for key in lost))
        return len(lost)

    async def _not_shown(self, keys: Sequence[str]) -> list[str]:
        """Those of the jobs that are marked as taken, but not as running in a worker."""
        if not keys:
            return []
        marker_keys = [in_progress_key_prefix + key for key in keys]
        marks = await self._arq.mget([*marker_keys, *(_RUNNING_PREFIX + key for key in keys)])
        pairs = zip(keys, marks[: len(keys)], marks[len(keys) :], strict=True)
        return [key for key, is_taken, is_shown in pairs if is_taken and not is_shown]

    async def _oldest(self) -> list[bytes]:
        # Running jobs were taken from the front.
        return cast(list[bytes], await self._arq.zrange(QUEUE_NAME, 0, _SWEEP_BATCH - 1))  # pyright: ignore[reportUnknownMemberType] # redis has partial types

    async def sweep(self, *, grace: timedelta = _SWEEP_AFTER) -> int:
        """Push jobs that a crash or a missing Redis left in the outbox; return their number.

        Jobs younger than ``grace`` are left to the request that wrote them.
        """
        async with self._database.reading() as session:
            query = (
                select(OutboxJob)
                .where(col(OutboxJob.created_at) < utc_now() - grace)
                .order_by(col(OutboxJob.created_at))
                .limit(_SWEEP_BATCH)
            )
            jobs = (await session.exec(query)).all()
        if jobs:
            await self.push(jobs)
        return len(jobs)


class RunningJobs:
    """The jobs that this worker runs now, marked in Redis with expiring keys."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._keys: set[str] = set()

    @asynccontextmanager
    async def track(self, key: str) -> AsyncGenerator[None]:
        """Mark a job while it runs; a failing Redis does not keep it from running."""
        self._keys.add(key)
        with suppress(RedisError, OSError):
            await self.show()
        try:
            yield
        finally:
            self._keys.discard(key)
            with suppress(RedisError, OSError):
                await self._redis.delete(_RUNNING_PREFIX + key)

    async def show(self) -> None:
        """Renew the marks before they expire."""
        for key in sorted(self._keys):
            await self._redis.set(_RUNNING_PREFIX + key, "1", ex=_SHOWN_SECONDS)


async def queue_depth(redis: Redis) -> int:
    """Number of waiting and running jobs."""
    return int(await redis.zcard(QUEUE_NAME))
