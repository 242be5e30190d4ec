"""The protocol of vector indexes."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, Protocol, Self, overload
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from core.errors.server import InvalidVector

# Any fixed value works; it must never change, because point ids are derived from it.
NAMESPACE = UUID("6f3b9c1e-2a57-5d84-9e0b-7c1d4a8f2b63")


@dataclass(frozen=True)
class SparseVector:
    """Term weights; ``indices`` are distinct and as many as ``values``."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ChunkPoint:
    """A chunk, or a window of one, with its vectors.

    ``dense`` is ``float32`` of the model's dimension, or None for a chunk that only the sparse leg can find.
    ``chunk_id`` is a window's chunk, None for a chunk itself. A window's ``sparse`` is empty: words are looked up in
    whole chunks.
    """

    id: str
    kb_id: str
    document_id: str
    revision: int
    index: int
    dense: NDArray[np.float32] | None
    sparse: SparseVector
    chunk_id: str | None = None


class IndexHit(NamedTuple):
    """One hit of one leg; ``score`` is cosine (dense) or BM25 (sparse), ``chunk_id`` a window's chunk or None."""

    id: str
    score: float
    document_id: str
    revision: int
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True)
class HitList(Sequence[IndexHit]):
    """The hits of one leg, best first, by columns: a search has two hundred and shows five, so items are built on
    access.
    """

    ids: Sequence[str]
    scores: Sequence[float]
    document_ids: Sequence[str]
    revisions: Sequence[int]
    chunk_ids: Sequence[str | None]

    @classmethod
    def from_hits(cls, hits: Iterable[IndexHit]) -> Self:
        columns = [list(column) for column in zip(*hits, strict=True)]
        return cls(*columns) if columns else cls([], [], [], [], [])

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> IndexHit: ...
    @overload
    def __getitem__(self, place: slice) -> "HitList": ...
    def __getitem__(self, place: int | slice) -> "IndexHit | HitList":
        if isinstance(place, slice):
            return HitList(*(column[place] for column in self._columns))
        return IndexHit(*(column[place] for column in self._columns))

    def __iter__(self) -> Iterator[IndexHit]:
        return map(IndexHit, *self._columns)

    def restricted_to(self, ids: Collection[str]) -> "HitList":
        chosen = [id_ in ids for id_ in self.ids]
        if all(chosen):
            return self
        return HitList(*(list(compress(column, chosen)) for column in self._columns))

    @property
    def _columns(self) -> tuple[Sequence[Any], ...]:
        return self.ids, self.scores, self.document_ids, self.revisions, self.chunk_ids


NO_HITS = HitList([], [], [], [], [])


@dataclass(frozen=True)
class HybridHits:
    """The hits of both legs; a skipped leg is empty."""

    dense: HitList = NO_HITS
    sparse: HitList = NO_HITS


@dataclass(frozen=True)
class IndexedDocument:
    """Number of points of one revision of a document."""

    document_id: str
    revision: int
    count: int


NO_TERMS = SparseVector((), ())


@dataclass(frozen=True)
class IndexDocumentFilter:
    """The documents that a query covers.

    Args:
        only: these; None: all, empty: none.
        hidden: these are treated as if they did not exist.
    """

    only: Sequence[str] | None = None
    hidden: Sequence[str] = ()


ALL_DOCUMENTS = IndexDocumentFilter()


@dataclass(frozen=True)
class HybridQuery:
    """A query to both legs; ``text`` is not encoded yet, other fields are as in ``VectorIndex.query``."""

    text: str
    sparse: SparseVector
    kb_ids: Sequence[str]
    depth: int
    documents: IndexDocumentFilter = ALL_DOCUMENTS


@dataclass(frozen=True, eq=False)
class HybridAnswer:
    """Both legs, the question's vector, and the seconds that its encoding took."""

    legs: HybridHits
    dense: NDArray[np.float32]
    encoding_seconds: float


def point_id(document_id: str, revision: int, index: int) -> str:
    """The id of a chunk, equal each time the same revision is indexed."""
    return str(uuid5(NAMESPACE, f"{document_id}:{revision}:{index}"))


def window_id(document_id: str, revision: int, index: int, window: int) -> str:
    """The id of a chunk's dense window, numbered from 0; equal each time it is indexed."""
    return str(uuid5(NAMESPACE, f"{document_id}:{revision}:{index}:{window}"))


def index_scope(knowledge_base_id: str, generation: int) -> str:
    """The ``kb_id`` of the points of one generation of a knowledge base.

    Generations are kept apart like tenants, so a re-index neither crowds a search out nor moves its scores, and a
    generation can be deleted as a whole.
    """
    return knowledge_base_id if generation == 1 else f"{knowledge_base_id}:{generation}"


class VectorIndex(Protocol):
    """The points of one embedding model; methods raise ``VectorIndexUnavailable`` or the engine's
    ``EngineUnavailable``.
    """

    async def ensure_ready(self) -> None:
        """Create missing collections and payload indexes; idempotent."""
        ...

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """Write points durably, replacing those of the same id; InvalidVector: a bad vector, nothing is written."""
        ...

    async def query(
        self,
        *,
        kb_ids: Sequence[str],
        dense: NDArray[np.float32] | None,
        sparse: SparseVector | None,
        depth: int,
        documents: IndexDocumentFilter = ALL_DOCUMENTS,
    ) -> HybridHits:
        """The ``depth`` best of each leg among these knowledge bases, in one round trip.

        An index may store fewer bits of a dense vector: its scores are within .003 of the exact ones. No knowledge
        base means no hit, never an unfiltered search. IDF is taken over these knowledge bases, so other tenants'
        documents can't move a score. ``documents.only`` moves no score; a thousand documents there take about as long
        as the query itself. ``documents.hidden`` are left out of IDF, too.

        Raises:
            InvalidVector: The query vector is not finite or has another dimension.
        """
        ...

    async def delete_documents(self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None) -> None:
        """Delete all points of documents, or those of the revisions to delete: a late call can't delete a newer
        revision.
        """
        ...

    async def delete_knowledge_base(self, kb_id: str) -> None: ...

    async def count(self, *, kb_id: str | None = None, document_id: str | None = None) -> int:
        """The exact number of points, of everything or of the given ids."""
        ...

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """All points of one revision of a document with their vectors, in no certain order.

        Written again, under whatever ids, they give the same scores: vectors are returned as stored (cosine to the
        original: .9999 and more) and stored unchanged.
        """
        ...

    async def documents(self) -> list[IndexedDocument]: ...

    async def close(self) -> None: ...


class EncodingIndex(Protocol):
    """An index whose process has the encoder too, so that one request does for both."""

    async def search(self, query: HybridQuery) -> HybridAnswer:
        """Encode a query and search both legs; EngineUnavailable also without an encoder of this model."""
        ...


_LARGEST = float(np.finfo(np.float32).max)


def check_points(points: Sequence[ChunkPoint], dimension: int) -> None:
    """Raise InvalidVector for the first bad point; to be called before the first is written."""
    for point in points:
        fault = _dense_fault(point.dense, dimension) or _sparse_fault(point.sparse)
        if fault:
            raise InvalidVector(point=point.id, error=fault)


def check_query(dense: NDArray[np.float32] | None, sparse: SparseVector | None, dimension: int) -> None:
    """Raise InvalidVector for a bad vector of a query."""
    fault = _dense_fault(dense, dimension) or (_sparse_fault(sparse) if sparse else None)
    if fault:
        raise InvalidVector(error=fault)


def _dense_fault(dense: NDArray[np.float32] | None, dimension: int) -> str | None:
    if dense is None:
        return None
    if dense.shape != (dimension,):
        return f"the dense vector has shape {dense.shape}, the index ({dimension},)"
    if not np.isfinite(dense).all():
        return "the dense vector has a value that is not finite"
    return None


def _sparse_fault(sparse: SparseVector) -> str | None:
    if len(sparse.indices) != len(sparse.values):
        return "the sparse vector has not as many values as indices"
    if len(set(sparse.indices)) != len(sparse.indices):
        return "the sparse vector has an index twice"
    if any(not 0 <= index < 2**32 for index in sparse.indices):
        return "the sparse vector has an index that is not an unsigned 32-bit number"
    # False for NaN, too.
    if not all(-_LARGEST <= value <= _LARGEST for value in sparse.values):
        return "the sparse vector has a value that is not finite"
    return None
