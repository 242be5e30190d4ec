"""Searches without the knowledge bases whose embedding model is unavailable."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import (
    EmbeddingModelNotServed,
    EmbeddingModelUnusable,
    EmbeddingsRefused,
    EmbeddingsUnavailable,
    EngineUnavailable,
    InvalidVector,
    VectorIndexUnavailable,
)
from ingestion.context import WorkerContext
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.protocol import Encoder, Vectors
from kb_service.models import KnowledgeBase
from kb_service.retrieval.filters import Filters
from kb_service.retrieval.results import SearchResult, UnsearchedWarning
from kb_service.retrieval.service import Searcher
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import upload

pytestmark = pytest.mark.anyio
AWAY = EmbeddingsUnavailable(model="other", reason="the endpoint answered HTTP 503")
EVERY_KIND = [
    (EmbeddingModelNotServed(model="other"), "embedding_model_not_configured"),
    (EmbeddingModelUnusable(model="other"), "embedding_model_not_loaded"),
    (AWAY, "embedding_endpoint_unavailable"),
    (EmbeddingsRefused(model="other"), "embedding_refused"),
    (InvalidVector(model="other"), "embedding_model_misfit"),
]


class Broken:
    """An encoder of another model that never answers a question."""

    def __init__(self, encoder: Encoder, error: AgentexError) -> None:
        self.name = "other"
        self.dimension = encoder.dimension
        self.languages = encoder.languages
        self._error = error

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise self._error

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        raise self._error


def with_failing_model(context: WorkerContext, error: AgentexError) -> Searcher:
    """A search where a second model has this error."""
    spaces = [context.spaces.default]
    if not isinstance(error, EmbeddingModelNotServed):
        space = context.spaces.default
        model = replace(space.model, name="other")
        spaces.append(replace(space, model=model, encoder=Broken(space.encoder, error)))
    return Searcher(context.database, EmbeddingSpaces(spaces), max_query_characters=99)


async def base(context: WorkerContext, model: str, **fields: object) -> KnowledgeBase:
    async with unit_of_work(context.database) as work:
        return await add_knowledge_base(work, embedding_model=model, **fields)


@pytest.fixture
async def bases(context: WorkerContext) -> list[KnowledgeBase]:
    """One that can be searched, behind one that can't."""
    lost = await base(context, "other", name="Lost")
    found = await base(context, DEFAULT.name)
    document = await upload(context, "# Zebra\n\nA zebra sleeps. 斑马".encode(), kb_id=found.id)
    await ingest(context, document.id)
    return [lost, found]


async def fill(context: WorkerContext, row: KnowledgeBase) -> None:
    """Put a document into one of another model, while that model can be used."""
    document = await upload(context, b"# Zebra\n\nA zebra.", kb_id=row.id)
    space = context.spaces.default
    spaces = EmbeddingSpaces([replace(space, model=replace(space.model, name=row.embedding_model))])
    await ingest(replace(context, spaces=spaces), document.id)


async def find(
    searcher: Searcher,
    rows: list[KnowledgeBase],
    query: str = "zebra",
    filters: Filters | None = None,
    *,
    explain: bool = False,
) -> SearchResult:
    request = searcher.resolve(rows, query, filters=filters)
    return await searcher.search(SYSTEM_VIEWER, rows, request, explain=explain)


@one_database
@pytest.mark.parametrize(("error", "code"), EVERY_KIND, ids=lambda one: str(one)[:30])
async def test_others_are_searched_and_the_answer_names_what_was_not(
    context: WorkerContext, bases: list[KnowledgeBase], error: AgentexError, code: str
):
    result = await find(with_failing_model(context, error), bases)
    assert [hit.chunk.knowledge_base_id for hit in result.passages] == [bases[1].id]
    assert result.generations == {bases[1].id: bases[1].generation}
    (warning,) = result.warnings
    assert warning.code == code
    for words in (warning.message, warning.message_zh):
        assert "Lost" in words
        assert "other" in words


@one_database
@pytest.mark.parametrize(
    ("query", "filters", "explain"),
    [
        ("zebra", Filters(name="*.md"), False),
        ("zebra", Filters(name="*.md"), True),
        ("斑马", None, False),
    ],
    ids=["filtered", "filtered and explained", "found by words only"],
)
async def test_model_that_is_asked_late_stops_no_other(
    context: WorkerContext,
    bases: list[KnowledgeBase],
    query: str,
    filters: Filters | None,
    explain: bool,
):
    await fill(context, bases[0])
    result = await find(with_failing_model(context, AWAY), bases, query, filters, explain=explain)
    assert [hit.chunk.knowledge_base_id for hit in result.passages] == [bases[1].id]
    assert [warning.code for warning in result.warnings] == ["embedding_endpoint_unavailable"]


@one_database
@pytest.mark.parametrize("error", [error for error, _ in EVERY_KIND], ids=lambda e: str(e)[:30])
@pytest.mark.parametrize("filters", [None, Filters(name="*.md")], ids=["all", "filtered"])
async def test_where_nothing_can_be_searched_it_stays_an_error(
    context: WorkerContext, bases: list[KnowledgeBase], error: AgentexError, filters: Filters | None
):
    await fill(context, bases[0])
    off = await base(context, DEFAULT.name, enabled=False)
    for rows in ([bases[0]], [bases[0], off]):
        with pytest.raises(type(error)):
            await find(with_failing_model(context, error), rows, filters=filters)


@one_database
@pytest.mark.parametrize("error", [EngineUnavailable(), VectorIndexUnavailable()], ids=str)
async def test_outage_of_the_servers_own_parts_is_not_hidden(
    context: WorkerContext, bases: list[KnowledgeBase], error: AgentexError
):
    with pytest.raises(type(error)):
        await find(with_failing_model(context, error), bases)


class Slow(Broken):
    """An encoder that answers, with an error, when somebody lets it."""

    def __init__(self, encoder: Encoder, release: asyncio.Event) -> None:
        super().__init__(encoder, AWAY)
        self.asked = asyncio.Event()
        self._release = release

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self._release.wait()
        return await super().embed_queries(texts)


@dataclass(frozen=True)
class Outages:
    """A search where three more models hang until they are released."""

    searcher: Searcher
    rows: list[KnowledgeBase]
    encoders: list[Slow]
    release: asyncio.Event


@pytest.fixture
async def outages(context: WorkerContext, bases: list[KnowledgeBase]) -> Outages:
    release, space = asyncio.Event(), context.spaces.default
    encoders = [Slow(space.encoder, release) for _ in range(3)]
    spaces, rows = [space], [bases[1]]
    for number, encoder in enumerate(encoders):
        name = f"slow{number}"
        spaces.append(replace(space, model=replace(space.model, name=name), encoder=encoder))
        rows.append(await base(context, name))
        await fill(context, rows[-1])
    searcher = Searcher(context.database, EmbeddingSpaces(spaces), max_query_characters=99)
    return Outages(searcher, rows, encoders, release)


@one_database
@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("zebra", None),
        ("zebra", Filters(name="*.md")),
        ("河马", None),
        ("河马", Filters(name="*.md")),
    ],
    ids=["all", "filtered", "found by no word", "filtered and found by no word"],
)
async def test_models_that_are_away_are_waited_for_at_the_same_time(
    outages: Outages, query: str, filters: Filters | None
):
    search = asyncio.create_task(find(outages.searcher, outages.rows, query, filters))
    async with asyncio.timeout(10):
        # Asked one after another, the second would not hear of it before the first has answered.
        for encoder in outages.encoders:
            await encoder.asked.wait()
        outages.release.set()
        assert len((await search).warnings) == 3


@one_database
@pytest.mark.parametrize(
    ("query", "filters"),
    [("zebra", Filters(name="*.md")), ("河马", None)],
    ids=["filtered", "found by no word"],
)
async def test_model_that_is_away_keeps_no_other_search_waiting(outages: Outages, query: str, filters: Filters | None):
    searches = [asyncio.create_task(find(outages.searcher, outages.rows, query, filters)) for _ in range(12)]
    async with asyncio.timeout(20):
        await outages.encoders[0].asked.wait()
        other = await find(outages.searcher, [outages.rows[0]])
        assert [hit.chunk.knowledge_base_id for hit in other.passages] == [outages.rows[0].id]
        assert not any(search.done() for search in searches)
        outages.release.set()
        for search in searches:
            await search


@one_database
async def test_model_is_not_waited_for_whose_documents_the_filters_leave_out(outages: Outages):
    (hit, *_) = (await find(outages.searcher, [outages.rows[0]])).passages
    only = Filters(document_ids=(hit.chunk.document_id,))
    async with asyncio.timeout(10):
        result = await find(outages.searcher, outages.rows, filters=only)
    assert {found.chunk.document_id for found in result.passages} == {hit.chunk.document_id}
    assert list(result.warnings) == []


@one_database
async def test_model_that_is_away_keeps_no_other_from_being_warmed_up(
    context: WorkerContext, bases: list[KnowledgeBase]
):
    await with_failing_model(context, AWAY).warm_up()


def test_many_knowledge_bases_are_not_all_named():
    names = [f"Base {number}" for number in range(12)]
    warning = UnsearchedWarning(names, "other", AWAY)
    assert '"Base 9" and 2 more. The endpoint of the embedding model other' in warning.message
    assert "“Base 9”等 12 个知识库。嵌入模型 other" in warning.message_zh
    assert "Base 10" not in warning.message + warning.message_zh
