"""Lexical rerank of fused hits by how much of the query stands close together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb_service.retrieval.fusion import FusedHit, FusedHits
from kb_service.text.tokenizer import Ints, Terms, hash_token, tokenize

RERANK_DEPTH = 50
"""Fused hits that are reranked; later ones follow in their order."""

WINDOW_WEIGHT = 0.5
PHRASE_WEIGHT = 0.25
_EPSILON = 1e-9
# Bits of a token's hash: enough to avoid most collisions, few enough for a table in the L1 cache.
_BITS = 0x3FFF
_NO_TERMS = Terms(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

_Floats = NDArray[np.float64]


class RankedHit(NamedTuple):
    """A reranked chunk with the parts of its score.

    Attributes:
        score: ``final`` over its possible maximum: 0 to 1, in the order of the list. It is relative to this query's own
            lists, not a probability, and not comparable between queries.
        final: ``fused.score + 0.5 * window + 0.25 * phrase``.
        window: best share of the query, weighted by rarity, in two consecutive sentences; 0 to 1.
        phrase: share of adjacent query tokens that are adjacent in the passage; 0 to 1.
        fused: the hit from the fusion, with each leg's rank and score.
        relevance: a second reranker's score, 0 to 1; it then replaces ``score``.
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
    fusion: FusedHits,
    features: Mapping[str, Terms],
    *,
    behind: Iterable[FusedHit] = (),
    depth: int = RERANK_DEPTH,
) -> Iterator[RankedHit]:
    """Rerank the head of a fused list by ``fused + 0.5 W + 0.25 P``; sorting is stable.

    W is the best-window coverage and P the phrase share (see ``RankedHit``). Rarity is counted over the candidates
    themselves.

    Args:
        features: of the first ``depth`` hits; one without features has W = P = 0.
        behind: more hits, after all of the fused legs'.
        depth: hits reranked; the others keep their order and follow them.

    Returns:
        All hits, built lazily, as an answer has five. ``score`` never rises.
    """
    head = fusion.order[:depth]
    evidence = _evidence(tokenize(query), [features.get(id_, _NO_TERMS) for id_, _ in head])
    coverage, phrase = (part.tolist() for part in evidence)
    most = 1 + fusion.dense_weight + WINDOW_WEIGHT + PHRASE_WEIGHT
    finals = [
        score + WINDOW_WEIGHT * window + PHRASE_WEIGHT * share
        for (_, score), window, share in zip(head, coverage, phrase, strict=True)
    ]
    places = sorted(range(len(head)), key=finals.__getitem__, reverse=True)
    ranked = (
        RankedHit(
            head[place][0],
            min(finals[place] / most, 1.0),
            finals[place],
            coverage[place],
            phrase[place],
            fusion.hit(place),
        )
        for place in places
    )
    return chain(ranked, _in_order(chain(fusion.between(depth, None), behind), most))


def unreranked(fusion: FusedHits, behind: Iterable[FusedHit] = ()) -> Iterator[RankedHit]:
    """The hits in the order of the fusion, then those behind; scores are shares of the fusion's maximum."""
    return _in_order(chain(fusion.between(0, None), behind), 1 + fusion.dense_weight)


def _in_order(hits: Iterable[FusedHit], most: float) -> Iterator[RankedHit]:
    for hit in hits:
        yield RankedHit(hit.id, min(hit.score / most, 1.0), hit.score, 0.0, 0.0, hit)


@dataclass(frozen=True, slots=True)
class _Matches:
    """Positions of the query's tokens in the candidates, all passages concatenated.

    Attributes:
        term: per match, the number of the distinct query token.
        place: per match, its position in the concatenation.
        sentence: per match, the sentence's number in the concatenation.
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
    hashes = [hash_token(token) for token in query]
    number_of = {term: number for number, term in enumerate(sorted(set(hashes)))}
    terms, numbers = np.array([*number_of]), np.array([number_of[term] for term in hashes])
    matches = _match(terms, passages)
    if not len(matches.place):
        return none, none
    return (
        _coverage(numbers, len(terms), matches, len(passages)),
        _phrase(numbers, len(terms), matches, len(passages)),
    )


def _match(terms: Ints, passages: Sequence[Terms]) -> _Matches:
    row = np.concatenate([passage.tokens for passage in passages])
    ends = np.cumsum(np.concatenate([passage.sizes for passage in passages]))
    heights = [len(passage.sizes) for passage in passages]
    sentence_passage = np.repeat(np.arange(len(passages)), heights)
    place, term = _places(terms, row)
    sentence = np.searchsorted(ends, place, side="right")
    return _Matches(
        term=term, place=place, sentence=sentence, passage=sentence_passage[sentence], sentence_passage=sentence_passage
    )


def _places(terms: Ints, row: Ints) -> tuple[Ints, Ints]:
    # Most other tokens already differ in these bits; comparing only the rest takes a third of the time.
    alike = np.zeros(_BITS + 1, dtype=np.bool_)
    alike[terms & _BITS] = True
    place = np.flatnonzero(alike[row & _BITS])
    candidates = row[place]
    term = np.minimum(np.searchsorted(terms, candidates), len(terms) - 1)
    is_it = terms[term] == candidates
    return place[is_it], term[is_it]


def _coverage(numbers: Ints, terms: int, matches: _Matches, passages: int) -> _Floats:
    """``W``: the best window's share of the query's idf mass."""
    present = _distinct(matches.passage * terms + matches.term, passages * terms)
    frequency = present.reshape(passages, terms).sum(axis=0)
    idf = np.log1p((passages - frequency + 0.5) / (frequency + 0.5)) * (frequency > 0)
    weight = idf * np.bincount(numbers, minlength=terms)
    # A window's mass: those of its two sentences, minus that of the terms in both.
    height = len(matches.sentence_passage)
    cells = _distinct(matches.sentence * terms + matches.term, height * terms)
    mass = _masses(cells, weight, height)
    window = mass.copy()
    if height > 1:
        shared = _masses(cells[terms:] & cells[:-terms], weight, height - 1)
        joined = matches.sentence_passage[1:] == matches.sentence_passage[:-1]
        window[1:] += np.where(joined, mass[:-1] - shared, 0.0)
    best = np.zeros(passages)
    np.maximum.at(best, matches.sentence_passage, window)
    return best / (weight.sum() + _EPSILON)


def _distinct(cells: Ints, count: int) -> NDArray[np.bool_]:
    """Which of ``count`` cells occur: much faster than sorting them."""
    there = np.zeros(count, dtype=np.bool_)
    there[cells] = True
    return there


def _masses(cells: NDArray[np.bool_], weight: _Floats, height: int) -> _Floats:
    """Per sentence, the weights of the terms whose cells are set."""
    sentence, term = np.divmod(np.flatnonzero(cells), len(weight))
    masses = np.bincount(sentence, weights=weight[term], minlength=height)
    # ``bincount`` of nothing returns integers.
    return masses.astype(np.float64, copy=False)


def _phrase(numbers: Ints, terms: int, matches: _Matches, passages: int) -> _Floats:
    """``P``: the share of the query's adjacent pairs that are adjacent in the passage."""
    pairs, times = np.unique(numbers[:-1] * terms + numbers[1:], return_counts=True)
    is_near = np.diff(matches.place) == 1
    place = np.flatnonzero(is_near & (matches.passage[1:] == matches.passage[:-1]))
    if not len(pairs) or not len(place):
        return np.zeros(passages)
    pair = matches.term[place] * terms + matches.term[place + 1]
    number = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
    is_pair = pairs[number] == pair
    cells = matches.passage[place[is_pair]] * len(pairs) + number[is_pair]
    present = _distinct(cells, passages * len(pairs)).reshape(passages, len(pairs))
    return (present @ times).astype(np.float64) / max(1, len(numbers) - 1)
