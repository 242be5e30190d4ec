"""The runs of this process: begin, follow, stop, and close those whose process died."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace

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
from agents.runs.driver import Course, DriverContext, RunDriver
from agents.runs.heartbeat import LEASE_SECONDS
from agents.runs.join import JoinPoint
from agents.runs.live.subscribers import Subscribers
from agents.runs.plan import RunLease
from agents.runs.planner import Planned, Planner
from agents.runs.resume import RejectPolicy
from agents.runs.store import StartedRun
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
    """Begins runs that live apart from the requests that asked for them.

    Args:
        database: sessions, runs, events.
        builder: of the runs that are driven here.
        subscribers: of all runs, in this process.
        checks: whether every stream is checked as it goes out; faults are logged.
    """

    def __init__(
        self,
        database: Database,
        builder: RunBuilder,
        subscribers: Subscribers,
        *,
        checks: bool = False,
    ) -> None:
        self._database = database
        self._builder = builder
        self._subscribers = subscribers
        self._checks = checks
        self._context = DriverContext(database, f"api:{new_id()}", subscribers.publish)
        self._preparing: dict[str, asyncio.Future[Course]] = {}
        self._drivers: dict[str, RunDriver] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        lease = RunLease(self._context.name, LEASE_SECONDS)
        self._planner = Planner(database, builder, lease)
        self._is_draining = False
        self._hands_over = False

    async def start(
        self,
        principal: Principal,
        request: RunRequest,
        *,
        refusal: RejectPolicy = RejectPolicy.RUN_OF_ANSWERS,
    ) -> str:
        """Begin a run; it goes on whether or not anybody follows it.

        Args:
            principal: who runs it.
            request: what is asked, or which answers are given.
            refusal: what becomes of what does not fit the thread's open interrupts.

        Returns:
            The key by which it is followed.

        Raises:
            UnknownAgentType: no such strategy.
            InvalidRunInput: an option that can't be met.
            KnowledgeBaseNotFound: one of the knowledge bases is not there for the caller.
            McpConnectionNotFound: one of the connections is not there for the caller.
            ModelNotFound: the model that is to answer is no more.
            InvalidLink: an image of the question is no more.
            PermissionDenied: it names what the caller has no permission to look at.
            SessionNotFound: the thread is somebody else's.
            RunIdTaken: the run id was used before.
            ThreadBusy: another run holds the thread.
            SessionArchived: the thread is in the archive.
            SessionsFull: the caller may have no more threads.
            InterruptsOpen: the thread waits for answers, and this gives none.
            InterruptNotOpen, InterruptAnswered, InterruptAnswerInvalid: an answer can't be used.
            ShuttingDown: this process takes no new runs.
        """
        if self._is_draining:
            raise ShuttingDown
        planned = await self._planner.plan(principal, request, refusal)
        async with self._planner.door:
            if self._is_draining:
                # Since it was asked: planning takes as long as servers take that were never seen.
                raise ShuttingDown
            try:
                run = await self._start(principal, planned)
            except IntegrityError:
                # There is a run of this id, or another request made the thread or the run at this
                # moment: now what is there is looked at.
                careful = replace(planned.plan, seen=None)
                run = await self._start(principal, replace(planned, plan=careful))
        self._spawn(run, lambda: self._planner.course(run, planned))
        return run.key

    async def _start(self, principal: Principal, planned: Planned) -> StartedRun:
        request, plan = planned.request, planned.plan
        goes_on = plan.continues is not None
        async with unit_of_work(self._database) as work:
            plan = replace(plan, opening=1 + goes_on)
            run = await store.start(work, principal, request, plan)
            mapper = AguiEncoder(run.thread_id, run.run_id, now=now_ms)
            opening = [mapper.started(parent_run_id=request.parent_run_id)]
            if goes_on:
                opening.append(mapper.state(planned.state))
            entries = await event_log.open_log(work.session, run.key, opening)
        self._subscribers.open(run.key)
        self._subscribers.publish(run.key, entries)
        return run

    def _spawn(self, run: StartedRun, prepare: Callable[[], Awaitable[Course]]) -> None:
        """Drive a run that holds its thread in a task of its own."""
        task = asyncio.create_task(self._prepare_and_drive(run, prepare))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _prepare_and_drive(
        self, run: StartedRun, prepare: Callable[[], Awaitable[Course]]
    ) -> None:
        try:
            course = await self._prepared(run, prepare)
            if course is None:
                await self._abort_own(run.key, None)
                return
            driver = RunDriver(self._context, course)
            self._drivers[run.key] = driver
            if self._hands_over:
                await driver.hand_over()
            await driver.drive()
        except DatabaseUnavailable as error:
            # It is taken up when its lease ends, here or elsewhere.
            log.warning("run.abandoned", run_id=run.run_id, why=type(error).__name__)
        except AgentexError as error:
            # What it needs is gone, such as its owner's account; closing it says so in the log.
            await self._abort_own(run.key, error)
        # The edge of the run: nobody awaits it, and its subscribers wait for a terminal event.
        except Exception as error:
            log.exception("run.crashed", run_id=run.run_id, error=type(error).__name__)
            await self._abort_own(run.key, AgentexError())
        finally:
            self._drivers.pop(run.key, None)
            self._subscribers.release(run.key)

    async def _prepared(
        self, run: StartedRun, prepare: Callable[[], Awaitable[Course]]
    ) -> Course | None:
        """The course of a run; None where the run was stopped before it had one."""
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
        """The log of a run from behind a sequence number to its terminal event.

        An empty list comes when nothing happened for a while, so that the reader can see to
        its connection. Ends early when the run is deleted, or handed over to another process.
        """
        followed = self._subscribers.follow(run_key, after=after)
        return check_stream(self._database, run_key, after, followed) if self._checks else followed

    async def find(self, principal: Principal, run_id: str, *, after: int = 0) -> str:
        """The key by which one of the caller's runs is followed.

        Args:
            principal: who asks.
            run_id: the caller's id of it.
            after: the place from which it is to be followed.

        Raises:
            RunNotFound: the caller has none of this id.
            InvalidCursor: the run has no such place.
        """
        async with self._database.reading() as session:
            run = await store.get(session, principal, run_id)
        if after > run.last_seq:
            raise InvalidCursor(cursor=str(after), error="The run has no such event")
        return run.id

    async def join(self, principal: Principal, thread_id: str) -> JoinPoint:
        """What a client that comes late needs; what follows it is read with ``follow``.

        Raises:
            SessionNotFound: the caller has no such thread, or nothing was ever asked on it.
        """
        async with self._database.reading() as session:
            joined = await join.join(session, principal, thread_id)
        if self._checks:
            check_prelude(joined.run_id, joined.prelude)
        return joined

    async def stop(self, principal: Principal, run_id: str) -> bool:
        """Stop one of the caller's runs within two seconds, wherever it is driven.

        Returns:
            True when it was stopped by this; False when it was over already.

        Raises:
            RunNotFound: the caller has none of this id.
        """
        clock = asyncio.get_running_loop()
        deadline = clock.time() + _STOP_SECONDS
        async with unit_of_work(self._database) as work:
            run = await store.get(work.session, principal, run_id)
            asked = await store.request_stop(work, run.id)
        if not asked:
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
        # Whoever drove it does not answer: its log is closed here, its later writes are refused.
        if await self._abort(run.id, None, if_lost=False):
            return True
        # It answered in the end, or was deleted.
        async with self._database.reading() as session:
            run = await store.get(session, principal, run_id)
        return run.status == RunStatus.CANCELLED

    async def recover_lost(self) -> int:
        """Go on with runs whose process is gone, or end them where that can't be.

        Returns:
            How many.
        """
        if self._is_draining:
            return 0
        async with self._database.reading() as session:
            lost = await recovery.find_lost(session)
        # This process's own live: it was asleep itself, and so was their renewing.
        foreign = [run_key for run_key in lost if not self._subscribers.is_open(run_key)]
        seen = 0
        for run_key in foreign:
            try:
                seen += await self._recover(run_key)
            except DatabaseUnavailable:
                raise
            # The edge of the sweep: a run that can't be gone on with must not keep the others.
            except Exception as error:
                log.exception("run.not_taken_up", run_key=run_key, error=type(error).__name__)
        return seen

    async def _recover(self, run_key: str) -> bool:
        async with unit_of_work(self._database) as work:
            is_ours = await recovery.acquire(
                work, run_key, driver=self._context.name, seconds=LEASE_SECONDS
            )
        if not is_ours:
            return await self._abort(run_key, RunLost(), if_lost=True)
        try:
            async with self._database.reading() as session:
                unfinished = await recovery.load(session, run_key)
        except (ValidationError, LookupError) as error:
            return await self._abort_own(run_key, _unreadable(run_key, error))

        async def prepared() -> Course:
            try:
                return await self._builder.again(unfinished)
            except (ValidationError, LookupError) as error:
                raise _unreadable(run_key, error) from error

        log.info("run.taken_up", run_id=unfinished.run.run_id, effects=len(unfinished.past))
        self._subscribers.open(run_key, last_seq=len(unfinished.logged))
        self._spawn(unfinished.run, prepared)
        return True

    async def _abort_own(self, run_key: str, failure: AgentexError | None) -> bool:
        """Close a run, unless another process drives it by now."""
        return await self._abort(run_key, failure, if_lost=False, driver=self._context.name)

    async def _abort(
        self,
        run_key: str,
        failure: AgentexError | None,
        *,
        if_lost: bool,
        driver: str | None = None,
    ) -> bool:
        """Close a run from outside of its driver; without a failure it was stopped."""
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
        """Take no new runs, let those there finish for a while, then hand them over.

        What is handed over is taken up by another process, or by this one started again.
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
    """What becomes of a run of a version whose runs this one can't read."""
    log.warning("run.unreadable", run_key=run_key, error=type(error).__name__)
    return RunLost()
