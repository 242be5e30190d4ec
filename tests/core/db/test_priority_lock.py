"""A lock with an urgent and a patient lane."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.db.priority_lock import PriorityLock

pytestmark = pytest.mark.anyio


async def let_in(*lanes: bool, gone: frozenset[int] = frozenset()) -> list[int]:
    """In which order waiters of these lanes are let in, those that give up left out."""
    lock = PriorityLock()
    order: list[int] = []

    async def wait(number: int) -> None:
        await lock.acquire(urgent=lanes[number])
        order.append(number)
        await asyncio.sleep(0)
        lock.release()

    await lock.acquire(urgent=False)
    tasks = [asyncio.create_task(wait(number)) for number in range(len(lanes))]
    await asyncio.sleep(0)
    for number in gone:
        tasks[number].cancel()
    lock.release()
    await asyncio.gather(*tasks, return_exceptions=True)
    # Free again, whatever happened.
    await asyncio.wait_for(lock.acquire(urgent=False), 1)
    return order


async def test_urgent_waits_for_one_other_at_most():
    assert await let_in(False, False, False, True) == [3, 0, 1, 2]
    assert await let_in(False, False, True, True) == [2, 0, 3, 1]


async def test_lane_is_first_come_first_served():
    assert await let_in(False, False, False) == [0, 1, 2]


@given(lanes=st.lists(st.booleans(), max_size=12), gone=st.frozensets(st.integers(0, 11), max_size=6))
async def test_everybody_who_still_waits_is_let_in_once(lanes: list[bool], gone: frozenset[int]):
    left = frozenset(number for number in gone if number < len(lanes))
    order = await let_in(*lanes, gone=left)
    assert sorted(order) == sorted(set(range(len(lanes))) - left)


async def test_turn_that_came_as_its_waiter_gave_up_goes_to_the_next():
    lock = PriorityLock()
    await lock.acquire(urgent=False)
    first = asyncio.create_task(lock.acquire(urgent=True))
    second = asyncio.create_task(lock.acquire(urgent=False))
    await asyncio.sleep(0)
    lock.release()
    first.cancel()
    await asyncio.wait_for(second, 1)
    assert first.cancelled() or isinstance(
        (await asyncio.gather(first, return_exceptions=True))[0], asyncio.CancelledError
    )
