"""The periodic work of a worker: it goes on after failures, and touches only own files."""

import asyncio

import pytest

from core.db.types import new_id
from ingestion.worker.main import _repeat  # pyright: ignore[reportPrivateUsage] # what is under test
from ingestion.worker.reconciler import OrphanSweep

pytestmark = pytest.mark.anyio


async def test_round_that_breaks_is_followed_by_the_next():
    rounds = 0
    reached = asyncio.Event()

    async def act() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            reached.set()
        raise ZeroDivisionError

    task = asyncio.create_task(_repeat(0, act))
    async with asyncio.timeout(30):
        await reached.wait()
    task.cancel()


async def test_sweep_removes_our_lost_files_and_no_others(context):
    async def content():
        yield b"bytes"

    ours, foreign = new_id(), "backup-2026-11-20"
    for key in (ours, foreign):
        await context.store.write(key, content())
    sweep = OrphanSweep(context)
    assert await sweep.run() == (0, 0)
    assert await sweep.run() == (0, 1)
    assert await sweep.run() == (0, 0)
    assert await context.store.keys() == [foreign]
