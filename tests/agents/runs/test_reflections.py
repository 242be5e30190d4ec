"""The reflections of a thread's earlier runs, given to later ones."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents import event_log
from agents.agui.encoder import AguiEncoder
from agents.events import PatchOperation, StateDelta, StateSnapshot
from agents.run_request import RunRequest
from agents.runs import finish, store
from agents.runs.builder import LONGEST_REFLECTION, MOST_REFLECTIONS, read_earlier
from agents.runs.store import StartedRun
from agents.strategies import REFLECTING
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import RunLost
from tests.agents.runs.helpers import make_request, plan_of, register

pytestmark = pytest.mark.anyio


async def add_reflecting_run(
    database: Database,
    principal: Principal,
    request: RunRequest,
    reflections: Sequence[str],
    agent_type: str = "reflexion",
) -> StartedRun:
    """A run that is over and has reflected, one reflection after another."""
    async with unit_of_work(database) as work:
        plan = plan_of(request, agent_type, seconds=-1)
        run = await store.start(work, principal, plan, recheck=True)
        mapper = AguiEncoder(run.thread_id, run.run_id, now=lambda: 1)
        told = [StateSnapshot({"reflections": ["sent by the caller"]})]
        for count in range(1, len(reflections) + 1):
            patch = PatchOperation("replace", "/reflections", [*reflections[:count]])
            told.append(StateDelta((patch,)))
        other = StateDelta((PatchOperation("add", "/evidence", ['"/reflections"']),))
        events = [wire for event in [*told, other] for wire in mapper.translate(event)]
        await event_log.append(work.session, run.key, [mapper.started(), *events])
    async with unit_of_work(database) as work:
        await finish.abort(work, run.key, RunLost(), if_lost=False)
    return run


async def earlier(database: Database, run: StartedRun) -> tuple[str, ...]:
    async with database.reading() as session:
        return await read_earlier(session, run, REFLECTING)


async def test_the_newest_reflections_of_other_tasks_are_given_cut(database: Database):
    principal = await register(database)
    thread = make_request().thread_id
    runs: list[StartedRun] = []
    for number in range(MOST_REFLECTIONS):
        said = [f"a{number}", f"b{number}" * (LONGEST_REFLECTION if number == 9 else 1)]
        request = replace(make_request(), thread_id=thread)
        runs.append(await add_reflecting_run(database, principal, request, said))
    later = await add_reflecting_run(database, principal, replace(make_request(), thread_id=thread), ["mine"])

    given = await earlier(database, later)
    assert given[:-1] == ("a5", "b5", "a6", "b6", "a7", "b7", "a8", "b8", "a9")
    assert given[-1].endswith("…")
    assert len(given[-1]) == LONGEST_REFLECTION
    # An interrupted task that goes on does not take its own for an earlier one's.
    went_on = replace(later, task_id=runs[-1].task_id)
    assert (await earlier(database, went_on))[-3:] == ("a8", "b8", "mine")


async def test_other_threads_other_people_and_other_types_give_none(database: Database):
    principal, somebody = await register(database), await register(database)
    request = make_request()
    await add_reflecting_run(database, principal, request, ["theirs"])
    own = await add_reflecting_run(database, principal, make_request(), ["mine"], agent_type="react")
    next_own = await add_reflecting_run(database, principal, replace(make_request(), thread_id=own.thread_id), ["mine"])
    foreign = await add_reflecting_run(
        database, somebody, replace(make_request(), thread_id=request.thread_id), ["foreign"]
    )

    assert await earlier(database, next_own) == ()
    assert await earlier(database, foreign) == ()
