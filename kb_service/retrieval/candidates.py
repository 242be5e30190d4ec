"""Fused candidates of one query in one embedding space, checked against SQL."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.db.read_pool import ReadContext
from core.errors.base import AgentexError
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.retrieval.fusion import DEPTH, FusedHit, FusedHits, break_ties, dense_weight, fuse
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.results import DropReason, Timings
from kb_service.retrieval.visibility import (
    DocumentScope,
    VisibilityResult,
    check_visibility,
    has_newer_revision,
    has_other_generation,
)
from kb_service.vector_index.protocol import (
    NO_HITS,
    HitList,
    HybridHits,
    HybridQuery,
    IndexDocumentFilter,
    IndexHit,
    SparseVector,
)

PUSHED_DOCUMENTS = 1000
"""Document ids passed as a filter in one index query."""

# Hits that may not be shown (disabled, of another revision, filtered away) crowd out others;
# then a leg is searched again for more. 1,600 hits take the index about 20 ms.
_DEEPER = (4 * DEPTH, 16 * DEPTH)


class IndexChanged(Exception):
    """A knowledge base was cut over, or a document replaced, during the search."""


@dataclass
class Stopwatch:
    """Seconds spent in each part of a search."""

    spent: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, part: str, since: float) -> None:
        """Add the time since a value of ``time.perf_counter``."""
        self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - since

    def shift(self, part: str, seconds: float, *, out_of: str) -> None:
        self.spent[part] = self.spent.get(part, 0.0) + seconds
        self.spent[out_of] = self.spent.get(out_of, 0.0) - seconds

    def timings(self) -> Timings:
        """The sums in milliseconds."""
        return Timings(**{f"{part}_ms": round(1000 * s, 3) for part, s in self.spent.items()})


@dataclass(frozen=True)
class SpaceHits:
    """The hits of both legs, one per chunk, and whether each leg may have more."""

    legs: HybridHits
    dense_is_cut: bool
    sparse_is_cut: bool


class SpaceQuery:
    """A query to one embedding space; its vector is computed once.

    Args:
        scope: the knowledge bases of this space.
        sparse: the query of the sparse leg.
        siblings: the same search's queries to all spaces; those without a vector are encoded together.
        with_dense: whether to search the dense leg; by default if its weight is not 0.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        request: RetrievalRequest,
        scope: DocumentScope,
        stopwatch: Stopwatch,
        *,
        sparse: SparseVector,
        siblings: "Sequence[SpaceQuery]",
        with_dense: bool | None = None,
    ) -> None:
        self.space = space
        self.scope = scope
        self.stopwatch = stopwatch
        weight = request.dense_weight
        if weight is None:
            weight = dense_weight(request.query, space.encoder.languages)
        self.weight = weight
        self._with_dense = weight > 0 if with_dense is None else with_dense
        self._siblings = siblings
        self._text = request.query
        self._index_scopes = scope.index_scopes
        self._hidden = sorted(scope.hidden)
        self._sparse = sparse
        self._dense: NDArray[np.float32] | None = None
        self._failure: AgentexError | None = None

    @property
    def with_dense(self) -> bool:
        return self._with_dense

    def include_dense(self) -> None:
        """Search the dense leg from now on, whatever its weight."""
        self._with_dense = True

    @property
    def lacks_vector(self) -> bool:
        """Whether the query still needs a separate request to be encoded."""
        is_tried = self._dense is not None or self._failure is not None
        return not is_tried and self.space.encoding_index is None

    async def encode(self) -> None:
        """Encode the query; an error is raised only when the vector is needed."""
        try:
            (self._dense,) = await self.space.encoder.embed_queries([self._text])
        except AgentexError as error:
            self._failure = error

    async def search(self, depth: int, documents: Sequence[str] | None = None) -> SpaceHits:
        """The best hits of each leg, in these documents or (None) in all."""
        if self._with_dense and self.lacks_vector:
            # If one query still lacks its vector, its siblings usually do, too.
            await encode_together(self._siblings)
        if self._with_dense and self._failure is not None:
            raise self._failure
        started = time.perf_counter()
        legs = await self._query_index(depth, IndexDocumentFilter(documents, self._hidden))
        self.stopwatch.add("index", started)
        return SpaceHits(best_windows(legs), len(legs.dense) >= depth, len(legs.sparse) >= depth)

    async def search_in_parts(self, documents: Sequence[str]) -> SpaceHits:
        """The best hits of each leg in any number of documents, in batches."""
        dense = sparse = NO_HITS
        for start in range(0, len(documents), PUSHED_DOCUMENTS):
            hits = await self.search(DEPTH, documents[start : start + PUSHED_DOCUMENTS])
            dense = _best([*dense, *hits.legs.dense])
            sparse = _best([*sparse, *hits.legs.sparse])
        return SpaceHits(HybridHits(dense, sparse), len(dense) >= DEPTH, len(sparse) >= DEPTH)

    async def _query_index(self, depth: int, documents: IndexDocumentFilter) -> HybridHits:
        encoding_index = self.space.encoding_index
        if self._with_dense and self._dense is None and encoding_index is not None:
            query = HybridQuery(self._text, self._sparse, self._index_scopes, depth, documents)
            answer = await encoding_index.search(query)
            self._dense = answer.dense
            self.stopwatch.shift("encode", answer.encoding_seconds, out_of="index")
            return answer.legs
        return await self.space.index.query(
            kb_ids=self._index_scopes,
            dense=self._dense if self._with_dense else None,
            sparse=self._sparse,
            depth=depth,
            documents=documents,
        )


async def encode_together(queries: Iterable[SpaceQuery]) -> None:
    """Encode for all spaces concurrently, so that several outages cost one timeout."""
    waiting = [query for query in queries if query.lacks_vector]
    if waiting:
        started = time.perf_counter()
        await asyncio.gather(*(query.encode() for query in waiting))
        waiting[0].stopwatch.add("encode", started)


def _best(hits: Sequence[IndexHit]) -> HitList:
    return HitList.from_hits(sorted(hits, key=lambda hit: -hit.score)[:DEPTH])


@dataclass(frozen=True)
class Candidates:
    """The fused hits that may be shown.

    Args:
        front: the best ones, which a rerank looks at.
        versions: of their texts, by chunk id.
        behind: the others; checked in SQL only when they are reached.
    """

    front: FusedHits
    versions: dict[str, int]
    behind: Iterable[FusedHit] = ()


class CandidateCollector:
    """Turns the hits of a query into candidates.

    Args:
        enough: visible hits per leg that suffice.
        documents: those that meet the filters; None without filters.
    """

    def __init__(self, reads: ReadContext, query: SpaceQuery, enough: int, documents: Sequence[str] | None) -> None:
        self._reads = reads
        self._query = query
        self._scope = query.scope
        self._enough = min(enough, DEPTH)
        self._documents = documents
        self._checked = VisibilityResult()
        self.documents_of_hits: dict[str, str] = {}

    @property
    def refused(self) -> dict[str, DropReason]:
        """Hits that may not be shown, and why."""
        return self._checked.refused

    def collect(self, first: SpaceHits | None) -> Candidates:
        """Check the hits, fetch more if too few are left, and fuse.

        Args:
            first: the hits of the first search, if it was made already.

        Raises:
            IndexChanged: the candidates would mix two generations, or miss both.
        """
        if first is not None and self._documents is None:
            candidates = self._front_only(first)
            if candidates is not None:
                return candidates
        hits = self._search(first)
        if not hits.legs.sparse and not self._query.with_dense:
            # An encoder that can't read the query is a fallback for queries without a sparse hit.
            self._query.include_dense()
            hits = self._search(None)
        # Points and rows of a retired generation are not deleted at one moment.
        is_empty = not self._checked.alive and not self._scope.is_shadow
        if is_empty and has_other_generation(self._reads.connection, self._scope.generations):
            raise IndexChanged
        fused = break_ties(self._fuse(hits), self._checked.places)
        return Candidates(fused, self._checked.alive)

    def look_behind_filter(self) -> None:
        """Search without the filters too, so that ``refused`` includes what they exclude."""
        self._only_visible(self._search_once(DEPTH, None))

    def _front_only(self, hits: SpaceHits) -> Candidates | None:
        """The candidates, if all front hits may be shown, as is usual; else None.

        A hidden hit only frees room behind it, unless it is an end of its leg, which scales the leg's scores. So SQL
        need not check all two hundred hits before somebody reaches them.
        """
        fused = self._fuse(hits)
        if not fused.order or self._is_starved(hits):
            return None
        count = _up_to_next_score(fused.order, self._enough)
        front = fused.part(0, count)
        ids = {id_ for id_, _ in front.order}
        for leg in (hits.legs.dense, hits.legs.sparse):
            ids.update(leg.ids[:1], leg.ids[-1:])
        self._check({id_: document for id_, document in _documents(hits.legs) if id_ in ids})
        if not ids <= self._checked.alive.keys():
            return None
        behind = self._behind(hits, fused.part(count, None))
        return Candidates(break_ties(front, self._checked.places), self._checked.alive, behind)

    def _behind(self, hits: SpaceHits, fused: FusedHits) -> Iterator[FusedHit]:
        self._only_visible(hits)
        alive = [entry for entry in fused.order if entry[0] in self._checked.alive]
        yield from break_ties(fused.reordered(alive), self._checked.places).hits

    def _fuse(self, hits: SpaceHits) -> FusedHits:
        return fuse(hits.legs.dense, hits.legs.sparse, weight=self._query.weight, sparse_is_cut=hits.sparse_is_cut)

    def _search(self, first: SpaceHits | None) -> SpaceHits:
        if self._documents is not None and len(self._documents) <= PUSHED_DOCUMENTS:
            if not self._documents:
                return SpaceHits(HybridHits(), dense_is_cut=False, sparse_is_cut=False)
            return self._search_deeper(first, self._documents)
        hits = self._search_deeper(first, None)
        if self._documents is not None and self._is_starved(hits):
            parts = self._query.search_in_parts(self._documents)
            hits = self._only_visible(self._reads.wait_for(parts))
        return hits

    def _search_deeper(self, hits: SpaceHits | None, documents: Sequence[str] | None) -> SpaceHits:
        visible = self._only_visible(hits or self._search_once(DEPTH, documents))
        for depth in _DEEPER:
            if not self._is_starved(visible):
                break
            visible = self._only_visible(self._search_once(depth, documents))
        return visible

    def _search_once(self, depth: int, documents: Sequence[str] | None) -> SpaceHits:
        return self._reads.wait_for(self._query.search(depth, documents))

    def _is_starved(self, hits: SpaceHits) -> bool:
        return (hits.dense_is_cut and len(hits.legs.dense) < self._enough) or (
            hits.sparse_is_cut and len(hits.legs.sparse) < self._enough
        )

    def _only_visible(self, hits: SpaceHits) -> SpaceHits:
        legs = (hits.legs.dense, hits.legs.sparse)
        self._check(dict(_documents(hits.legs)))
        if self._is_outdated(legs):
            raise IndexChanged
        dense, sparse = [leg.restricted_to(self._checked.alive) for leg in legs]
        return replace(
            hits,
            legs=HybridHits(dense[:DEPTH], sparse[:DEPTH]),
            dense_is_cut=hits.dense_is_cut or len(dense) > DEPTH,
            sparse_is_cut=hits.sparse_is_cut or len(sparse) > DEPTH,
        )

    def _check(self, documents: dict[str, str]) -> None:
        new = documents.keys() - self.documents_of_hits.keys()
        self.documents_of_hits |= documents
        started = time.perf_counter()
        self._checked = self._checked.joined(check_visibility(self._reads, new, self._scope))
        self._query.stopwatch.add("database", started)
        if self._checked.is_moved:
            raise IndexChanged

    def _is_outdated(self, legs: Iterable[HitList]) -> bool:
        checked = self._checked.alive.keys() | self._checked.refused.keys()
        lost = {hit.document_id: hit.revision for hit in _unchecked(legs, checked)}
        return has_newer_revision(self._reads.connection, lost, self._scope)


def _documents(legs: HybridHits) -> Iterator[tuple[str, str]]:
    for leg in (legs.dense, legs.sparse):
        yield from zip(leg.ids, leg.document_ids, strict=True)


def _up_to_next_score(order: Sequence[tuple[str, float]], count: int) -> int:
    """``count`` plus the entries that tie with the last one."""
    while 0 < count < len(order) and order[count][1] == order[count - 1][1]:
        count += 1
    return count


def _unchecked(legs: Iterable[HitList], checked: Set[str]) -> Iterator[IndexHit]:
    for leg in legs:
        if not checked >= set(leg.ids):
            yield from (hit for hit in leg if hit.id not in checked)


def best_windows(legs: HybridHits) -> HybridHits:
    """Both legs with one hit per chunk: its best window's, in the leg's order.

    Ranks counted over the result are ranks of chunks. Hits that are chunks stay as they are.
    """
    return HybridHits(dense=_one_per_chunk(legs.dense), sparse=_one_per_chunk(legs.sparse))


def _one_per_chunk(leg: HitList) -> HitList:
    if not any(leg.chunk_ids):
        return leg
    best: dict[str, IndexHit] = {}
    for hit in leg:
        chunk_id = hit.chunk_id or hit.id
        if chunk_id not in best:
            best[chunk_id] = hit if chunk_id == hit.id else hit._replace(id=chunk_id)
    return HitList.from_hits(best.values())
