"""From accepted events to decisions and executed actions, on both databases."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.requests import InvalidRequest
from rules import intake
from rules.actions import ACTIONS
from rules.actions.base import ActionCall, ActionFailed, ActionServices, OutcomeUnknown
from rules.event_drops import DropCounter, list_drops
from rules.execution import dispatcher
from rules.execution.decision import RuleDecision, decide
from rules.execution.dispatcher import Dispatcher
from rules.execution.executor import RuleExecutor
from rules.intake import IncomingEvent
from rules.language.events import EventContext
from rules.language.matching import IndexedRule
from rules.models import (
    AcceptedEvent,
    EventDropReason,
    FiringStatus,
    Notification,
    Rule,
    RuleFiring,
    RuleVersion,
    SourceKind,
)
from tests.agents.runs.helpers import register

pytestmark = pytest.mark.anyio

SOURCE = new_id()
GREETING = {"type": "notify", "params": {"title": "Welcome {{player.name}}", "text": "{{player.name}} has joined."}}


@pytest.fixture
async def owner(database: Database) -> Principal:
    return await register(database)


class Engine:
    """The dispatcher and the executor of one process."""

    def __init__(self, database: Database, name: str = "first", per_minute: int = 600) -> None:
        services = cast(ActionServices, replace(_NOTHING, database=database))
        self.database = database
        self.dispatcher = Dispatcher(database, name, firings_per_minute=per_minute)
        self.executor = RuleExecutor(database, services, name)

    async def settle(self) -> None:
        """Decide on and execute all that waits."""
        while await self.dispatcher.decide_next() or await self.executor.execute_due():
            await self.executor.close()


_NOTHING = ActionServices(*([cast(Any, None)] * 7))


async def write_rule(database: Database, owner: Principal, **fields: Any) -> Rule:
    definition = {
        "name": f"rule {new_id()[:8]}",
        "trigger_config": {"event_type": "player_join", "source_id": SOURCE},
        "actions": [GREETING],
        **fields,
    }
    trigger = definition["trigger_config"]
    rule = Rule(
        owner_id=owner.user_id,
        name=definition["name"],
        event_type=trigger["event_type"],
        source_id=trigger.get("source_id"),
        definition=definition,
    )
    async with unit_of_work(database) as work:
        work.session.add(rule)
        await work.session.flush()
        work.session.add(RuleVersion(rule_id=rule.id, version=1, definition=definition))
    return rule


def joins(owner: Principal, name: str = "Ada", **fields: Any) -> IncomingEvent:
    event = IncomingEvent(
        owner.user_id, SourceKind.MCP, SOURCE, "player_join", {"player": {"name": name, "health_percent": 50}}
    )
    return replace(event, **fields)


async def accept(database: Database, *events: IncomingEvent) -> int:
    async with unit_of_work(database) as work:
        return await intake.accept(work, events)


async def firings(database: Database, rule: Rule) -> Sequence[RuleFiring]:
    async with database.reading() as session:
        query = select(RuleFiring).where(RuleFiring.rule_id == rule.id).order_by(col(RuleFiring.event_seq))
        return (await session.exec(query)).all()


async def statuses(database: Database, rule: Rule) -> list[str]:
    return [firing.status for firing in await firings(database, rule)]


async def titles(database: Database, owner: Principal) -> list[str]:
    async with database.reading() as session:
        query = select(Notification.title).where(Notification.owner_id == owner.user_id)
        return list((await session.exec(query.order_by(col(Notification.created_at)))).all())


async def test_rule_acts_once_on_an_event_that_comes_twice(database: Database, owner: Principal):
    rule, engine = await write_rule(database, owner), Engine(database)
    event = joins(owner)
    assert [await accept(database, event, joins(owner, "Bob")), await accept(database, event)] == [2, 0]
    await engine.settle()
    assert await titles(database, owner) == ["Welcome Ada", "Welcome Bob"]
    assert await statuses(database, rule) == ["success", "success"]
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    assert stored is not None
    assert stored.trigger_count == 2


async def test_rule_of_somebody_else_or_another_source_does_not_act(database: Database, owner: Principal):
    stranger = await register(database)
    theirs = await write_rule(database, stranger)
    other = await write_rule(database, owner, trigger_config={"event_type": "player_join", "source_id": new_id()})
    of_any = await write_rule(database, owner, trigger_config={"event_type": "player_join"})
    await accept(database, joins(owner))
    await Engine(database).settle()
    assert [await statuses(database, rule) for rule in (theirs, other, of_any)] == [[], [], ["success"]]


async def test_condition_that_is_not_met_is_said_in_the_log(database: Database, owner: Principal):
    condition = {"field": "player.health_percent", "operator": "<", "value": 20}
    rule = await write_rule(database, owner, conditions=[condition])
    low = joins(owner, data={"player": {"name": "Bob", "health_percent": 10}})
    await accept(database, joins(owner), low)
    await Engine(database).settle()
    unmet, met = await firings(database, rule)
    assert (unmet.status, met.status) == ("not_met", "success")
    (trace,) = cast(Any, unmet.trace)["conditions"]["conditions"]
    assert (trace["holds"], trace["value"]) == (False, "50")


async def test_cooldown_holds_for_each_key(database: Database, owner: Principal):
    rule = await write_rule(database, owner, cooldown=60_000, cooldown_key="{{player.name}}")
    await accept(database, joins(owner), joins(owner), joins(owner, "Bob"))
    engine = Engine(database)
    await engine.settle()
    assert await statuses(database, rule) == ["success", "cooldown", "success"]
    await accept(database, joins(owner))
    # Another process, later.
    await engine.dispatcher.decide_next()
    await Engine(database, "second").settle()
    assert (await statuses(database, rule))[-1] == "cooldown"


async def test_rule_is_not_led_to_itself_and_chains_end(database: Database, owner: Principal):
    rule = await write_rule(database, owner)
    others = tuple(new_id() for _ in range(5))
    await accept(database, joins(owner, chain=(rule.id,)), joins(owner, chain=others), joins(owner, chain=others[:2]))
    await Engine(database).settle()
    assert await statuses(database, rule) == ["loop", "loop", "success"]


async def test_person_whose_rules_fire_too_often_is_held_back(database: Database, owner: Principal):
    rule = await write_rule(database, owner)
    await accept(database, *(joins(owner) for _ in range(4)))
    await Engine(database, per_minute=3).settle()
    assert await statuses(database, rule) == ["success", "success", "success", "limit"]


async def test_state_counts_from_event_to_event(database: Database, owner: Principal):
    rule = await write_rule(
        database,
        owner,
        conditions=[{"field": "state.last", "operator": "exists", "value": False}],
        actions=[{"type": "set_state", "params": {"last": "{{player.name}}"}}, GREETING],
    )
    await accept(database, joins(owner), joins(owner, "Bob"))
    await Engine(database).settle()
    assert await statuses(database, rule) == ["success", "not_met"]
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    assert stored is not None
    assert stored.state == {"last": "Ada"}


async def test_change_is_told_from_the_event_before_of_the_same_key(database: Database, owner: Principal):
    changed = {"field": "player.health_percent", "operator": "changed"}
    rule = await write_rule(database, owner, conditions=[changed], cooldown_key="{{player.name}}")

    def at(name: str, health: int) -> IncomingEvent:
        return joins(owner, data={"player": {"name": name, "health_percent": health}})

    await accept(database, at("Ada", 50), at("Bob", 10), at("Ada", 50), at("Ada", 40), at("Bob", 10))
    await Engine(database).settle()
    met = [firing.event["data"] for firing in await firings(database, rule) if firing.conditions_met]
    assert met == [{"player": {"name": "Ada", "health_percent": 40}}]


class Failing:
    """Fails so often, then succeeds; stands for an action with an effect outside."""

    TYPE = "webhook"
    IS_REPEATABLE = False

    def __init__(self, failures: int) -> None:
        self.failures, self.calls = failures, list[str]()

    async def missing(self, services: ActionServices, call: ActionCall) -> list[str]:
        return []

    async def execute(self, services: ActionServices, call: ActionCall) -> None:
        self.calls.append(call.key)
        if len(self.calls) <= self.failures:
            raise ActionFailed("The address answered 500", "该地址返回了 500")


HOOK = {"type": "webhook", "target": "https://example.com/hook", "params": {"body": "{{player.name}}"}}


@pytest.mark.parametrize(
    ("on_error", "outcome", "results"),
    [
        ("continue", "partial", ["failed", "success"]),
        ("stop", "failed", ["failed", "skipped"]),
    ],
)
async def test_failure_ends_or_not_what_follows(
    database: Database, owner: Principal, monkeypatch, on_error: str, outcome: str, results: list[str]
):
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", Failing(1))
    rule = await write_rule(database, owner, actions=[{**HOOK, "on_error": on_error}, GREETING])
    await accept(database, joins(owner))
    await Engine(database).settle()
    (firing,) = await firings(database, rule)
    assert firing.status == outcome
    assert [cast(Any, result)["status"] for result in firing.actions_result] == results
    failure = cast(Any, firing.actions_result[0])
    assert (failure["error"], failure["error_zh"]) == ("The address answered 500", "该地址返回了 500")


async def test_action_is_tried_again_as_it_says(database: Database, owner: Principal, monkeypatch):
    hook = Failing(2)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    retry = {"on_error": "retry", "retry": {"attempts": 3, "backoff_ms": 1}}
    rule = await write_rule(database, owner, actions=[{**HOOK, **retry}])
    await accept(database, joins(owner))
    await Engine(database).settle()
    (firing,) = await firings(database, rule)
    assert (firing.status, cast(Any, firing.actions_result[0])["attempts"]) == ("success", 3)
    assert len(set(hook.calls)) == 1


async def test_action_during_which_a_process_died_is_reported_and_not_repeated(
    database: Database, owner: Principal, monkeypatch
):
    hook = Failing(0)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    rule = await write_rule(database, owner, actions=[HOOK, GREETING])
    await accept(database, joins(owner))
    await Engine(database, "dead").dispatcher.decide_next()
    async with unit_of_work(database) as work:
        dead = {"status": "running", "driver": "dead", "acting": 0, "lease_until": utc_now() - timedelta(seconds=1)}
        await work.session.exec(update(RuleFiring).values(**dead))
    await Engine(database, "second").settle()
    (firing,) = await firings(database, rule)
    assert firing.status == FiringStatus.UNKNOWN
    assert [cast(Any, result)["status"] for result in firing.actions_result] == ["unknown", "success"]
    assert hook.calls == []


async def test_firing_that_another_process_holds_is_left_to_it(database: Database, owner: Principal):
    rule = await write_rule(database, owner)
    await accept(database, joins(owner))
    await Engine(database, "first").dispatcher.decide_next()
    async with unit_of_work(database) as work:
        held = {"status": "running", "driver": "first", "lease_until": utc_now() + timedelta(seconds=20)}
        await work.session.exec(update(RuleFiring).values(**held))
    await Engine(database, "second").settle()
    assert await statuses(database, rule) == ["running"]


async def test_event_that_is_too_large_or_has_no_name_is_refused(database: Database, owner: Principal):
    for fields in ({"data": "x" * 300_000}, {"type": ""}, {"type": "a\x00b"}, {"id": "i" * 201}, {"data": "\ud800"}):
        with pytest.raises(InvalidRequest):
            await accept(database, joins(owner, **fields))
    async with database.reading() as session:
        assert (await session.exec(select(AcceptedEvent))).all() == []


async def test_rule_with_many_firings_does_not_stand_before_others(database: Database, owner: Principal, monkeypatch):
    monkeypatch.setattr("rules.execution.executor._LOOKED_AT", 3)
    busy, engine = await write_rule(database, owner), Engine(database)
    other = await write_rule(database, owner, trigger_config={"event_type": "player_leave"})
    await accept(database, *(joins(owner) for _ in range(5)), joins(owner, type="player_leave"))
    await engine.dispatcher.decide_next()
    assert await engine.executor.execute_due() == 2
    await engine.executor.close()
    assert await statuses(database, other) == ["success"]
    assert await statuses(database, busy) == ["success", *["pending"] * 4]


async def test_event_that_can_not_be_decided_on_holds_no_other_up(database: Database, owner: Principal, monkeypatch):
    decide = dispatcher.decide

    def stumble(*arguments: Any) -> Any:
        if arguments[1].event.data["player"]["name"] == "Bob":
            raise RuntimeError("a fault of the product")
        return decide(*arguments)

    monkeypatch.setattr(dispatcher, "decide", stumble)
    rule = await write_rule(database, owner)
    await accept(database, joins(owner), joins(owner, "Bob"), joins(owner, "Eve"))
    await Engine(database).settle()
    assert await titles(database, owner) == ["Welcome Ada", "Welcome Eve"]
    assert await statuses(database, rule) == ["success", "success"]


async def test_names_with_nul_are_keys_and_texts_without_it(database: Database, owner: Principal):
    rule = await write_rule(database, owner, cooldown=60_000, cooldown_key="{{player.name}}")
    await accept(database, joins(owner, "A\x00da"), joins(owner, "Ada"))
    await Engine(database).settle()
    assert await statuses(database, rule) == ["success", "cooldown"]
    assert await titles(database, owner) == ["Welcome Ada"]


async def test_more_events_than_one_statement_takes_are_accepted_together(database: Database, owner: Principal):
    assert await accept(database, *(joins(owner) for _ in range(4000))) == 4000


class Doubtful(Failing):
    """Does not hear whether it took effect."""

    async def execute(self, services: ActionServices, call: ActionCall) -> None:
        self.calls.append(call.key)
        raise OutcomeUnknown("The address took the request and did not answer", "该地址没有响应")


async def test_action_in_doubt_is_reported_and_not_tried_again(database: Database, owner: Principal, monkeypatch):
    hook = Doubtful(0)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    retry = {"on_error": "retry", "retry": {"attempts": 3, "backoff_ms": 1}}
    rule = await write_rule(database, owner, actions=[{**HOOK, **retry}, GREETING])
    await accept(database, joins(owner))
    await Engine(database).settle()
    (firing,) = await firings(database, rule)
    assert firing.status == "unknown"
    assert [cast(Any, result)["status"] for result in firing.actions_result] == ["unknown", "skipped"]
    assert len(hook.calls) == 1


async def test_event_that_can_not_be_decided_on_is_set_aside_and_counted(
    database: Database, owner: Principal, monkeypatch
):
    def fail_at_bob(rule: IndexedRule, context: EventContext, *rest: Any) -> RuleDecision:
        if "Bob" in str(context.event.data):
            raise ArithmeticError
        return decide(rule, context, *rest)

    monkeypatch.setattr("rules.execution.dispatcher.decide", fail_at_bob)
    rule = await write_rule(database, owner)
    await accept(database, joins(owner, "Bob"), joins(owner, "Ada"), joins(owner, "Bob"))
    await Engine(database).settle()
    assert await titles(database, owner) == ["Welcome Ada"]
    assert len(await firings(database, rule)) == 1
    async with database.reading() as session:
        (drop,) = await list_drops(session, owner.user_id)
    assert (drop.source_id, drop.reason, drop.count) == (SOURCE, "undecidable", 2)


async def test_counts_of_dropped_events_are_added_up_and_those_of_nobody_left_out(database: Database, owner: Principal):
    counter = DropCounter(database)
    for person, times in ((owner.user_id, 3), (new_id(), 1)):
        for _ in range(times):
            counter.note(person, SOURCE, EventDropReason.RATE)
    await counter.write()
    counter.note(owner.user_id, SOURCE, EventDropReason.RATE)
    counter.note(owner.user_id, SOURCE, EventDropReason.BACKLOG)
    await counter.write()
    await counter.write()
    async with database.reading() as session:
        drops = await list_drops(session, owner.user_id)
    assert {drop.reason: drop.count for drop in drops} == {"rate": 4, "backlog": 1}
