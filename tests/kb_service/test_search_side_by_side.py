"""Words are looked up and vouched for while the question is still being encoded."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from core.database.unit_of_work import unit_of_work
from core.errors import EngineUnavailable, VectorIndexUnavailable
from ingestion.pipeline import ingest
from ingestion.workbench import Workbench
from kb_service.embeddings.protocol import Encoder, Vectors
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.readers import EVERYTHING
from kb_service.retrieval import vouching
from kb_service.retrieval.results import SearchResult
from kb_service.retrieval.search import Searcher
from kb_service.spaces import Spaces
from kb_service.vector_index.protocol import point_id
from kb_service.vector_index.sparse import encode_document
from tests.fixtures.stored import edit, upload

pytestmark = pytest.mark.anyio


class Interrupted(Encoder):
    """An encoder that lets something happen, once, while it encodes the first question.

    Args:
        encoder: does it.
        happen: what happens.
    """

    def __init__(self, encoder: Encoder, happen: Callable[[], Awaitable[None]]) -> None:
        self._encoder, self._happen = encoder, happen
        self.questions = 0

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dimension(self) -> int:
        return self._encoder.dimension

    @property
    def languages(self) -> frozenset[str]:
        return self._encoder.languages

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._encoder.embed_passages(texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.questions += 1
        if self.questions == 1:
            await self._happen()
        return await self._encoder.embed_queries(texts)


class Reader:
    """Searches one knowledge base while something happens.

    Args:
        bench: has it.
        document: is in it.
    """

    def __init__(self, bench: Workbench, document: Document) -> None:
        self._bench, self._kb_id = bench, document.knowledge_base_id
        self.encoder: Interrupted | None = None

    async def find(self, happen: Callable[[], Awaitable[None]]) -> SearchResult:
        space = self._bench.spaces.default
        self.encoder = Interrupted(space.encoder, happen)
        spaces = Spaces([replace(space, encoder=self.encoder)])
        searcher = Searcher(self._bench.database, spaces, max_query_characters=50)
        async with self._bench.database.reading() as session:
            row = await session.get_one(KnowledgeBase, self._kb_id)
        request = searcher.resolve([row], "zebra sleeps", top_k=10)
        return await searcher.search(EVERYTHING, [row], request)


@pytest.fixture
def vouched_early(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when the first hits of a search were vouched for."""
    early = asyncio.Event()
    vouch = vouching.vouch

    async def noting(*arguments):
        answer = await vouch(*arguments)
        early.set()
        return answer

    monkeypatch.setattr(vouching, "vouch", noting)
    return early


async def put(bench: Workbench, text: str, kb_id: str | None = None) -> Document:
    document = await upload(bench, text.encode(), kb_id=kb_id)
    await ingest(bench, document.id)
    return document


def ids_of(result: SearchResult) -> set[str]:
    return {passage.chunk.document_id for passage in result.passages}


async def test_words_are_vouched_for_before_the_question_is_encoded(
    bench: Workbench, vouched_early: asyncio.Event
):
    document = await put(bench, "A zebra sleeps at noon.")

    async def wait() -> None:
        await asyncio.wait_for(vouched_early.wait(), 10)

    assert ids_of(await Reader(bench, document).find(wait)) == {document.id}


async def write_next_revision(bench: Workbench, document: Document, *, text: str) -> None:
    """Rows and points of a second revision that no search shows yet."""
    space = bench.spaces.default
    old = await space.index.points(document.id, 1)
    dense = await space.encoder.embed_passages([text])
    async with unit_of_work(bench.database) as work:
        row = await work.session.get_one(Chunk, old[0].id)
        id_ = point_id(document.id, 2, 0)
        changes = {"id": id_, "revision": 2, "content": text, "terms": None}
        work.session.add(Chunk.model_validate(row, update=changes))
    sparse = encode_document(text)
    await space.index.upsert([replace(old[0], id=id_, revision=2, dense=dense[0], sparse=sparse)])


async def cut_over(bench: Workbench, document: Document) -> None:
    await edit(bench.database, document.id, revision=2, active_revision=2)


async def sweep(bench: Workbench, document: Document) -> None:
    await bench.spaces.default.index.delete_document(document.id, revisions=[1])


@pytest.mark.parametrize("is_swept", [False, True])
async def test_document_replaced_meanwhile_is_not_found_in_both_revisions(
    bench: Workbench, vouched_early: asyncio.Event, is_swept: bool
):
    document = await put(bench, "A zebra sleeps at noon.")

    async def replace_it() -> None:
        await asyncio.wait_for(vouched_early.wait(), 10)
        await write_next_revision(bench, document, text="A zebra sleeps at night.")
        await cut_over(bench, document)
        if is_swept:
            await sweep(bench, document)

    result = await Reader(bench, document).find(replace_it)
    assert [passage.chunk.revision for passage in result.passages] == [2]


async def test_revision_that_was_not_shown_yet_is_asked_about_again(
    bench: Workbench, vouched_early: asyncio.Event
):
    document = await put(bench, "Lions hunt.")
    await write_next_revision(bench, document, text="A zebra sleeps at night.")

    async def replace_it() -> None:
        await asyncio.wait_for(vouched_early.wait(), 10)
        await cut_over(bench, document)
        await sweep(bench, document)

    result = await Reader(bench, document).find(replace_it)
    assert [passage.chunk.revision for passage in result.passages] == [2]


async def test_encoder_that_fails_is_an_error(bench: Workbench):
    document = await put(bench, "A zebra sleeps at noon.")

    async def fail() -> None:
        raise EngineUnavailable

    with pytest.raises(EngineUnavailable):
        await Reader(bench, document).find(fail)


async def test_words_that_can_not_be_looked_up_end_the_encoding(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
):
    document = await put(bench, "A zebra sleeps at noon.")
    ended = asyncio.Event()

    async def encode_for_ever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def fail(*_arguments: object, **_options: object) -> None:
        # The encoder has begun.
        await asyncio.sleep(0)
        raise VectorIndexUnavailable(reason="gone")

    monkeypatch.setattr(bench.spaces.default.index, "query", fail)
    with pytest.raises(VectorIndexUnavailable):
        await Reader(bench, document).find(encode_for_ever)
    await asyncio.wait_for(ended.wait(), 10)
