"""Fusion of the dense and the sparse leg by a min-max convex combination."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, Protocol

from kb_service.text.tokenizer import is_cjk_dominant

DEPTH = 100
"""Hits requested from each leg; the score at this depth is the lower end of its scale."""

MULTILINGUAL = "mul"
"""Language code of a multilingual encoder (ISO 639-2)."""

_EPSILON = 1e-9
_MONOLINGUAL_WEIGHT = 0.5
_ENGLISH_WEIGHT = 1.1
_LAST_LATIN = "\u024f"
_MULTILINGUAL_WEIGHT = 1.5
_CJK_LANGUAGES = frozenset({"zh", "ja", MULTILINGUAL})


class ScoredIds(Protocol):
    """The result of a leg, best first, by columns."""

    @property
    def ids(self) -> Sequence[str]:
        """Unique chunk ids."""
        ...

    @property
    def scores(self) -> Sequence[float]:
        """The leg's own scores; higher is better."""
        ...


class LegRank(NamedTuple):
    """A chunk's place in one leg: rank from 1, the leg's score, and that score scaled to 0..1."""

    rank: int
    score: float
    normalised: float


class FusedHit(NamedTuple):
    """A chunk with its fused score and its place in each leg (None if the leg lacks it)."""

    id: str
    score: float
    dense: LegRank | None
    sparse: LegRank | None


@dataclass(frozen=True)
class _ScaledLeg:
    """A leg by columns, best first: its original scores, and those scaled to 0..1."""

    ids: Sequence[str]
    scores: Sequence[float]
    normalised: Sequence[float]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {id_: place for place, id_ in enumerate(self.ids)}

    def place(self, id_: str) -> LegRank | None:
        place = self._places.get(id_)
        if place is None:
            return None
        return LegRank(place + 1, self.scores[place], self.normalised[place])


class FusedHits:
    """The fused list, best first; hit objects are built lazily, as a search shows few of them.

    Args:
        order: ids and fused scores, which lie between 0 and ``1 + dense_weight`` and are relative to the query's own
            lists.
    """

    def __init__(
        self, order: Sequence[tuple[str, float]], dense: _ScaledLeg, sparse: _ScaledLeg, dense_weight: float
    ) -> None:
        self.order = order
        self.dense_weight = dense_weight
        self._legs = (dense, sparse)

    @property
    def hits(self) -> tuple[FusedHit, ...]:
        return tuple(self.between(0, None))

    def hit(self, place: int) -> FusedHit:
        """The hit at this place, from 0."""
        id_, score = self.order[place]
        dense, sparse = (leg.place(id_) for leg in self._legs)
        return FusedHit(id_, score, dense, sparse)

    def between(self, start: int, stop: int | None) -> Iterator[FusedHit]:
        """The hits at these places, from 0."""
        return map(self.hit, range(len(self.order))[start:stop])

    def part(self, start: int, stop: int | None) -> "FusedHits":
        """The slice of the list, from 0."""
        return self.reordered(self.order[start:stop])

    def reordered(self, order: Sequence[tuple[str, float]]) -> "FusedHits":
        return FusedHits(order, *self._legs, self.dense_weight)


def dense_weight(query: str, languages: frozenset[str]) -> float:
    """The weight of the dense leg against the sparse one's 1.

    Args:
        languages: ISO codes the encoder was trained for; ``mul`` means many.

    Returns:
        0 for a query in Chinese or Japanese that the encoder can't read, 1.5 for a multilingual encoder, 1.1 for an English
        encoder and a query in Latin letters, otherwise 0.5, which is safe if the language is unknown. How they were
        learnt: docs/decisions/0077 (English) and 0080 (multilingual).
    """
    if is_cjk_dominant(query) and not languages & _CJK_LANGUAGES:
        return 0.0
    if len(languages) > 1 or MULTILINGUAL in languages:
        return _MULTILINGUAL_WEIGHT
    if "en" in languages and _is_latin(query):
        return _ENGLISH_WEIGHT
    return _MONOLINGUAL_WEIGHT


def _is_latin(query: str) -> bool:
    return all(character <= _LAST_LATIN for character in query if character.isalpha())


def fuse(
    dense: ScoredIds, sparse: ScoredIds, *, weight: float, depth: int = DEPTH, sparse_is_cut: bool = False
) -> FusedHits:
    """Fuse two legs: ``n_sparse + weight * n_dense``, where a leg that lacks a chunk gives 0.

    ``n(d) = (s(d) - lo) / (hi - lo)`` within a leg: ``hi`` is its best score, ``lo`` its score at ``depth``. A sparse
    list shorter than ``depth`` has ``lo = 0``: its last hit matched, the chunks it lacks did not. A dense list whose
    scores are all equal counts 1. Ids are unique in each leg, sparse scores positive.

    Args:
        weight: the dense weight; at 0 the dense leg adds no chunk, unless the sparse leg is empty: then its order
            stands, with the weight of a monolingual encoder.
        sparse_is_cut: there are more sparse hits after the last one, even if the list is short.

    Returns:
        All chunks of the legs used, by descending fused score; ties keep the sparse order (see ``break_ties``).
    """
    if weight == 0 and not sparse.ids:
        weight = _MONOLINGUAL_WEIGHT
    is_cut = sparse_is_cut or len(sparse.ids) >= depth
    lowest = None if is_cut else 0.0
    words = _scale(sparse.ids[:depth], sparse.scores[:depth], lowest=lowest)
    meaning = _scale(dense.ids[:depth], dense.scores[:depth], lowest=None, flat=1.0)
    fused = dict(zip(words.ids, words.normalised, strict=True))
    if weight > 0:
        for id_, share in zip(meaning.ids, meaning.normalised, strict=True):
            fused[id_] = fused.get(id_, 0.0) + weight * share
    order = sorted(fused.items(), key=itemgetter(1), reverse=True)
    return FusedHits(order, meaning, words, weight)


def _scale(ids: Sequence[str], scores: Sequence[float], *, lowest: float | None, flat: float = 0.0) -> _ScaledLeg:
    if not ids:
        return _ScaledLeg([], [], [])
    high = scores[0]
    low = scores[-1] if lowest is None else lowest
    if high == low:
        return _ScaledLeg(ids, scores, [flat] * len(ids))
    span = high - low + _EPSILON
    return _ScaledLeg(ids, scores, [(score - low) / span for score in scores])


def break_ties(fusion: FusedHits, places: Mapping[str, tuple[str, int]]) -> FusedHits:
    """Order hits with equal scores by document name and position, given in ``places``.

    The index orders them by chance, and ids differ between a knowledge base and its copy.
    """

    def place(entry: tuple[str, float]) -> tuple[str, int, str]:
        id_ = entry[0]
        return (*places[id_], id_)

    # Ties are mostly the last of each leg, or the same text in several places.
    order = list(fusion.order)
    scores = [score for _, score in order]
    tied = {score for score, following in pairwise(scores) if score == following}
    for score in tied:
        first, count = scores.index(score), scores.count(score)
        order[first : first + count] = sorted(order[first : first + count], key=place)
    return fusion.reordered(order) if tied else fusion
