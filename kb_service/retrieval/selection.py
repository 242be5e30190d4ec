"""Selection of an answer's passages: second rerank, threshold, duplicates, top_k."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice, takewhile

from sqlmodel import col

from core.db.id_array import id_array
from core.db.prepared import PreparedQuery
from core.db.read_pool import ReadContext
from kb_service.models import Chunk, Document
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.retrieval.rerankers.protocol import Reranker
from kb_service.retrieval.results import DropReason, FoundChunk, FoundPassage, select_chunks


class Selection:
    """The passages of an answer, chosen one by one from a ranked list."""

    def __init__(self, reads: ReadContext, request: RetrievalRequest) -> None:
        self._reads = reads
        self._request = request
        self.passages: list[FoundPassage] = []
        self.reasons: dict[str, DropReason] = {}
        self.missing = 0
        self._texts: set[str] = set()

    def fill(self, ranked: Iterable[RankedHit]) -> None:
        """Fill ``passages``, and ``reasons`` for rejected hits; consumes no more of ``ranked`` than needed."""
        # Scores never rise; stop early, because later hits still need a check in SQL.
        good = takewhile(lambda hit: hit.score >= self._request.score_threshold, ranked)
        while part := list(islice(good, self._request.top_k - len(self.passages))):
            self._add(part)

    def drop_reasons(self, ranked: Sequence[RankedHit]) -> dict[str, DropReason]:
        """Why these hits are not among the ``passages``; those that are, are left out."""
        selected = {passage.hit.id for passage in self.passages}
        return {hit.id: self.reasons.get(hit.id) or self._left_behind(hit) for hit in ranked if hit.id not in selected}

    def _left_behind(self, hit: RankedHit) -> DropReason:
        is_good = hit.score >= self._request.score_threshold
        return DropReason.TOP_K if is_good else DropReason.THRESHOLD

    def _add(self, part: Sequence[RankedHit]) -> None:
        passages = {passage.hit.id: passage for passage in load_passages(self._reads, part)}
        for hit in part:
            passage = passages.get(hit.id)
            if passage is None:
                self.missing += 1
                self.reasons[hit.id] = DropReason.GONE
                continue
            text = " ".join(passage.chunk.content.split())
            if self._request.deduplicate and text in self._texts:
                self.reasons[hit.id] = DropReason.DUPLICATE
                continue
            self._texts.add(text)
            self.passages.append(passage)


def load_passages(reads: ReadContext, hits: Sequence[RankedHit]) -> list[FoundPassage]:
    """The passages of hits, in their order; hits whose row is gone are left out."""
    rows = reads.rows(_passages(), [hit.id for hit in hits])
    chunks = {row[0]: (FoundChunk._make(row[:-1]), row[-1]) for row in rows}
    return [FoundPassage(*chunks[hit.id], hit) for hit in hits if hit.id in chunks]


@cache
def _passages() -> PreparedQuery:
    ids = id_array("ids")
    chunks = select_chunks().join(ids, ids.c.value == col(Chunk.id))
    with_documents = chunks.join(Document, col(Document.id) == col(Chunk.document_id))
    return PreparedQuery(with_documents.add_columns(col(Document.name)))


async def second_rerank(
    reranker: Reranker, query: str, ranked: Sequence[RankedHit], texts: Mapping[str, str]
) -> list[RankedHit]:
    """Order the head of a ranked list by a reranker's relevance; the rest follows it.

    Judged hits have their relevance as score; the scores of the others are never above the last of these.
    """
    judged = [hit for hit in ranked if hit.id in texts]
    if not judged:
        return list(ranked)
    scores = await reranker.scores(query, [texts[hit.id] for hit in judged])
    best = [hit._replace(score=score, relevance=score) for hit, score in zip(judged, scores, strict=True)]
    best.sort(key=lambda hit: -hit.score)
    lowest = best[-1].score
    tail = [hit for hit in ranked if hit.id not in texts]
    return best + [hit._replace(score=min(hit.score, lowest)) for hit in tail]


def load_texts(reads: ReadContext, hits: Sequence[RankedHit]) -> dict[str, str]:
    """The texts of hits as a reranker reads them: below their headings."""
    return {passage.hit.id: _read(passage) for passage in load_passages(reads, hits)}


def _read(passage: FoundPassage) -> str:
    return "\n".join([" > ".join(passage.chunk.heading_path), passage.chunk.content]).strip()
