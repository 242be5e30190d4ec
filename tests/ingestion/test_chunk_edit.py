"""Edits of a chunk: row and points together or not at all, on both databases."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import update
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.unit_of_work import unit_of_work
from core.errors.auth import ChunkNotFound
from core.errors.conflicts import Conflict
from core.errors.server import VectorIndexUnavailable
from ingestion.chunk_edit import ChunkEdit, edit_chunk
from ingestion.context import WorkerContext
from kb_service.documents import chunks
from kb_service.documents.chunks import LocatedChunk
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.text.tokenizer import pack_terms
from kb_service.vector_index.bm25 import encode_query
from kb_service.vector_index.protocol import NO_HITS, HybridHits
from kb_service.visibility import SYSTEM_VIEWER, Viewer
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit as edit_document
from tests.fixtures.knowledge.stored_documents import upload

pytestmark = pytest.mark.anyio
TEXT = b"# Zebra\n\nA zebra sleeps at noon.\n"


async def place_of(context: WorkerContext, document: Document) -> LocatedChunk:
    async with context.database.reading() as session:
        base = await session.get_one(KnowledgeBase, document.knowledge_base_id)
        query = select(Chunk.id).where(Chunk.document_id == document.id)
        return await chunks.get(session, SYSTEM_VIEWER, base, (await session.exec(query)).one())


async def ingest_and_locate(context: WorkerContext, content: bytes = TEXT, **fields: object) -> LocatedChunk:
    async with unit_of_work(context.database) as work:
        base = await add_knowledge_base(work, **fields)
    document = await upload(context, content, kb_id=base.id)
    await ingest(context, document.id)
    return await place_of(context, document)


async def legs_of(context: WorkerContext, place: LocatedChunk, query: str) -> HybridHits:
    space = context.spaces.default
    return await space.index.query(
        kb_ids=[place.knowledge_base.id],
        dense=(await space.encoder.embed_queries([query]))[0],
        sparse=encode_query(query),
        depth=10,
    )


async def test_edit_writes_row_and_points(context: WorkerContext):
    place = await ingest_and_locate(context)
    text = "The quokka smiles."
    row = await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, text))
    assert (row.content, row.version, row.terms) == (text, 2, pack_terms(text))
    legs = await legs_of(context, place, "quokka")
    assert [hit.id for hit in legs.sparse] == [place.chunk.id]
    assert (await legs_of(context, place, "noon")).sparse == NO_HITS
    # Title and headings are still part of what is looked up.
    assert (await legs_of(context, place, "zebra")).sparse != NO_HITS


async def test_of_two_edits_at_once_one_is_refused_and_the_index_shows_the_other(
    context: WorkerContext,
):
    place = await ingest_and_locate(context)
    texts = ["Everything about the aardvark.", "Everything about the bandicoot."]
    edits = (edit_chunk(context.database, context.spaces, place, ChunkEdit(1, text)) for text in texts)
    outcomes = await asyncio.gather(*edits, return_exceptions=True)
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    (row,) = [outcome for outcome in outcomes if isinstance(outcome, Chunk)]
    assert (await place_of(context, place.document)).chunk.content == row.content
    for word in ("aardvark", "bandicoot"):
        found = (await legs_of(context, place, word)).sparse
        assert bool(found) == (word in row.content)


async def test_edit_that_the_index_does_not_take_changes_nothing(context: WorkerContext, tmp_path):
    place = await ingest_and_locate(context)
    closed = EdgeVectorIndex(tmp_path / "nowhere", context.spaces.default.model.dimension)
    broken = EmbeddingSpaces([replace(context.spaces.default, index=closed)])
    with pytest.raises(VectorIndexUnavailable):
        await edit_chunk(context.database, broken, place, ChunkEdit(1, "The quokka smiles."))
    assert (await place_of(context, place.document)).chunk == place.chunk
    # The same request again succeeds once the index is back.
    row = await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, "The quokka smiles."))
    assert row.version == 2


async def test_passage_is_switched_off_without_its_embedding_model(context: WorkerContext):
    place = await ingest_and_locate(context)
    space = context.spaces.default
    others = EmbeddingSpaces([replace(space, model=replace(space.model, name="other"))])
    row = await edit_chunk(context.database, others, place, ChunkEdit(None, enabled=False))
    assert not row.enabled


async def test_edit_of_a_passage_that_goes_meanwhile_is_refused(context: WorkerContext):
    place = await ingest_and_locate(context)
    await edit_document(context.database, place.document.id, active_revision=2)
    with pytest.raises(ChunkNotFound):
        await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, "The quokka smiles."))
    assert (await legs_of(context, place, "quokka")).sparse == NO_HITS


async def test_edit_of_a_passage_that_was_out_of_sight_for_a_moment_is_refused(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    place = await ingest_and_locate(context)
    await edit_document(context.database, place.document.id, active_revision=2)
    inner = chunks.get

    async def get_after_the_way_back(session: AsyncSession, reader: Viewer, base: KnowledgeBase, chunk_id: str):
        await session.exec(update(Document).values(active_revision=1))
        return await inner(session, reader, base, chunk_id)

    monkeypatch.setattr(chunks, "get", get_after_the_way_back)
    with pytest.raises(Conflict):
        await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, "The quokka smiles."))
    assert (await legs_of(context, place, "quokka")).sparse == NO_HITS


async def test_switching_off_needs_no_index(context: WorkerContext):
    place = await ingest_and_locate(context)
    row = await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, enabled=False))
    assert (row.enabled, row.version, row.content) == (False, 1, place.chunk.content)


async def test_fewer_windows_leave_no_old_one_to_be_found(context: WorkerContext):
    text = b"# Log\n\n" + b"The ship sailed on a calm sea. " * 60
    place = await ingest_and_locate(context, text, splitter="parent_child")
    assert len((await legs_of(context, place, "sea")).dense) > 2
    await edit_chunk(context.database, context.spaces, place, ChunkEdit(1, "Apple pie with cinnamon."))
    legs = await legs_of(context, place, "sea")
    assert [(hit.id, hit.chunk_id) for hit in legs.dense] == [(place.chunk.id, None)]
    assert legs.sparse == NO_HITS
