"""Why is this passage not in the answer? One search, looked at from one passage."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from core.errors.auth import ChunkNotFound
from kb_service.documents import queries as document_queries
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.filters import filter_condition
from kb_service.retrieval.positions import PassagePosition, PassagePositions
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.retrieval.results import DropReason, SearchResult
from kb_service.retrieval.service import Searcher
from kb_service.retrieval.visibility import DocumentScope, check_visibility
from kb_service.visibility import Viewer, visible_to

# Ten thousand hits take the index a tenth of a second: for a person who asks why, not for all.


@dataclass(frozen=True)
class PassageExplanation:
    """What became of a passage in a search.

    Args:
        reason: the first thing that kept it out, or that it is shown.
        result: the whole search.
        document_name: of its document.
        chunk: the passage; None if the text asked for is in none.
        dense: its place and score in the dense leg, exact beyond that leg's depth; None if the
            leg does not have it or was not asked.
        sparse: the same in the sparse leg.
        hit: how it was ranked, if it was among the candidates.
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
    """The passage that a person means.

    Args:
        chunk_id: the passage itself; of any revision.
        document_id: else its document, with ``text``.
        text: words of the passage; blanks and case do not matter.
    """

    chunk_id: str | None = None
    document_id: str | None = None
    text: str | None = None


async def find_passage(
    session: AsyncSession, reader: Viewer, knowledge_base: KnowledgeBase, wanted: PassageRef
) -> tuple[Document, Chunk | None]:
    """The passage that is meant, and its document.

    Args:
        session: to read from.
        reader: who asks.
        knowledge_base: they have passed its gate.
        wanted: which one.

    Returns:
        None for the passage if none of the searchable revision has the words.

    Raises:
        ChunkNotFound: no such passage in this knowledge base, or not for this reader.
        DocumentNotFound: no such document in this knowledge base, or not for this reader.
    """
    if wanted.chunk_id is not None:
        query = (
            select(Chunk, Document)
            .join(Document, col(Document.id) == col(Chunk.document_id))
            .where(
                Chunk.id == wanted.chunk_id,
                Document.knowledge_base_id == knowledge_base.id,
                col(Document.deleted_at).is_(None),
                visible_to(reader),
            )
        )
        found = (await session.exec(query)).first()
        if found is None:
            raise ChunkNotFound
        chunk, document = found
        return document, chunk
    document = await document_queries.get(
        session, reader, knowledge_base.id, wanted.document_id or ""
    )
    chunks = select(Chunk.id, Chunk.content).where(
        Chunk.document_id == document.id, Chunk.revision == document.active_revision
    )
    rows = (await session.exec(chunks.order_by(col(Chunk.position)))).all()
    best = _holding(rows, wanted.text or "")
    return document, None if best is None else await session.get_one(Chunk, best)


def _holding(rows: Sequence[tuple[str, str]], text: str) -> str | None:
    wanted = _normalise(text)
    return next((id_ for id_, content in rows if wanted in _normalise(content)), None)


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


class Explainer:
    """Answers for one passage.

    Args:
        database: to read from.
        searcher: the product's search.
        reader: who asks.
        knowledge_base: the passage's.
        request: the search in question, over this knowledge base.
    """

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

    async def of(self, document: Document, chunk: Chunk | None) -> PassageExplanation:
        """Why this passage is not in the answer, or that it is.

        Raises:
            AgentexError: as the search does.
        """
        base = self._knowledge_base
        result = await self._searcher.search(self._reader, [base], self._request, explain=True)
        if chunk is None:
            known = document.active_revision is not None
            reason = DropReason.TEXT_NOT_FOUND if known else DropReason.NOT_SEARCHABLE
            return PassageExplanation(reason, result, document.name)
        if not base.enabled:
            return PassageExplanation(
                DropReason.KNOWLEDGE_BASE_DISABLED, result, document.name, chunk
            )
        reason, hit, place = await self._first_reason(document, chunk, result)
        found = await self._searcher.positions(self._reader, result, base, chunk, hit)
        reason = _told_apart(reason, found)
        return PassageExplanation(
            reason, result, document.name, chunk, found.dense, found.sparse, hit=hit, place=place
        )

    async def _first_reason(
        self, document: Document, chunk: Chunk, result: SearchResult
    ) -> tuple[DropReason, RankedHit | None, int | None]:
        shown = {passage.chunk.id: passage.hit for passage in result.passages}
        dropped = {one.chunk_id: one for one in result.dropped}
        ranked = sorted(
            [*shown.values(), *(one.hit for one in result.dropped if one.hit is not None)],
            key=lambda hit: -hit.score,
        )
        place = next((n for n, hit in enumerate(ranked, start=1) if hit.id == chunk.id), None)
        if chunk.id in shown:
            return DropReason.SHOWN, shown[chunk.id], place
        if chunk.id in dropped:
            return dropped[chunk.id].reason, dropped[chunk.id].hit, place
        if document.active_revision is None:
            return DropReason.NOT_SEARCHABLE, None, None
        ids, scope = [chunk.id], self._scope()
        vouched = await self._database.read(lambda reads: check_visibility(reads, ids, scope))
        return vouched.refused.get(chunk.id, DropReason.BEYOND_DEPTH), None, None

    def _scope(self) -> DocumentScope:
        filters = self._request.filters
        is_sqlite = self._database.is_sqlite
        return DocumentScope(
            {self._knowledge_base.id: self._knowledge_base.generation},
            None if filters.is_empty else filter_condition(filters, is_sqlite=is_sqlite),
        )


def _told_apart(reason: DropReason, positions: PassagePositions) -> DropReason:
    """What "not among the candidates" means for a passage that neither leg has at all."""
    if reason is not DropReason.BEYOND_DEPTH or positions.dense or positions.sparse:
        return reason
    return DropReason.NOT_INDEXED if positions.dense_is_used else DropReason.NO_MATCH
