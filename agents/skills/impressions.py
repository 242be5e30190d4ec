"""How often skills stood in an index: counted in memory, and written down together, beside runs."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from agents.skills.active import SkillVersionRef
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from skills.store.usage import UsageKind, count_uses

log = get_logger(__name__)

_PAUSE_SECONDS = 1.0


class ImpressionCounter:
    """Keeps beginning runs from waiting for counters that all of them add to.

    What a killed process had not written down is lost: these are statistics.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[tuple[str, int]] = Counter()

    def add(self, skills: Sequence[SkillVersionRef]) -> None:
        """Count that these stood in the index of one more run."""
        self._counts.update((one.id, one.version) for one in skills)

    async def run(self) -> None:
        """Write down what was counted, once a second, and once more when cancelled."""
        try:
            while True:
                await asyncio.sleep(_PAUSE_SECONDS)
                await self._write()
        finally:
            await self._write()

    async def _write(self) -> None:
        if not self._counts:
            return
        counts, self._counts = self._counts, Counter()
        try:
            async with unit_of_work(self._database) as work:
                await count_uses(work, UsageKind.OFFERED, counts)
        except (AgentexError, asyncio.CancelledError) as error:
            # They are added to what comes until then.
            self._counts.update(counts)
            if isinstance(error, asyncio.CancelledError):
                raise
            log.warning("skill_offers.not_written", code=error.code)
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("skill_offers.crashed")
