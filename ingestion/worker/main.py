"""The worker process: a document runner, ARQ jobs, and a reconciler for both."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import cast

import uvloop
from arq.connections import RedisSettings
from arq.typing import WorkerCoroutine
from arq.worker import Worker, func
from redis.asyncio import Redis
from redis.exceptions import RedisError

from core.db.database import open_database
from core.errors.base import AgentexError
from core.logging import configure_logging, get_logger
from core.process import freeze_loaded_objects
from core.redis.client import open_redis
from core.redis.heartbeats import remove_heartbeat, send_heartbeat, worker_name
from core.redis.jobs import QUEUE_NAME, JobPayload, JobQueue, QueueJob, RunningJobs, deserialize_job, serialize_job
from core.redis.notify import wake_signals
from core.settings import Settings, get_settings
from ingestion.attempts.lost_jobs import requeue_jobs
from ingestion.context import WorkerContext
from ingestion.parsers.conversion.converter import open_converter
from ingestion.parsers.external import ExternalParsers
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.sandbox.client import ParserPool
from ingestion.reindex import maintain_all
from ingestion.source_sync.caches import delete_orphan_caches
from ingestion.source_sync.folder_watch import LOOK_SECONDS, FolderWatch
from ingestion.source_sync.job import queue_syncs
from ingestion.worker.document_runner import DocumentRunner
from ingestion.worker.jobs import JOBS
from ingestion.worker.reconciler import OrphanSweep, requeue_lost
from kb_service.backup import jobs as backups
from kb_service.embedding_spaces import open_spaces
from kb_service.engine_client.client import EngineClient
from kb_service.object_storage.factory import open_object_store
from kb_service.transfer import jobs as transfers

log = get_logger(__name__)

_BEAT_SECONDS = 4
_LISTEN_RETRY_SECONDS = 1
_SWEEP_SECONDS = 600
# The queue is looked at when something was pushed. Once in a second also for messages that were lost, and more often
# while jobs run: those beyond the most that may run at once begin when another one ends.
_IDLE_SECONDS, _BUSY_SECONDS, _LEAST_SECONDS = 1.0, 0.1, 0.02
_CONTEXT = "context"
_QUEUE_RETRY_SECONDS = 0.5


class QueueWorker(Worker):
    """An ARQ worker that looks at the queue when ``pushed`` is set instead of ten times a second.

    It survives a Redis outage, which would end ARQ's own and its work; documents wait in SQL.
    """

    _is_away = False
    pushed: asyncio.Event | None = None

    @property
    def is_away(self) -> bool:
        return self._is_away

    async def _poll_iteration(self) -> None:
        if self.pushed is not None:
            self.pushed.clear()
        try:
            await super()._poll_iteration()
        except (RedisError, OSError) as error:
            if not self._is_away:
                log.warning("worker.queue_away", cause=type(error).__name__)
            self._is_away = True
            await asyncio.sleep(_QUEUE_RETRY_SECONDS)
            return
        if self._is_away:
            log.info("worker.queue_back")
        self._is_away = False
        if self.pushed is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.pushed.wait(), _BUSY_SECONDS if self.tasks else _IDLE_SECONDS)


@asynccontextmanager
async def open_worker_context(settings: Settings) -> AsyncGenerator[WorkerContext]:
    """The jobs' shared connections, closed at the end."""
    database, redis = open_database(settings), open_redis(settings)
    engine = EngineClient(settings.effective_engine_socket)
    context = WorkerContext(
        settings=settings,
        owner=worker_name(),
        database=database,
        queue=JobQueue(database, redis),
        store=open_object_store(settings),
        spaces=open_spaces(settings, engine),
        parser=ParserPool(
            settings.ingest_concurrency,
            recognition=OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or "")),
            converter=open_converter(settings),
            external=ExternalParsers(settings),
        ),
    )
    try:
        yield context
    finally:
        await context.parser.close()
        await context.spaces.close()
        await engine.close()
        await redis.aclose()
        await database.close()


def _runner(job: QueueJob, in_hand: RunningJobs) -> WorkerCoroutine:
    async def run(arq_context: dict[str, object], payload: JobPayload) -> None:
        try:
            async with in_hand.track(str(arq_context["job_id"])):
                await job.run(cast(WorkerContext, arq_context[_CONTEXT]), payload)
        except (AgentexError, OSError) as error:
            # The reconciler requeues unfinished jobs; an ARQ retry would add nothing.
            log.warning("job.postponed", job=job.name, cause=type(error).__name__)

    return cast(WorkerCoroutine, run)


async def _run_safely(act: Callable[[], Awaitable[object]]) -> None:
    """Run ``act``; log an error instead of stopping the worker."""
    try:
        await act()
    except (AgentexError, RedisError, OSError) as error:
        log.warning("worker.part_unavailable", cause=type(error).__name__)
    # A process edge: a worker without heartbeat or reconciler would look healthy and lose documents.
    except Exception:
        log.exception("worker.round_failed")


async def _repeat(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    while True:
        await _run_safely(act)
        await asyncio.sleep(seconds)


async def run_worker(settings: Settings) -> None:
    """Run until SIGTERM; unfinished documents are released."""
    async with open_worker_context(settings) as context:
        redis = open_redis(settings)
        in_hand = RunningJobs(redis)
        sweep = OrphanSweep(context)
        runner = DocumentRunner(context)
        watch = FolderWatch(context)
        pushed = asyncio.Event()
        look_seconds = min(LOOK_SECONDS, settings.reconcile_seconds)
        background = [
            asyncio.create_task(_repeat(_BEAT_SECONDS, lambda: send_heartbeat(redis, context.owner))),
            asyncio.create_task(_repeat(_BEAT_SECONDS, in_hand.show)),
            asyncio.create_task(_reconcile(context)),
            asyncio.create_task(_repeat(_SWEEP_SECONDS, sweep.run)),
            asyncio.create_task(_repeat(look_seconds, watch.look)),
            asyncio.create_task(_repeat(_LISTEN_RETRY_SECONDS, lambda: _listen(redis, context.wake, pushed))),
            asyncio.create_task(runner.run()),
        ]
        worker = QueueWorker(
            [
                func(_runner(job, in_hand), name=job.name, timeout=job.timeout, keep_result=0, max_tries=2)
                for job in JOBS
            ],
            queue_name=QUEUE_NAME,
            redis_settings=_redis_settings(settings),
            job_serializer=serialize_job,
            job_deserializer=deserialize_job,
            max_jobs=settings.ingest_concurrency,
            poll_delay=_LEAST_SECONDS,
            job_completion_wait=int(settings.drain_seconds / 2),
            ctx={_CONTEXT: context},
        )
        worker.pushed = pushed
        freeze_loaded_objects()
        try:
            await worker.async_run()
        except asyncio.CancelledError:
            log.info("worker.stopped")
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await runner.stop(settings.drain_seconds / 2)
            await _run_safely(worker.close)
            await _run_safely(lambda: remove_heartbeat(redis, context.owner))
            await redis.aclose()


async def _listen(redis: Redis, *events: asyncio.Event) -> None:
    async for _ in wake_signals(redis):
        for event in events:
            event.set()


async def _reconcile(context: WorkerContext) -> None:
    # No grace period: jobs written before any worker ran, such as a first start's documents, are pushed by nobody
    # else.
    await _run_safely(lambda: context.queue.sweep(grace=timedelta(0)))
    await _repeat(context.settings.reconcile_seconds, lambda: _reconcile_once(context))


async def _reconcile_once(context: WorkerContext) -> None:
    await _run_safely(lambda: requeue_lost(context))
    await _run_safely(lambda: maintain_all(context))
    await _run_safely(
        lambda: requeue_jobs(context, transfers.LEASES, transfers.transfer_key, transfers.enqueue_transfer)
    )
    await _run_safely(lambda: requeue_jobs(context, backups.LEASES, backups.backup_job_key, backups.enqueue))
    await _run_safely(lambda: queue_syncs(context))
    await _run_safely(lambda: delete_orphan_caches(context))


def _redis_settings(settings: Settings) -> RedisSettings:
    redis_settings = RedisSettings.from_dsn(settings.effective_redis_url)
    redis_settings.conn_retries = 30
    return redis_settings


def main() -> None:
    """Run the worker until SIGTERM."""
    settings = get_settings()
    configure_logging(settings, part="worker")
    uvloop.run(run_worker(settings))
