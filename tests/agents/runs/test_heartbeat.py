"""The heartbeat of runs: which watcher is told that a run has to end."""

import asyncio
from contextlib import ExitStack

import pytest

from agents.runs import driver
from agents.runs.driver import Heartbeat
from core.db.database import Database
from tests.fixtures.database.databases import one_database

pytestmark = pytest.mark.anyio


@one_database
async def test_who_watches_a_run_now_is_told_when_another_did_at_the_look(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []

    async def stop_preparing() -> None:
        told.append("preparing")

    async def stop_driving() -> None:
        told.append("driving")

    watching = Heartbeat(database, "here", asyncio.Lock())
    with ExitStack() as preparing, ExitStack() as driving:

        async def active_keys(*_: object) -> set[str]:
            # It was prepared while the database was asked.
            preparing.close()
            driving.enter_context(watching.watching("run", stop_driving))
            return set()

        monkeypatch.setattr(driver, "_active_keys", active_keys)
        preparing.enter_context(watching.watching("run", stop_preparing))
        await watching._look()
        await asyncio.gather(*watching._stopping)

    assert told == ["driving"]
