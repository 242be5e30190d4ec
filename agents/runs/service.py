"""The run service: start, follow, join and stop runs, and recover those whose process died."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext

from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError

from agents import event_log
from agents.agui.encoder import AguiEncoder
from agents.agui.stream_check import check_prelude, check_stream
from agents.event_log import LogEntry
from agents.models import RunStatus
from agents.run_request import RunRequest
from agents.runs import finish, join, recovery, store
from agents.runs.builder import RunBuilder
from agents.runs.driver import LEASE_SECONDS, DriverContext, PreparedRun, RunDriver
from agents.runs.join import JoinPoint
from agents.runs.planner import Planner, RunLease, RunPlan
from agents.runs.resume import RejectPolicy
from agents.runs.store import StartedRun
from agents.runs.subscribers import Subscribers
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id, now_ms
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.requests import InvalidCursor
from core.errors.server import DatabaseUnavailable, RunLost, ShuttingDown
from core.logging import get_logger

log = get_logger(__name__)

_STOP_SECONDS = 1.7
_STOP_POLL_SECONDS = 0.02


class RunService:
    """Runs that are independent of the requests that started them.

    With ``checks``, outgoing streams are verified and faults logged.
    """

    def __init__(
        self, database: Database, builder: RunBuilder, subscribers: Subscribers, *, checks: bool = False
    ) -> None:
        self._database = database
        self._builder = builder
        self._subscribers = subscribers
        self._checks = checks
        self._context = DriverContext(database, f"api:{new_id()}", subscribers.publish)
        self._preparing: dict[str, asyncio.Future[PreparedRun]] = {}
        self._drivers: dict[str, RunDriver] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._planner = Planner(
            database, builder.models, builder.limits, builder.services.mcp, RunLease(self._context.name, LEASE_SECONDS)
        )
        self._is_draining = False
        self._hands_over = False

    @property
    def is_draining(self) -> bool:
        """Whether this process is about to end, so that others go on with its runs."""
        return self._is_draining

    async def start(
        self,
        principal: Principal,
        request: RunRequest,
        *,
        reject: RejectPolicy = RejectPolicy.RUN_OF_ANSWERS,
        own_hosts: Collection[str] = (),
    ) -> str:
        """Start a run; it goes on whether or not anybody follows it.

        Args:
            request: A question, or answers to interrupts.
            reject: How to reject a request that does not fit the thread's open interrupts.
            own_hosts: Names of this server, for links to uploaded images.

        Returns:
            The key by which it is followed.

        Raises:
            RunIdTaken: The run id was used before.
            ThreadBusy: Another run holds the thread.
            SessionArchived: The thread is archived.
            SessionsFull: The caller may have no more threads.
            InterruptsOpen: The thread waits for answers, and this gives none.
            InterruptNotOpen, InterruptAnswered, InterruptAnswerInvalid: An answer can't be used.
            UnsupportedFileType, CorruptImage, FileTooLarge and others: A part of the question can't be used.
            ShuttingDown: This process takes no new runs.
        """
        if self._is_draining:
            raise ShuttingDown
        plan = await self._planner.plan(principal, request, reject)
        async with self._attached(principal, plan, own_hosts) as ready, self._planner.slots:
            if self._is_draining:
                # Draining may have begun while planning waited for MCP servers.
                raise ShuttingDown
            try:
                run = await self._start(principal, ready)
            except IntegrityError:
                # The run id is taken, or another request just created the thread or run.
                run = await self._start(principal, ready, recheck=True)
        self._spawn(run, lambda: self._builder.build(run, ready))
        return run.key

    def _attached(
        self, principal: Principal, plan: RunPlan, own_hosts: Collection[str]
    ) -> AbstractAsyncContextManager[RunPlan]:
        media = self._builder.services.media
        return nullcontext(plan) if media is None else media.attached(principal, plan, own_hosts)

    async def _start(self, principal: Principal, plan: RunPlan, *, recheck: bool = False) -> StartedRun:
        async with unit_of_work(self._database) as work:
            run = await store.start(work, principal, plan, recheck=recheck)
            encoder = AguiEncoder(run.thread_id, run.run_id, now=now_ms)
            opening = [encoder.started(parent_run_id=plan.request.parent_run_id)]
            if plan.resume is not None:
                opening.append(encoder.state(plan.state))
            entries = await event_log.open_log(work.session, run.key, opening)
        self._subscribers.open(run.key)
        self._subscribers.publish(run.key, entries)
        return run

    def _spawn(self, run: StartedRun, prepare: Callable[[], Awaitable[PreparedRun]]) -> None:
        task = asyncio.create_task(self._prepare_and_drive(run, prepare))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _prepare_and_drive(self, run: StartedRun, prepare: Callable[[], Awaitable[PreparedRun]]) -> None:
        try:
            prepared = await self._prepare(run, prepare)
            if prepared is None:
                await self._abort_own(run.key, None)
                return
            driver = RunDriver(self._context, prepared)
            self._drivers[run.key] = driver
            if self._hands_over:
                await driver.hand_over()
            await driver.drive()
        except DatabaseUnavailable as error:
            # It is recovered when its lease expires.
            log.warning("run.abandoned", run_id=run.run_id, why=type(error).__name__)
        except AgentexError as error:
            # A requirement such as the owner's account is gone; the abort logs it.
            await self._abort_own(run.key, error)
        # The edge of the run: nobody awaits it, and its subscribers wait for a terminal event.
        except Exception as error:
            log.exception("run.crashed", run_id=run.run_id, error=type(error).__name__)
            await self._abort_own(run.key, AgentexError())
        finally:
            self._drivers.pop(run.key, None)
            self._subscribers.release(run.key)

    async def _prepare(self, run: StartedRun, prepare: Callable[[], Awaitable[PreparedRun]]) -> PreparedRun | None:
        """Prepare a run; None if it was stopped before that was done."""
        preparing = asyncio.ensure_future(prepare())

        async def give_up() -> None:
            preparing.cancel()

        self._preparing[run.key] = preparing
        try:
            with self._context.heartbeat.watching(run.key, give_up):
                await asyncio.wait({preparing})
        finally:
            self._preparing.pop(run.key, None)
            preparing.cancel()
        return None if preparing.cancelled() else preparing.result()

    def follow(self, run_key: str, *, after: int = 0) -> AsyncGenerator[list[LogEntry]]:
        """The log of a run after a sequence number; see :meth:`Subscribers.follow`."""
        followed = self._subscribers.follow(run_key, after=after)
        return check_stream(self._database, run_key, after, followed) if self._checks else followed

    async def find(self, principal: Principal, run_id: str, *, after: int = 0) -> str:
        """The key for following one of the caller's runs after an event."""
        async with self._database.reading() as session:
            run = await store.get(session, principal, run_id)
        if after > run.last_seq:
            raise InvalidCursor(cursor=str(after), error="The run has no such event")
        return run.id

    async def join(self, principal: Principal, thread_id: str) -> JoinPoint:
        """The prelude for a late client, which then reads on with ``follow``."""
        async with self._database.reading() as session:
            joined = await join.join(session, principal, thread_id)
        if self._checks:
            check_prelude(joined.run_id, joined.prelude)
        return joined

    async def stop(self, principal: Principal, run_id: str) -> bool:
        """Stop one of the caller's runs within two seconds, wherever it is driven; False if it was over."""
        clock = asyncio.get_running_loop()
        deadline = clock.time() + _STOP_SECONDS
        async with unit_of_work(self._database) as work:
            run = await store.get(work.session, principal, run_id)
            is_requested = await store.request_stop(work, run.id)
        if not is_requested:
            return False
        if (preparing := self._preparing.get(run.id)) is not None:
            preparing.cancel()
        elif (driver := self._drivers.get(run.id)) is not None:
            await driver.stop()
        while clock.time() < deadline:
            async with self._database.reading() as session:
                run = await store.get(session, principal, run_id)
            if run.status != RunStatus.RUNNING:
                return run.status == RunStatus.CANCELLED
            await asyncio.sleep(_STOP_POLL_SECONDS)
        # The driver does not respond: close the log here; its later writes are rejected.
        if await self._abort(run.id, None, if_lost=False):
            return True
        # The driver ended it after all, or it was deleted.
        async with self._database.reading() as session:
            run = await store.get(session, principal, run_id)
        return run.status == RunStatus.CANCELLED

    async def recover_lost(self) -> int:
        """Recover or abort runs whose process is gone; returns their number."""
        if self._is_draining:
            return 0
        async with self._database.reading() as session:
            lost = await recovery.find_lost(session)
        # Not this process's own runs: if it was suspended, so was its heartbeat.
        foreign = [run_key for run_key in lost if not self._subscribers.is_open(run_key)]
        count = 0
        for run_key in foreign:
            try:
                count += await self._recover(run_key)
            except DatabaseUnavailable:
                raise
            # The edge of the sweep: a run that can't be recovered must not hold up the others.
            except Exception as error:
                log.exception("run.not_taken_up", run_key=run_key, error=type(error).__name__)
        return count

    async def _recover(self, run_key: str) -> bool:
        async with unit_of_work(self._database) as work:
            is_acquired = await recovery.acquire(work, run_key, driver=self._context.name, seconds=LEASE_SECONDS)
        if not is_acquired:
            return await self._abort(run_key, RunLost(), if_lost=True)
        try:
            async with self._database.reading() as session:
                recoverable = await recovery.load(session, run_key)
        except (ValidationError, LookupError) as error:
            return await self._abort_own(run_key, _unreadable(run_key, error))

        async def prepare() -> PreparedRun:
            try:
                return await self._builder.build_resumed(recoverable)
            except (ValidationError, LookupError) as error:
                raise _unreadable(run_key, error) from error

        log.info("run.taken_up", run_id=recoverable.run.run_id, effects=len(recoverable.past))
        self._subscribers.open(run_key, last_seq=len(recoverable.logged))
        self._spawn(recoverable.run, prepare)
        return True

    async def _abort_own(self, run_key: str, failure: AgentexError | None) -> bool:
        return await self._abort(run_key, failure, if_lost=False, driver=self._context.name)

    async def _abort(
        self, run_key: str, failure: AgentexError | None, *, if_lost: bool, driver: str | None = None
    ) -> bool:
        """Abort a run from outside its driver; without a failure it was stopped."""
        async with unit_of_work(self._database) as work:
            closed = await finish.abort(work, run_key, failure, if_lost=if_lost, driver=driver)
        if closed:
            if failure is None:
                log.info("run.stopped", run_key=run_key)
            else:
                log.warning("run.closed", run_key=run_key, code=failure.code)
            self._subscribers.publish(run_key, closed)
        return bool(closed)

    async def drain(self, seconds: float) -> None:
        """Take no new runs, let the others finish for a while, then hand them over.

        Another process recovers them, or this one after a restart.
        """
        self._is_draining = True
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        self._hands_over = True
        await asyncio.gather(*(driver.hand_over() for driver in list(self._drivers.values())))
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_STOP_SECONDS)
        await self._subscribers.close()


def _unreadable(run_key: str, error: Exception) -> RunLost:
    log.warning("run.unreadable", run_key=run_key, error=type(error).__name__)
    return RunLost()
