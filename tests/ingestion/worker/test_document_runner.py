"""The document runner: the next document, without any message, and fairly."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import col, select

from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from ingestion.context import WorkerContext
from ingestion.worker.document_runner import DocumentRunner
from ingestion.worker.reconciler import requeue_lost
from kb_service.documents import actions as document_actions
from kb_service.documents.actions import ActionName
from kb_service.models import Document, KnowledgeBase
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, reread, upload

pytestmark = pytest.mark.anyio
TEXT = b"# A\n\nSome text.\n"
PARTS = [b"## Part %d\n\n" % n + b"A sentence of a long text. " * 80 for n in range(45)]
LONG = b"# Long\n\n" + b"\n\n".join(PARTS)
# Too long for a batch of small ones.
SHORTER = b"# Shorter\n\n" + b"\n\n".join(PARTS[:15])


@asynccontextmanager
async def running(context: WorkerContext) -> AsyncIterator[DocumentRunner]:
    slots = DocumentRunner(context)
    task = asyncio.create_task(slots.run())
    yield slots
    task.cancel()
    await slots.stop(0)


async def rows_of(context: WorkerContext, kb_id: str) -> list[Document]:
    query = select(Document).where(col(Document.knowledge_base_id) == kb_id)
    async with context.database.reading() as session:
        return list((await session.exec(query)).all())


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 400) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - another process writes what is awaited
            await asyncio.sleep(0.02)


async def base(context: WorkerContext) -> str:
    async with unit_of_work(context.database) as work:
        return (await add_knowledge_base(work)).id


async def fill(context: WorkerContext, kb_id: str, count: int, content: bytes = TEXT) -> list[str]:
    return [(await upload(context, content, name=f"{new_id()}.md", kb_id=kb_id)).id for _ in range(count)]


def all_ended(context: WorkerContext, kb_id: str) -> Callable[[], Awaitable[bool]]:
    async def is_over() -> bool:
        rows = await rows_of(context, kb_id)
        return all(row.status in {"completed", "failed", "cancelled"} for row in rows)

    return is_over


async def test_documents_are_processed_though_every_message_was_lost(context: WorkerContext):
    """What an emptied Redis leaves: rows that wait, and no queue."""
    kb_id = await base(context)
    await fill(context, kb_id, 6)
    async with running(context):
        await until(all_ended(context, kb_id))
    assert {row.status for row in await rows_of(context, kb_id)} == {"completed"}
    assert {row.attempt for row in await rows_of(context, kb_id)} == {1}


async def test_two_workers_share_the_work_and_do_nothing_twice(context: WorkerContext):
    kb_id = await base(context)
    ids = await fill(context, kb_id, 8)
    second = replace(context, owner="worker-2", wake=asyncio.Event())
    async with running(context), running(second):
        await until(all_ended(context, kb_id))
    rows = await rows_of(context, kb_id)
    assert {(row.status, row.attempt) for row in rows} == {("completed", 1)}
    index = context.spaces.default.index
    assert [await index.count(document_id=id_) for id_ in ids] == [
        row.chunk_count for id_ in ids for row in rows if row.id == id_
    ]


@one_database
async def test_single_document_of_another_owner_does_not_wait_for_the_many(context: WorkerContext):
    many, one = await base(context), await base(context)
    await fill(context, many, 30, LONG)
    async with running(context):

        async def at_work() -> bool:
            return any(row.status == "processing" for row in await rows_of(context, many))

        await until(at_work)
        [single] = await fill(context, one, 1)
        context.wake.set()
        await until(all_ended(context, one))
        done = [row.status == "completed" for row in await rows_of(context, many)]
    assert (await reread(context.database, single)).status == "completed"
    assert sum(done) < 10


@one_database
async def test_one_owner_leaves_a_slot_free(context: WorkerContext):
    kb_id = await base(context)
    await fill(context, kb_id, 8, LONG)
    most = context.settings.ingest_concurrency - 1

    async def in_hand() -> int:
        return sum(row.status == "processing" for row in await rows_of(context, kb_id))

    async with running(context):

        async def all_it_may() -> bool:
            return await in_hand() == most

        await until(all_it_may)
        # And no more, as long as one looks.
        for _ in range(20):
            assert await in_hand() <= most
            await asyncio.sleep(0.02)


@one_database
async def test_last_attempt_at_an_interrupted_document_runs_alone(context: WorkerContext):
    """Whoever is in process beside a document that kills workers would be set aside with it."""
    kb_id = await base(context)
    ids = await fill(context, kb_id, 6, SHORTER)
    suspect = ids[2]
    await edit(context.database, suspect, attempt=context.settings.ingest_attempts - 1)
    seen: set[frozenset[str]] = set()

    async def is_over() -> bool:
        rows = await rows_of(context, kb_id)
        seen.add(frozenset(row.id for row in rows if row.status == "processing"))
        return all(row.status == "completed" for row in rows)

    async with running(context):
        await until(is_over)
    assert frozenset([suspect]) in seen
    assert not [group for group in seen if suspect in group and len(group) > 1]
    # The others are not slowed down.
    assert any(len(group) > 1 for group in seen)
    assert (await reread(context.database, suspect)).attempt == context.settings.ingest_attempts


@one_database
async def test_paused_knowledge_base_is_passed_over_and_what_is_in_hand_given_back(
    context: WorkerContext,
):
    kb_id = await base(context)
    [first, second] = await fill(context, kb_id, 2, SHORTER)
    async with running(context):

        async def both_at_work() -> bool:
            return all(row.status == "processing" for row in await rows_of(context, kb_id))

        await until(both_at_work)
        async with unit_of_work(context.database) as work:
            await document_actions.pause_all(work, await work.session.get_one(KnowledgeBase, kb_id))

        async def given_back() -> bool:
            rows = await rows_of(context, kb_id)
            return all((row.status, row.lease_owner) == ("pending", None) for row in rows)

        await until(given_back)
        assert {row.attempt for row in await rows_of(context, kb_id)} == {0}
        async with unit_of_work(context.database) as work:
            document_actions.resume_all(work, await work.session.get_one(KnowledgeBase, kb_id))
        await until(all_ended(context, kb_id))
    assert (await reread(context.database, first)).status == "completed"
    assert (await reread(context.database, second)).attempt == 1


@one_database
@pytest.mark.parametrize("action", [ActionName.CANCEL, ActionName.PAUSE])
async def test_document_cancelled_or_paused_in_work_is_given_up_promptly(context: WorkerContext, action: ActionName):
    kb_id = await base(context)
    [document_id] = await fill(context, kb_id, 1, LONG)
    index = context.spaces.default.index
    async with running(context):

        async def has_points() -> bool:
            return await index.count(document_id=document_id) > 0

        await until(has_points)
        async with unit_of_work(context.database) as work:
            await document_actions.apply_action(work, SYSTEM_VIEWER, action, kb_id, document_id)

        async def given_up() -> bool:
            return (await reread(context.database, document_id)).lease_owner is None

        await until(given_up, seconds=20)
        row = await reread(context.database, document_id)
        assert row.status == ("cancelled" if action is ActionName.CANCEL else "paused")
        if action is ActionName.CANCEL:
            assert await index.count(document_id=document_id) == 0
            following = ActionName.RETRY
        else:
            assert row.attempt == 0
            following = ActionName.RESUME
        async with unit_of_work(context.database) as work:
            await document_actions.apply_action(work, SYSTEM_VIEWER, following, kb_id, document_id)
        await until(all_ended(context, kb_id))
    row = await reread(context.database, document_id)
    assert (row.status, row.attempt) == ("completed", 1)
    assert await index.count(document_id=document_id) == row.chunk_count


@one_database
async def test_cancelled_document_of_a_dead_worker_is_cleared_by_the_reconciler(
    context: WorkerContext,
):
    kb_id = await base(context)
    [document_id] = await fill(context, kb_id, 1)
    await ingest(context, document_id)
    past = utc_now() - timedelta(seconds=1)
    dead = {"lease_owner": "dead", "lease_until": past, "active_revision": None}
    await edit(context.database, document_id, status="cancelled", **dead)
    await requeue_lost(context)
    assert await context.spaces.default.index.count(document_id=document_id) == 0
    assert (await reread(context.database, document_id)).lease_owner is None
