"""Fencing by leases: one worker for each document, and a lost lease writes nothing."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from annotated_types import Le
from sqlmodel import col, select

from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.settings import Settings
from kb_service.models import Chunk, Document, DocumentStage
from kb_service.vector_index.protocol import point_id
from kb_service.work_queue import completion, job_leases, leases
from kb_service.work_queue.completion import RevisionResult
from kb_service.work_queue.leases import Lease
from tests.fixtures.database.rows import PARSED, add_document
from tests.fixtures.knowledge.stored_documents import edit, reread

pytestmark = pytest.mark.anyio
LATER = timedelta(seconds=60)
WORDS = {"reason": "corrupt_file"}


@pytest.fixture
async def doc_id(database: Database) -> str:
    return await add_document(database)


async def take(database: Database, document_id: str, owner: str = "one", seconds: float = 60) -> Lease | None:
    async with unit_of_work(database) as work:
        rows = await leases.acquire(work, [document_id], owner=owner, seconds=seconds)
    return next(map(leases.lease_from_row, rows), None)


async def must_take(database: Database, document_id: str, owner: str = "one", seconds: float = 60) -> Lease:
    lease = await take(database, document_id, owner, seconds)
    assert lease is not None
    return lease


def outcome(lease: Lease, *texts: str) -> RevisionResult:
    def chunks() -> Iterator[dict[str, object]]:
        for number, text in enumerate(texts):
            yield Chunk(
                id=point_id(lease.document_id, lease.revision, number),
                document_id=lease.document_id,
                knowledge_base_id="kb",
                revision=lease.revision,
                position=number,
                content=text,
            ).model_dump()

    return RevisionResult(chunks(), len(texts), parsed=PARSED | {"encoding": "utf-8"})


async def commit(work: UnitOfWork, lease: Lease, result: RevisionResult) -> bool:
    switches = await completion.commit_revisions(work, [(lease, result)])
    return switches[lease.document_id] is not None


async def complete(database: Database, lease: Lease, *texts: str) -> bool:
    async with unit_of_work(database) as work:
        return await commit(work, lease, outcome(lease, *texts))


async def texts_of(database: Database, document_id: str) -> list[str]:
    query = select(Chunk).where(Chunk.document_id == document_id).order_by(col(Chunk.position))
    async with database.reading() as session:
        return [row.content for row in (await session.exec(query)).all()]


async def test_lease_counts_the_try_and_marks_the_row(database: Database, doc_id: str):
    lease = await must_take(database, doc_id)
    assert lease == Lease(doc_id, 1, 1, "one")
    row = await reread(database, doc_id)
    assert (row.status, row.stage, row.attempt) == ("processing", "parsing", 1)
    assert row.lease_until is not None
    assert row.lease_until > utc_now() + timedelta(seconds=30)


async def test_held_document_can_not_be_taken_until_the_lease_ends(database: Database, doc_id: str):
    assert await take(database, doc_id, "one") is not None
    assert await take(database, doc_id, "two") is None
    assert await take(database, doc_id, "one") is None
    await edit(database, doc_id, lease_until=utc_now() - timedelta(seconds=1))
    # A revision of its own: whoever held it may wake in the middle of writing the old one.
    assert await take(database, doc_id, "two") == Lease(doc_id, 2, 2, "two")


async def test_longest_lease_that_can_be_set_is_one(database: Database, doc_id: str):
    bounds = Settings.model_fields["lease_seconds"].metadata
    (longest,) = (bound.le for bound in bounds if isinstance(bound, Le))
    assert timedelta(seconds=longest) == leases.LONGEST_LEASE == job_leases.LONGEST_LEASE
    await must_take(database, doc_id, seconds=longest)
    assert await take(database, doc_id, "two") is None


async def test_one_of_many_simultaneous_workers_gets_the_lease(database: Database, doc_id: str):
    names = [f"worker-{number}" for number in range(6)]
    got = await asyncio.gather(*(take(database, doc_id, name) for name in names))
    assert len([lease for lease in got if lease is not None]) == 1
    assert (await reread(database, doc_id)).attempt == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "completed"},
        {"status": "failed"},
        {"deleted_at": utc_now()},
        {"retry_at": timedelta(minutes=1)},
    ],
)
async def test_document_with_nothing_to_do_can_not_be_taken(
    database: Database, doc_id: str, changes: dict[str, object]
):
    now = utc_now()
    later = {name: now + one if isinstance(one, timedelta) else one for name, one in changes.items()}
    await edit(database, doc_id, **later)
    assert await take(database, doc_id) is None
    assert await take(database, "no such document") is None


async def test_due_retry_can_be_taken(database: Database, doc_id: str):
    await edit(database, doc_id, retry_at=utc_now() - timedelta(seconds=1))
    assert await take(database, doc_id) is not None
    assert (await reread(database, doc_id)).retry_at is None


async def test_advance_renews_the_lease_and_says_how_far_it_is(database: Database, doc_id: str):
    lease = await must_take(database, doc_id, seconds=1)
    stage = DocumentStage.EMBEDDING
    async with unit_of_work(database) as work:
        assert await leases.renew(work, [lease], seconds=60, stage=stage, progress=40)
    row = await reread(database, doc_id)
    assert (row.stage, row.progress) == ("embedding", 40)
    assert row.lease_until is not None
    assert row.lease_until > utc_now() + timedelta(seconds=30)


async def test_several_leases_are_renewed_together_and_those_that_were_lost_are_not(database: Database, doc_id: str):
    lease = await must_take(database, doc_id, seconds=1)
    lost = replace(lease, revision=lease.revision + 1)
    async with unit_of_work(database) as work:
        assert await leases.renew(work, [lost, lease], seconds=60, progress=40)
        assert not await leases.renew(work, [lost, lost], seconds=600, progress=99)
    row = await reread(database, doc_id)
    assert row.progress == 40
    assert row.lease_until is not None
    assert utc_now() + timedelta(seconds=30) < row.lease_until < utc_now() + timedelta(seconds=90)


async def test_completion_flips_the_revision_and_frees_the_row(database: Database, doc_id: str):
    assert await complete(database, await must_take(database, doc_id), "first", "second")
    row = await reread(database, doc_id)
    assert (row.status, row.stage, row.progress) == ("completed", "done", 100)
    assert (row.active_revision, row.chunk_count, row.encoding) == (1, 2, "utf-8")
    assert (row.lease_owner, row.lease_until) == (None, None)
    assert await texts_of(database, doc_id) == ["first", "second"]


async def test_new_revision_replaces_the_chunks(database: Database, doc_id: str):
    await complete(database, await must_take(database, doc_id), "old", "old too")
    await edit(database, doc_id, status="pending", revision=2, attempt=0)
    lease = await must_take(database, doc_id)
    assert lease.revision == 2
    assert await texts_of(database, doc_id) == ["old", "old too"]
    assert await complete(database, lease, "new")
    assert await texts_of(database, doc_id) == ["new"]
    assert (await reread(database, doc_id)).active_revision == 2


@pytest.mark.parametrize("loss", ["another worker", "deleted", "new revision"])
async def test_worker_that_lost_its_lease_changes_nothing(database: Database, doc_id: str, loss: str):
    zombie = await must_take(database, doc_id, owner="zombie")
    if loss == "deleted":
        await edit(database, doc_id, deleted_at=utc_now())
    elif loss == "new revision":
        await edit(database, doc_id, revision=2)
    else:
        await edit(database, doc_id, lease_until=utc_now() - timedelta(seconds=1))
        assert await take(database, doc_id, "other") is not None
    before = await reread(database, doc_id)
    async with unit_of_work(database) as work:
        assert not await leases.renew(work, [zombie], seconds=60, progress=99)
        assert not await commit(work, zombie, outcome(zombie, "text of a zombie"))
        assert not await leases.fail(work, zombie, WORDS)
        assert not await leases.reschedule(work, zombie, WORDS, retry_at=utc_now(), attempt=0)
        assert not await leases.release_for_retry(work, zombie)
    assert await reread(database, doc_id) == before
    assert await texts_of(database, doc_id) == []


async def test_worker_does_not_write_for_its_own_earlier_try(database: Database, doc_id: str):
    first = await must_take(database, doc_id, seconds=-1)
    second = await must_take(database, doc_id)
    assert (first.owner, first.attempt, second.attempt) == ("one", 1, 2)
    assert not await complete(database, first, "late")
    assert await complete(database, second, "right")
    assert await texts_of(database, doc_id) == ["right"]


async def test_failure_keeps_its_reason_and_frees_the_row(database: Database, doc_id: str):
    lease = await must_take(database, doc_id)
    async with unit_of_work(database) as work:
        assert await leases.fail(work, lease, WORDS)
    row = await reread(database, doc_id)
    assert (row.status, row.failure, row.lease_owner, row.lease_until) == (
        "failed",
        WORDS,
        None,
        None,
    )


async def test_postponed_document_waits_for_its_time(database: Database, doc_id: str):
    lease = await must_take(database, doc_id)
    at = utc_now() + LATER
    async with unit_of_work(database) as work:
        assert await leases.reschedule(work, lease, WORDS, retry_at=at, attempt=0)
    row = await reread(database, doc_id)
    assert (row.status, row.stage, row.attempt, row.retry_at) == ("pending", "queued", 0, at)
    assert await take(database, doc_id) is None


async def test_handing_back_is_no_try(database: Database, doc_id: str):
    lease = await must_take(database, doc_id)
    async with unit_of_work(database) as work:
        assert await leases.release_for_retry(work, lease)
    assert (await must_take(database, doc_id, owner="two")).attempt == 1


async def test_letting_go_of_a_deleted_document_frees_it_for_erasure(database: Database, doc_id: str):
    lease = await must_take(database, doc_id)
    await edit(database, doc_id, deleted_at=utc_now())
    async with unit_of_work(database) as work:
        await leases.release(work, lease)
    assert (await reread(database, doc_id)).lease_until is None


async def test_letting_go_leaves_another_workers_lease(database: Database, doc_id: str):
    zombie = await must_take(database, doc_id, owner="zombie", seconds=-1)
    await must_take(database, doc_id, owner="other")
    async with unit_of_work(database) as work:
        await leases.release(work, zombie)
    assert (await reread(database, doc_id)).lease_owner == "other"


_MOMENT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    "ahead",
    [
        None,
        *(-_MOMENT, timedelta(0), _MOMENT, LATER),
        *(leases.LONGEST_LEASE + step for step in (-_MOMENT, timedelta(0), _MOMENT)),
    ],
)
async def test_document_is_held_just_when_it_is_not_free(database: Database, doc_id: str, ahead: timedelta | None):
    now = utc_now()
    await edit(database, doc_id, lease_until=None if ahead is None else now + ahead)
    free = select(Document.id).where(leases.is_free(now, now + leases.LONGEST_LEASE))
    async with database.reading() as session:
        is_free = (await session.exec(free)).first() is not None
    assert leases.is_held(await reread(database, doc_id), now) == (not is_free)
