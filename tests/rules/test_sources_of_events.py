"""Events of schedules and of the platform itself, and how long what they lead to is kept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col, select

from agents.models import AgentRun, ChatSession
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.runtime_config.live import LiveSettings
from core.settings import Settings
from kb_service.models import Document, KnowledgeBase
from rules.execution import retention
from rules.models import AcceptedEvent, EventCursor, Notification, Rule, RuleFiring
from rules.sources import schedule
from rules.sources.platform import PlatformEvents
from skills.models import Skill
from tests.agents.runs.helpers import register
from tests.fixtures.database.databases import one_database
from tests.rules.test_rule_engine import Engine, accept, joins, statuses, titles, write_rule

pytestmark = pytest.mark.anyio

EVERY_MINUTE = {"event_type": "schedule", "schedule": {"cron": "* * * * *", "timezone": "Asia/Shanghai"}}
DUE = {"type": "notify", "params": {"title": "Due {{due_at}}", "text": "Late: {{is_late}}"}}


@pytest.fixture
async def owner(database: Database) -> Principal:
    return await register(database)


async def change_rule(database: Database, rule: Rule, **values: Any) -> None:
    async with unit_of_work(database) as work:
        await work.session.exec(update(Rule).where(col(Rule.id) == rule.id).values(**values))


async def events(database: Database) -> list[AcceptedEvent]:
    async with database.reading() as session:
        return list((await session.exec(select(AcceptedEvent).order_by(col(AcceptedEvent.seq)))).all())


async def test_schedule_that_is_due_makes_one_event_and_is_due_again(database: Database, owner: Principal):
    rule = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    other = await write_rule(database, owner, trigger_config=EVERY_MINUTE, actions=[DUE])
    due_at = utc_now().replace(second=0, microsecond=0)
    await change_rule(database, rule, due_at=due_at)
    assert [await schedule.accept_due(database), await schedule.accept_due(database)] == [1, 0]
    await Engine(database).settle()
    assert await titles(database, owner) == [f"Due {due_at.isoformat()}"]
    assert [await statuses(database, found) for found in (rule, other)] == [["success"], []]
    async with database.reading() as session:
        stored = await session.get(Rule, rule.id)
    assert stored is not None
    assert stored.due_at is not None
    assert stored.due_at > due_at


@pytest.mark.parametrize(("catch_up_minutes", "expected"), [(0, 0), (120, 1)])
@one_database
async def test_missed_time_is_caught_up_on_once_within_its_minutes(
    database: Database, owner: Principal, catch_up_minutes: int, expected: int
):
    now = utc_now()
    missed = (now - timedelta(minutes=30)).replace(second=0, microsecond=0)
    cron = f"{missed.minute} {missed.hour} * * *"
    trigger = {"event_type": "schedule", "schedule": {"cron": cron, "catch_up_minutes": catch_up_minutes}}
    rule = await write_rule(database, owner, trigger_config=trigger, actions=[DUE])
    # The process stood still for days.
    await change_rule(database, rule, due_at=missed - timedelta(days=3))
    assert await schedule.accept_due(database) == expected
    found = [event.data for event in await events(database)]
    assert found == [{"due_at": missed.astimezone(UTC).isoformat(), "is_late": True}] * expected


async def write_document(database: Database, owner: Principal, **fields: Any) -> Document:
    async with unit_of_work(database) as work:
        base = KnowledgeBase(
            owner_id=owner.user_id,
            name=new_id(),
            name_key=new_id(),
            embedding_model="m",
            chunk_size=500,
            chunk_overlap=0,
        )
        work.session.add(base)
        await work.session.flush()
        document = Document(
            knowledge_base_id=base.id,
            name="report.md",
            file_type="md",
            media_type="text/markdown",
            file_size=1,
            sha256="0" * 64,
            storage_key=new_id(),
            **fields,
        )
        work.session.add(document)
    return document


async def platform(database: Database) -> list[tuple[str, str]]:
    """What one look at the tables finds, as types and ids."""
    await PlatformEvents(database, LiveSettings(database, Settings(_env_file=None))).read()
    return [(event.type, event.event_id) for event in await events(database)]


async def test_failed_document_is_an_event_for_its_owner_once(database: Database, owner: Principal):
    trigger = {"event_type": "document.failed"}
    notify = {"type": "notify", "params": {"title": "{{document.name}} failed: {{document.reason}}", "text": "Look."}}
    rule = await write_rule(database, owner, trigger_config=trigger, actions=[notify])
    before = await write_document(database, owner, status="failed", updated_at=utc_now() - timedelta(hours=1))
    assert await platform(database) == []
    document = await write_document(database, owner, status="failed", failure={"reason": "encrypted"}, attempt=3)
    stranger = await write_document(database, await register(database), status="failed")
    for _ in range(2):
        found = await platform(database)
    assert found == [("document.failed", f"document:{document.id}:1:3:failed")]
    assert before.id != stranger.id
    await Engine(database).settle()
    assert await titles(database, owner) == ["report.md failed: encrypted"]
    assert await statuses(database, rule) == ["success"]


@one_database
async def test_rule_does_not_act_on_what_happened_before_it_was_written(database: Database, owner: Principal):
    trigger = {"event_type": "document.failed"}
    first = await write_rule(database, owner, trigger_config=trigger)
    await platform(database)
    await write_document(database, owner, status="failed")
    later = await write_rule(database, owner, trigger_config=trigger)
    assert len(await platform(database)) == 1
    await Engine(database).settle()
    assert [len(await statuses(database, rule)) for rule in (first, later)] == [1, 0]


async def test_quota_that_is_near_already_is_said_to_a_rule_that_is_new(database: Database, owner: Principal):
    async with unit_of_work(database) as work:
        # The tables were read a moment before the rule was written.
        work.session.add(EventCursor(name="platform", at=utc_now() - timedelta(seconds=5)))
    rule = await write_rule(database, owner, trigger_config={"event_type": "quota.near"})
    await write_document(database, owner)
    live = LiveSettings(database, Settings(_env_file=None, user_quota_bytes=1))
    for _ in range(2):
        await PlatformEvents(database, live).read()
    await Engine(database).settle()
    assert len(await statuses(database, rule)) == 1


async def test_run_that_a_rule_started_does_not_start_it_again(database: Database, owner: Principal):
    rule = await write_rule(database, owner, trigger_config={"event_type": "run.finished"})
    await accept(database, joins(owner))
    other = await write_rule(database, owner)
    async with unit_of_work(database) as work:
        firing = RuleFiring(
            rule_id=rule.id,
            owner_id=owner.user_id,
            rule_version=1,
            event_seq=1,
            event={"chain": [other.id]},
            conditions_met=True,
            status="success",
        )
        thread = ChatSession(owner_id=owner.user_id, thread_id=new_id())
        work.session.add_all([firing, thread])
        await work.session.flush()
        run = AgentRun(
            owner_id=owner.user_id,
            run_id=f"rule:{firing.id}:0",
            session_id=thread.id,
            agent_type="react",
            lease_owner="",
            lease_until=utc_now(),
            status="completed",
            finished_at=utc_now() + timedelta(seconds=1),
        )
        work.session.add(run)
    await platform(database)
    (event,) = [event for event in await events(database) if event.type == "run.finished"]
    assert event.chain == [other.id, rule.id]
    await Engine(database).settle()
    assert await statuses(database, rule) == ["success", "loop"]


async def test_published_skill_and_lost_connection_are_not_read_where_no_rule_asks(
    database: Database, owner: Principal
):
    await write_rule(database, owner)
    await write_document(database, owner, status="failed")
    assert await platform(database) == []
    async with database.reading() as session:
        assert (await session.exec(select(Skill))).all() == []


@one_database
async def test_old_events_entries_and_notifications_go_and_open_ones_stay(database: Database, owner: Principal):
    rule, engine = await write_rule(database, owner), Engine(database)
    await accept(database, joins(owner), joins(owner))
    await engine.settle()
    await accept(database, joins(owner))
    await engine.dispatcher.decide_next()
    await accept(database, joins(owner))
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    async with unit_of_work(database) as work:
        await work.session.exec(update(AcceptedEvent).values(accepted_at=long_ago))
        await work.session.exec(update(RuleFiring).values(executed_at=long_ago))
        await work.session.exec(update(Notification).values(created_at=long_ago))
    await retention.delete_old(database, log_days=30)
    assert await statuses(database, rule) == ["pending"]
    assert [event.is_decided for event in await events(database)] == [False]
    assert await titles(database, owner) == []


@one_database
async def test_log_of_a_rule_keeps_its_newest_entries(database: Database, owner: Principal, monkeypatch):
    monkeypatch.setattr(retention, "MOST_FIRINGS", 3)
    rule = await write_rule(database, owner)
    for _ in range(5):
        await accept(database, joins(owner))
        await Engine(database).settle()
    await retention.delete_old(database, log_days=30)
    async with database.reading() as session:
        kept = (await session.exec(select(RuleFiring.event_seq).where(RuleFiring.rule_id == rule.id))).all()
    assert sorted(kept) == [3, 4, 5]
