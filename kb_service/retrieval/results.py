"""What a retrieval answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kb_service.retrieval.found_chunks import FoundChunk
from kb_service.retrieval.reasons import Reason, Warned
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.retrieval.unsearched import Unsearched


@dataclass(frozen=True)
class ContextPart:
    """A chunk beside a found one; ``content`` leaves out what its neighbour already shows.

    ``char_start`` and ``char_end`` are the span of ``content`` in the document's text.
    """

    chunk_id: str
    content: str
    char_start: int
    char_end: int


@dataclass(frozen=True)
class FoundPassage:
    """A chunk that answers a query, with its place in the document and in each leg.

    ``char_start`` and ``char_end`` of the chunk count characters of the document's extracted
    text.

    Args:
        chunk: the passage.
        document_name: of its document.
        hit: how it got its place.
        before: what stands before it, in reading order, if the request asks for it.
        after: what stands behind it.
    """

    chunk: FoundChunk
    document_name: str
    hit: RankedHit
    before: tuple[ContextPart, ...] = ()
    after: tuple[ContextPart, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """A candidate that is not in the answer.

    Args:
        chunk_id: its id.
        document_id: its document.
        reason: the first one.
        hit: how far it came; None if it was dropped before it had a score.
    """

    chunk_id: str
    document_id: str
    reason: Reason
    hit: RankedHit | None = None


@dataclass(frozen=True)
class Timings:
    """Where the time went, in milliseconds."""

    encode_ms: float = 0.0
    index_ms: float = 0.0
    database_ms: float = 0.0
    rerank_ms: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """The best passages, best first.

    Args:
        passages: at most as many as were asked for.
        dense_weight: the weight of the dense leg against the sparse one's 1.
        took_ms: time of the search in milliseconds.
        request: what was asked, with every choice made.
        generations: of each knowledge base that was searched, which settings.
        dropped: candidates that are not in the answer, best first; only if asked to explain.
        warnings: what did not go as asked.
        timings: parts of ``took_ms``.
    """

    passages: Sequence[FoundPassage]
    dense_weight: float
    took_ms: float
    request: RetrievalRequest
    generations: dict[str, int] = field(default_factory=dict[str, int])
    dropped: Sequence[Dropped] = ()
    warnings: Sequence[Warned | Unsearched] = ()
    timings: Timings = Timings()
