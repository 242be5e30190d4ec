"""Work on a thread that stops when nobody waits for it."""

import asyncio
import threading
import time
from itertools import count

import pytest

from core.threads import CallerGone, StopFlag, run_stoppable
from ingestion.context import WorkerContext
from ingestion.splitters import SPLITTERS, SplitterEntry
from tests.fixtures.http.client import eventually
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import upload

pytestmark = pytest.mark.anyio


async def test_all_items_are_gone_through_while_somebody_waits():
    assert await run_stoppable(lambda stop: sum(stop.until(range(1000)))) == 499_500


async def test_who_is_cancelled_does_not_wait_and_the_thread_ends():
    begun, ended = threading.Event(), threading.Event()

    def work(stop: StopFlag) -> None:
        for _ in stop.until(count()):
            begun.set()
            time.sleep(0.001)
        ended.set()

    waiting = asyncio.create_task(run_stoppable(work))
    assert await asyncio.to_thread(begun.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(ended.wait, 10)


async def test_thread_waits_for_what_its_caller_s_loop_answers():
    async def answer() -> int:
        return 42

    async def refuse() -> int:
        raise LookupError

    assert await run_stoppable(lambda stop: stop.wait_for(answer)) == 42
    with pytest.raises(LookupError):
        await run_stoppable(lambda stop: stop.wait_for(refuse))


async def test_what_a_thread_waits_for_ends_with_its_caller():
    begun, cancelled, ended = asyncio.Event(), asyncio.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    def work(stop: StopFlag) -> None:
        with pytest.raises(CallerGone):
            stop.wait_for(endless)
        with pytest.raises(CallerGone):
            stop.wait_for(endless)
        ended.set()

    waiting = asyncio.create_task(run_stoppable(work))
    async with asyncio.timeout(10):
        await begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await cancelled.wait()
    assert await asyncio.to_thread(ended.wait, 10)


async def test_a_document_whose_work_is_taken_back_is_not_split_on(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    """A deletion, and a worker that ends, cancel the work."""
    alive, begun = 0.0, threading.Event()

    def endless(*_args: object, **_options: object):
        nonlocal alive
        for number in count():
            alive = time.monotonic()
            begun.set()
            time.sleep(0.001)
            yield number

    monkeypatch.setitem(SPLITTERS, "heading_recursive", SplitterEntry(lambda _: endless))
    document = await upload(context, b"# A\n\nA zebra sleeps.")
    work = asyncio.create_task(ingest(context, document.id))
    assert await asyncio.to_thread(begun.wait, 30)
    work.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait([work])
    eventually(lambda: time.monotonic() - alive > 0.5, seconds=10, what="the splitter stands still")
