"""What every vector index must do: Edge here, Edge behind the engine, and Qdrant's server API."""

import asyncio
import contextlib
import random
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from core.errors.server import InvalidVector, VectorIndexUnavailable
from core.settings import Settings, get_settings
from kb_service.embeddings.catalog import DEFAULT
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.bm25 import encode_document, encode_query
from kb_service.vector_index.engine_index import EngineVectorIndex, pack_points, unpack_points
from kb_service.vector_index.factory import open_vector_index
from kb_service.vector_index.protocol import (
    NO_HITS,
    ChunkPoint,
    HybridHits,
    IndexDocumentFilter,
    IndexedDocument,
    SparseVector,
    VectorIndex,
    point_id,
    window_id,
)
from kb_service.vector_index.qdrant_server import QdrantVectorIndex
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.product.engine_processes import running_engine

DIMENSION = DEFAULT.dimension

# Edge keeps 8 bits of each number; what a score is off by then.
SCORE_ERROR = 3e-3

pytestmark = [
    pytest.mark.anyio,
    # qdrant-client's local mode keeps no payload index and says so.
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with running_engine(tmp_path_factory.mktemp("index")) as running:
        yield running


@contextlib.asynccontextmanager
async def edge(request, tmp_path):
    yield EdgeVectorIndex(tmp_path / "vectors" / DEFAULT.name, DIMENSION)


@contextlib.asynccontextmanager
async def remote(request, tmp_path):
    settings = request.getfixturevalue("engine").settings
    client = EngineClient(settings.effective_engine_socket)
    yield open_vector_index(settings, client, model=DEFAULT.name, dimension=DIMENSION)
    await client.close()


@contextlib.asynccontextmanager
async def memory(request, tmp_path):
    yield QdrantVectorIndex(AsyncQdrantClient(":memory:"), DEFAULT.name, DIMENSION)


@contextlib.asynccontextmanager
async def server(request, tmp_path):
    url = get_settings().qdrant_url
    if url is None:
        pytest.skip("AGENTEX_QDRANT_URL is not set: no real Qdrant server")
    model = f"contract-{uuid4()}"
    key = get_settings().qdrant_api_key
    client = AsyncQdrantClient(url=url, api_key=key.get_secret_value() if key else None)
    yield QdrantVectorIndex(client, model, DIMENSION)
    await client.delete_collection(f"agentex-{model}")


@pytest.fixture(params=[edge, remote, memory, server], ids=lambda make: make.__name__)
async def index(request, tmp_path):
    async with request.param(request, tmp_path) as made:
        await made.ensure_ready()
        yield made
        if request.param is not server:
            await made.close()


def direction(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def chunk(kb_id: str, document_id: str, index: int = 0, **options) -> ChunkPoint:
    """A chunk; options: text, dense, revision."""
    revision = options.get("revision", 1)
    return ChunkPoint(
        id=point_id(document_id, revision, index),
        kb_id=kb_id,
        document_id=document_id,
        revision=revision,
        index=index,
        dense=options.get("dense", direction(index)),
        sparse=encode_document(options.get("text", f"word{index} common")),
    )


def new_id() -> str:
    return str(uuid4())


async def ask(index: VectorIndex, *kb_ids: str, text: str = "common", **options) -> HybridHits:
    return await index.query(
        kb_ids=list(kb_ids),
        dense=options.get("dense", direction(0)),
        sparse=encode_query(text),
        depth=options.get("depth", 100),
        documents=IndexDocumentFilter(options.get("only"), options.get("hidden", ())),
    )


def scores(leg) -> list[float]:
    return [hit.score for hit in leg]


async def test_both_legs_come_back_ranked_when_both_are_asked(index):
    kb_id, document_id = new_id(), new_id()
    points = [chunk(kb_id, document_id, i, text="common " * (i + 1)) for i in range(20)]
    await index.upsert(points)
    legs = await ask(index, kb_id, dense=direction(7))
    for leg in (legs.dense, legs.sparse):
        assert {hit.id for hit in leg} == {point.id for point in points}
        assert scores(leg) == sorted(scores(leg), reverse=True)
        assert {(hit.document_id, hit.revision) for hit in leg} == {(document_id, 1)}
    assert legs.dense[0].id == points[7].id
    assert legs.dense[0].score == pytest.approx(1, abs=SCORE_ERROR)


async def test_leg_is_cut_when_deeper_than_asked(index):
    kb_id, document_id = new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, i) for i in range(30)])
    legs = await ask(index, kb_id, depth=4)
    assert (len(legs.dense), len(legs.sparse)) == (4, 4)


async def test_only_the_documents_asked_for_are_found_and_keep_their_scores(index):
    kb_id, other_kb = new_id(), new_id()
    ids = [new_id() for _ in range(6)]
    texts = ("apple common", "apple apple", "pear common", "plum", "apple pear", "common")
    points = [chunk(kb_id, id_, number, text=text) for number, (id_, text) in enumerate(zip(ids, texts, strict=True))]
    foreign = chunk(other_kb, new_id(), text="apple")
    await index.upsert([*points, foreign])
    everything = await ask(index, kb_id, text="apple common")
    some = [ids[1], ids[4], foreign.document_id]
    wanted = await ask(index, kb_id, text="apple common", only=some, depth=2)
    for whole, part in ((everything.dense, wanted.dense), (everything.sparse, wanted.sparse)):
        expected = {hit.id: hit.score for hit in whole if hit.document_id in some}
        assert {hit.id: hit.score for hit in part} == pytest.approx(expected)
        assert len(part) == 2
    assert await ask(index, kb_id, only=[]) == HybridHits()


async def test_hidden_documents_are_as_if_they_were_not_there(index):
    kb_id, twin = new_id(), new_id()
    words = ("apple", "pear", "plum", "common")
    chance = random.Random(7)
    documents = [new_id() for _ in range(40)]
    texts = [" ".join(chance.choices(words, k=3)) for _ in documents]
    hidden = chance.sample(documents, 25)
    points = [chunk(kb_id, id_, n, text=texts[n]) for n, id_ in enumerate(documents)]
    # The same knowledge base without what is hidden in the other one.
    left = [point for point in points if point.document_id not in hidden]
    await index.upsert([*points, *(replace(one, id=new_id(), kb_id=twin) for one in left)])
    few = documents[::2]
    for options in ({}, {"depth": 3}, {"only": few}, {"only": hidden}):
        seen = await ask(index, kb_id, text="apple pear", hidden=hidden, **options)
        alone = await ask(index, twin, text="apple pear", **options)
        for mine, theirs in ((seen.dense, alone.dense), (seen.sparse, alone.sparse)):
            assert scores(mine) == pytest.approx(scores(theirs), rel=1e-6)
            assert {hit.document_id for hit in mine}.isdisjoint(hidden)
    assert (await ask(index, kb_id, hidden=documents)) == HybridHits()


async def test_ten_thousand_documents_can_be_hidden(index):
    kb_id, documents = new_id(), [new_id() for _ in range(10_000)]
    await index.upsert([chunk(kb_id, id_, n, text="apple") for n, id_ in enumerate(documents[-3:])])
    seen = await ask(index, kb_id, text="apple", hidden=documents[:-1])
    assert [hit.document_id for hit in (*seen.dense, *seen.sparse)] == documents[-1:] * 2


async def test_leg_is_empty_when_it_is_not_asked(index):
    kb_id = new_id()
    await index.upsert([chunk(kb_id, new_id())])
    only_sparse = await index.query(kb_ids=[kb_id], dense=None, sparse=encode_query("common"), depth=5)
    only_dense = await index.query(kb_ids=[kb_id], dense=direction(0), sparse=None, depth=5)
    neither = await index.query(kb_ids=[kb_id], dense=None, sparse=SparseVector((), ()), depth=5)
    assert (len(only_sparse.dense), len(only_sparse.sparse)) == (0, 1)
    assert (len(only_dense.dense), len(only_dense.sparse)) == (1, 0)
    assert neither == HybridHits()


async def test_chunk_without_dense_vector_is_found_by_its_words_only(index):
    kb_id, document_id = new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, dense=None, text="语料库 检索")])
    legs = await ask(index, kb_id, text="检索")
    assert (len(legs.dense), len(legs.sparse)) == (0, 1)
    assert await index.count(document_id=document_id) == 1


async def test_windows_name_their_chunk_and_leave_its_words_alone(index):
    kb_id, document_id = new_id(), new_id()
    parents = [chunk(kb_id, document_id, i, dense=None, text=f"common word{i}") for i in range(3)]
    await index.upsert(parents)
    before = await ask(index, kb_id, text="word1 common")
    windows = [
        replace(
            parent,
            id=window_id(document_id, 1, parent.index, number),
            dense=direction(10 * parent.index + number),
            sparse=SparseVector((), ()),
            chunk_id=parent.id,
        )
        for parent in parents
        for number in range(4)
    ]
    await index.upsert(windows)
    legs = await ask(index, kb_id, text="word1 common", dense=direction(12))
    assert {hit.id: hit.chunk_id for hit in legs.dense} == {w.id: w.chunk_id for w in windows}
    assert legs.dense[0].chunk_id == parents[1].id
    assert [hit.id for hit in legs.sparse] == [hit.id for hit in before.sparse]
    assert scores(legs.sparse) == pytest.approx(scores(before.sparse), rel=1e-6)
    assert {hit.chunk_id for hit in legs.sparse} == {None}
    # An edited chunk may have fewer windows: what takes their place is found by nothing.
    await index.upsert([replace(window, dense=None) for window in windows[4:]])
    legs = await ask(index, kb_id, text="word1 common", dense=direction(12))
    assert {hit.id for hit in legs.dense} == {window.id for window in windows[:4]}
    assert scores(legs.sparse) == pytest.approx(scores(before.sparse), rel=1e-6)
    await index.delete_documents([document_id], revisions=[1])
    assert await index.count(kb_id=kb_id) == 0


async def test_nothing_is_found_when_no_knowledge_base_is_named(index):
    await index.upsert([chunk(new_id(), new_id())])
    assert await ask(index) == HybridHits()
    assert await ask(index, new_id()) == HybridHits()


async def test_tenants_see_neither_points_nor_statistics_of_others(index):
    mine, other = new_id(), new_id()
    texts = ["rare common", "common words", "words and rare things", "nothing else"]
    document_id = new_id()
    await index.upsert([chunk(mine, document_id, i, text=text) for i, text in enumerate(texts)])
    before = await ask(index, mine, text="rare common")
    await index.upsert([chunk(other, new_id(), text="rare rare rare") for _ in range(50)])
    after = await ask(index, mine, text="rare common")
    assert [hit.id for hit in after.sparse] == [hit.id for hit in before.sparse]
    # The engine stores weights as float32.
    assert scores(after.sparse) == pytest.approx(scores(before.sparse), rel=1e-6)
    assert {hit.document_id for hit in after.dense} == {document_id}


async def test_several_knowledge_bases_are_searched_together_when_named(index):
    first, second, third = new_id(), new_id(), new_id()
    documents = {kb_id: new_id() for kb_id in (first, second, third)}
    await index.upsert([chunk(kb_id, document) for kb_id, document in documents.items()])
    legs = await ask(index, first, second)
    wanted = {documents[first], documents[second]}
    assert {hit.document_id for hit in legs.dense} == wanted
    assert {hit.document_id for hit in legs.sparse} == wanted


BAD_DENSE = {
    "short": np.ones(DIMENSION - 1, dtype=np.float32),
    "empty": np.ones(0, dtype=np.float32),
    "matrix": np.ones((1, DIMENSION), dtype=np.float32),
    "nan": np.full(DIMENSION, np.nan, dtype=np.float32),
    "infinite": np.full(DIMENSION, np.inf, dtype=np.float32),
}
BAD_SPARSE = {
    "uneven": SparseVector((1, 2), (1.0,)),
    "twice": SparseVector((1, 1), (1.0, 2.0)),
    "nan": SparseVector((1,), (float("nan"),)),
    "wide": SparseVector((2**32,), (1.0,)),
}


@pytest.mark.parametrize("fault", BAD_DENSE)
async def test_nothing_is_written_when_the_last_dense_vector_is_bad(index, fault):
    kb_id, document_id = new_id(), new_id()
    points = [chunk(kb_id, document_id, i) for i in range(300)]
    points.append(chunk(kb_id, document_id, 300, dense=BAD_DENSE[fault]))
    with pytest.raises(InvalidVector) as caught:
        await index.upsert(points)
    assert caught.value.details["point"] == points[-1].id
    assert await index.count(kb_id=kb_id) == 0
    with pytest.raises(InvalidVector):
        await ask(index, kb_id, dense=BAD_DENSE[fault])


@pytest.mark.parametrize("fault", BAD_SPARSE)
async def test_sparse_vector_is_refused_when_it_is_bad(index, fault):
    kb_id = new_id()
    bad = ChunkPoint(new_id(), kb_id, new_id(), 1, 0, direction(0), BAD_SPARSE[fault])
    with pytest.raises(InvalidVector):
        await index.upsert([bad])
    assert await index.count(kb_id=kb_id) == 0


async def test_points_are_replaced_when_the_same_ids_come_again(index):
    kb_id, document_id = new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, i, text="old") for i in range(3)])
    await index.upsert([chunk(kb_id, document_id, i, text="new") for i in range(3)])
    assert await index.count(kb_id=kb_id) == 3
    assert (await ask(index, kb_id, text="old")).sparse == NO_HITS
    assert len((await ask(index, kb_id, text="new")).sparse) == 3


async def test_only_the_named_revisions_go(index):
    kb_id, document_id, neighbour = new_id(), new_id(), new_id()
    for revision, size in ((1, 5), (2, 3), (3, 4)):
        points = [chunk(kb_id, document_id, i, revision=revision) for i in range(size)]
        await index.upsert(points)
    await index.upsert([chunk(kb_id, neighbour)])
    await index.delete_documents([document_id], revisions=[])
    assert await index.count(document_id=document_id) == 12
    await index.delete_documents([document_id], revisions=[1, 2, 7])
    assert await index.count(document_id=document_id) == 4
    assert await index.count(document_id=neighbour) == 1
    legs = await ask(index, kb_id)
    assert {hit.revision for hit in legs.dense if hit.document_id == document_id} == {3}


async def test_document_leaves_no_point_when_deleted(index):
    kb_id, document_id, neighbour = new_id(), new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, i) for i in range(3)])
    await index.upsert([chunk(kb_id, neighbour)])
    await index.delete_documents([document_id])
    await index.delete_documents([document_id])
    assert await index.count(document_id=document_id) == 0
    assert await index.count(kb_id=kb_id) == 1


async def test_several_documents_leave_no_point_when_deleted_together(index):
    kb_id, gone, neighbour = new_id(), [new_id() for _ in range(3)], new_id()
    for document_id in (*gone, neighbour):
        for revision in (1, 2):
            points = [chunk(kb_id, document_id, i, revision=revision) for i in range(2)]
            await index.upsert(points)
    await index.delete_documents(gone[:2], revisions=[1])
    assert [await index.count(document_id=one) for one in gone] == [2, 2, 4]
    await index.delete_documents([])
    await index.delete_documents(gone)
    assert [await index.count(document_id=one) for one in gone] == [0, 0, 0]
    assert await index.count(kb_id=kb_id) == 4


async def test_knowledge_base_leaves_no_point_when_deleted(index):
    kb_id, other = new_id(), new_id()
    await index.upsert([chunk(kb_id, new_id()), chunk(other, new_id())])
    await index.delete_knowledge_base(kb_id)
    assert await index.count(kb_id=kb_id) == 0
    assert await index.count(kb_id=other) == 1


async def test_what_is_large_leaves_no_point_when_deleted(index, monkeypatch):
    monkeypatch.setattr("kb_service.vector_index.edge_shard._POINTS_PER_DELETION", 10)
    kb_id, document_id, neighbour = new_id(), new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, i) for i in range(35)])
    await index.upsert([chunk(kb_id, neighbour, i) for i in range(30)])
    await index.delete_documents([document_id])
    assert await index.count(document_id=document_id) == 0
    assert await index.count(kb_id=kb_id) == 30
    await index.delete_knowledge_base(kb_id)
    assert await index.count(kb_id=kb_id) == 0


async def test_documents_are_listed_with_their_revisions_and_counts(index):
    kb_id, document_id, other = new_id(), new_id(), new_id()
    before = await index.count()
    await index.upsert([chunk(kb_id, document_id, i) for i in range(5)])
    await index.upsert([chunk(kb_id, document_id, i, revision=2) for i in range(2)])
    await index.upsert([chunk(kb_id, other)])
    listed = await index.documents()
    assert {entry for entry in listed if entry.document_id in {document_id, other}} == {
        IndexedDocument(document_id, 1, 5),
        IndexedDocument(document_id, 2, 2),
        IndexedDocument(other, 1, 1),
    }
    assert sum(entry.count for entry in listed) == await index.count() == before + 8


async def test_documents_are_all_listed_when_they_fill_several_pages(index):
    kb_id, document_id = new_id(), new_id()
    await index.upsert([chunk(kb_id, document_id, i, dense=None) for i in range(4500)])
    assert IndexedDocument(document_id, 1, 4500) in await index.documents()
    await index.delete_knowledge_base(kb_id)


async def test_readying_again_keeps_points(index):
    kb_id = new_id()
    await index.upsert([chunk(kb_id, new_id())])
    await index.ensure_ready()
    assert await index.count(kb_id=kb_id) == 1


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 8), min_size=1, max_size=4))
async def test_dense_leg_equals_brute_force_within_the_knowledge_bases(index, seed, sizes):
    dice = random.Random(seed)
    kb_ids = [new_id() for _ in sizes]
    points = [
        chunk(kb_id, new_id(), dense=direction(dice.getrandbits(32)))
        for kb_id, size in zip(kb_ids, sizes, strict=True)
        for _ in range(size)
    ]
    await index.upsert(points)
    asked = dice.sample(kb_ids, dice.randint(1, len(kb_ids)))
    question = direction(seed)
    expected = {point.id: float(question @ point.dense) for point in points if point.kb_id in asked}
    legs = await ask(index, *asked, dense=question)
    assert {hit.id: hit.score for hit in legs.dense} == pytest.approx(expected, abs=SCORE_ERROR)
    assert scores(legs.dense) == sorted(scores(legs.dense), reverse=True)


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.dictionaries(st.integers(0, 2**32 - 1), st.floats(0, 1e6, width=32), max_size=5),
        ),
        max_size=6,
    )
)
def test_points_survive_the_wire(shapes):
    points = [
        ChunkPoint(
            new_id(),
            "kb",
            "document",
            1,
            number,
            direction(number) if has_dense else None,
            SparseVector(tuple(terms), tuple(terms.values())),
            None if has_dense else new_id(),
        )
        for number, (has_dense, terms) in enumerate(shapes)
    ]
    for sent, received in zip(points, unpack_points(pack_points("m", points), DIMENSION), strict=True):
        assert (sent.id, sent.index, sent.sparse) == (received.id, received.index, received.sparse)
        assert sent.chunk_id == received.chunk_id
        assert (sent.dense is None) == (received.dense is None)
        assert sent.dense is None or np.array_equal(sent.dense, received.dense)


async def test_error_says_who_is_missing_when_the_server_is_down():
    settings = Settings(qdrant_url="http://127.0.0.1:1")
    client = EngineClient(settings.effective_engine_socket)
    index = open_vector_index(settings, client, model=DEFAULT.name, dimension=DIMENSION)
    assert isinstance(index, QdrantVectorIndex)
    with pytest.raises(VectorIndexUnavailable) as caught:
        await index.ensure_ready()
    assert caught.value.details == {"reason": "the Qdrant server does not answer"}
    await index.close()


def test_engine_keeps_the_vectors_when_no_server_is_set(tmp_path):
    settings = Settings(data_dir=tmp_path, qdrant_url=None)
    client = EngineClient(settings.effective_engine_socket)
    index = open_vector_index(settings, client, model=DEFAULT.name, dimension=DIMENSION)
    assert isinstance(index, EngineVectorIndex)


async def test_server_makes_its_collection_when_it_is_first_used_by_several_at_once():
    index = QdrantVectorIndex(AsyncQdrantClient(":memory:"), DEFAULT.name, DIMENSION)
    assert await asyncio.gather(*(index.count() for _ in range(5))) == [0] * 5
    await index.upsert([chunk("kb", "doc")])
    assert await index.documents() == [IndexedDocument("doc", 1, 1)]
    await index.close()
