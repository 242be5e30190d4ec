"""Events that were dropped, counted for each source and shown to its owner."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import User
from core.db.database import Database
from core.db.insert import insert_into
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from rules.models import EventDrop, EventDropReason


class DropKey(NamedTuple):
    """What is counted."""

    owner_id: str
    source_id: str
    reason: EventDropReason


class DropCounter:
    """Counts in memory until it writes: a flood of refused events must not become one of writes.

    What a process has counted and not written when it is killed is not counted.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[DropKey] = Counter()

    def note(self, owner_id: str, source_id: str, reason: EventDropReason) -> None:
        """Count one event."""
        self._counts[DropKey(owner_id, source_id, reason)] += 1

    async def write(self) -> None:
        """Write what was counted since the last time."""
        if not self._counts:
            return
        counts, self._counts = self._counts, Counter()
        try:
            async with unit_of_work(self._database) as work:
                await add(work, counts)
        except BaseException:
            self._counts.update(counts)
            raise


async def add(work: UnitOfWork, counts: Mapping[DropKey, int]) -> None:
    """Add to the numbers of dropped events."""
    now = utc_now()
    owners = select(User.id).where(col(User.id).in_({key.owner_id for key in counts}))
    # Whoever is deleted meanwhile must not keep the others' numbers from being written.
    present = set((await work.session.exec(owners)).all())
    insert = insert_into(work.session, EventDrop)
    # In one order, so that two processes do not wait for each other.
    for key, count in sorted((key, count) for key, count in counts.items() if key.owner_id in present):
        row = insert.values(
            owner_id=key.owner_id, source_id=key.source_id, reason=key.reason.value, count=count, last_at=now
        )
        sums = {"count": col(EventDrop.count) + row.excluded["count"], "last_at": now}
        keys = ["owner_id", "source_id", "reason"]
        await work.session.exec(row.on_conflict_do_update(index_elements=keys, set_=sums))


async def list_drops(session: AsyncSession, owner_id: str, source_id: str | None = None) -> Sequence[EventDrop]:
    """What was dropped of one source of an owner, or of all, by source and reason."""
    query = select(EventDrop).where(EventDrop.owner_id == owner_id)
    if source_id is not None:
        query = query.where(EventDrop.source_id == source_id)
    return (await session.exec(query.order_by(col(EventDrop.source_id), col(EventDrop.reason)))).all()
