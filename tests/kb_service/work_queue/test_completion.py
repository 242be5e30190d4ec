"""The completion of an attempt: its writes, beside other writers."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest
from sqlmodel import col, select

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from kb_service.models import Chunk, Document
from kb_service.vector_index.protocol import point_id
from kb_service.work_queue import completion, leases
from kb_service.work_queue.completion import RevisionResult
from tests.fixtures.database.rows import PARSED, add_document

CHUNKS = 1000


def chunks_of(document: Document, count: int) -> Iterator[dict[str, object]]:
    for position in range(count):
        yield Chunk(
            id=point_id(document.id, document.revision, position),
            document_id=document.id,
            knowledge_base_id=document.knowledge_base_id,
            revision=document.revision,
            position=position,
            content=f"passage {position} 段落",
            heading_path=["Part", "一"],
        ).model_dump()


async def take(database: Database, document_id: str, *, owner: str = "worker-1") -> Document:
    async with unit_of_work(database) as work:
        rows = await leases.acquire(work, [document_id], owner=owner, seconds=20)
    (row,) = rows
    return row


@pytest.mark.anyio
async def test_finished_try_writes_every_chunk_and_lets_others_work_meanwhile(database):
    document = await take(database, await add_document(database))
    made, seen = 0, [0]

    def counted() -> Iterator[dict[str, object]]:
        nonlocal made
        for chunk in chunks_of(document, CHUNKS):
            made += 1
            yield chunk

    async def look() -> None:
        while True:
            seen.append(made)
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    outcome = RevisionResult(counted(), CHUNKS, parsed=PARSED | {"encoding": "utf-8"})
    async with unit_of_work(database) as work:
        lease = leases.lease_from_row(document)
        assert (await completion.commit_revisions(work, [(lease, outcome)]))[document.id]
    looking.cancel()
    # However many there are, the event loop comes round after each hundred.
    assert max(later - earlier for earlier, later in itertools.pairwise(seen)) <= 100
    async with database.reading() as session:
        rows = (await session.exec(select(Chunk).order_by(col(Chunk.position)))).all()
    assert [row.model_dump() for row in rows] == list(chunks_of(document, CHUNKS))


@pytest.mark.anyio
async def test_try_that_lost_its_lease_writes_nothing(database):
    document = await take(database, await add_document(database))
    lease = leases.lease_from_row(document)
    async with unit_of_work(database) as work:
        await leases.release_for_retry(work, lease)
    again = await take(database, document.id, owner="worker-2")
    outcome = RevisionResult(chunks_of(document, 3), 3, parsed=PARSED)
    async with unit_of_work(database) as work:
        switches = await completion.commit_revisions(work, [(lease, outcome)])
        assert switches == {document.id: None}
    async with database.reading() as session:
        assert (await session.exec(select(Chunk.id))).all() == []
        held = await session.get_one(Document, document.id)
    assert (held.lease_owner, held.attempt) == ("worker-2", again.attempt)
