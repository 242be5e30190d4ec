"""Concurrent processing of documents, fair among their owners."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from core.errors.base import AgentexError
from core.logging import get_logger
from ingestion.attempts.claim import ClaimedDocument, claim
from ingestion.context import WorkerContext
from ingestion.pipeline import process_documents
from kb_service.work_queue import scheduler
from kb_service.work_queue.scheduler import QueuedDocument

log = get_logger(__name__)

# A message wakes one worker; the others, and a worker whose message was lost, poll.
_LOOK_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class DocumentRunner:
    """Processes documents until it is stopped, several at a time.

    The queue only wakes it: the next document is read from SQL. An owner with other documents in process never gets
    the last free slot, so that another owner's single document need not wait for them.

    The last attempt at a document whose earlier ones were interrupted runs alone: if the worker dies again, no other
    document is blamed for it.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._max_running = max(1, context.settings.ingest_concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: Counter[str] = Counter()
        self._last_served: dict[str, int] = {}
        self._serial = 0
        self._is_exclusive = False

    async def run(self) -> None:
        while True:
            self._context.wake.clear()
            claimed = await self._try_claim() if self._has_free_slot() else None
            if claimed is None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._context.wake.wait(), _LOOK_SECONDS)
            else:
                self._begin(*claimed)

    def _has_free_slot(self) -> bool:
        return len(self._tasks) < self._max_running and not self._is_exclusive

    async def stop(self, seconds: float) -> None:
        """Wait for running documents; those that need longer are cancelled and released."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _try_claim(self) -> tuple[list[ClaimedDocument], str] | None:
        try:
            return await self._claim_next()
        except (AgentexError, OSError) as error:
            log.warning("slots.part_unavailable", cause=type(error).__name__)
        # A worker whose runner has died would look healthy and process nothing.
        except Exception:
            log.exception("slots.crashed")
        return None

    async def _claim_next(self) -> tuple[list[ClaimedDocument], str] | None:
        async with self._context.database.reading() as session:
            waiting = await scheduler.oldest_queued(session)
            allowed = [queued for queued in waiting if self._may_hold_another(queued.owner_id)]
            if not allowed:
                return None
            owners = {queued.owner_id for queued in allowed}
            # What other workers process matters only where several owners wait.
            active_counts = await scheduler.active_per_owner(session) if len(owners) > 1 else {}
        following = scheduler.pick_next(allowed, active_counts, self._last_served)
        if following is None:
            return None
        is_last_attempt = self._is_last_attempt(following)
        if is_last_attempt and self._tasks:
            # It begins once these have ended.
            return None
        self._record_served(following.owner_id)
        claimed = await claim(self._context, following.document_id)
        if not claimed:
            # Another worker was faster: more documents may wait.
            self._context.wake.set()
            return None
        self._is_exclusive = is_last_attempt
        return claimed, following.owner_id

    def _is_last_attempt(self, queued: QueuedDocument) -> bool:
        return 0 < queued.attempts >= self._context.settings.ingest_attempts - 1

    def _may_hold_another(self, owner_id: str) -> bool:
        return self._held[owner_id] < max(1, self._max_running - 1)

    def _record_served(self, owner_id: str) -> None:
        self._serial += 1
        if len(self._last_served) > _MOST_REMEMBERED:
            self._last_served.clear()
        self._last_served[owner_id] = self._serial

    def _begin(self, claimed: Sequence[ClaimedDocument], owner_id: str) -> None:
        self._held[owner_id] += 1
        task = asyncio.create_task(self._work(claimed))
        self._tasks.add(task)

        def end(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            self._is_exclusive = False
            self._held -= Counter({owner_id: 1})
            self._context.wake.set()

        task.add_done_callback(end)

    async def _work(self, claimed: Sequence[ClaimedDocument]) -> None:
        document_ids = [each.document.id for each in claimed]
        try:
            await process_documents(self._context, claimed)
        except (AgentexError, OSError) as error:
            # The lease expires, and the document waits again.
            log.warning("document.left", document_ids=document_ids, cause=type(error).__name__)
        except Exception:
            log.exception("document.left", document_ids=document_ids)
