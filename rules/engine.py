"""The rule engine of a process: its sources, decisions and executions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from core.db.database import Database
from core.db.types import new_id
from core.errors.base import AgentexError
from core.logging import get_logger
from core.runtime_config.live import LiveSettings
from rules.actions.base import ActionServices
from rules.event_drops import DropCounter
from rules.execution import leases, retention
from rules.execution.dispatcher import Dispatcher, find_work
from rules.execution.executor import RuleExecutor
from rules.sources.mcp import McpEvents
from rules.sources.platform import PlatformEvents
from rules.sources.schedule import ScheduleEvents

log = get_logger(__name__)

# Between looks for what other processes accepted; without a rule, for a rule.
_IDLE_SECONDS, _NO_RULES_SECONDS = 0.5, 2.0
_SCHEDULE_SECONDS = 1.0
_PLATFORM_SECONDS = 2.0
_SERVERS_SECONDS = 2.0
_DROPS_SECONDS = 2.0
_RETENTION_SECONDS = 3600.0
_FAILED_SECONDS = 5.0


class RuleEngine:
    """Runs in every API process; leases see to it that each thing is done by one of them.

    Attributes:
        drops: counts what this process drops of what sources send.
    """

    def __init__(
        self,
        database: Database,
        services: ActionServices,
        *,
        live: LiveSettings,
        firings_per_minute: int,
        log_days: int,
    ) -> None:
        self._database = database
        self._driver = f"rules:{new_id()}"
        self._log_days = log_days
        self._dispatcher = Dispatcher(database, self._driver, firings_per_minute=firings_per_minute)
        self._executor = RuleExecutor(database, services, self._driver)
        self._platform = PlatformEvents(database, live)
        self._schedules = ScheduleEvents(database)
        self._wake = asyncio.Event()
        self._has_rules = True
        self._running: asyncio.Future[Any] | None = None
        self.drops = DropCounter(database)
        self._servers = McpEvents(database, services.mcp, self._driver, self.wake, self.drops)

    def wake(self) -> None:
        """Look for events at once: some were accepted in this process."""
        self._wake.set()

    async def run(self) -> None:
        """Work until it is cancelled."""
        loops = (
            self._repeat("decide", self._decide_and_execute, 0),
            self._repeat("schedule", self._accept_due, _SCHEDULE_SECONDS),
            self._repeat("servers", self._follow_servers, _SERVERS_SECONDS),
            self._repeat("platform", self._read_platform, _PLATFORM_SECONDS),
            self._repeat("drops", self.drops.write, _DROPS_SECONDS),
            self._repeat("retention", self._delete_old, _RETENTION_SECONDS),
        )
        self._running = asyncio.ensure_future(asyncio.gather(*loops))
        await self._running

    async def close(self) -> None:
        """End what is being executed, and leave the rest to other processes."""
        if self._running is not None:
            # Nothing new is begun beside what ends.
            self._running.cancel()
            await asyncio.wait({self._running})
        await self._servers.close()
        await self._executor.close()
        try:
            await self.drops.write()
            await leases.release(self._database, self._driver)
        except AgentexError as error:
            # Leases end by themselves.
            log.info("rules.leases_not_released", code=error.code)

    async def _decide_and_execute(self) -> None:
        self._wake.clear()
        work = await find_work(self._database)
        self._has_rules = work.has_rules
        decided = await self._dispatcher.decide_next() if work.has_events else 0
        begun = await self._executor.execute_due() if work.has_firings or decided else 0
        if decided or begun:
            # What just ended may be followed by another firing of the same rule.
            await asyncio.sleep(0)
            return
        waiting = {asyncio.create_task(self._wake.wait()), asyncio.create_task(self._executor.wait_for_end())}
        try:
            pause = _IDLE_SECONDS if work.has_rules else _NO_RULES_SECONDS
            await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _accept_due(self) -> None:
        if self._has_rules and await self._schedules.read():
            self.wake()

    async def _follow_servers(self) -> None:
        # Of what nobody listens to, nothing has to end either.
        if self._has_rules or self._servers.is_listening:
            await self._servers.follow()

    async def _read_platform(self) -> None:
        if await self._platform.read():
            self.wake()

    async def _delete_old(self) -> None:
        await retention.delete_old(self._database, log_days=self._log_days)

    async def _repeat(self, what: str, once: Callable[[], Awaitable[None]], pause: float) -> None:
        while True:
            try:
                await once()
            except AgentexError as error:
                log.warning("rules.failed", what=what, code=error.code)
                await asyncio.sleep(_FAILED_SECONDS)
            except Exception:
                # Whatever it is, the next round must come: nobody else does this.
                log.exception("rules.crashed", what=what)
                await asyncio.sleep(_FAILED_SECONDS)
            await asyncio.sleep(pause)
