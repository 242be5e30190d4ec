"""Explanation of why a passage is not in the answer of a search."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from core.errors.auth import ChunkNotFound
from kb_service.documents import queries as document_queries
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.candidates import SpaceQuery
from kb_service.retrieval.filters import filter_condition
from kb_service.retrieval.fusion import LegRank
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.retrieval.results import DropReason, SearchResult
from kb_service.retrieval.service import Searcher
from kb_service.retrieval.visibility import DocumentScope, check_visibility
from kb_service.vector_index.protocol import IndexHit
from kb_service.visibility import Viewer, visible_to

# 10,000 hits take the index 0.1 s: acceptable for an explanation, not for every search.
_DEPTHS = (1_000, 10_000)


@dataclass(frozen=True)
class PassagePosition:
    """A passage in one leg: its score, and its rank from 1; None if ranked deeper than 10,000."""

    score: float
    rank: int | None


@dataclass(frozen=True)
class PassageExplanation:
    """What became of a passage in a search.

    Args:
        reason: the first thing that excluded it, or that it is shown.
        chunk: None if no passage contains the given text.
        dense: position in the dense leg, exact beyond that leg's depth; None if absent or not searched.
        sparse: the same in the sparse leg.
        hit: its ranking, if it was a candidate.
        place: its place after the rerank, from 1; None if it was no candidate.
    """

    reason: DropReason
    result: SearchResult
    document_name: str
    chunk: Chunk | None = None
    dense: PassagePosition | None = None
    sparse: PassagePosition | None = None
    hit: RankedHit | None = None
    place: int | None = None


@dataclass(frozen=True)
class PassageRef:
    """A reference to a passage.

    Args:
        chunk_id: of any revision.
        document_id: alternatively its document, with ``text``.
        text: words of the passage; whitespace and case do not matter.
    """

    chunk_id: str | None = None
    document_id: str | None = None
    text: str | None = None


async def find_passage(
    session: AsyncSession, reader: Viewer, knowledge_base: KnowledgeBase, passage: PassageRef
) -> tuple[Document, Chunk | None]:
    """The referenced passage and its document; None if the searchable revision lacks the words."""
    if passage.chunk_id is not None:
        query = (
            select(Chunk, Document)
            .join(Document, col(Document.id) == col(Chunk.document_id))
            .where(
                Chunk.id == passage.chunk_id,
                Document.knowledge_base_id == knowledge_base.id,
                col(Document.deleted_at).is_(None),
                visible_to(reader),
            )
        )
        row = (await session.exec(query)).first()
        if row is None:
            raise ChunkNotFound
        return row[1], row[0]
    document = await document_queries.get(session, reader, knowledge_base.id, passage.document_id or "")
    chunks = select(Chunk.id, Chunk.content).where(
        Chunk.document_id == document.id, Chunk.revision == document.active_revision
    )
    rows = (await session.exec(chunks.order_by(col(Chunk.position)))).all()
    text = _normalise(passage.text or "")
    best = next((id_ for id_, content in rows if text in _normalise(content)), None)
    return document, None if best is None else await session.get_one(Chunk, best)


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


class Explainer:
    """Explains passages of one search; ``request`` is the search, over this knowledge base."""

    def __init__(
        self,
        database: Database,
        searcher: Searcher,
        reader: Viewer,
        knowledge_base: KnowledgeBase,
        request: RetrievalRequest,
    ) -> None:
        self._database = database
        self._searcher = searcher
        self._reader = reader
        self._knowledge_base = knowledge_base
        self._request = request

    async def explain(self, document: Document, chunk: Chunk | None) -> PassageExplanation:
        base = self._knowledge_base
        result = await self._searcher.search(self._reader, [base], self._request, explain=True)
        if chunk is None:
            is_searchable = document.active_revision is not None
            reason = DropReason.TEXT_NOT_FOUND if is_searchable else DropReason.NOT_SEARCHABLE
            return PassageExplanation(reason, result, document.name)
        if not base.enabled:
            return PassageExplanation(DropReason.KNOWLEDGE_BASE_DISABLED, result, document.name, chunk)
        reason, hit, place = await self._first_reason(document, chunk, result)
        query = await self._searcher.query(self._reader, base, result)
        dense, sparse = await _positions(query, chunk, hit)
        if reason is DropReason.BEYOND_DEPTH and not dense and not sparse:
            reason = DropReason.NOT_INDEXED if query.with_dense else DropReason.NO_MATCH
        return PassageExplanation(reason, result, document.name, chunk, dense, sparse, hit=hit, place=place)

    async def _first_reason(
        self, document: Document, chunk: Chunk, result: SearchResult
    ) -> tuple[DropReason, RankedHit | None, int | None]:
        hits = {passage.chunk.id: passage.hit for passage in result.passages}
        dropped = {hit.chunk_id: hit for hit in result.dropped}
        ranked = sorted(
            [*hits.values(), *(drop.hit for drop in result.dropped if drop.hit is not None)], key=lambda hit: -hit.score
        )
        place = next((n for n, hit in enumerate(ranked, start=1) if hit.id == chunk.id), None)
        if chunk.id in hits:
            return DropReason.SHOWN, hits[chunk.id], place
        if chunk.id in dropped:
            return dropped[chunk.id].reason, dropped[chunk.id].hit, place
        if document.active_revision is None:
            return DropReason.NOT_SEARCHABLE, None, None
        scope = self._scope()
        checked = await self._database.read(lambda reads: check_visibility(reads, [chunk.id], scope))
        return checked.refused.get(chunk.id, DropReason.BEYOND_DEPTH), None, None

    def _scope(self) -> DocumentScope:
        filters = self._request.filters
        is_sqlite = self._database.is_sqlite
        return DocumentScope(
            {self._knowledge_base.id: self._knowledge_base.generation},
            None if filters.is_empty else filter_condition(filters, is_sqlite=is_sqlite),
        )


async def _positions(
    query: SpaceQuery, chunk: Chunk, hit: RankedHit | None
) -> tuple[PassagePosition | None, PassagePosition | None]:
    """The passage's positions in the dense and the sparse leg; ``hit`` has those of a candidate without a search."""
    dense = _as_position(hit.fused.dense if hit else None)
    sparse = _as_position(hit.fused.sparse if hit else None)
    if dense is None or sparse is None:
        # Only in its own document, where its score is the same and it can't be crowded out.
        legs = (await query.search(_DEPTHS[-1], [chunk.document_id])).legs
        dense = dense or _unranked(legs.dense, chunk.id)
        sparse = sparse or _unranked(legs.sparse, chunk.id)
    for depth in _DEPTHS:
        if all(position is None or position.rank is not None for position in (dense, sparse)):
            break
        legs = (await query.search(depth)).legs
        dense = _ranked(dense, legs.dense, chunk.id)
        sparse = _ranked(sparse, legs.sparse, chunk.id)
    return dense, sparse


def _as_position(rank: LegRank | None) -> PassagePosition | None:
    return None if rank is None else PassagePosition(rank.score, rank.rank)


def _unranked(leg: Sequence[IndexHit], chunk_id: str) -> PassagePosition | None:
    return next((PassagePosition(hit.score, None) for hit in leg if hit.id == chunk_id), None)


def _ranked(position: PassagePosition | None, leg: Sequence[IndexHit], chunk_id: str) -> PassagePosition | None:
    if position is None or position.rank is not None:
        return position
    places = (rank for rank, hit in enumerate(leg, start=1) if hit.id == chunk_id)
    return PassagePosition(position.score, next(places, None))
