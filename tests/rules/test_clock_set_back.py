"""A clock that was set back: what lies in its future keeps no rule from acting, and nothing is done twice."""

from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import update
from sqlmodel import col

from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.runtime_config.live import LiveSettings
from core.settings import Settings
from rules.actions import ACTIONS
from rules.models import EventCursor, Rule, RuleFiring, RuleKey, RuleLease
from rules.sources.platform import PlatformEvents
from rules.sources.schedule import ScheduleEvents
from tests.agents.runs.helpers import register
from tests.rules.test_rule_engine import (
    GREETING,
    HOOK,
    Engine,
    Failing,
    accept,
    firings,
    joins,
    statuses,
    titles,
    write_rule,
)
from tests.rules.test_sources_of_events import DUE, EVERY_MINUTE, change_rule, events, write_document

pytestmark = pytest.mark.anyio

AHEAD = timedelta(days=10)


@pytest.fixture
async def owner(database: Database) -> Principal:
    return await register(database)


async def change(database: Database, table: type[Any], **values: Any) -> None:
    async with unit_of_work(database) as work:
        await work.session.exec(update(table).values(**values))


async def test_cooldown_of_a_clock_that_was_ahead_does_not_last(database: Database, owner: Principal):
    rule, engine = await write_rule(database, owner, cooldown=60_000), Engine(database)
    await accept(database, joins(owner))
    await engine.settle()
    await change(database, RuleKey, rests_until=utc_now() + AHEAD)
    await accept(database, joins(owner), joins(owner))
    await engine.settle()
    assert await statuses(database, rule) == ["success", "success", "cooldown"]


async def test_lease_of_decisions_of_a_clock_that_was_ahead_does_not_last(database: Database, owner: Principal):
    rule = await write_rule(database, owner)
    async with unit_of_work(database) as work:
        work.session.add(RuleLease(name="decisions", driver="dead", until=utc_now() + AHEAD))
    await accept(database, joins(owner))
    await Engine(database).settle()
    assert await statuses(database, rule) == ["success"]


async def test_firing_of_a_dead_process_whose_clock_was_ahead_is_taken_up(
    database: Database, owner: Principal, monkeypatch
):
    hook = Failing(0)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    rule = await write_rule(database, owner, actions=[HOOK, GREETING])
    await accept(database, joins(owner), joins(owner, "Bob"))
    await Engine(database, "dead").dispatcher.decide_next()
    first, _ = await firings(database, rule)
    async with unit_of_work(database) as work:
        dead = {"status": "running", "driver": "dead", "acting": 0, "lease_until": utc_now() + AHEAD}
        await work.session.exec(update(RuleFiring).where(col(RuleFiring.id) == first.id).values(**dead))
    await Engine(database, "second").settle()
    # What the dead process had begun is not done again.
    assert await statuses(database, rule) == ["unknown", "success"]
    assert len(hook.calls) == 1


async def test_firing_that_came_further_since_it_was_looked_at_is_left_to_its_process(
    database: Database, owner: Principal, monkeypatch
):
    hook = Failing(0)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    rule = await write_rule(database, owner, actions=[HOOK, GREETING])
    await accept(database, joins(owner))
    await Engine(database, "slow").dispatcher.decide_next()
    expired = {"status": "running", "driver": "slow", "lease_until": utc_now() - timedelta(seconds=1)}
    await change(database, RuleFiring, **expired)
    second = Engine(database, "second")
    looked_at = await second.executor._due()

    async def look() -> Any:
        return looked_at

    # Between the look and the claim, the slow process does the first action and renews its lease.
    done = {"type": "webhook", "target": "", "status": "success"}
    await change(database, RuleFiring, actions_result=[done], lease_until=utc_now() + timedelta(seconds=20))
    monkeypatch.setattr(second.executor, "_due", look)
    assert await second.executor.execute_due() == 0
    assert hook.calls == []
    assert await statuses(database, rule) == ["running"]


async def test_claimed_firing_goes_on_where_it_stands_now(database: Database, owner: Principal, monkeypatch):
    hook = Failing(0)
    monkeypatch.setitem(cast(dict[str, object], ACTIONS), "webhook", hook)
    rule = await write_rule(database, owner, actions=[HOOK, GREETING])
    await accept(database, joins(owner))
    await Engine(database, "slow").dispatcher.decide_next()
    expired = {"status": "running", "driver": "slow", "lease_until": utc_now() - timedelta(seconds=1)}
    await change(database, RuleFiring, **expired)
    second = Engine(database, "second")
    looked_at = await second.executor._due()

    async def look() -> Any:
        return looked_at

    # Its process did the first action, and can't renew its lease.
    await change(database, RuleFiring, actions_result=[{"type": "webhook", "target": "", "status": "success"}])
    monkeypatch.setattr(second.executor, "_due", look)
    assert await second.executor.execute_due() == 1
    await second.executor.close()
    assert hook.calls == []
    assert await statuses(database, rule) == ["success"]
    assert await titles(database, owner) == ["Welcome Ada"]


async def test_schedule_whose_next_time_lies_too_far_ahead_is_due_when_it_should(database: Database, owner: Principal):
    rule = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    await change_rule(database, rule, due_at=utc_now() + AHEAD)
    await ScheduleEvents(database).read()
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    assert stored is not None
    assert stored.due_at is not None
    assert stored.due_at <= utc_now() + timedelta(minutes=1)


async def test_clock_that_is_set_back_while_a_process_runs_is_noticed(database: Database, owner: Principal):
    schedules = ScheduleEvents(database)
    await schedules.read()
    rule = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    ahead = (utc_now() + AHEAD).replace(microsecond=0)
    await change_rule(database, rule, due_at=ahead)
    await schedules.read()
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    # No look at each rule at each round.
    assert stored is not None
    assert stored.due_at == ahead
    # As if the look before had been ten days later.
    schedules._looked_at = utc_now() + AHEAD
    await schedules.read()
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    assert stored is not None
    assert stored.due_at is not None
    assert stored.due_at <= utc_now() + timedelta(minutes=1)


async def test_time_that_was_dealt_with_before_the_clock_was_set_back_is_not_due_again(
    database: Database, owner: Principal
):
    rule = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    due_at = utc_now().replace(second=0, microsecond=0)
    for _ in range(2):
        await change_rule(database, rule, due_at=due_at)
        await ScheduleEvents(database).read()
    await Engine(database).settle()
    assert await titles(database, owner) == [f"Due {due_at.isoformat()}"]


async def test_schedule_that_can_not_be_read_holds_no_other_up(database: Database, owner: Principal):
    due_at = utc_now().replace(second=0, microsecond=0)
    unreadable = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    readable = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    await change_rule(database, unreadable, due_at=due_at, definition={"name": "of another version"})
    await change_rule(database, readable, due_at=due_at)
    assert await ScheduleEvents(database).read() == 1
    await Engine(database).settle()
    assert await statuses(database, readable) == ["success"]


async def test_platform_is_read_from_now_on_where_its_cursor_lies_ahead(database: Database, owner: Principal):
    rule = await write_rule(database, owner, trigger_config={"event_type": "document.failed"})
    await change_rule(database, rule, created_at=utc_now() + AHEAD)
    async with unit_of_work(database) as work:
        work.session.add(EventCursor(name="platform", at=utc_now() + AHEAD))
    await PlatformEvents(database, LiveSettings(database, Settings(_env_file=None))).read()
    async with database.reading() as session:
        cursor = await session.get(EventCursor, "platform")
    # What happens while no process runs is found from here on.
    assert cursor is not None
    assert cursor.at <= utc_now()
    await write_document(database, owner, status="failed")
    await PlatformEvents(database, LiveSettings(database, Settings(_env_file=None))).read()
    assert [event.type for event in await events(database)] == ["document.failed"]
    await Engine(database).settle()
    assert len(await statuses(database, rule)) == 1
