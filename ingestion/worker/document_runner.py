"""The documents that one worker has in hand, and whose is taken up next."""

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

log = get_logger(__name__)

# A message wakes one worker; the others, and a worker whose message was lost, look by themselves.
_LOOK_SECONDS = 1.0
_MOST_REMEMBERED = 10_000


class DocumentRunner:
    """Processes documents until it is stopped, several at a time.

    The queue only wakes it: what is processed next is read from SQL. An owner never has the last
    free slot besides others of theirs, so that a single document of somebody else need not wait
    until one of theirs is done.

    Args:
        context: the worker's connections.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._most = max(1, context.settings.ingest_concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: Counter[str] = Counter()
        self._last_served: dict[str, int] = {}
        self._turn = 0

    async def run(self) -> None:
        """Take up one document after the other."""
        while True:
            self._context.wake.clear()
            taken = await self._try_take() if len(self._tasks) < self._most else None
            if taken is None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._context.wake.wait(), _LOOK_SECONDS)
            else:
                self._begin(*taken)

    async def stop(self, seconds: float) -> None:
        """Let what is in hand end; what does not in this time is handed back."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _try_take(self) -> tuple[list[ClaimedDocument], str] | None:
        try:
            return await self._take()
        except (AgentexError, OSError) as error:
            log.warning("slots.part_unavailable", cause=type(error).__name__)
        # A worker whose slots have died would look well and process nothing.
        except Exception:
            log.exception("slots.crashed")
        return None

    async def _take(self) -> tuple[list[ClaimedDocument], str] | None:
        async with self._context.database.reading() as session:
            waiting = await scheduler.oldest_queued(session)
            allowed = [one for one in waiting if self._may_hold_another(one.owner_id)]
            if not allowed:
                return None
            owners = {one.owner_id for one in allowed}
            # What others have in hand matters only where it is one owner's turn or another's.
            held = await scheduler.active_per_owner(session) if len(owners) > 1 else {}
        following = scheduler.pick_next(allowed, held, self._last_served)
        if following is None:
            return None
        self._note_turn(following.owner_id)
        taken = await claim(self._context, following.document_id)
        if not taken:
            # Another worker was faster: there may be more.
            self._context.wake.set()
            return None
        return taken, following.owner_id

    def _may_hold_another(self, owner_id: str) -> bool:
        return self._held[owner_id] < max(1, self._most - 1)

    def _note_turn(self, owner_id: str) -> None:
        self._turn += 1
        if len(self._last_served) > _MOST_REMEMBERED:
            self._last_served.clear()
        self._last_served[owner_id] = self._turn

    def _begin(self, taken: Sequence[ClaimedDocument], owner_id: str) -> None:
        self._held[owner_id] += 1
        task = asyncio.create_task(self._work(taken))
        self._tasks.add(task)

        def end(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            self._held -= Counter({owner_id: 1})
            self._context.wake.set()

        task.add_done_callback(end)

    async def _work(self, taken: Sequence[ClaimedDocument]) -> None:
        document_ids = [one.document.id for one in taken]
        try:
            await process_documents(self._context, taken)
        except (AgentexError, OSError) as error:
            # The lease ends by itself, and the document waits again.
            log.warning("document.left", document_ids=document_ids, cause=type(error).__name__)
        except Exception:
            log.exception("document.left", document_ids=document_ids)
