"""The execution of what was decided: each action of a firing once, or reported."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue, ValidationError
from sqlalchemy import and_, func, update
from sqlmodel import col, select

from core.auth.authentication import principal_for_user
from core.auth.principal import Principal
from core.db.database import Database
from core.db.now import database_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, InvalidToken
from core.errors.base import AgentexError
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger
from rules.actions import ACTIONS
from rules.actions.base import ActionCall, ActionFailed, ActionServices, OutcomeUnknown, Reason, reason_of
from rules.execution.firing import chain_of, context_of, result_of, status_of
from rules.execution.rendering import render_action
from rules.language.action_types import AnyAction, SetStateAction
from rules.language.definition import RuleDefinition
from rules.language.errors import RuleError
from rules.models import OPEN_STATUSES, FiringStatus, Rule, RuleFiring, RuleVersion

log = get_logger(__name__)

LEASE_SECONDS = 30.0
_RENEW_SECONDS = 8.0
_MOST_AT_ONCE = 16
_LOOKED_AT = 200
_ACTION_SECONDS = 600.0
_SHUTDOWN_SECONDS = 5.0
_NO_OWNER = Reason("The rule's owner can't act: the account is disabled", "规则的所有者无法执行操作：账户已停用")
_DIED = Reason(
    "A process died while it acted: see whether it took effect", "执行过程中进程意外终止：请确认操作是否已生效"
)
_TOO_LONG = Reason(
    f"It took more than {_ACTION_SECONDS:.0f} s: see whether it took effect",
    f"执行超过 {_ACTION_SECONDS:.0f} 秒：请确认操作是否已生效",
)


@dataclass(frozen=True)
class _Execution:
    """A firing that this process holds, with the rule as it was when it fired."""

    firing: RuleFiring
    rule_name: str
    definition: RuleDefinition
    state: dict[str, JsonValue]


class FiringLost(Exception):
    """Another process has claim the firing."""


class RuleExecutor:
    """Executes the actions of firings: those of a rule one after the other, in the order of their events."""

    def __init__(self, database: Database, services: ActionServices, driver: str) -> None:
        self._database = database
        self._services = services
        self._driver = driver
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended = asyncio.Event()

    async def execute_due(self) -> int:
        """Begin what can begin; returns how many firings were begun."""
        room = _MOST_AT_ONCE - len(self._tasks)
        begun = 0
        for firing in (await self._due())[: max(0, room)]:
            work = await self._take(firing)
            if work is not None:
                self._begin(work)
                begun += 1
        return begun

    async def wait_for_end(self) -> None:
        """Wait until one of the firings in execution ends; for ever where there is none."""
        await self._ended.wait()
        self._ended.clear()

    async def close(self) -> None:
        """Let what is being executed end, for a short while; the rest another process takes up."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=_SHUTDOWN_SECONDS)
        for task in list(self._tasks.values()):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _begin(self, work: _Execution) -> None:
        task = asyncio.create_task(self._execute(work))
        self._tasks[work.firing.rule_id] = task

        def end(_: asyncio.Task[None]) -> None:
            self._tasks.pop(work.firing.rule_id, None)
            self._ended.set()

        task.add_done_callback(end)

    async def _due(self) -> Sequence[RuleFiring]:
        """The first open firing of each rule, where no process works on it."""
        async with self._database.reading() as session:
            now = await database_now(session)
            is_open = col(RuleFiring.status).in_(OPEN_STATUSES)
            is_other = col(RuleFiring.rule_id).not_in(list(self._tasks))
            # By rule, or one with many firings would stand before all others.
            first = select(RuleFiring.rule_id, func.min(RuleFiring.event_seq).label("seq")).where(is_open, is_other)
            first = first.group_by(col(RuleFiring.rule_id)).subquery()
            is_first = and_(first.c.rule_id == RuleFiring.rule_id, first.c.seq == RuleFiring.event_seq)
            query = select(RuleFiring).join(first, is_first).order_by(col(RuleFiring.event_seq)).limit(_LOOKED_AT)
            rows = (await session.exec(query)).all()
        return [row for row in rows if _is_free(row, now)]

    async def _take(self, firing: RuleFiring) -> _Execution | None:
        async with unit_of_work(self._database) as work:
            now = await database_now(work.session)
            conditions = (
                col(RuleFiring.id) == firing.id,
                col(RuleFiring.status) == firing.status,
                col(RuleFiring.driver).is_not_distinct_from(firing.driver),
                col(RuleFiring.acting) == firing.acting,
                # Who holds it may be alive after all, and have renewed its lease since.
                col(RuleFiring.lease_until).is_not_distinct_from(firing.lease_until),
            )
            claim = update(RuleFiring).where(*conditions)
            values = {
                "status": FiringStatus.RUNNING.value,
                "driver": self._driver,
                "lease_until": now + timedelta(seconds=LEASE_SECONDS),
            }
            if not (await work.session.exec(claim.values(**values))).rowcount:
                return None
            # It may have come further since it was looked at.
            firing = (await work.session.exec(select(RuleFiring).where(RuleFiring.id == firing.id))).one()
            rule = await work.session.get(Rule, firing.rule_id)
            version = await work.session.get(RuleVersion, (firing.rule_id, firing.rule_version))
            if rule is None:
                return None
            # Of the oldest versions only the newest are kept.
            stored = rule.definition if version is None else version.definition
            try:
                definition = RuleDefinition.model_validate(stored)
            except ValidationError:
                # Written by another version of the product.
                log.warning("rule.unreadable", rule_id=rule.id)
                unreadable = update(RuleFiring).where(col(RuleFiring.id) == firing.id)
                await work.session.exec(unreadable.values(status=FiringStatus.FAILED.value, driver=None))
                return None
            return _Execution(firing, rule.name, definition, dict(rule.state))

    async def _execute(self, work: _Execution) -> None:
        firing = work.firing
        try:
            async with self._renewing(firing.id):
                await self._act(work)
        except (FiringLost, DatabaseUnavailable) as error:
            # Who holds it now, or this process later, goes on where it stands.
            log.warning("rule.firing_lost", firing_id=firing.id, why=type(error).__name__)
        except Exception as error:
            # The edge of the firing: nobody awaits it.
            log.exception("rule.firing_crashed", firing_id=firing.id, error=type(error).__name__)
            with suppress(AgentexError, FiringLost):
                await self._finish(firing, [*firing.actions_result], FiringStatus.FAILED)

    @asynccontextmanager
    async def _renewing(self, firing_id: str) -> AsyncGenerator[None]:
        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEW_SECONDS)
                with suppress(AgentexError):
                    async with unit_of_work(self._database) as work:
                        until = await database_now(work.session) + timedelta(seconds=LEASE_SECONDS)
                        mine = update(RuleFiring).where(
                            col(RuleFiring.id) == firing_id, col(RuleFiring.driver) == self._driver
                        )
                        await work.session.exec(mine.values(lease_until=until))

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()

    async def _act(self, work: _Execution) -> None:
        firing, actions = work.firing, work.definition.actions
        results = [*firing.actions_result]
        owner = await self._owner(firing.owner_id)
        started = time.monotonic()
        is_stopped = False
        for position in range(len(results), len(actions)):
            action = actions[position]
            if is_stopped:
                result = result_of(action, "skipped")
            elif owner is None:
                result = result_of(action, "failed", reason=_NO_OWNER)
            elif firing.acting == position and not _is_repeatable(action):
                result = result_of(action, "unknown", reason=_DIED)
            else:
                await self._write(firing, acting=position)
                result = await self._try_action(work, owner, position, results)
            results.append(result)
            is_stopped = is_stopped or (result["status"] in ("failed", "unknown") and action.on_error != "continue")
            elapsed = round((time.monotonic() - started) * 1000)
            await self._write(firing, acting=-1, actions_result=results, execution_time=elapsed)
        await self._finish(firing, results, status_of(results))

    async def _try_action(
        self, work: _Execution, owner: Principal, position: int, results: Sequence[JsonValue]
    ) -> dict[str, JsonValue]:
        """The result of one action, repeated as it says while it fails."""
        action = work.definition.actions[position]
        attempts = 1 + (action.retries.attempts if action.retries else 0)
        started = time.monotonic()
        reason: Reason | None = None
        for attempt in range(1, attempts + 1):
            if attempt > 1 and action.retries is not None:
                await asyncio.sleep(action.retries.backoff_ms * 2 ** (attempt - 2) / 1000)
            try:
                value = await self._call(work, owner, position, results)
            except ActionFailed as failure:
                reason = failure.reason
            except RuleError as failure:
                reason = Reason(failure.error, failure.error_zh)
            except AgentexError as failure:
                reason = reason_of(failure)
            except TimeoutError:
                return result_of(action, "unknown", reason=_TOO_LONG, started=started)
            except OutcomeUnknown as doubt:
                # A repetition might act twice.
                return result_of(action, "unknown", reason=doubt.reason, started=started, attempts=attempt)
            else:
                return result_of(action, "success", value=value, started=started, attempts=attempt)
        return result_of(action, "failed", reason=reason, started=started, attempts=attempts)

    async def _call(self, work: _Execution, owner: Principal, position: int, results: Sequence[JsonValue]) -> JsonValue:
        firing, action = work.firing, work.definition.actions[position]
        context = context_of(firing, work.state, results)
        if isinstance(action, SetStateAction):
            # It was done when the rule fired.
            return {}
        target, params = render_action(action, context)
        call = ActionCall(
            owner=owner,
            rule_id=firing.rule_id,
            rule_name=work.rule_name,
            firing_id=firing.id,
            position=position,
            target=target,
            params=params,
            connection_id=str(getattr(action, "connection_id", None) or ""),
            source_id=str(firing.event.get("source_id") or ""),
            chain=(*chain_of(firing.event), firing.rule_id),
            event_data=firing.event.get("data"),
        )
        async with asyncio.timeout(_ACTION_SECONDS):
            return await ACTIONS[action.type].execute(self._services, call)

    async def _owner(self, owner_id: str) -> Principal | None:
        try:
            async with self._database.reading() as session:
                return await principal_for_user(session, owner_id)
        except (AccountDisabled, InvalidToken):
            return None

    async def _finish(self, firing: RuleFiring, results: Sequence[JsonValue], status: FiringStatus) -> None:
        await self._write(
            firing, acting=-1, actions_result=list(results), status=status.value, driver=None, lease_until=None
        )
        log.info("rule.executed", rule_id=firing.rule_id, firing_id=firing.id, status=status.value)

    async def _write(self, firing: RuleFiring, **values: object) -> None:
        """Write into a firing; FiringLost if another process holds it by now."""
        async with unit_of_work(self._database) as work:
            mine = update(RuleFiring).where(col(RuleFiring.id) == firing.id, col(RuleFiring.driver) == self._driver)
            if not (await work.session.exec(mine.values(**values))).rowcount:
                raise FiringLost


def _is_free(firing: RuleFiring, now: datetime) -> bool:
    """Whether no process holds it; a lease of a clock that was set back since must not last longer than others."""
    until = firing.lease_until
    return firing.driver is None or until is None or not now <= until <= now + timedelta(seconds=2 * LEASE_SECONDS)


def _is_repeatable(action: AnyAction) -> bool:
    handler = ACTIONS.get(action.type)
    return handler is None or handler.IS_REPEATABLE
