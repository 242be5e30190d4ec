"""The check of hits against SQL in a search."""

from dataclasses import replace

import pytest
from sqlmodel import col, select

from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.requests import EmptyQuery, QueryTooLong
from core.errors.server import VectorIndexUnavailable
from ingestion.context import WorkerContext
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.request import RetrievalOptions
from kb_service.retrieval.service import FoundPassage, Searcher
from kb_service.vector_index.bm25 import encode_document
from kb_service.vector_index.protocol import ChunkPoint
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, upload

pytestmark = pytest.mark.anyio


@pytest.fixture
def searcher(context: WorkerContext) -> Searcher:
    return Searcher(context.database, context.spaces, max_query_characters=50)


async def kb_of(context: WorkerContext, document: Document) -> KnowledgeBase:
    async with context.database.reading() as session:
        return await session.get_one(KnowledgeBase, document.knowledge_base_id)


async def ingest_document(context: WorkerContext, text: str, *, kb_id: str | None = None) -> Document:
    document = await upload(context, text.encode(), kb_id=kb_id)
    await ingest(context, document.id)
    return document


async def find(
    searcher: Searcher, kbs: list[KnowledgeBase], query: str = "zebra", top_k: int = 10
) -> list[FoundPassage]:
    request = searcher.resolve(kbs, query, RetrievalOptions(top_k=top_k))
    return list((await searcher.search(SYSTEM_VIEWER, kbs, request)).passages)


async def test_passage_is_found_with_its_text_and_document(context: WorkerContext, searcher: Searcher):
    document = await ingest_document(context, "# Zebra\n\nA zebra sleeps at noon.")
    (found,) = await find(searcher, [await kb_of(context, document)])
    assert (found.chunk.document_id, found.document_name) == (document.id, "a.md")
    assert "zebra sleeps" in found.chunk.content


@pytest.mark.parametrize("change", ["deleted", "other revision", "never completed"])
async def test_points_that_sql_does_not_vouch_for_are_not_found(
    context: WorkerContext, searcher: Searcher, change: str
):
    document = await ingest_document(context, "# Zebra\n\nA zebra sleeps at noon.")
    kb = await kb_of(context, document)
    changes = {
        "deleted": {"deleted_at": utc_now()},
        "other revision": {"active_revision": 2},
        "never completed": {"active_revision": None},
    }
    await edit(context.database, document.id, **changes[change])
    assert await context.spaces.default.index.count(document_id=document.id) > 0
    assert await find(searcher, [kb]) == []


async def test_point_filed_under_a_foreign_knowledge_base_is_not_found(context: WorkerContext, searcher: Searcher):
    mine = await ingest_document(context, "# Mine\n\nMy zebra.")
    foreign = await ingest_document(context, "# Secret\n\nA secret zebra.")
    async with context.database.reading() as session:
        chunk = (await session.exec(select(Chunk).where(col(Chunk.document_id) == foreign.id))).one()
    dense = (await context.spaces.default.encoder.embed_passages([chunk.content]))[0]
    point = ChunkPoint(
        id=chunk.id,
        kb_id=mine.knowledge_base_id,
        document_id=foreign.id,
        revision=1,
        index=0,
        dense=dense,
        sparse=encode_document(chunk.content),
    )
    await context.spaces.default.index.upsert([point])
    found = await find(searcher, [await kb_of(context, mine)], "secret zebra")
    assert {passage.chunk.document_id for passage in found} == {mine.id}


async def test_disabled_knowledge_base_gives_nothing(context: WorkerContext, searcher: Searcher):
    document = await ingest_document(context, "# Zebra\n\nA zebra sleeps at noon.")
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, document.knowledge_base_id)
        row.enabled = False
    assert await find(searcher, [await kb_of(context, document)]) == []
    assert await find(searcher, []) == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("# 灯塔\n\n第 {} 座灯塔已经建成。", "第 77 座灯塔"),
        ("# Errors\n\nThe error code {} says that the index is away.", "error 77"),
    ],
)
async def test_a_passage_is_found_by_its_number(context: WorkerContext, searcher: Searcher, text: str, question: str):
    numbers = [5, 17, 77, 177, 770]
    documents = {number: await ingest_document(context, text.format(number)) for number in numbers}
    kbs = [await kb_of(context, document) for document in documents.values()]
    found = await find(searcher, kbs, question)
    assert found[0].chunk.document_id == documents[77].id
    assert found[0].hit.fused.sparse.rank == 1
    assert found[0].hit.score > found[1].hit.score


async def test_results_of_several_knowledge_bases_are_one_ranking(context: WorkerContext, searcher: Searcher):
    first = await ingest_document(context, "# Zebra\n\nA zebra sleeps at noon.")
    second = await ingest_document(context, "# Lion\n\nA lion hunts the zebra at night.")
    kbs = [await kb_of(context, document) for document in (first, second)]
    found = await find(searcher, kbs, "zebra sleeps")
    assert [passage.chunk.document_id for passage in found] == [first.id, second.id]
    scores = [passage.hit.score for passage in found]
    assert scores == sorted(scores, reverse=True)
    assert len(await find(searcher, kbs, "zebra sleeps", top_k=1)) == 1


async def test_query_is_checked(context: WorkerContext, searcher: Searcher):
    kb = await kb_of(context, await upload(context, b"# A\n\nb"))
    with pytest.raises(EmptyQuery):
        await find(searcher, [kb], " \n ")
    with pytest.raises(QueryTooLong) as error:
        await find(searcher, [kb], "x" * 51)
    assert error.value.details["max_characters"] == 50
    assert await find(searcher, [kb], "x" * 50 + "  ") == []


async def test_index_that_is_down_is_an_error_and_no_empty_answer(context: WorkerContext, tmp_path):
    kb = await kb_of(context, await upload(context, b"# A\n\nb"))
    index = EdgeVectorIndex(tmp_path / "closed", 384)
    space = replace(context.spaces.default, index=index)
    searcher = Searcher(context.database, EmbeddingSpaces([space]), max_query_characters=50)
    for query in ("zebra", "斑马"):
        with pytest.raises(VectorIndexUnavailable):
            await find(searcher, [kb], query)
