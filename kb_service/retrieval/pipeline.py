"""The retrieval pipeline: candidates, rerank, selection, context."""

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from heapq import merge

from core.db.database import Database
from core.db.read_pool import ReadContext
from core.errors.base import AgentexError
from core.errors.server import RerankerUnavailable
from core.logging import get_logger
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.failures import MODEL_ERRORS
from kb_service.models import KnowledgeBase
from kb_service.query_translation.translator import QueryTranslator
from kb_service.retrieval.candidates import (
    CandidateCollector,
    Candidates,
    IndexChanged,
    SpaceHits,
    SpaceQuery,
    Stopwatch,
    encode_together,
)
from kb_service.retrieval.context import with_context
from kb_service.retrieval.fusion import DEPTH
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers import LEXICAL
from kb_service.retrieval.rerankers.lexical import RERANK_DEPTH, RankedHit, rerank, unreranked
from kb_service.retrieval.rerankers.protocol import Reranker
from kb_service.retrieval.results import DroppedHit, DropReason, SearchResult, SearchWarning, UnsearchedWarning
from kb_service.retrieval.selection import Selection, load_texts, second_rerank
from kb_service.retrieval.token_cache import TermCache
from kb_service.retrieval.visibility import DocumentScope, matching_documents
from kb_service.vector_index.bm25 import encode_query
from kb_service.vector_index.protocol import SparseVector

log = get_logger(__name__)


@dataclass(frozen=True)
class SearchDeps:
    """Resources shared by a process's searches.

    Args:
        database: chunk texts and their visibility.
        rerankers: those configured besides the lexical one, by name.
        terms: tokens of recently used passages.
        translator: translates words of questions for the sparse leg; None searches for the question's own words alone.
    """

    database: Database
    spaces: EmbeddingSpaces
    rerankers: Mapping[str, Reranker]
    terms: TermCache
    translator: QueryTranslator | None = None

    def sparse_query(self, text: str) -> SparseVector:
        """A question's own words, and their translations."""
        query = encode_query(text)
        if self.translator is None:
            return query
        weights = self.translator.translate(text) | dict(zip(query.indices, query.values, strict=True))
        return SparseVector(tuple(weights), tuple(weights.values()))


@dataclass(frozen=True)
class CandidateSet:
    """The ranked candidates of all spaces.

    Without ``explain`` they can be iterated only once, and refused ones are unknown.
    """

    ranked: Iterable[RankedHit]
    dense_weight: float
    generations: dict[str, int]
    documents: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, DropReason] = field(default_factory=dict[str, DropReason])


class RetrievalPipeline:
    """One attempt at a retrieval over enabled knowledge bases that the caller may search.

    Args:
        explain: also collect which candidates were dropped, and why.

    Raises:
        EmbeddingModelNotServed: for all of the knowledge bases.
    """

    def __init__(
        self,
        deps: SearchDeps,
        request: RetrievalRequest,
        knowledge_bases: Sequence[KnowledgeBase],
        scope: DocumentScope,
        *,
        explain: bool,
    ) -> None:
        self._deps = deps
        self._request = request
        self._knowledge_bases = knowledge_bases
        self._scope = scope
        self._explain = explain
        self._stopwatch = Stopwatch()
        self._warnings: list[SearchWarning] = []
        self._unsearched: list[UnsearchedWarning] = []
        self._sparse = deps.sparse_query(request.query)
        self._queries: list[SpaceQuery] = []
        for model, generations in _by_model(knowledge_bases, shadow=scope.is_shadow).items():
            try:
                self._queries.append(self._query(model, generations))
            except MODEL_ERRORS as error:
                self._skip(model, generations, error)
        self._require_any(self._queries)

    async def run(self) -> SearchResult | None:
        """The answer; None if the index changed during the search and it must be repeated.

        Raises:
            AgentexError: a required part, or every embedding model, failed.
        """
        try:
            return await self._run()
        except IndexChanged:
            return None

    async def _run(self) -> SearchResult:
        searched = await self._search_ahead()
        database, reranker = self._deps.database, self._second_reranker()
        if reranker is None:
            return await database.read(lambda reads: self._answer(reads, self._find(reads, searched)))

        def find_with_texts(reads: ReadContext) -> tuple[CandidateSet, dict[str, str]]:
            candidates = self._find(reads, searched)
            ranked = list(candidates.ranked)
            return replace(candidates, ranked=ranked), load_texts(reads, ranked[: reranker.depth])

        # Holds no connection while the reranker's server works.
        candidates, texts = await database.read(find_with_texts)
        reranked = replace(candidates, ranked=await self._rerank_again(reranker, candidates, texts))
        return await database.read(lambda reads: self._answer(reads, reranked))

    async def _search_ahead(self) -> list[tuple[SpaceQuery, SpaceHits | None]]:
        """Each query with its first hits, unless filters must be evaluated first."""
        await self._encode_ahead()
        if self._scope.condition is not None:
            return [(query, None) for query in self._queries]
        searched: list[tuple[SpaceQuery, SpaceHits | None]] = []
        wordless: list[SpaceQuery] = []
        for query in self._queries:
            try:
                hits = await query.search(DEPTH)
            except MODEL_ERRORS as error:
                self._skip(query.space.model.name, query.scope.generations, error)
                continue
            searched.append((query, hits))
            if not hits.legs.sparse:
                wordless.append(query)
        self._require_any(searched)
        # Without a sparse hit, the dense leg is searched as a fallback.
        await encode_together(wordless)
        return searched

    async def _encode_ahead(self) -> None:
        """Encode the query with the models whose dense leg will be searched.

        Done before the database is read: few can read at a time, and others would wait for them.
        """
        queries = [query for query in self._queries if query.with_dense and query.lacks_vector]
        if queries and self._scope.condition is not None:
            # If no document meets the filters, no model is needed.
            queries = await self._deps.database.read(
                lambda reads: [query for query in queries if matching_documents(reads.connection, query.scope)]
            )
        await encode_together(queries)

    def _skip(self, model: str, ids: Container[str], error: AgentexError) -> None:
        log.warning("search.model_failed", model=model, error=type(error).__name__)
        names = [row.name for row in self._knowledge_bases if row.id in ids]
        self._unsearched.append(UnsearchedWarning(names, model, error))

    def _require_any(self, searched: Sized) -> None:
        """Raise the outage if nothing could be searched: it must not look like an empty answer."""
        if self._unsearched and not searched:
            raise self._unsearched[0].error

    def _query(self, model: str, generations: dict[str, int]) -> SpaceQuery:
        return SpaceQuery(
            self._deps.spaces.of(model),
            self._request,
            replace(self._scope, generations=generations),
            self._stopwatch,
            sparse=self._sparse,
            siblings=self._queries,
        )

    def _second_reranker(self) -> Reranker | None:
        request = self._request
        if not request.rerank or request.reranker == LEXICAL:
            return None
        reranker = self._deps.rerankers.get(request.reranker)
        if reranker is None:
            self._warnings.append(SearchWarning.RERANKER_MISSING)
        return reranker

    def _find(self, reads: ReadContext, searched: Sequence[tuple[SpaceQuery, SpaceHits | None]]) -> CandidateSet:
        rankings: list[Iterable[RankedHit]] = []
        collectors: list[CandidateCollector] = []
        weight = 0.0
        generations: dict[str, int] = {}
        for query, first in searched:
            try:
                collector, candidates = self._collect(reads, query, first)
            except MODEL_ERRORS as error:
                # Filtered queries and those without a sparse hit may be encoded only here.
                self._skip(query.space.model.name, query.scope.generations, error)
                continue
            rankings.append(self._rank(reads, candidates))
            collectors.append(collector)
            weight = max(weight, candidates.front.dense_weight)
            generations |= query.scope.generations
        self._require_any(collectors)
        ranked = merge(*rankings, key=lambda hit: -hit.score)
        if not self._explain:
            return CandidateSet(ranked, weight, generations)
        # Hits behind the front are checked when reached: consume all before reading what was refused.
        explained = CandidateSet(list(ranked), weight, generations)
        for collector in collectors:
            explained.documents.update(collector.documents_of_hits)
            explained.refused.update(collector.refused)
        return explained

    def _collect(
        self, reads: ReadContext, query: SpaceQuery, first: SpaceHits | None
    ) -> tuple[CandidateCollector, Candidates]:
        is_filtered = self._scope.condition is not None
        documents = matching_documents(reads.connection, query.scope) if is_filtered else None
        enough = max(RERANK_DEPTH, self._request.top_k)
        collector = CandidateCollector(reads, query, enough, documents)
        candidates = collector.collect(first)
        if self._explain and is_filtered:
            collector.look_behind_filter()
        return collector, candidates

    def _rank(self, reads: ReadContext, candidates: Candidates) -> Iterator[RankedHit]:
        front, behind = candidates.front, candidates.behind
        if not self._request.rerank:
            return unreranked(front, behind)
        versions = [(id_, candidates.versions[id_]) for id_, _ in front.order[:RERANK_DEPTH]]
        started = time.perf_counter()
        terms = self._deps.terms.load(reads, versions)
        self._stopwatch.add("database", started)
        started = time.perf_counter()
        ranked = rerank(self._request.query, front, terms, behind=behind)
        self._stopwatch.add("rerank", started)
        return ranked

    async def _rerank_again(
        self, reranker: Reranker, candidates: CandidateSet, texts: Mapping[str, str]
    ) -> Sequence[RankedHit]:
        started = time.perf_counter()
        ranked = list(candidates.ranked)
        try:
            ranked = await second_rerank(reranker, self._request.query, ranked, texts)
        except RerankerUnavailable as error:
            log.warning("search.reranker_failed", reason=error.details.get("reason"))
            self._warnings.append(SearchWarning.RERANKER_FAILED)
        self._stopwatch.add("rerank", started)
        return ranked

    def _answer(self, reads: ReadContext, candidates: CandidateSet) -> SearchResult:
        started = time.perf_counter()
        selection = Selection(reads, self._request)
        selection.fill(candidates.ranked)
        if selection.missing:
            # A cut-over, a new revision or a deletion came between, and the replacements may not be candidates.
            raise IndexChanged
        passages = with_context(reads.connection, selection.passages, self._request)
        self._stopwatch.add("database", started)
        return SearchResult(
            passages=passages,
            dense_weight=candidates.dense_weight,
            took_ms=0.0,
            request=self._request,
            generations=candidates.generations,
            dropped=_dropped(candidates, selection) if self._explain else (),
            warnings=(*self._warnings, *self._unsearched),
            timings=self._stopwatch.timings(),
        )


def _by_model(knowledge_bases: Sequence[KnowledgeBase], *, shadow: bool) -> dict[str, dict[str, int]]:
    models: dict[str, dict[str, int]] = {}
    for row in knowledge_bases:
        model, generation = row.embedding_model, row.generation
        if shadow and row.target is not None:
            model, generation = row.target["embedding_model"], row.target["generation"]
        models.setdefault(model, {})[row.id] = generation
    return models


def _dropped(candidates: CandidateSet, selection: Selection) -> list[DroppedHit]:
    """The candidates that are not in the answer: ranked ones in their order, then the others."""
    ranked = list(candidates.ranked)
    documents = candidates.documents
    reasons = selection.drop_reasons(ranked)
    scored = [
        DroppedHit(hit.id, documents[hit.id], reasons[hit.id], hit)
        for hit in ranked
        if hit.id in reasons and reasons[hit.id] is not DropReason.GONE
    ]
    refused = [DroppedHit(id_, documents[id_], reason) for id_, reason in candidates.refused.items()]
    return scored + refused
