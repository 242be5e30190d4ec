"""The reconciler: queue, index and files come back in line with SQL."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from redis.asyncio import Redis
from sqlmodel import select

from core.db.outbox import OutboxJob
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.server import VectorIndexUnavailable
from core.redis.jobs import QUEUE_NAME, JobQueue
from ingestion.context import WorkerContext
from ingestion.worker.reconciler import OrphanSweep, requeue_lost
from kb_service.documents import jobs as document_jobs
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, KnowledgeBase
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, point_id
from tests.fixtures.knowledge.stored_documents import blocks, edit, reread, upload
from tests.fixtures.knowledge.worker_context import beside_unopened

pytestmark = pytest.mark.anyio
TEXT = b"# A\n\nSome text.\n"
LONG_AGO = timedelta(minutes=5)


async def age(context: WorkerContext, document_id: str, **changes: object) -> None:
    """Make a row look as if nothing had happened to it for a while."""
    await edit(context.database, document_id, updated_at=utc_now() - LONG_AGO, **changes)


async def outbox(context: WorkerContext) -> list[OutboxJob]:
    async with context.database.reading() as session:
        return list((await session.exec(select(OutboxJob))).all())


async def empty_outbox(context: WorkerContext) -> None:
    async with unit_of_work(context.database) as work:
        for job in (await work.session.exec(select(OutboxJob))).all():
            await work.session.delete(job)


async def erasure(context: WorkerContext) -> str:
    """The key of an erasure that was just written into the outbox."""
    document = await upload(context, TEXT)
    async with unit_of_work(context.database) as work:
        document_jobs.enqueue_erase(work, document.id)
    return document_jobs.erase_key(document.id)


async def add_lost_document(context: WorkerContext, **changes: object) -> Document:
    """A document that was last heard of a while ago."""
    document = await upload(context, TEXT)
    await age(context, document.id, **changes)
    return document


async def test_expired_lease_lets_the_document_wait_and_says_why(context: WorkerContext):
    past = utc_now() - timedelta(seconds=1)
    changes = {"status": "processing", "attempt": 2, "lease_owner": "dead", "lease_until": past}
    document = await add_lost_document(context, **changes)
    await requeue_lost(context)
    row = await reread(context.database, document.id)
    assert (row.status, row.stage, row.attempt, row.lease_owner) == ("pending", "queued", 2, "dead")
    assert row.failure is not None
    assert row.failure["reason"] == "worker_lost"
    assert row.failure["next_action_zh"]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "completed"},
        {"status": "failed"},
        {"lease_until": timedelta(minutes=1), "status": "processing"},
        {"retry_at": timedelta(minutes=1)},
    ],
)
async def test_document_that_waits_for_nothing_is_left_alone(context: WorkerContext, changes: dict[str, object]):
    now = utc_now()
    later = {name: now + one if isinstance(one, timedelta) else one for name, one in changes.items()}
    document = await add_lost_document(context, **later)
    before = await reread(context.database, document.id)
    assert await requeue_lost(context) == 0
    assert await reread(context.database, document.id) == before


async def test_leases_are_not_judged_by_a_clock_that_was_just_set(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    await requeue_lost(context)
    past = utc_now() - timedelta(seconds=1)
    changes = {"status": "processing", "lease_owner": "alive", "lease_until": past}
    document = await add_lost_document(context, **changes)
    # The monotonic clock stands still while the other goes on: that is how a jump looks.
    stopped = time.monotonic() - 3600
    monkeypatch.setattr("core.clock_skew.time.monotonic", lambda: stopped)
    await requeue_lost(context)
    assert (await reread(context.database, document.id)).lease_owner == "alive"
    monkeypatch.setattr("core.clock_skew.time.monotonic", lambda: stopped + 1)
    await requeue_lost(context)
    assert (await reread(context.database, document.id)).lease_owner == "alive"


async def test_outbox_left_by_a_crash_is_pushed(context: WorkerContext):
    key = await erasure(context)
    assert await context.queue.sweep() == 0
    assert len(await outbox(context)) == 1
    async with unit_of_work(context.database) as work:
        for job in (await work.session.exec(select(OutboxJob))).all():
            job.created_at = utc_now() - LONG_AGO
    await requeue_lost(context)
    assert await outbox(context) == []
    assert await context.queue.queued_keys() == {key}
    assert await requeue_lost(context) == 0


async def test_redis_that_is_down_leaves_the_jobs_in_the_outbox(context: WorkerContext, tmp_path: Path):
    await erasure(context)
    jobs = await outbox(context)
    async with Redis(unix_socket_path=str(tmp_path / "nobody.sock")) as nobody:
        await JobQueue(context.database, nobody).push(jobs)
    assert len(await outbox(context)) == 1
    await context.queue.push(jobs)
    assert await outbox(context) == []


async def test_job_of_a_dead_worker_is_freed_and_one_in_hand_is_not(context: WorkerContext, redis: Redis):
    keys = [await erasure(context) for _ in range(2)]
    for key in keys:
        await redis.set(f"arq:in-progress:{key}", "1")
    await context.queue.push(await outbox(context))
    shown = keys[1]
    await redis.set(f"agentex:running:{shown}", "1")
    assert await context.queue.release_abandoned() == 1
    left = [key.decode() async for key in redis.scan_iter("arq:in-progress:*")]
    assert left == [f"arq:in-progress:{shown}"]
    assert await redis.zcard(QUEUE_NAME) == 2


async def test_job_that_was_taken_a_moment_ago_is_not_freed(context: WorkerContext, redis: Redis):
    key = await erasure(context)
    await context.queue.push(await outbox(context))
    await redis.set(f"arq:in-progress:{key}", "1")
    freeing = asyncio.create_task(context.queue.release_abandoned())
    await asyncio.sleep(0.3)
    await redis.set(f"agentex:running:{key}", "1")
    assert await freeing == 0
    assert await redis.exists(f"arq:in-progress:{key}")


async def test_forgotten_deletions_are_queued_again(context: WorkerContext):
    document, other = await upload(context, TEXT), await upload(context, TEXT)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, other.knowledge_base_id)
        await knowledge_bases.delete(work, row)
    await empty_outbox(context)
    past = utc_now() - LONG_AGO
    await edit(context.database, document.id, deleted_at=past)
    await edit(context.database, other.id, deleted_at=past)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, other.knowledge_base_id)
        row.deleted_at = past
    # A knowledge base takes its documents along.
    assert await requeue_lost(context) == 2
    assert await context.queue.queued_keys() == {
        f"document.erase:{document.id}",
        f"knowledge_base.erase:{other.knowledge_base_id}",
    }
    assert await requeue_lost(context) == 0


async def test_forgotten_deletions_do_not_wait_for_an_index_that_is_down(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    await add_lost_document(context, status="cancelled", lease_owner="dead")
    deleted = await add_lost_document(context, deleted_at=utc_now() - LONG_AGO)

    async def is_down(*_: object, **__: object) -> None:
        raise VectorIndexUnavailable(reason="test")

    monkeypatch.setattr(context.spaces.default.index, "delete_documents", is_down)
    assert await requeue_lost(context) == 1
    assert await context.queue.queued_keys() == {document_jobs.erase_key(deleted.id)}


def point(document_id: str, index: int = 0, *, revision: int = 1) -> ChunkPoint:
    return ChunkPoint(
        id=point_id(document_id, revision, index),
        kb_id="kb",
        document_id=document_id,
        revision=revision,
        index=index,
        dense=np.full(384, 0.05, np.float32),
        sparse=SparseVector((1, 2), (0.5, 0.5)),
    )


async def test_points_without_a_document_are_removed_and_others_stay(context: WorkerContext):
    known = await upload(context, TEXT)
    await context.spaces.default.index.upsert([point(known.id), point("stranger"), point("stranger", 1)])
    sweep = OrphanSweep(context)
    assert (await sweep.run())[0] == 1
    assert await context.spaces.default.index.count(document_id="stranger") == 0
    assert await context.spaces.default.index.count(document_id=known.id) == 1
    assert await sweep.run() == (0, 0)


async def test_index_that_could_not_be_opened_stops_no_sweep(context: WorkerContext):
    await context.spaces.default.index.upsert([point("stranger")])
    lost = new_id()
    await context.store.write(lost, blocks(b"left by a crash"))
    sweep = OrphanSweep(beside_unopened(context))
    assert await sweep.run() == (1, 0)
    assert await sweep.run() == (0, 1)


async def test_file_without_a_row_is_removed_at_the_second_sight(context: WorkerContext):
    known, lost, late = await upload(context, TEXT), new_id(), new_id()
    await context.store.write(lost, blocks(b"left by a crash"))
    sweep = OrphanSweep(context)
    assert await sweep.run() == (0, 0)
    # An upload under way looks like this: its row comes a moment later.
    await context.store.write(late, blocks(b"on its way"))
    assert await sweep.run() == (0, 1)
    assert set(await context.store.keys()) == {known.storage_key, late}
    await edit(context.database, known.id, storage_key=late)
    assert await sweep.run() == (0, 0)
    assert set(await context.store.keys()) == {known.storage_key, late}
    assert await sweep.run() == (0, 1)
    assert await sweep.run() == (0, 0)
    assert (await reread(context.database, known.id)).storage_key == late


async def test_files_of_deleted_documents_are_left_to_their_erasure(context: WorkerContext):
    document = await upload(context, TEXT)
    await edit(context.database, document.id, deleted_at=utc_now())
    sweep = OrphanSweep(context)
    assert await sweep.run() == await sweep.run() == (0, 0)
    assert await context.store.keys() == [document.storage_key]


async def test_points_of_a_revision_that_nothing_shows_are_swept(context: WorkerContext):
    document = await upload(context, TEXT)
    await edit(context.database, document.id, status="completed", revision=2, active_revision=2)
    for revision in (1, 2):
        await context.spaces.default.index.upsert([point(document.id, revision=revision)])
    assert await OrphanSweep(context).run() == (1, 0)
    kept = [entry for entry in await context.spaces.default.index.documents() if entry.document_id == document.id]
    assert [(entry.revision, entry.count) for entry in kept] == [(2, 1)]


async def test_points_of_a_revision_in_work_stay(context: WorkerContext):
    document = await upload(context, TEXT)
    await edit(context.database, document.id, status="processing", revision=2, active_revision=1)
    for revision in (1, 2):
        await context.spaces.default.index.upsert([point(document.id, revision=revision)])
    assert await OrphanSweep(context).run() == (0, 0)
