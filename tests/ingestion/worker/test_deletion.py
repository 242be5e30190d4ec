"""The deletion job: it can stop anywhere and be run again."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func
from sqlmodel import select

from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.server import VectorIndexUnavailable
from ingestion.context import WorkerContext
from ingestion.worker.deletion import erase_document, erase_knowledge_base
from kb_service.documents import actions as document_actions
from kb_service.documents.actions import ActionName
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.object_storage.protocol import ObjectStore
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, reread, upload
from tests.fixtures.knowledge.worker_context import beside_unopened

pytestmark = pytest.mark.anyio
TEXT = b"# A\n\nSome text about zebras.\n"


async def count(context: WorkerContext, table: type[Document | Chunk | KnowledgeBase]) -> int:
    async with context.database.reading() as session:
        return (await session.exec(select(func.count()).select_from(table))).one()


async def delete(context: WorkerContext, document_id: str) -> None:
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(Document, document_id)
        await document_actions.apply_action(work, SYSTEM_VIEWER, ActionName.DELETE, row.knowledge_base_id, document_id)


async def ingest_document(context: WorkerContext, *, kb_id: str | None = None) -> Document:
    document = await upload(context, TEXT, name=f"{new_id()}.md", kb_id=kb_id)
    await ingest(context, document.id)
    assert await context.spaces.default.index.count(document_id=document.id) > 0
    return await reread(context.database, document.id)


async def test_deleted_document_leaves_nothing_and_its_neighbour_stays(context: WorkerContext):
    document = await ingest_document(context)
    other = await ingest_document(context, kb_id=document.knowledge_base_id)
    await delete(context, document.id)
    await erase_document(context, document.id)
    assert await context.spaces.default.index.count(document_id=document.id) == 0
    assert await context.store.keys() == [other.storage_key]
    assert await count(context, Document) == 1
    assert await count(context, Chunk) == await context.spaces.default.index.count(document_id=other.id) > 0
    await erase_document(context, document.id)


async def test_small_documents_that_were_deleted_too_go_along(context: WorkerContext, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingestion.worker.deletion._MAX_SIBLING_CHUNKS", 1)
    one = await ingest_document(context)
    small, kept, large, held = [await ingest_document(context, kb_id=one.knowledge_base_id) for _ in range(4)]
    elsewhere = await ingest_document(context)
    for document in (one, small, large, held, elsewhere):
        await delete(context, document.id)
    await edit(context.database, large.id, chunk_count=2)
    await edit(context.database, held.id, lease_until=utc_now() + timedelta(seconds=60))
    await erase_document(context, one.id)
    async with context.database.reading() as session:
        rows = set((await session.exec(select(Document.id))).all())
    assert rows == {each.id for each in (kept, large, held, elsewhere)}
    index = context.spaces.default.index
    assert await index.count(document_id=small.id) == 0
    assert await index.count(document_id=kept.id) > 0
    await erase_document(context, small.id)
    await erase_document(context, large.id)
    assert await index.count(document_id=large.id) == 0


class FaultyStore:
    """Refuses to delete one file, or hangs at each file after so many."""

    def __init__(self, store: ObjectStore, *, refused: str = "", files_until_hang: int = 1000) -> None:
        self._store = store
        self._refused = refused
        self._left = files_until_hang
        self.hangs = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def delete(self, key: str) -> None:
        if key == self._refused:
            raise OSError
        if self._left == 0:
            self.hangs.set()
            await asyncio.Event().wait()
        self._left -= 1
        await self._store.delete(key)


async def test_document_that_can_not_be_erased_keeps_no_other(context: WorkerContext):
    stuck = await ingest_document(context)
    others = [await ingest_document(context, kb_id=stuck.knowledge_base_id) for _ in range(3)]
    for document in (stuck, *others):
        await delete(context, document.id)
    store: Any = FaultyStore(context.store, refused=stuck.storage_key)
    for document in (stuck, *others):
        with suppress(OSError):
            await erase_document(replace(context, store=store), document.id)
    async with context.database.reading() as session:
        assert (await session.exec(select(Document.id))).all() == [stuck.id]


async def test_every_job_that_is_cut_off_has_erased_something(context: WorkerContext):
    first = await ingest_document(context)
    rest = [await ingest_document(context, kb_id=first.knowledge_base_id) for _ in range(5)]
    for document in (first, *rest):
        await delete(context, document.id)
    for left, document in zip((5, 4, 3, 2, 1), (first, *rest), strict=False):
        store: Any = FaultyStore(context.store, files_until_hang=1)
        job = asyncio.create_task(erase_document(replace(context, store=store), document.id))
        await store.hangs.wait()
        job.cancel()
        await asyncio.wait({job})
        assert await count(context, Document) == left
    await erase_document(context, rest[-1].id)
    assert await count(context, Document) == 0


async def test_document_that_was_not_deleted_is_never_erased(context: WorkerContext):
    document = await ingest_document(context)
    await erase_document(context, document.id)
    await erase_knowledge_base(context, document.knowledge_base_id)
    assert await reread(context.database, document.id) == document
    assert await context.spaces.default.index.count(document_id=document.id) > 0
    assert await context.store.keys() == [document.storage_key]


async def test_held_document_waits_until_its_worker_lets_go(context: WorkerContext):
    document = await ingest_document(context)
    await delete(context, document.id)
    held = utc_now() + timedelta(seconds=60)
    await edit(context.database, document.id, lease_until=held, lease_owner="two")
    await erase_document(context, document.id)
    assert await count(context, Document) == 1
    assert await context.store.keys() == [document.storage_key]
    past = utc_now() - timedelta(seconds=1)
    await edit(context.database, document.id, lease_until=past)
    await erase_document(context, document.id)
    assert await count(context, Document) == 0


async def test_worker_whose_clock_is_wrong_erases_no_held_document(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch, database_kind: str
):
    if database_kind == "sqlite":
        pytest.skip("SQLite has no clock but this process's")
    document = await ingest_document(context)
    await delete(context, document.id)
    held = utc_now() + timedelta(seconds=60)
    await edit(context.database, document.id, lease_until=held, lease_owner="two")
    for module in ("ingestion.worker.deletion", "core.db.now"):
        fast = utc_now() + timedelta(hours=1)
        monkeypatch.setattr(f"{module}.utc_now", lambda fast=fast: fast, raising=False)
    await erase_document(context, document.id)
    assert await count(context, Document) == 1


async def test_index_that_is_down_keeps_the_row_for_the_next_time(context: WorkerContext, tmp_path: Path):
    document = await ingest_document(context)
    await delete(context, document.id)
    closed = EdgeVectorIndex(tmp_path / "closed", 384)
    spaces = EmbeddingSpaces([replace(context.spaces.default, index=closed)])
    with pytest.raises(VectorIndexUnavailable):
        await erase_document(replace(context, spaces=spaces), document.id)
    assert await context.store.keys() == [document.storage_key]
    await erase_document(context, document.id)
    assert await count(context, Document) == await context.spaces.default.index.count() == 0


async def test_index_that_could_not_be_opened_keeps_nobodys_documents(context: WorkerContext):
    document, other = await ingest_document(context), await ingest_document(context)
    broken = beside_unopened(context)
    await delete(context, document.id)
    await erase_document(broken, document.id)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, other.knowledge_base_id)
        await knowledge_bases.delete(work, row)
    await erase_knowledge_base(broken, row.id)
    assert await context.store.keys() == []
    assert await count(context, Document) == await context.spaces.default.index.count() == 0


async def test_deleted_knowledge_base_goes_with_all_documents(context: WorkerContext):
    first = await ingest_document(context)
    kb_id = first.knowledge_base_id
    await ingest_document(context, kb_id=kb_id)
    await upload(context, TEXT, kb_id=kb_id)
    neighbour = await ingest_document(context)
    async with unit_of_work(context.database) as work:
        await knowledge_bases.delete(work, await work.session.get_one(KnowledgeBase, kb_id))
    await erase_knowledge_base(context, kb_id)
    assert await context.spaces.default.index.count(kb_id=kb_id) == 0
    assert await context.store.keys() == [neighbour.storage_key]
    assert await count(context, KnowledgeBase) == await count(context, Document) == 1
    await erase_knowledge_base(context, kb_id)


async def test_knowledge_base_with_a_held_document_waits_for_it(context: WorkerContext):
    document = await ingest_document(context)
    kb_id = document.knowledge_base_id
    await ingest_document(context, kb_id=kb_id)
    async with unit_of_work(context.database) as work:
        await knowledge_bases.delete(work, await work.session.get_one(KnowledgeBase, kb_id))
    await edit(context.database, document.id, lease_until=utc_now() + timedelta(seconds=60))
    await erase_knowledge_base(context, kb_id)
    assert await count(context, KnowledgeBase) == await count(context, Document) == 1
    assert await context.store.keys() == [document.storage_key]
    await edit(context.database, document.id, lease_until=None)
    await erase_knowledge_base(context, kb_id)
    assert await count(context, KnowledgeBase) == await count(context, Document) == 0


async def test_large_knowledge_base_is_erased_in_few_transactions_of_few_rows(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ingestion.worker.deletion._CHUNKS_AT_ONCE", 50)
    kb_id = (await upload(context, TEXT)).knowledge_base_id
    for number in range(110):
        await upload(context, TEXT, name=f"{number}.md", kb_id=kb_id)
    many = await ingest_document(context, kb_id=kb_id)
    await add_chunks(context, many, 120)
    async with unit_of_work(context.database) as work:
        await knowledge_bases.delete(work, await work.session.get_one(KnowledgeBase, kb_id))
    removed = list[tuple[str, int]]()

    def note(_connection: object, cursor: Any, statement: str, *_: object) -> None:
        if statement.startswith("DELETE"):
            removed.append((statement.split()[2], cursor.rowcount))

    event.listen(context.database.engine.sync_engine, "after_cursor_execute", note)
    await erase_knowledge_base(context, kb_id)
    assert await count(context, KnowledgeBase) == await count(context, Document) == 0
    assert await count(context, Chunk) == await context.spaces.default.index.count(kb_id=kb_id) == 0
    assert await context.store.keys() == []
    assert sum(rows for table, rows in removed if table == "chunk") > 120
    assert max(rows for table, rows in removed if table == "chunk") <= 50
    assert len(removed) < 12


async def add_chunks(context: WorkerContext, document: Document, count: int) -> None:
    async with unit_of_work(context.database) as work:
        query = select(Chunk).where(Chunk.document_id == document.id)
        first = (await work.session.exec(query)).one()
        rows = [
            Chunk.model_validate({**first.model_dump(), "id": new_id(), "position": 1 + number})
            for number in range(count)
        ]
        work.session.add_all(rows)
