"""Points and vectors of a document's pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anyio import to_thread

from ingestion.splitters.base import Piece, indexed_text
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.embeddings.protocol import Vectors
from kb_service.models import Document
from kb_service.vector_index.bm25 import encode_document
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, index_scope, point_id, window_id

_NO_TERMS = SparseVector((), ())


@dataclass(frozen=True, slots=True)
class PointOrigin:
    """The document revision of points, and its index scope."""

    scope: str
    document_id: str
    revision: int
    name: str

    @property
    def title(self) -> str:
        """The name without its suffix; its words count as the piece's own."""
        return self.name.rpartition(".")[0] or self.name

    @classmethod
    def of(cls, document: Document) -> "PointOrigin":
        return cls(
            index_scope(document.knowledge_base_id, document.generation), document.id, document.revision, document.name
        )


async def embed_points(
    space: EmbeddingSpace, pieces: Sequence[tuple[PointOrigin, Piece]], *, account: str = ""
) -> list[ChunkPoint]:
    """Embed a batch of pieces and build their points.

    A piece without windows is one point. A piece with windows is a point with its terms only, and a dense point per
    window that counts for the piece.
    """
    texts = [text for _, piece in pieces for text in piece.windows or (piece.text,)]
    dense = await space.encoder.embed_passages(texts, account=account)
    sparse = await to_thread.run_sync(_encode_sparse, pieces)
    points: list[ChunkPoint] = []
    place = 0
    for (origin, piece), terms in zip(pieces, sparse, strict=True):
        vectors = dense[place : place + max(1, len(piece.windows))]
        place += len(vectors)
        points.extend(_points(origin, piece, vectors, terms))
    return points


def _points(origin: PointOrigin, piece: Piece, dense: Vectors, sparse: SparseVector) -> Iterator[ChunkPoint]:
    where = (origin.scope, origin.document_id, origin.revision, piece.index)
    chunk_id = point_id(*where[1:])
    yield ChunkPoint(chunk_id, *where, None if piece.windows else dense[0], sparse)
    for number, _ in enumerate(piece.windows):
        id_ = window_id(*where[1:], number)
        yield ChunkPoint(id_, *where, dense[number], _NO_TERMS, chunk_id)


def empty_window_points(origin: PointOrigin, index: int, windows: range) -> list[ChunkPoint]:
    """Empty points that overwrite windows a chunk no longer has; no search finds them."""
    return [
        ChunkPoint(
            window_id(origin.document_id, origin.revision, index, number),
            origin.scope,
            origin.document_id,
            origin.revision,
            index,
            None,
            _NO_TERMS,
            point_id(origin.document_id, origin.revision, index),
        )
        for number in windows
    ]


def _encode_sparse(pieces: Sequence[tuple[PointOrigin, Piece]]) -> list[SparseVector]:
    return [encode_document(indexed_text(piece, origin.title)) for origin, piece in pieces]
