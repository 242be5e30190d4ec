"""The queries over the runs of a task: by an index, and no more rows than needed."""

import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import select

from agents.async_runs.thread_stream import _open_calls
from agents.models import AgentRun, ChatSession
from agents.runs import join, task_logs
from agents.sessions import service as sessions
from agents.tasks import service as tasks
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import ThreadBusy
from tests.agents.runs.helpers import register
from tests.agents.runs.test_interrupts import ASK_INPUT, Conversation, interrupts_of
from tests.fixtures.database.databases import one_database, statements_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def add_task(database: Database, principal: Principal, runs: int) -> list[AgentRun]:
    """A task that waited and went on in further runs, oldest first."""
    thread, now = ChatSession(owner_id=principal.user_id, thread_id="t"), utc_now()
    rows: list[AgentRun] = []
    for number in range(runs):
        row = AgentRun(
            owner_id=principal.user_id,
            run_id=f"r{number}",
            session_id=thread.id,
            agent_type="react",
            lease_owner="x",
            lease_until=now,
            created_at=now + timedelta(seconds=number),
        )
        row.task_id = rows[0].id if rows else row.id
        rows.append(row)
    async with unit_of_work(database) as work:
        work.session.add(thread)
        await work.session.flush()
        work.session.add_all(rows)
    return rows


def plan(database: Database, statement: str) -> str:
    with sqlite3.connect(str(database.engine.url.database)) as connection:
        asked = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * statement.count("?"))
        return "\n".join(str(row[-1]) for row in asked)


@one_database
async def test_no_question_about_a_task_reads_the_runs_of_everybody(database: Database, principal: Principal):
    first, second, last = await add_task(database, principal, 3)
    with statements_of(database) as sent:
        async with database.reading() as session:
            began, newest = await tasks.find_task(session, principal, "t", "r0")
            assert (await tasks.view(session, principal, "t", "r0")).status == "running"
            await task_logs.answered_call_ids(session, last)
            assert await task_logs.logs_before(session, last) == [[], []]
            await _open_calls(session, last)
        async with unit_of_work(database) as work:
            await tasks.delete_task(work, first)
    assert (began.id, newest.id) == (first.id, last.id)
    plans = [plan(database, statement) for statement in sent if "agent_run" in statement]
    assert len(plans) > 8
    assert not [steps for steps in plans if "SCAN agent_run" in steps]
    assert second.task_id == first.id


async def test_of_a_threads_runs_only_the_newest_is_loaded(database: Database, principal: Principal):
    *_, last = await add_task(database, principal, 3)
    loaded: list[str] = []

    def note(row: AgentRun, _context: object) -> None:
        loaded.append(row.run_id)

    event.listen(AgentRun, "load", note)
    try:
        async with database.reading() as session:
            thread = await session.get_one(ChatSession, last.session_id)
            await join.newest_run(session, thread)
        async with database.reading() as session:
            await tasks.find_task(session, principal, "t", "r0")
    finally:
        event.remove(AgentRun, "load", note)
    assert loaded == ["r2", "r0", "r2"]


@one_database
async def test_run_that_holds_the_thread_is_the_newest_whatever_clocks_say(database: Database, principal: Principal):
    holder, _, last = await add_task(database, principal, 3)
    async with unit_of_work(database) as work:
        thread = await work.session.get_one(ChatSession, last.session_id)
        thread.active_run_id = holder.id
    async with database.reading() as session:
        thread = await session.get_one(ChatSession, last.session_id)
        assert (await join.newest_run(session, thread)) == holder


async def test_answer_does_not_bring_a_deleted_session_back(database, principal, monkeypatch):
    talk = Conversation(database, principal)
    (interrupt,) = interrupts_of(await talk.ask(ASK_INPUT))
    plan = talk.runs._planner.plan

    async def plan_and_lose(*given: Any) -> Any:
        planned = await plan(*given)
        async with unit_of_work(database) as work:
            thread = await sessions.get(work.session, principal, talk.thread_id)
            await sessions.delete(work, [thread])
        return planned

    monkeypatch.setattr(talk.runs._planner, "plan", plan_and_lose)
    with pytest.raises(ThreadBusy):
        await talk.answer(interrupt, {"input": "a@example.com"})

    async with database.reading() as session:
        assert (await session.exec(select(ChatSession))).all() == []
