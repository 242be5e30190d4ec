"""Reading points back with their vectors: what an export needs, from every vector index."""

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from kb_service.vector_index.bm25 import encode_query
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, VectorIndex, point_id
from kb_service.vector_index.qdrant_server import QdrantVectorIndex
from tests.contracts.test_vector_index import chunk, direction, engine, index

__all__ = ["engine", "index"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
]


def facts(point: ChunkPoint) -> tuple[object, ...]:
    return (
        (point.id, point.kb_id, point.document_id, point.revision, point.index, point.chunk_id),
        None if point.dense is None else point.dense.tobytes(),
        sorted(zip(point.sparse.indices, point.sparse.values, strict=True)),
    )


def window(point: ChunkPoint, number: int) -> ChunkPoint:
    return replace(
        point,
        id=point_id(f"{point.id}:{number}", point.revision, point.index),
        dense=direction(1000 + number),
        sparse=SparseVector((), ()),
        chunk_id=point.id,
    )


async def test_points_of_a_revision_come_back_with_all_they_have(index: VectorIndex):
    doc = str(uuid4())
    # More than a page, chunks without a dense vector, and windows among them.
    chunks = [chunk("kb", doc, number) for number in range(300)]
    chunks[7] = replace(chunks[7], dense=None)
    mine = [*chunks, window(chunks[3], 0), window(chunks[3], 1)]
    others = [chunk("kb", doc, 0, revision=2), chunk("kb", str(uuid4()), 0)]
    await index.upsert([*mine, *others])
    found = await index.points(doc, 1)
    assert len(found) == len(mine)
    by_id = {point.id: point for point in found}
    for point in mine:
        back = by_id[point.id]
        assert facts(replace(back, dense=None, sparse=point.sparse)) == facts(replace(point, dense=None))
        assert dict(zip(back.sparse.indices, back.sparse.values, strict=True)) == pytest.approx(
            dict(zip(point.sparse.indices, point.sparse.values, strict=True))
        )
        if point.dense is None:
            assert back.dense is None
        else:
            assert back.dense is not None
            assert back.dense.dtype == np.float32
            assert float(back.dense @ point.dense) == pytest.approx(1, abs=1e-4)


async def test_points_that_came_back_are_the_same_when_written_again(index: VectorIndex):
    doc = str(uuid4())
    await index.upsert([chunk("kb", doc, number) for number in range(20)])
    found = await index.points(doc, 1)
    # As an import or a copy does, which must not change what is found.
    copied = [replace(point, id=str(uuid4()), document_id=f"{doc}-copy") for point in found]
    await index.upsert(copied)
    again = {point.id: point for point in await index.points(f"{doc}-copy", 1)}
    for point in copied:
        assert point.dense is not None
        np.testing.assert_allclose(again[point.id].dense, point.dense, atol=1e-7)


async def test_nothing_comes_back_of_what_is_not_there(index: VectorIndex):
    doc = str(uuid4())
    await index.upsert([chunk("kb", doc)])
    assert await index.points(doc, 2) == []
    assert await index.points(str(uuid4()), 1) == []


async def test_points_written_again_give_the_same_scores(index: VectorIndex):
    doc, copy, kb, other_kb = (str(uuid4()) for _ in range(4))
    await index.upsert([chunk(kb, doc, number) for number in range(40)])
    read = await index.points(doc, 1)
    copies = [replace(point, id=point_id(copy, 1, point.index), kb_id=other_kb, document_id=copy) for point in read]
    await index.upsert(copies)
    again = await index.points(copy, 1)
    queries = {"dense": direction(99), "sparse": encode_query("word7 common")}
    legs = [await index.query(kb_ids=[one], depth=40, **queries) for one in (kb, other_kb)]
    pairs = ((legs[0].dense, legs[1].dense), (legs[0].sparse, legs[1].sparse))
    scores = [[[hit.score for hit in leg] for leg in pair] for pair in pairs]
    if isinstance(index, QdrantVectorIndex):
        # qdrant-client's local mode normalises each time anew, which moves the last bit.
        assert [pair[0] for pair in scores] == [pytest.approx(pair[1]) for pair in scores]
        return
    vectors = [sorted(facts(point)[1:] for point in points) for points in (read, again)]
    assert vectors[0] == vectors[1]
    assert all(pair[0] == pair[1] for pair in scores)


async def test_hits_are_whole_however_often_their_points_were_found(index: VectorIndex):
    kb, before, after = (str(uuid4()) for _ in range(3))
    points = [chunk(kb, before, number) for number in range(12)]
    await index.upsert(points[:9])

    async def found() -> dict[str, tuple[str, int, str | None]]:
        legs = await index.query(kb_ids=[kb], dense=direction(0), sparse=encode_query("common"), depth=50)
        hits = {hit.id: (hit.document_id, hit.revision, hit.chunk_id) for hit in legs.dense}
        assert hits == {hit.id: (hit.document_id, hit.revision, None) for hit in legs.sparse}
        return hits

    expected = {point.id: (before, 1, None) for point in points}
    for _ in range(3):
        assert await found() == {point.id: expected[point.id] for point in points[:9]}
    # Unknown ones among known ones, and then known ones that are another's now.
    await index.upsert(points[9:])
    assert await found() == expected
    await index.upsert([replace(point, document_id=after, revision=2) for point in points[:5]])
    for _ in range(2):
        assert await found() == expected | {point.id: (after, 2, None) for point in points[:5]}
    await index.delete_documents([before])
    assert set(await found()) == {point.id for point in points[:5]}
