"""Lost messages of waiting jobs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from core.db.unit_of_work import UnitOfWork, unit_of_work
from ingestion.context import WorkerContext
from kb_service.work_queue.job_leases import JobLeases

GRACE = timedelta(seconds=3)
"""So long after its last change a row's message may be under way."""


async def requeue_jobs(
    context: WorkerContext,
    leases: JobLeases[Any],
    key: Callable[[str, int], str],
    enqueue: Callable[[UnitOfWork, str, int], None],
) -> int:
    """Queue the waiting jobs of a table whose messages were lost.

    Args:
        key: of the message of the next try, by a row's id and its tries.
        enqueue: sends it.

    Returns:
        The number of new messages.
    """
    async with context.database.reading() as session:
        waiting = await leases.stale(session, GRACE)
    if not waiting:
        return 0
    queued = await context.queue.queued_keys()
    async with unit_of_work(context.database, context.queue.push) as work:
        for row_id, attempt in waiting:
            if key(row_id, attempt) not in queued:
                enqueue(work, row_id, attempt)
        return len(work.jobs)
