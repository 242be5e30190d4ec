"""Signs of life of the runs that a process drives, and the signs that they have to end.

One look into SQL is for all of them: a thousand runs whose models are silent cost what one does.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, RunStatus
from agents.runs import store
from core.auth.models import User, UserStatus
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

LEASE_SECONDS = 15
_PULSE_SECONDS = 0.5
_Stop = Callable[[], Awaitable[None]]


class Heartbeat:
    """Keeps the leases of the runs that are driven here.

    Args:
        database: where they are.
        driver: this process's name in leases.
        turn: held while rows of several runs are written.
    """

    def __init__(self, database: Database, driver: str, turn: asyncio.Lock) -> None:
        self._database = database
        self._driver = driver
        self._turn = turn
        self._watched: dict[str, _Stop] = {}
        self._beating: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Future[None]] = set()

    @contextmanager
    def watching(self, run_key: str, stop: _Stop) -> Generator[None]:
        """Keep the lease on a run, and stop it once it was asked to stop, or is not ours any more.

        Args:
            run_key: of a run that this process holds.
            stop: called at most once.
        """
        self._watched[run_key] = stop
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            self._watched.pop(run_key, None)

    async def _beat(self) -> None:
        renewed = time.monotonic()
        while self._watched:
            await asyncio.sleep(_PULSE_SECONDS)
            try:
                await self._look()
                if time.monotonic() - renewed > LEASE_SECONDS / 3:
                    await self._renew()
                    renewed = time.monotonic()
            except DatabaseUnavailable:
                continue
            except Exception:
                # Without the pulse the runs would be taken for lost while they go on.
                log.exception("runs.pulse_failed")

    async def _look(self) -> None:
        if not (watched := set(self._watched)):
            return
        async with self._database.reading() as session:
            going_on = await _going_on(session, self._driver)
        for run_key in watched - going_on:
            # Who watches now: while it was looked at, a run may have gone from its preparation on.
            if (stop := self._watched.pop(run_key, None)) is not None:
                # Beside the pulse: what does not let itself be stopped takes its time.
                stopping = asyncio.ensure_future(stop())
                self._stopping.add(stopping)
                stopping.add_done_callback(self._stopping.discard)

    async def _renew(self) -> None:
        if not self._watched:
            return
        async with self._turn, unit_of_work(self._database) as work:
            await store.renew(work, list(self._watched), driver=self._driver, seconds=LEASE_SECONDS)


async def _going_on(session: AsyncSession, driver: str) -> set[str]:
    """Keys of a driver's runs that are to go on.

    They are not over, nobody asked to stop them, and the accounts they run for are not switched
    off: not even that of a run which began at the moment in which it was.
    """
    query = (
        select(AgentRun.id)
        .join(User, col(User.id) == col(AgentRun.owner_id))
        .where(
            AgentRun.lease_owner == driver,
            AgentRun.status == RunStatus.RUNNING.value,
            col(AgentRun.stop_requested_at).is_(None),
            User.status == UserStatus.ACTIVE.value,
        )
    )
    return set((await session.exec(query)).all())
