"""The engine's scheduler: its thread and its lanes."""

import asyncio
import inspect
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from kb_service.embeddings.stepwise import WorkUnit
from kb_service.engine.scheduler import JobSteps, Scheduler

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def working_schedule(lanes: int = 1, patience: float = 0.02, rest: float = 0.0):
    """A schedule at work."""
    with ThreadPoolExecutor(1) as thread, ThreadPoolExecutor(lanes) as pool:
        schedule = Scheduler(thread, pool, lanes, patience=patience, rest=rest)
        working = asyncio.create_task(schedule.work())
        try:
            yield schedule
        finally:
            working.cancel()
            await asyncio.wait({working})


def divided(units: list[WorkUnit]) -> JobSteps:
    """A job of one step with these units."""
    yield units
    return "done"


def fail() -> None:
    """A unit that breaks."""
    raise ZeroDivisionError


def steps(order: list[str], name: str, count: int) -> Generator[None, None, object]:
    """A job that notes its name at each step."""
    for _ in range(count):
        order.append(name)
        time.sleep(0.002)
        yield
    return name


async def test_a_question_goes_before_the_next_step_of_an_ingestion_and_all_at_once():
    order: list[str] = []
    async with working_schedule() as schedule:
        ingesting = asyncio.create_task(schedule.run(steps(order, "i", 100), interactive=False))
        await asyncio.sleep(0.02)
        for _ in range(5):
            assert await schedule.run(steps(order, "q", 3), interactive=True) == "q"
        assert not ingesting.done()
        assert await ingesting == "i"
    text = "".join(order)
    assert text.count("qqq") == 5
    assert "qi" in text
    assert text.count("i") == 100


async def test_one_document_does_not_share_with_the_many_of_another_account():
    order: list[str] = []

    def units(name: str, count: int) -> list[WorkUnit]:
        def unit() -> None:
            order.append(name)
            time.sleep(0.002)

        return [unit] * count

    async with working_schedule(lanes=2) as schedule:

        def ingest(name: str, count: int) -> asyncio.Task[object]:
            work = schedule.run(divided(units(name, count)), interactive=False, account=name)
            return asyncio.create_task(work)

        many = [ingest("m", 1000) for _ in range(3)]
        await asyncio.sleep(0.05)
        await ingest("s", 30)
        first, last = order.index("s"), len(order) - order[::-1].index("s")
        # Beside it what was under way when it came; on a busy machine its credit is used up, and they share.
        assert order[first:last].count("m") <= 6 + 30
        # Nor did it wait for all that came before.
        assert order[:first].count("m") < 1500
        for each in many:
            each.cancel()


async def test_steps_of_one_account_do_not_wait_for_all_of_another():
    order: list[str] = []
    async with working_schedule() as schedule:
        many = [
            asyncio.create_task(schedule.run(steps(order, "m", 200), interactive=False, account="many"))
            for _ in range(4)
        ]
        await asyncio.sleep(0.05)
        await schedule.run(steps(order, "s", 10), interactive=False, account="single")
        first, last = order.index("s"), len(order) - order[::-1].index("s")
        # On a busy machine its credit is used up, and they share.
        assert order[first:last].count("m") <= 3 + 10
        # Nor did it wait for all that came before.
        assert order[:first].count("m") < 400
        assert [await job for job in many] == ["m"] * 4


def thread_name() -> JobSteps:
    """A job that says where it is done."""
    yield None
    return threading.current_thread().name


async def test_a_brief_question_is_answered_without_another_thread():
    here = threading.current_thread().name
    async with working_schedule() as schedule:
        assert await schedule.run(thread_name(), interactive=True, inline_ok=True) == here
        assert await schedule.run(thread_name(), interactive=True) != here
        with pytest.raises(ZeroDivisionError):
            await schedule.run(divided([fail]), interactive=True, inline_ok=True)


@pytest.mark.parametrize("is_unit", [False, True], ids=["a step", "a unit"])
async def test_a_brief_question_never_holds_up_the_event_loop_behind_something_else(is_unit: bool):
    begun, end = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        end.wait(10)

    def step() -> JobSteps:
        wait()
        yield None
        return "done"

    async with working_schedule() as schedule:
        ingesting = asyncio.create_task(schedule.run(divided([wait]) if is_unit else step(), interactive=False))
        await asyncio.to_thread(begun.wait, 10)
        asking = asyncio.create_task(schedule.run(thread_name(), interactive=True, inline_ok=True))
        # A unit leaves the thread free, a step does not.
        done, _ = await asyncio.wait({asking}, timeout=0.2)
        assert bool(done) is is_unit
        end.set()
        assert await asking != threading.current_thread().name
        assert await ingesting == "done"


async def test_ingestion_goes_on_under_questions_without_end():
    order: list[str] = []
    async with working_schedule() as schedule:

        async def ask() -> None:
            while True:
                await schedule.run(steps(order, "e", 1), interactive=True)
                await asyncio.sleep(0.01)

        asking = asyncio.create_task(ask())
        assert await schedule.run(steps(order, "i", 20), interactive=False) == "i"
        asking.cancel()
    assert order.count("e") > 1


async def test_ingestion_goes_on_where_many_ask_at_once_without_end():
    order: list[str] = []
    async with working_schedule() as schedule:

        async def ask() -> None:
            while True:
                await schedule.run(steps(order, "e", 1), interactive=True)

        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            asking = [group.create_task(ask()) for _ in range(4)]
            await asyncio.sleep(0.1)
            assert await schedule.run(steps(order, "i", 10), interactive=False) == "i"
            for task in asking:
                task.cancel()
    # Questions still go first: by far most of the time is theirs.
    assert order.count("e") > 10 * order.count("i")


async def test_long_steps_take_a_tenth_of_the_time_where_many_ask_without_end():
    def slowly(count: int) -> JobSteps:
        for _ in range(count):
            time.sleep(0.1)
            yield
        return "i"

    async with working_schedule() as schedule:

        async def ask() -> None:
            while True:
                await schedule.run(steps([], "e", 1), interactive=True)

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            asking = [group.create_task(ask()) for _ in range(4)]
            await asyncio.sleep(0.1)
            started = time.monotonic()
            assert await schedule.run(slowly(3), interactive=False) == "i"
            assert time.monotonic() - started > 1.5
            for task in asking:
                task.cancel()


async def test_units_of_one_job_run_side_by_side_before_it_goes_on():
    both = threading.Barrier(2)

    async with working_schedule(lanes=2) as schedule:
        # Each unit waits for the other: one lane alone would never get past the first.
        job = divided([lambda: both.wait(10) and None] * 6)
        assert await schedule.run(job, interactive=False) == "done"
    assert not both.broken


async def test_a_lane_goes_on_while_the_event_loop_is_busy():
    done = threading.Semaphore(0)
    async with working_schedule() as schedule:
        job = divided([done.release] * 50)
        ingesting = asyncio.create_task(schedule.run(job, interactive=False))
        await asyncio.to_thread(done.acquire)
        # On the event loop's own thread: whoever needed it would wait for this to end.
        assert all(done.acquire(timeout=10) for _ in range(49))
        assert await ingesting == "done"


async def test_jobs_share_a_lane_unit_by_unit():
    order: list[str] = []
    begin = threading.Event()

    def units(name: str) -> list[WorkUnit]:
        return [lambda: begin.wait(10) and order.append(name)] * 20

    async with working_schedule() as schedule:
        jobs = [asyncio.create_task(schedule.run(divided(units(name)), interactive=False)) for name in "ab"]
        await asyncio.sleep(0.1)
        begin.set()
        await asyncio.gather(*jobs)
    # The first may have begun before the second came.
    assert "".join(order[:20]).count("b") >= 9


async def test_a_question_does_not_wait_for_the_units_of_an_ingestion():
    free = threading.Event()
    async with working_schedule() as schedule:
        slow = asyncio.create_task(schedule.run(divided([lambda: free.wait(10) and None]), interactive=False))
        await asyncio.sleep(0.05)
        asked = divided([lambda: None])
        assert await asyncio.wait_for(schedule.run(asked, interactive=True), 5) == "done"
        assert not slow.done()
        free.set()
        assert await slow == "done"


async def test_no_lane_begins_a_unit_while_a_question_is_answered():
    asked, free = threading.Event(), threading.Event()
    done: list[int] = []

    def answer() -> None:
        asked.set()
        free.wait(10)

    async with working_schedule(patience=60) as schedule:
        units: list[WorkUnit] = [lambda: asked.wait(10) and None, *[lambda: done.append(1)] * 5]
        ingesting = asyncio.create_task(schedule.run(divided(units), interactive=False))
        await asyncio.sleep(0.05)
        asking = asyncio.create_task(schedule.run(divided([answer]), interactive=True))
        await asyncio.sleep(0.1)
        assert asked.is_set()
        assert not done
        free.set()
        assert await asking == await ingesting == "done"
    assert len(done) == 5


async def test_units_are_done_under_a_question_that_does_not_end():
    asked, worked_off = threading.Event(), threading.Event()
    results: list[bool] = []

    def answer() -> None:
        asked.set()
        results.append(worked_off.wait(10))

    async with working_schedule(patience=0.001) as schedule:
        units: list[WorkUnit] = [lambda: asked.wait(10) and None, lambda: None, worked_off.set]
        ingesting = asyncio.create_task(schedule.run(divided(units), interactive=False))
        await asyncio.sleep(0.05)
        assert await schedule.run(divided([answer]), interactive=True) == "done"
        assert await ingesting == "done"
    assert results == [True]


async def test_one_lane_of_several_rests_while_questions_come():
    guard, at_once, most = threading.Lock(), 0, 0

    def unit() -> None:
        nonlocal at_once, most
        with guard:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.005)
        with guard:
            at_once -= 1

    async with working_schedule(lanes=3, rest=60) as schedule:
        before = divided([unit] * 30)
        assert await schedule.run(before, interactive=False) == "done"
        assert most == 3
        assert await schedule.run(divided([lambda: None]), interactive=True) == "done"
        most = 0
        assert await schedule.run(divided([unit] * 30), interactive=False) == "done"
    assert most == 2


async def test_all_lanes_work_again_when_no_question_has_come_for_a_while():
    both = threading.Barrier(2)
    async with working_schedule(lanes=2, rest=0.2) as schedule:
        assert await schedule.run(divided([lambda: None]), interactive=True) == "done"
        job = divided([lambda: both.wait(10) and None] * 2)
        assert await schedule.run(job, interactive=False) == "done"
    assert not both.broken


async def test_a_lane_that_is_alone_never_rests():
    async with working_schedule(rest=60) as schedule:
        assert await schedule.run(divided([lambda: None]), interactive=True) == "done"
        assert await schedule.run(divided([lambda: None] * 5), interactive=False) == "done"


async def test_a_unit_that_fails_ends_its_own_job_only():
    async with working_schedule(lanes=2) as schedule:
        with pytest.raises(ZeroDivisionError):
            await schedule.run(divided([fail, *[lambda: None] * 5]), interactive=False)
        assert await schedule.run(divided([lambda: None] * 5), interactive=False) == "done"
        assert schedule.waiting == 0


async def test_the_units_of_a_caller_who_left_are_dropped():
    done: list[int] = []
    free = threading.Event()

    def unit() -> None:
        free.wait(10)
        done.append(1)

    async with working_schedule() as schedule:
        job = divided([unit] * 50)
        left = asyncio.create_task(schedule.run(job, interactive=False))
        await asyncio.sleep(0.05)
        left.cancel()
        await asyncio.wait({left})
        free.set()
        assert await schedule.run(divided([lambda: None]), interactive=False) == "done"
        assert schedule.waiting == 0
    assert len(done) <= 1
    assert inspect.getgeneratorstate(job) == inspect.GEN_CLOSED
