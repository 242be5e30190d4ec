"""Documents in the pipeline with the splitter of their knowledge base."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from core.db.unit_of_work import unit_of_work
from core.errors.server import EngineUnavailable
from ingestion.context import WorkerContext
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.protocol import Vectors
from kb_service.models import Chunk, KnowledgeBase, SplitterName
from kb_service.retrieval.candidates import best_windows
from kb_service.vector_index.bm25 import encode_query
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, reread, upload

pytestmark = [
    pytest.mark.anyio,
    # What no database decides.
    pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True),
]
DEEP = "The lighthouse keeper feeds seven grey cats every evening."
TEXT = "# Log\n\n" + " ".join([*["The ship sailed on a calm sea."] * 45, DEEP])


async def ingest_with(context: WorkerContext, splitter: str) -> tuple[KnowledgeBase, list[Chunk]]:
    async with unit_of_work(context.database) as work:
        kb = await add_knowledge_base(work, splitter=splitter)
    document = await upload(context, TEXT.encode(), kb_id=kb.id)
    await ingest(context, document.id)
    async with context.database.reading() as session:
        query = select(Chunk).where(Chunk.document_id == document.id).order_by(col(Chunk.position))
        return kb, list((await session.exec(query)).all())


async def test_parent_is_found_by_its_windows_and_by_all_its_words(context: WorkerContext):
    kb, (parent,) = await ingest_with(context, "parent_child")
    space = context.spaces.default
    assert parent.content.endswith(DEEP)
    windows = -(-parent.token_count // 128)
    assert await space.index.count(kb_id=kb.id) == 1 + windows
    legs = await space.index.query(
        kb_ids=[kb.id],
        dense=(await space.encoder.embed_queries(["Who feeds the cats?"]))[0],
        sparse=encode_query("lighthouse cats calm log"),
        depth=10,
    )
    assert [hit.id for hit in legs.sparse] == [parent.id]
    assert len(legs.dense) == windows
    assert {hit.chunk_id for hit in legs.dense} == {parent.id}
    found = best_windows(legs).dense
    assert [(hit.id, hit.score) for hit in found] == [(parent.id, legs.dense[0].score)]
    # The last window tells of cats only; the passage as a whole tells of a calm sea.
    whole = await ingest_with(context, "heading_recursive")
    other = await space.index.query(
        kb_ids=[whole[0].id],
        dense=(await space.encoder.embed_queries(["Who feeds the cats?"]))[0],
        sparse=None,
        depth=10,
    )
    assert found[0].score > other.dense[0].score + 0.1


@pytest.mark.parametrize("splitter", [name.value for name in SplitterName])
async def test_every_splitter_makes_a_document_searchable(context: WorkerContext, splitter: str):
    kb, chunks = await ingest_with(context, splitter)
    space = context.spaces.default
    legs = await space.index.query(
        kb_ids=[kb.id],
        dense=(await space.encoder.embed_queries([DEEP]))[0],
        sparse=encode_query("lighthouse"),
        depth=10,
    )
    holders = {chunk.id for chunk in chunks if "lighthouse" in chunk.content}
    assert {hit.id for hit in legs.sparse} == holders != set()
    assert best_windows(legs).dense[0].id in holders


class AwayAtFirst:
    """An encoder whose engine is away at the first call."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls: list[tuple[Sequence[str], str]] = []

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        self.calls.append((texts, account))
        if len(self.calls) == 1:
            raise EngineUnavailable(reason="it is away")
        return await self._inner.embed_passages(texts, account=account)


async def test_document_waits_for_an_engine_that_is_away_while_it_is_split(context: WorkerContext):
    space = context.spaces.default
    encoder: Any = AwayAtFirst(space.encoder)
    context = replace(context, spaces=EmbeddingSpaces([replace(space, encoder=encoder)]))
    async with unit_of_work(context.database) as work:
        kb = await add_knowledge_base(work, splitter=SplitterName.LLAMA_INDEX_SEMANTIC)
    document = await upload(context, TEXT.encode(), kb_id=kb.id)
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert (row.status, row.attempt, (row.failure or {})["reason"]) == ("pending", 0, "engine_unavailable")
    await edit(context.database, document.id, retry_at=None)
    await ingest(context, document.id)
    assert (await reread(context.database, document.id)).status == "completed"
    groups, again, passages = encoder.calls
    assert groups == again != passages
    assert groups[0][0].startswith("Log")
    assert {account for _, account in encoder.calls} == {kb.owner_id}
