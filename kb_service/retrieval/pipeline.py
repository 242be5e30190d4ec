"""One try of one retrieval: candidates, rerank, selection, context."""

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import partial
from heapq import merge

from sqlalchemy import ColumnElement

from core.db.database import Database
from core.db.read_pool import ReadContext
from core.errors.base import AgentexError
from core.errors.server import RerankerUnavailable
from core.logging import get_logger
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.failures import MODEL_ERRORS
from kb_service.models import KnowledgeBase
from kb_service.retrieval.candidates import (
    CandidateCollector,
    Candidates,
    IndexChanged,
    SpaceHits,
    SpaceQuery,
    Stopwatch,
    Where,
    encode_together,
)
from kb_service.retrieval.context import with_context
from kb_service.retrieval.filters import filter_condition
from kb_service.retrieval.fusion import DEPTH, dense_weight
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers import LEXICAL
from kb_service.retrieval.rerankers.lexical import RERANK_DEPTH, RankedHit, rerank, unreranked
from kb_service.retrieval.rerankers.protocol import Reranker
from kb_service.retrieval.results import (
    DroppedHit,
    DropReason,
    SearchResult,
    SearchWarning,
    UnsearchedWarning,
)
from kb_service.retrieval.selection import Selection, load_texts, second_rerank
from kb_service.retrieval.token_cache import TermCache
from kb_service.retrieval.visibility import DocumentScope, matching_documents
from kb_service.vector_index.protocol import index_scope

log = get_logger(__name__)


@dataclass(frozen=True)
class SearchDeps:
    """What searches of one process share.

    Args:
        database: texts, and what may be shown.
        spaces: embedding spaces by model name.
        rerankers: those configured beside the lexical one, by name.
        features: tokens of the passages used last.
    """

    database: Database
    spaces: EmbeddingSpaces
    rerankers: Mapping[str, Reranker]
    features: TermCache


@dataclass(frozen=True)
class SearchScope:
    """Where one try looks.

    Args:
        knowledge_bases: enabled ones that the caller has passed the gate for.
        hidden: documents in them that are not for the caller.
        is_whole: nothing is hidden, whatever was narrowed.
    """

    knowledge_bases: Sequence[KnowledgeBase]
    hidden: frozenset[str] = frozenset()
    is_whole: bool = False

    @property
    def unnarrowed(self) -> frozenset[str]:
        """The knowledge bases of which nobody asked whether something in them is hidden."""
        if self.is_whole:
            return frozenset()
        return frozenset(row.id for row in self.knowledge_bases if not row.narrowed)


@dataclass(frozen=True)
class _Part:
    """The knowledge bases of one embedding model, and the query put to them."""

    probe: SpaceQuery
    scope: DocumentScope


_Asked = tuple[_Part, SpaceHits | None]
"""A part, and the answer to the first question if it was put already."""


@dataclass
class CandidateSet:
    """The candidates of all parts, ranked; without ``explain`` they can be gone through once."""

    ranked: Iterable[RankedHit] = ()
    documents: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, DropReason] = field(default_factory=dict[str, DropReason])
    dense_weight: float = 0.0
    generations: dict[str, int] = field(default_factory=dict[str, int])


class RetrievalPipeline:
    """One try.

    Args:
        means: what it works with.
        ground: where it looks.
        request: what to find, and how.
        shadow: search what a re-index has made so far.
        flips: what the tries before have met; this one adds to it.

    Raises:
        EmbeddingModelNotServed: of all the knowledge bases.
    """

    def __init__(
        self,
        means: SearchDeps,
        ground: SearchScope,
        request: RetrievalRequest,
        *,
        shadow: bool,
        flips: set[tuple[str, int]],
    ) -> None:
        self._means = means
        self._ground = ground
        self._flips = flips
        self._request = request
        self._watch = Stopwatch()
        self._warnings: list[SearchWarning] = []
        self._unsearched: list[UnsearchedWarning] = []
        self._condition = self._make_condition()
        self._parts: list[_Part] = []
        for model, rows in _by_model(ground.knowledge_bases, shadow=shadow).items():
            try:
                self._parts.append(self._part(model, rows, shadow=shadow))
            except MODEL_ERRORS as error:
                self._go_on_without(model, rows, error)
        self._check_any(self._parts)
        for probe in self.probes:
            probe.companions = self.probes

    @property
    def probes(self) -> list[SpaceQuery]:
        """The query, put to each embedding space."""
        return [part.probe for part in self._parts]

    async def result(self, *, explain: bool) -> SearchResult:
        """The answer.

        Raises:
            Moved: what was found changed meanwhile; a new try gives a whole answer.
            AgentexError: a part did not answer that all need, or none of the embedding models.
        """
        asked = await self._ask()
        database, reranker = self._means.database, self._second_reranker()

        def all_of_it(reads: ReadContext) -> SearchResult:
            return self._answer(reads, self._find(reads, asked, explain=explain), explain=explain)

        def first_half(
            reranker: Reranker, reads: ReadContext
        ) -> tuple[CandidateSet, dict[str, str]]:
            found = self._find(reads, asked, explain=explain)
            found.ranked = ranked = list(found.ranked)
            return found, load_texts(reads, ranked[: reranker.depth])

        if reranker is None:
            return await database.read(all_of_it)
        # No connection is held while another server thinks.
        found, texts = await database.read(partial(first_half, reranker))
        await self._rerank_again(reranker, found, texts)
        return await database.read(lambda reads: self._answer(reads, found, explain=explain))

    async def _ask(self) -> list[_Asked]:
        await self._encode_ahead()
        if self._condition is not None:
            return [(part, None) for part in self._parts]
        asked: list[_Asked] = []
        wordless: list[SpaceQuery] = []
        for part in self._parts:
            try:
                answer = await part.probe.ask(DEPTH)
            except MODEL_ERRORS as error:
                self._go_on_without(part.probe.space.model.name, part.scope.generations, error)
                continue
            asked.append((part, answer))
            if not answer.legs.sparse:
                wordless.append(part.probe)
        self._check_any(asked)
        # They are asked by meaning after all.
        await encode_together(wordless)
        return asked

    async def _encode_ahead(self) -> None:
        """Encode the query by the models that will be asked by meaning.

        Here and not while the database is read: few can do that at a time, and all wait for them.
        """
        parts = [part for part in self._parts if part.probe.with_dense and part.probe.lacks_vector]
        if parts and self._condition is not None:
            # Where no document meets the filters, no model is worth waiting for.
            parts = await self._means.database.read(
                lambda reads: [
                    part for part in parts if matching_documents(reads.connection, part.scope)
                ]
            )
        await encode_together(part.probe for part in parts)

    def _go_on_without(self, model: str, ids: Container[str], error: AgentexError) -> None:
        """Leave out the knowledge bases of a model, and say so in the answer."""
        log.warning("search.model_failed", model=model, error=type(error).__name__)
        names = [row.name for row in self._ground.knowledge_bases if row.id in ids]
        self._unsearched.append(UnsearchedWarning(names, model, error))

    def _check_any(self, searched: Sized) -> None:
        """An outage is no empty answer: where nothing could be searched, it stays an error."""
        if self._unsearched and not searched:
            raise self._unsearched[0].error

    def _make_condition(self) -> ColumnElement[bool] | None:
        filters = self._request.filters
        if filters.is_empty:
            return None
        return filter_condition(filters, is_sqlite=self._means.database.is_sqlite)

    def _part(self, model: str, rows: dict[str, int], *, shadow: bool) -> _Part:
        request = self._request
        space = self._means.spaces.of(model)
        weight = request.dense_weight
        if weight is None:
            weight = dense_weight(request.query, space.encoder.languages)
        scopes = [index_scope(id_, generation) for id_, generation in rows.items()]
        where = Where(scopes, sorted(self._ground.hidden))
        probe = SpaceQuery(space, request.query, where, weight=weight, watch=self._watch)
        scope = DocumentScope(
            rows,
            self._condition,
            is_shadow=shadow,
            flips=self._flips,
            hidden=self._ground.hidden,
            unnarrowed=self._ground.unnarrowed,
        )
        return _Part(probe, scope)

    def _second_reranker(self) -> Reranker | None:
        request = self._request
        if not request.rerank or request.reranker == LEXICAL:
            return None
        reranker = self._means.rerankers.get(request.reranker)
        if reranker is None:
            self._warnings.append(SearchWarning.RERANKER_MISSING)
        return reranker

    def _find(self, reads: ReadContext, asked: Sequence[_Asked], *, explain: bool) -> CandidateSet:
        found, rankings, gatherers = (
            CandidateSet(),
            list[Iterable[RankedHit]](),
            list[CandidateCollector](),
        )
        for part, first in asked:
            try:
                gatherer, candidates = self._gather(reads, part, first, explain=explain)
            except MODEL_ERRORS as error:
                # What is filtered, or found by no word, comes to the encoder only here.
                self._go_on_without(part.probe.space.model.name, part.scope.generations, error)
                continue
            rankings.append(self._ranked(reads, candidates))
            gatherers.append(gatherer)
            found.dense_weight = max(found.dense_weight, candidates.front.dense_weight)
            found.generations |= part.scope.generations
        self._check_any(gatherers)
        found.ranked = merge(*rankings, key=lambda hit: -hit.score)
        if explain:
            # Those behind are asked about as they are reached.
            found.ranked = list(found.ranked)
            for gatherer in gatherers:
                found.documents |= gatherer.documents_of_hits
                found.refused |= gatherer.refused
        return found

    def _gather(
        self, reads: ReadContext, part: _Part, first: SpaceHits | None, *, explain: bool
    ) -> tuple[CandidateCollector, Candidates]:
        documents = None
        if self._condition is not None:
            documents = matching_documents(reads.connection, part.scope)
        enough = max(RERANK_DEPTH, self._request.top_k)
        gatherer = CandidateCollector(reads, part.probe, part.scope, enough, documents)
        candidates = gatherer.gather(first)
        if explain and self._condition is not None:
            gatherer.look_behind_filter()
        return gatherer, candidates

    def _ranked(self, reads: ReadContext, candidates: Candidates) -> Iterator[RankedHit]:
        front, behind = candidates.front, candidates.behind
        if not self._request.rerank:
            return unreranked(front, behind)
        versions = [(id_, candidates.versions[id_]) for id_, _ in front.order[:RERANK_DEPTH]]
        started = time.perf_counter()
        features = self._means.features.load(reads, versions)
        self._watch.add("database", started)
        started = time.perf_counter()
        ranked = rerank(self._request.query, front, features, behind=behind)
        self._watch.add("rerank", started)
        return ranked

    async def _rerank_again(
        self, reranker: Reranker, found: CandidateSet, texts: Mapping[str, str]
    ) -> None:
        started = time.perf_counter()
        try:
            ranked = list(found.ranked)
            found.ranked = await second_rerank(reranker, self._request.query, ranked, texts)
        except RerankerUnavailable as error:
            log.warning("search.reranker_failed", reason=error.details.get("reason"))
            self._warnings.append(SearchWarning.RERANKER_FAILED)
        self._watch.add("rerank", started)

    def _answer(self, reads: ReadContext, found: CandidateSet, *, explain: bool) -> SearchResult:
        started = time.perf_counter()
        selection = Selection(reads, self._request)
        selection.choose(found.ranked)
        if selection.missing:
            # SQL vouched for them a moment ago: a cut-over, a new revision or a deletion came
            # between, and what took their place may not be among the candidates.
            raise IndexChanged
        passages = with_context(reads.connection, selection.passages, self._request)
        self._watch.add("database", started)
        return SearchResult(
            passages=passages,
            dense_weight=found.dense_weight,
            took_ms=0.0,
            request=self._request,
            generations=found.generations,
            dropped=_dropped(found, selection) if explain else (),
            warnings=(*self._warnings, *self._unsearched),
            timings=self._watch.timings(),
        )


def _by_model(
    knowledge_bases: Sequence[KnowledgeBase], *, shadow: bool
) -> dict[str, dict[str, int]]:
    """Generations by knowledge base, for each embedding model."""
    models: dict[str, dict[str, int]] = {}
    for row in knowledge_bases:
        model, generation = row.embedding_model, row.generation
        if shadow and row.target is not None:
            model, generation = row.target["embedding_model"], row.target["generation"]
        models.setdefault(model, {})[row.id] = generation
    return models


def _dropped(found: CandidateSet, selection: Selection) -> list[DroppedHit]:
    """The candidates that are not in the answer: ranked ones in their order, then the others."""
    ranked = list(found.ranked)
    reasons = selection.reasons_of(ranked)
    scored = [
        DroppedHit(hit.id, found.documents[hit.id], reasons[hit.id], hit)
        for hit in ranked
        if hit.id in reasons and reasons[hit.id] is not DropReason.GONE
    ]
    others = [
        DroppedHit(id_, found.documents[id_], reason) for id_, reason in found.refused.items()
    ]
    return scored + others
