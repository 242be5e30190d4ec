"""Names and payloads of Qdrant points, on a server or in a shard."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kb_service.vector_index.protocol import ChunkPoint, IndexHit, SparseVector

# The names of a point's two vectors.
DENSE, BM25 = "dense", "bm25"
# What a search needs of a payload.
HIT_FIELDS = ["document_id", "revision", "chunk"]


def to_payload(point: ChunkPoint) -> dict[str, str | int]:
    """A point's payload: all but its vectors."""
    payload: dict[str, str | int] = {
        "kb_id": point.kb_id,
        "document_id": point.document_id,
        "revision": point.revision,
        "index": point.index,
    }
    if point.chunk_id is not None:
        payload["chunk"] = point.chunk_id
    return payload


def to_point(
    point_id: object,
    payload: Mapping[str, Any] | None,
    *,
    dense: object,
    sparse: tuple[Sequence[int], Sequence[float]] | None,
) -> ChunkPoint:
    """The point of a full payload and its vectors.

    Args:
        point_id: of the library's own type.
        payload: as ``to_payload`` made it.
        dense: a list of numbers, or None.
        sparse: indices and values, or None.
    """
    fields = payload or {}
    indices, values = sparse or ((), ())
    return ChunkPoint(
        id=str(point_id),
        kb_id=fields["kb_id"],
        document_id=fields["document_id"],
        revision=fields["revision"],
        index=fields["index"],
        dense=np.array(dense, dtype=np.float32) if isinstance(dense, list) else None,
        sparse=SparseVector(tuple(indices), tuple(values)),
        chunk_id=fields.get("chunk"),
    )


def to_hit(point_id: object, score: float, payload: Mapping[str, Any] | None) -> IndexHit:
    """A hit from the payload fields that a search returns."""
    fields = payload or {}
    return IndexHit(str(point_id), score, fields["document_id"], fields["revision"], fields.get("chunk"))
