"""From a query to fused candidates: both legs of one embedding space, vouched for by SQL."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.db.read_pool import ReadContext
from core.errors.base import AgentexError
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.retrieval.fusion import DEPTH, FusedHit, FusedHits, break_ties, fuse
from kb_service.retrieval.results import DropReason, Timings
from kb_service.retrieval.visibility import (
    DocumentScope,
    VisibilityResult,
    check_visibility,
    has_newer_revision,
    has_other_generation,
)
from kb_service.vector_index.bm25 import encode_query
from kb_service.vector_index.protocol import (
    NO_HITS,
    DocumentFilter,
    HitList,
    HybridHits,
    HybridQuery,
    IndexHit,
)

PUSHED_DOCUMENTS = 1000
"""Documents that go into one query of the index as a filter."""

# Hits that may not be shown (disabled, of another revision, filtered away) crowd out others;
# then a leg is asked again for more. 1,600 hits take the index about 20 ms.
_DEEPER = (4 * DEPTH, 16 * DEPTH)


class IndexChanged(Exception):
    """A knowledge base was cut over, or a document replaced, while it was searched."""


@dataclass
class Stopwatch:
    """Adds up where a search's time goes, in seconds."""

    spent: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, part: str, since: float) -> None:
        """Count the time since a moment of ``time.perf_counter``."""
        self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - since

    def shift(self, part: str, seconds: float, *, out_of: str) -> None:
        """Count seconds to one part that are counted to another."""
        self.spent[part] = self.spent.get(part, 0.0) + seconds
        self.spent[out_of] = self.spent.get(out_of, 0.0) - seconds

    def timings(self) -> Timings:
        """The sums in milliseconds."""
        return Timings(**{f"{part}_ms": round(1000 * s, 3) for part, s in self.spent.items()})


@dataclass(frozen=True)
class Where:
    """What a query looks at: index scopes, and documents there that it must not know of."""

    scopes: Sequence[str]
    hidden: Sequence[str] = ()


@dataclass(frozen=True)
class SpaceHits:
    """Both legs, a hit a chunk; whether each leg may have more."""

    legs: HybridHits
    dense_is_cut: bool
    sparse_is_cut: bool


class SpaceQuery:
    """One query to one embedding space; what it is encoded to is kept.

    Args:
        space: encoder and index.
        query: the question.
        where: the knowledge bases, without what is hidden.
        weight: of the dense leg; at 0 that leg is asked only if ``with_dense`` is set.
        watch: where the time is counted.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        query: str,
        where: Where,
        *,
        weight: float,
        watch: Stopwatch,
    ) -> None:
        self.space = space
        self.weight = weight
        self.with_dense = weight > 0
        self._query = query
        self._where = where
        self.watch = watch
        self.companions: Sequence[SpaceQuery] = (self,)
        self._sparse = encode_query(query)
        self._dense: NDArray[np.float32] | None = None
        self._failure: AgentexError | None = None

    @property
    def lacks_vector(self) -> bool:
        """Whether the query is still to be encoded, by a request of its own."""
        is_known = self._dense is not None or self._failure is not None
        return not is_known and self.space.encoding_index is None

    async def encode(self) -> None:
        """Encode the query; what goes wrong is raised when the vector is needed."""
        try:
            (self._dense,) = await self.space.encoder.embed_queries([self._query])
        except AgentexError as error:
            self._failure = error

    async def ask(self, depth: int, documents: Sequence[str] | None = None) -> SpaceHits:
        """The best hits of each leg.

        Args:
            depth: points asked of each leg.
            documents: only in these; None: in all.

        Raises:
            AgentexError: the encoder or the index gave no answer.
        """
        if self.with_dense and self.lacks_vector:
            # Whoever needs its vector late is seldom alone with that.
            await encode_together(self.companions)
        if self.with_dense and self._failure is not None:
            raise self._failure
        started = time.perf_counter()
        legs = await self._legs(depth, DocumentFilter(documents, self._where.hidden))
        self.watch.add("index", started)
        return SpaceHits(best_windows(legs), len(legs.dense) >= depth, len(legs.sparse) >= depth)

    async def ask_each(self, documents: Sequence[str]) -> SpaceHits:
        """The best hits of each leg among any number of documents, a part of them at a time."""
        dense = sparse = NO_HITS
        for start in range(0, len(documents), PUSHED_DOCUMENTS):
            answer = await self.ask(DEPTH, documents[start : start + PUSHED_DOCUMENTS])
            dense = _best([*dense, *answer.legs.dense])
            sparse = _best([*sparse, *answer.legs.sparse])
        return SpaceHits(HybridHits(dense, sparse), len(dense) >= DEPTH, len(sparse) >= DEPTH)

    async def _legs(self, depth: int, documents: DocumentFilter) -> HybridHits:
        encoding_index = self.space.encoding_index
        if self.with_dense and self._dense is None and encoding_index is not None:
            question = HybridQuery(self._query, self._sparse, self._where.scopes, depth, documents)
            answered = await encoding_index.search(question)
            self._dense = answered.dense
            self.watch.shift("encode", answered.encoding_seconds, out_of="index")
            return answered.legs
        return await self.space.index.query(
            kb_ids=self._where.scopes,
            dense=self._dense if self.with_dense else None,
            sparse=self._sparse,
            depth=depth,
            documents=documents,
        )


async def encode_together(probes: Iterable[SpaceQuery]) -> None:
    """Let all encoders have a query at the same time: those that are away are waited for once."""
    waiting = [probe for probe in probes if probe.lacks_vector]
    if waiting:
        started = time.perf_counter()
        await asyncio.gather(*(probe.encode() for probe in waiting))
        waiting[0].watch.add("encode", started)


def _best(hits: Sequence[IndexHit]) -> HitList:
    return HitList.from_hits(sorted(hits, key=lambda hit: -hit.score)[:DEPTH])


@dataclass(frozen=True)
class Candidates:
    """The fused hits that may be shown.

    Args:
        front: the best of them: all that a rerank looks at.
        versions: of their texts, by chunk id.
        behind: the others, as far as somebody asks for them; SQL is asked about them then.
    """

    front: FusedHits
    versions: dict[str, int]
    behind: Iterable[FusedHit] = ()


class CandidateCollector:
    """Turns a probe's hits into candidates.

    Args:
        reads: to read from, and to wait for the index.
        probe: the query.
        scope: where it searches.
        enough: hits per leg that must do, if there are more that may not be shown.
        documents: those that meet the filters; None without filters.
    """

    def __init__(
        self,
        reads: ReadContext,
        probe: SpaceQuery,
        scope: DocumentScope,
        enough: int,
        documents: Sequence[str] | None,
    ) -> None:
        self._reads = reads
        self._probe = probe
        self._scope = scope
        self._enough = min(enough, DEPTH)
        self._documents = documents
        self._vouched = VisibilityResult()
        self.documents_of_hits: dict[str, str] = {}

    @property
    def refused(self) -> dict[str, DropReason]:
        """Hits that may not be shown, and why."""
        return self._vouched.refused

    def gather(self, first: SpaceHits | None) -> Candidates:
        """Vouch for the hits, ask for more where too few are left, and fuse.

        Args:
            first: the answer to the first question, if it was put already.

        Raises:
            Moved: the answer would mix two generations, or miss both.
        """
        if first is not None and self._documents is None:
            candidates = self._in_front(first)
            if candidates is not None:
                return candidates
        answer = self._search(first)
        if not answer.legs.sparse and not self._probe.with_dense:
            # An encoder that can't read the query is asked only when no word of it is found.
            self._probe.with_dense = True
            answer = self._search(None)
        # Points and rows of a generation that is cleared away are not all gone at one moment.
        is_empty = not self._vouched.alive and not self._scope.is_shadow
        if is_empty and has_other_generation(self._reads.connection, self._scope.generations):
            raise IndexChanged
        fusion = break_ties(self._fused(answer), self._vouched.places)
        return Candidates(fusion, self._vouched.alive)

    def look_behind_filter(self) -> None:
        """Search without the filters too: what they keep out comes to be ``refused``."""
        self._living(self._ask(DEPTH, None))

    def _in_front(self, answer: SpaceHits) -> Candidates | None:
        """The candidates, where those in front may all be shown: mostly they may.

        A hit that may not be shown takes nothing from others but the room behind it, unless it is
        an end of its leg, which scales the leg's scores. So, of two hundred, SQL need not be asked
        about those that stand behind, as long as nobody gets there.
        """
        fusion = self._fused(answer)
        if not fusion.order or self._is_starved(answer):
            return None
        count = _up_to_next_score(fusion.order, self._enough)
        front = fusion.part(0, count)
        ids = {id_ for id_, _ in front.order}
        for leg in (answer.legs.dense, answer.legs.sparse):
            ids.update(leg.ids[:1], leg.ids[-1:])
        self._vouch_for({id_: of for id_, of in _documents(answer.legs) if id_ in ids})
        if not ids <= self._vouched.alive.keys():
            return None
        behind = self._behind(answer, fusion.part(count, None))
        return Candidates(break_ties(front, self._vouched.places), self._vouched.alive, behind)

    def _behind(self, answer: SpaceHits, fusion: FusedHits) -> Iterator[FusedHit]:
        self._living(answer)
        alive = [entry for entry in fusion.order if entry[0] in self._vouched.alive]
        yield from break_ties(fusion.reordered(alive), self._vouched.places).hits

    def _fused(self, answer: SpaceHits) -> FusedHits:
        return fuse(
            answer.legs.dense,
            answer.legs.sparse,
            weight=self._probe.weight,
            sparse_is_cut=answer.sparse_is_cut,
        )

    def _search(self, first: SpaceHits | None) -> SpaceHits:
        if self._documents is not None and len(self._documents) <= PUSHED_DOCUMENTS:
            if not self._documents:
                return SpaceHits(HybridHits(), dense_is_cut=False, sparse_is_cut=False)
            return self._deepened(first, self._documents)
        answer = self._deepened(first, None)
        if self._documents is not None and self._is_starved(answer):
            answer = self._living(self._reads.wait_for(self._probe.ask_each(self._documents)))
        return answer

    def _deepened(self, answer: SpaceHits | None, documents: Sequence[str] | None) -> SpaceHits:
        answer = answer or self._ask(DEPTH, documents)
        living = self._living(answer)
        for depth in _DEEPER:
            if not self._is_starved(living):
                break
            living = self._living(self._ask(depth, documents))
        return living

    def _ask(self, depth: int, documents: Sequence[str] | None) -> SpaceHits:
        return self._reads.wait_for(self._probe.ask(depth, documents))

    def _is_starved(self, answer: SpaceHits) -> bool:
        return (answer.dense_is_cut and len(answer.legs.dense) < self._enough) or (
            answer.sparse_is_cut and len(answer.legs.sparse) < self._enough
        )

    def _living(self, answer: SpaceHits) -> SpaceHits:
        """The answer without the hits that SQL does not vouch for, at most ``DEPTH`` a leg."""
        legs = (answer.legs.dense, answer.legs.sparse)
        self._vouch_for(dict(_documents(answer.legs)))
        if self._is_outdated(legs):
            raise IndexChanged
        dense, sparse = [leg.restricted_to(self._vouched.alive) for leg in legs]
        return replace(
            answer,
            legs=HybridHits(dense[:DEPTH], sparse[:DEPTH]),
            dense_is_cut=answer.dense_is_cut or len(dense) > DEPTH,
            sparse_is_cut=answer.sparse_is_cut or len(sparse) > DEPTH,
        )

    def _vouch_for(self, documents: dict[str, str]) -> None:
        """Ask SQL about hits, given with their documents, that it was not asked about yet."""
        new = documents.keys() - self.documents_of_hits.keys()
        self.documents_of_hits |= documents
        started = time.perf_counter()
        self._vouched = self._vouched.joined(check_visibility(self._reads, new, self._scope))
        self._probe.watch.add("database", started)
        if self._vouched.is_moved:
            raise IndexChanged

    def _is_outdated(self, legs: Iterable[HitList]) -> bool:
        known = self._vouched.alive.keys() | self._vouched.refused.keys()
        lost = {hit.document_id: hit.revision for hit in _unknown(legs, known)}
        return has_newer_revision(self._reads.connection, lost, self._scope)


def _documents(legs: HybridHits) -> Iterator[tuple[str, str]]:
    for leg in (legs.dense, legs.sparse):
        yield from zip(leg.ids, leg.document_ids, strict=True)


def _up_to_next_score(order: Sequence[tuple[str, float]], count: int) -> int:
    """So many entries, and those behind them whose score is that of the last one."""
    while 0 < count < len(order) and order[count][1] == order[count - 1][1]:
        count += 1
    return count


def _unknown(legs: Iterable[HitList], known: Set[str]) -> Iterator[IndexHit]:
    for leg in legs:
        if not known >= set(leg.ids):
            yield from (hit for hit in leg if hit.id not in known)


def best_windows(legs: HybridHits) -> HybridHits:
    """Both legs with one hit per chunk: its best window's, in the leg's order.

    Ranks counted over the result are ranks of chunks. Hits that are chunks stay as they are.
    """
    return HybridHits(dense=_windows_best(legs.dense), sparse=_windows_best(legs.sparse))


def _windows_best(leg: HitList) -> HitList:
    if not any(leg.chunk_ids):
        return leg
    best: dict[str, IndexHit] = {}
    for hit in leg:
        chunk_id = hit.chunk_id or hit.id
        if chunk_id not in best:
            best[chunk_id] = hit if chunk_id == hit.id else hit._replace(id=chunk_id)
    return HitList.from_hits(best.values())
