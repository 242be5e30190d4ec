"""The decisions on accepted events: in the order of their acceptance, by one process at a time."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from pydantic import JsonValue, ValidationError
from sqlalchemy import exists, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.db.database import Database
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from rules import event_drops, seen_types
from rules.event_drops import DropKey
from rules.execution import leases
from rules.execution.decision import KeyMemory, RuleDecision, cooldown_key, decide
from rules.execution.firing import event_json, event_view
from rules.language.definition import RuleDefinition
from rules.language.errors import RuleError
from rules.language.events import EventContext
from rules.language.matching import IndexedRule, RuleIndex, compile_rule
from rules.models import (
    OPEN_STATUSES,
    AcceptedEvent,
    EventDropReason,
    FiringStatus,
    Rule,
    RuleFiring,
    RuleKey,
    SourceKind,
)

log = get_logger(__name__)

_LEASE = "decisions"
_LEASE_SECONDS = 10.0
_EVENTS_AT_ONCE = 200
# Decisions between two chances for everything else on the event loop.
_DECISIONS_AT_ONCE = 50
_MINUTE = timedelta(minutes=1)
_MOST_COMPILED = 10_000


@dataclass(frozen=True)
class _MatchedRule:
    """A rule's row, the rule ready to meet events, and whether the event before matters to it."""

    row: Rule
    rule: IndexedRule
    reads_previous: bool


@dataclass
class _Batch:
    """The outcome of a round of decisions."""

    now: datetime
    firings: list[RuleFiring] = field(default_factory=list[RuleFiring])
    unmet: dict[str, RuleFiring] = field(default_factory=dict[str, RuleFiring])
    decisions: int = 0


class RuleWork(NamedTuple):
    """What there is to do for rules, in any process."""

    has_rules: bool
    has_events: bool
    has_firings: bool


async def find_work(database: Database) -> RuleWork:
    """Look for work with a single query: a server where nothing happens does this all the time."""
    is_on = exists().where(col(Rule.enabled).is_(True))
    is_waiting = exists().where(col(AcceptedEvent.is_decided).is_(False))
    is_open = exists().where(col(RuleFiring.status).in_(OPEN_STATUSES))
    async with database.reading() as session:
        return RuleWork(*(await session.exec(select(is_on, is_waiting, is_open))).one())


class Dispatcher:
    """Decides which rules fire at which events.

    A round is one transaction: its events count as decided if and only if what follows from them is stored.
    """

    def __init__(self, database: Database, driver: str, *, firings_per_minute: int) -> None:
        self._database = database
        self._driver = driver
        self._most_firings = firings_per_minute
        self._compiled: dict[tuple[str, int], IndexedRule | None] = {}
        self._recent: defaultdict[str, deque[datetime]] = defaultdict(deque)

    async def decide_next(self) -> int:
        """Decide on the next events; returns how many there were. 0 also where another process does it."""
        async with self._database.reading() as session:
            waiting = select(AcceptedEvent.seq).where(col(AcceptedEvent.is_decided).is_(False)).limit(1)
            if (await session.exec(waiting)).first() is None:
                return 0
        try:
            return await self._decide_batch(_EVENTS_AT_ONCE)
        except AgentexError:
            raise
        except Exception:
            # Among many events it can't be told which one is at fault.
            log.exception("rules.batch_not_decided")
        try:
            return await self._decide_batch(1)
        except AgentexError:
            raise
        except Exception:
            log.exception("rules.event_not_decided")
        return await self._set_first_aside()

    async def _decide_batch(self, most: int) -> int:
        async with unit_of_work(self._database) as work:
            if not await leases.acquire(work, _LEASE, self._driver, seconds=_LEASE_SECONDS):
                return 0
            events = (await work.session.exec(_undecided().limit(most).with_for_update())).all()
            await self._decide(work, events)
        return len(events)

    async def _set_first_aside(self) -> int:
        """Mark an event that can't be decided on as decided: all others would wait behind it."""
        async with unit_of_work(self._database) as work:
            event = (await work.session.exec(_undecided().limit(1))).first()
            if event is None:
                return 0
            log.error("rules.event_set_aside", source_id=event.source_id, type=event.type, event_id=event.event_id)
            event.is_decided = True
            work.session.add(event)
            drop = DropKey(event.owner_id, event.source_id, EventDropReason.UNDECIDABLE)
            await event_drops.add(work, {drop: 1})
        return 1

    async def _decide(self, work: UnitOfWork, events: Sequence[AcceptedEvent]) -> None:
        candidates = await self._candidates(work.session, events)
        index = RuleIndex()
        for candidate in candidates.values():
            index.put(candidate.rule)
        batch = _Batch(await database_now(work.session))
        for event in events:
            for rule in index.candidates(UUID(event.owner_id), event_view(event_json(event))):
                if _concerns(event, rule, batch.now):
                    await self._apply(work, batch, event, candidates[rule.rule_id])
        # A rule that never fires would fill its log: of each round, its newest refusal is kept.
        work.session.add_all([*batch.firings, *batch.unmet.values()])
        await seen_types.learn(work, events, batch.now)
        numbers = [event.seq for event in events]
        decided = update(AcceptedEvent).where(col(AcceptedEvent.seq).in_(numbers)).values(is_decided=True)
        await work.session.exec(decided)

    async def _candidates(self, session: AsyncSession, events: Iterable[AcceptedEvent]) -> dict[UUID, _MatchedRule]:
        """The enabled rules that these events may concern."""
        owners, types = {event.owner_id for event in events}, {event.type for event in events}
        query = select(Rule).where(
            col(Rule.owner_id).in_(owners), col(Rule.event_type).in_(types), col(Rule.enabled).is_(True)
        )
        candidates_by_id: dict[UUID, _MatchedRule] = {}
        for row in (await session.exec(query)).all():
            rule = self._compile(row)
            if rule is not None:
                candidates_by_id[rule.rule_id] = _MatchedRule(row, rule, reads_previous(rule))
        return candidates_by_id

    def _compile(self, row: Rule) -> IndexedRule | None:
        key = (row.id, row.version)
        if key not in self._compiled:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled.clear()
            try:
                # Whether it is switched on, the row says.
                definition = RuleDefinition.model_validate({**row.definition, "enabled": True})
                self._compiled[key] = compile_rule(UUID(row.id), UUID(row.owner_id), row.created_at, definition)
            except ValidationError:
                # Written by another version of the product.
                log.warning("rule.unreadable", rule_id=row.id)
                self._compiled[key] = None
        return self._compiled[key]

    async def _apply(self, work: UnitOfWork, batch: _Batch, event: AcceptedEvent, candidate: _MatchedRule) -> None:
        """Decide on one rule at one event, and keep what follows."""
        batch.decisions += 1
        if batch.decisions % _DECISIONS_AT_ONCE == 0:
            await asyncio.sleep(0)
        rule, event_fields = candidate.row, event_json(event)
        context = EventContext(event_view(event_fields), state=rule.state)
        memory_row = await self._memory(work.session, candidate, context)
        memory = KeyMemory()
        if memory_row is not None:
            has_previous = candidate.reads_previous and memory_row.previous is not None
            memory = KeyMemory(memory_row.rests_until, memory_row.previous, has_previous=has_previous)
            context = EventContext(
                context.event, state=rule.state, previous=memory.previous, has_previous=memory.has_previous
            )
        decision = decide(candidate.rule, context, tuple(event.chain), memory, batch.now)
        firing = _firing(rule, event, event_fields, decision, memory, batch.now)
        if decision.fires and self._is_over_limit(rule.owner_id, batch.now):
            firing.status = FiringStatus.LIMIT.value
        elif decision.fires:
            rule.trigger_count += 1
            rule.last_triggered_at = batch.now
            rule.state = rule.state if decision.state is None else decision.state
            work.session.add(rule)
        await self._remember(work.session, candidate, memory_row, event, decision, fired=firing.status == "pending")
        if firing.status == FiringStatus.NOT_MET.value:
            batch.unmet[rule.id] = firing
        else:
            batch.firings.append(firing)

    async def _memory(self, session: AsyncSession, candidate: _MatchedRule, context: EventContext) -> RuleKey | None:
        if not candidate.rule.definition.cooldown and not candidate.reads_previous:
            return None
        try:
            key = cooldown_key(candidate.rule, context)
        except RuleError:
            return None
        return await session.get(RuleKey, (candidate.row.id, key))

    async def _remember(
        self,
        session: AsyncSession,
        candidate: _MatchedRule,
        row: RuleKey | None,
        event: AcceptedEvent,
        decision: RuleDecision,
        *,
        fired: bool,
    ) -> None:
        rests_until = decision.rests_until if fired else None
        if rests_until is None and not candidate.reads_previous:
            return
        row = row or RuleKey(rule_id=candidate.row.id, key=decision.key)
        if rests_until is not None:
            row.rests_until = rests_until
        if candidate.reads_previous:
            row.previous = event.data
        row.updated_at = event.accepted_at
        session.add(row)
        # The next event of this round must find it.
        await session.flush()

    def _is_over_limit(self, owner_id: str, now: datetime) -> bool:
        """Whether a person's rules have fired too often within a minute; counts this time otherwise."""
        recent = self._recent[owner_id]
        while recent and not now - _MINUTE < recent[0] <= now:
            recent.popleft()
        if len(recent) >= self._most_firings:
            return True
        recent.append(now)
        return False


def _concerns(event: AcceptedEvent, rule: IndexedRule, now: datetime) -> bool:
    """Whether an event of a rule's type and source is for it."""
    if event.source_kind == SourceKind.SCHEDULE:
        # A due time is that of one rule.
        return str(rule.rule_id) == event.source_id
    # The platform's tables are read from a little earlier on. A rule is not of the future: its clock was set back since.
    is_older = event.occurred_at < rule.created_at <= now
    return event.source_kind != SourceKind.PLATFORM or not is_older


def _undecided() -> SelectOfScalar[AcceptedEvent]:
    query = select(AcceptedEvent).where(col(AcceptedEvent.is_decided).is_(False))
    return query.order_by(col(AcceptedEvent.seq))


def reads_previous(rule: IndexedRule) -> bool:
    """Whether the event before matters to a rule's conditions or actions."""
    templates = [action.compile_params() for action in rule.definition.actions]
    return rule.conditions.reads_previous or any(
        path.root == "previous" for template in templates for path in template.paths
    )


def _firing(
    rule: Rule,
    event: AcceptedEvent,
    event_fields: dict[str, JsonValue],
    decision: RuleDecision,
    memory: KeyMemory,
    now: datetime,
) -> RuleFiring:
    trace = dict(decision.trace)
    if decision.problem:
        trace |= {"problem": decision.problem, "problem_zh": decision.problem_zh}
    if memory.has_previous and decision.fires:
        # Its actions may read it.
        trace["previous"] = memory.previous
    return RuleFiring(
        rule_id=rule.id,
        owner_id=rule.owner_id,
        rule_version=rule.version,
        event_seq=event.seq or 0,
        event=event_fields,
        key=decision.key,
        conditions_met=decision.conditions_met,
        trace=trace,
        status=decision.status.value,
        executed_at=now,
    )
