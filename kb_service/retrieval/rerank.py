"""Lexical rerank of fused hits: how much of the query stands close together in a passage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb_service.retrieval.fusion import FusedHit, Fusion
from kb_service.text.lexical import tokenize
from kb_service.text.terms import Ints, Terms, hashed, terms_of

RERANK_DEPTH = 50
"""Fused hits that are reranked; later ones keep their order behind them."""

WINDOW_WEIGHT = 0.5
PHRASE_WEIGHT = 0.25
_EPSILON = 1e-9

_Floats = NDArray[np.float64]


class RankedHit(NamedTuple):
    """A chunk after the rerank, with everything its place came from.

    Attributes:
        score: ``final`` over the most it can be: 0 to 1, in the order of the list. It is relative
            to this query's own lists, not a probability, and not comparable between queries.
        final: ``fused.score + 0.5 * window + 0.25 * phrase``.
        window: best share of the query, weighted by rarity, in two consecutive sentences; 0 to 1.
        phrase: share of adjacent query tokens that are adjacent in the passage; 0 to 1.
        fused: the hit as the fusion gave it, with each leg's rank and score.
        relevance: what a second reranker said, 0 to 1; it is the score then.
    """

    id: str
    score: float
    final: float
    window: float
    phrase: float
    fused: FusedHit
    relevance: float | None = None


def rerank(
    query: str,
    fusion: Fusion,
    features: Mapping[str, Terms],
    *,
    depth: int = RERANK_DEPTH,
) -> list[RankedHit]:
    """Rerank the head of a fused list by ``fused + 0.5 W + 0.25 P``; sorting is stable.

    W is the best-window coverage and P the phrase share (see
    ``RankedHit``). Rarity is counted over the candidates themselves.

    Args:
        query: the user's query.
        fusion: the fused legs.
        features: of the first ``depth`` hits; one without features has W = P = 0.
        depth: hits reranked; the hits behind them keep their order and stay behind them.

    Returns:
        All hits of the fusion. ``score`` never rises down the list.
    """
    head, tail = fusion.hits[:depth], fusion.hits[depth:]
    empty = terms_of("")
    coverage, phrase = _evidence(tokenize(query), [features.get(hit.id, empty) for hit in head])
    most = 1 + fusion.dense_weight + WINDOW_WEIGHT + PHRASE_WEIGHT
    ranked = [
        _ranked(hit, float(window), float(share), most)
        for hit, window, share in zip(head, coverage, phrase, strict=True)
    ]
    ranked.sort(key=attrgetter("final"), reverse=True)
    return ranked + _in_order(tail, most)


def unreranked(fusion: Fusion) -> list[RankedHit]:
    """The hits in the order of the fusion; their scores are shares of the most it can give."""
    return _in_order(fusion.hits, 1 + fusion.dense_weight)


def _in_order(hits: Sequence[FusedHit], most: float) -> list[RankedHit]:
    return [RankedHit(hit.id, min(hit.score / most, 1.0), hit.score, 0.0, 0.0, hit) for hit in hits]


def _ranked(hit: FusedHit, window: float, phrase: float, most: float) -> RankedHit:
    final = hit.score + WINDOW_WEIGHT * window + PHRASE_WEIGHT * phrase
    return RankedHit(hit.id, min(final / most, 1.0), final, window, phrase, hit)


@dataclass(frozen=True, slots=True)
class _Matches:
    """Where the query's tokens stand in the candidates, all passages in one row.

    Attributes:
        term: per match, the number of the distinct query token.
        place: per match, its place in the row.
        sentence: per match, the sentence's number in the row.
        passage: per match, the passage's number.
        sentence_passage: per sentence, the number of its passage.
    """

    term: Ints
    place: Ints
    sentence: Ints
    passage: Ints
    sentence_passage: Ints


def _evidence(query: list[str], passages: Sequence[Terms]) -> tuple[_Floats, _Floats]:
    """W and P of each passage; linear in the passages, whatever the query's length."""
    none = np.zeros(len(passages))
    if not query or not passages:
        return none, none
    terms, numbers = np.unique(np.array([hashed(t) for t in query]), return_inverse=True)
    found = _match(terms, passages)
    if not len(found.place):
        return none, none
    return (
        _coverage(numbers, len(terms), found, len(passages)),
        _phrase(numbers, len(terms), found, len(passages)),
    )


def _match(terms: Ints, passages: Sequence[Terms]) -> _Matches:
    row = np.concatenate([passage.tokens for passage in passages])
    sizes = [len(passage.tokens) for passage in passages]
    heights = [
        int(passage.sentence[-1]) + 1 if size else 0
        for passage, size in zip(passages, sizes, strict=True)
    ]
    shifts = np.cumsum([0, *heights[:-1]])
    sentence = np.concatenate([p.sentence for p in passages]) + np.repeat(shifts, sizes)
    term = np.minimum(np.searchsorted(terms, row), len(terms) - 1)
    place = np.flatnonzero(terms[term] == row)
    return _Matches(
        term=term[place],
        place=place,
        sentence=sentence[place],
        passage=np.repeat(np.arange(len(passages)), sizes)[place],
        sentence_passage=np.repeat(np.arange(len(passages)), heights),
    )


def _coverage(numbers: Ints, terms: int, found: _Matches, passages: int) -> _Floats:
    """``W``: the best window's share of the query's idf mass."""
    held = np.unique(found.passage * terms + found.term) % terms
    frequency = np.bincount(held, minlength=terms)
    idf = np.log1p((passages - frequency + 0.5) / (frequency + 0.5)) * (frequency > 0)
    weight = idf * np.bincount(numbers, minlength=terms)
    # A window's mass is the masses of its two sentences less that of the terms in both.
    cells = np.unique(found.sentence * terms + found.term)
    height = len(found.sentence_passage)
    mass = np.bincount(cells // terms, weights=weight[cells % terms], minlength=height)
    both = np.intersect1d(cells + terms, cells, assume_unique=True)
    shared = np.zeros(height)
    np.add.at(shared, both // terms, weight[both % terms])
    window = mass.copy()
    joined = found.sentence_passage[1:] == found.sentence_passage[:-1]
    window[1:] += np.where(joined, mass[:-1] - shared[1:], 0.0)
    best = np.zeros(passages)
    np.maximum.at(best, found.sentence_passage, window)
    return best / (weight.sum() + _EPSILON)


def _phrase(numbers: Ints, terms: int, found: _Matches, passages: int) -> _Floats:
    """``P``: the share of the query's adjacent pairs that are adjacent in the passage."""
    asked, times = np.unique(numbers[:-1] * terms + numbers[1:], return_counts=True)
    adjacent = (np.diff(found.place) == 1) & (np.diff(found.passage) == 0)
    pair = (found.term[:-1] * terms + found.term[1:])[adjacent]
    known = np.isin(pair, asked)
    passage = found.passage[:-1][adjacent][known]
    cells = np.unique(passage * len(asked) + np.searchsorted(asked, pair[known]))
    if not len(cells):
        return np.zeros(passages)
    hits = np.bincount(cells // len(asked), weights=times[cells % len(asked)], minlength=passages)
    return hits / max(1, len(numbers) - 1)
