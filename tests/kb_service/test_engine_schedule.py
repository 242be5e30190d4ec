"""The engine's one thread: who goes first."""

import asyncio
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kb_service.engine.schedule import Schedule

pytestmark = pytest.mark.anyio


def steps(order: list[str], name: str, count: int) -> Generator[None, None, object]:
    """A job that notes its name at each step."""
    for _ in range(count):
        order.append(name)
        time.sleep(0.002)
        yield
    return name


async def test_both_halves_of_a_search_go_before_the_next_step_of_an_ingestion():
    order: list[str] = []
    with ThreadPoolExecutor(1) as thread:
        schedule = Schedule(thread)
        working = asyncio.create_task(schedule.work())
        ingesting = asyncio.create_task(schedule.run(steps(order, "i", 100), urgent=False))
        await asyncio.sleep(0.02)
        for _ in range(5):
            assert await schedule.run(steps(order, "e", 1), urgent=True) == "e"
            assert await schedule.run(steps(order, "q", 1), urgent=True) == "q"
        assert not ingesting.done()
        assert await ingesting == "i"
        working.cancel()
    text = "".join(order)
    assert text.count("eq") == 5
    # What comes after a search is not held up for more searches.
    assert "qi" in text
    assert text.count("i") == 100


async def test_ingestion_goes_on_under_questions_without_end():
    order: list[str] = []
    with ThreadPoolExecutor(1) as thread:
        schedule = Schedule(thread)
        working = asyncio.create_task(schedule.work())

        async def ask() -> None:
            while True:
                await schedule.run(steps(order, "e", 1), urgent=True)
                await asyncio.sleep(0.01)

        asking = asyncio.create_task(ask())
        assert await schedule.run(steps(order, "i", 20), urgent=False) == "i"
        asking.cancel()
        working.cancel()
    assert order.count("e") > 1
