"""Looks through completed runs in the background, after them and apart from them."""

import asyncio
from collections.abc import Sequence

from agents.llm.base import ModelUsage
from agents.llm_registry.selection import Models
from agents.memory import queue, spending, store
from agents.memory.agent import distil
from agents.memory.models import MemorySource
from agents.memory.queue import Claim, Said
from agents.memory.service import Memories
from agents.memory.store import MemoryDraft
from core.auth.users import memory_choices
from core.db.database import Database
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors import AgentexError, InvalidRequest, MemoryFull
from core.logging import get_logger

log = get_logger(__name__)

_PAUSE_SECONDS = 2
_LEASE_SECONDS = 150
# Shorter than the lease: who is that slow must not write any more.
_LONGEST_SECONDS = 120
_MOST_ATTEMPTS = 5
_RETRY_SECONDS = 15


class Distiller:
    """Turns what users said into memories, one run after the other.

    Any number of them may work on one database: each run is held by one of them, its memories
    and the end of the work on it are one transaction. One that is killed loses its hold when the
    lease ends, and another one begins that run again.

    Args:
        database: runs, and the list of those to do.
        memories: where the facts go.
        models: find them, for each run the one that answered in it.
    """

    def __init__(self, database: Database, memories: Memories, models: Models) -> None:
        self._database = database
        self._memories = memories
        self._models = models

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                is_busy = await self.work_once()
            except AgentexError as error:
                log.warning("memory.not_distilled", code=int(error.code))
                is_busy = False
            except Exception:
                # Whatever it is, the next round must come: nobody else does this work.
                log.exception("memory.distiller_crashed")
                is_busy = False
            if not is_busy:
                await asyncio.sleep(_PAUSE_SECONDS)

    async def work_once(self) -> bool:
        """Look through the next run that waits.

        Returns:
            False when none does.

        Raises:
            DatabaseUnavailable: the list can't be read or written.
        """
        async with self._database.reading() as session:
            if not await queue.is_waiting(session):
                return False
        async with unit_of_work(self._database) as work:
            held = await queue.claim(work, new_id(), seconds=_LEASE_SECONDS)
        if held is None:
            return False
        if held.attempts > _MOST_ATTEMPTS:
            # Whoever held it before died of it.
            await self._put_off(held, "attempts", ())
            return True
        spent: list[ModelUsage] = []
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                said, facts = await self._facts(held, spent)
        except (AgentexError, TimeoutError) as error:
            await self._put_off(held, type(error).__name__, spent)
            return True
        await self._keep(held, said, facts, spent)
        return True

    async def _facts(self, held: Claim, spent: list[ModelUsage]) -> tuple[Said | None, list[str]]:
        async with self._database.reading() as session:
            said = await queue.read(session, held)
            if said is None or not said.messages:
                return said, []
            known = [row.text for row in await store.list_all(session, said.owner_id)]
            chosen = await self._models.again(session, said.owner_id, said.model)
        return said, await distil(chosen.model, said.messages, known, spend=spent.append)

    async def _keep(
        self, held: Claim, said: Said | None, facts: list[str], spent: Sequence[ModelUsage]
    ) -> None:
        kept = 0
        async with unit_of_work(self._database) as work:
            # Whoever goes on with it: what was spent was spent.
            await spending.count(work, held.run_key, spent)
            if not await queue.finish(work, held) or said is None:
                return
            choices = await memory_choices(work.session, said.owner_id)
            for fact in facts if choices.remember_after_runs else ():
                draft = MemoryDraft(fact, MemorySource.DISTILLED, said.run_id)
                try:
                    kept += (await self._memories.save(work, said.owner_id, draft)).is_new
                except InvalidRequest:
                    continue
                except MemoryFull:
                    break
        log.info("memory.distilled", run_key=held.run_key, facts=len(facts), kept=kept)

    async def _put_off(self, held: Claim, why: str, spent: Sequence[ModelUsage]) -> None:
        async with unit_of_work(self._database) as work:
            await spending.count(work, held.run_key, spent)
            if held.attempts >= _MOST_ATTEMPTS:
                await queue.finish(work, held)
            else:
                await queue.put_off(work, held, seconds=_RETRY_SECONDS * 2**held.attempts)
        log.warning("memory.put_off", run_key=held.run_key, attempts=held.attempts, why=why)
