"""Choosing the sentences that answer a question best, by the words they share with it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.llm.extractive.sentences import QuotableUnit, quotable_units
from agents.llm.extractive.terms import Term, content_terms, nameable, uncovered
from kb_service.text.tokenizer import tokenize

MOST_QUOTES = 3
_HEADING_SHARE = 0.7
_PHRASE_SHARE = 0.25
_RANK_DECAY = 0.12
_UNSEEN_BIGRAM = 0.7
_LEAST_MATCH = 0.3
_LEAST_LEAD = 0.1
_LEAST_GAIN = 0.12
_LEAST_OF_BEST = 0.4
_NEARLY_BEST = 0.6
_SAME_TEXT = 0.75
_LONG_CHARACTERS = 420
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff]")
_ANAPHORS = (
    "it ", "its ", "this ", "that ", "these ", "those ", "they ", "their ", "he ", "she ", "his ",
    "her ", "however", "therefore", "thus ", "but ", "then ", "它", "他", "她", "这", "這", "该",
    "該", "此", "其", "因此", "但", "不过", "然而", "所以",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QuoteSource:
    """A retrieved passage with the number it is cited by."""

    number: int
    title: str
    heading_path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """One piece quoted from a source."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """The chosen quotes, in reading order.

    Attributes:
        coverage: Share of the question's terms, weighted by rarity, that they cover; 0 to 1.
        missing: Terms they do not cover and that can be named (``nameable``).
    """

    quotes: tuple[Quote, ...]
    coverage: float
    missing: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    source: QuoteSource
    rank: int
    position: int
    unit: QuotableUnit
    tokens: frozenset[str]
    heading: frozenset[str]
    match: float = 0.0
    score: float = 0.0


class _Weights:
    """Rarity of each term among the candidates: ``ln(1 + (N - df + .5) / (df + .5))``."""

    def __init__(self, terms: Sequence[Term], candidates: Sequence[_Candidate]) -> None:
        counts = Counter(token for candidate in candidates for token in candidate.tokens)
        n = len(candidates)
        self._idf = {
            term.key: _idf(counts[term.key], n)
            # Half of a Chinese run's bigrams span the border of two words: most unseen ones do.
            * (_UNSEEN_BIGRAM if term.run >= 0 and not counts[term.key] else 1)
            for term in terms
        }

    def sum(self, keys: Iterable[str]) -> float:
        return sum(self._idf.get(key, 0.0) for key in keys)


def _idf(count: int, n: int) -> float:
    return math.log(1 + (n - count + 0.5) / (count + 0.5))


def select_quotes(question: str, sources: Sequence[QuoteSource]) -> Quotation:
    """At most three pieces of the sources, best sources first, in document order within one.

    Sentences are scored by the rarity of the question's terms they hold, less for terms in the
    passage's headings and for passages further down, and chosen greedily for what they add;
    nothing is chosen when even the best is too far from the question. On 400 questions each the
    answer stood in a quote for .81 (SQuAD, eight passages) and .90 (CMRC 2018).
    """
    terms = content_terms(question)
    candidates = _candidates(sources)
    if not terms or not candidates:
        return Quotation((), 0.0, terms)
    weights = _Weights(terms, candidates)
    scored = [_scored(candidate, terms, weights) for candidate in candidates]
    chosen = _choose(scored, terms, weights)
    if not chosen:
        return Quotation((), 0.0, nameable(terms, uncovered(terms, _found(scored))))
    missing = uncovered(terms, _found(chosen))
    coverage = _coverage(terms, missing, weights)
    quotes = tuple(Quote(c.source.number, c.unit.text) for c in _in_reading_order(chosen, scored))
    return Quotation(quotes, coverage, nameable(terms, missing))


def _candidates(sources: Sequence[QuoteSource]) -> list[_Candidate]:
    return [
        _Candidate(
            source,
            rank,
            position,
            unit,
            frozenset(tokenize(unit.text)),
            frozenset(tokenize(" ".join([source.title, *source.heading_path, unit.label]))),
        )
        for rank, source in enumerate(sources)
        for position, unit in enumerate(quotable_units(source.text, source.heading_path))
    ]


def _scored(candidate: _Candidate, terms: Sequence[Term], weights: _Weights) -> _Candidate:
    keys = [term.key for term in terms]
    total = weights.sum(keys) + 1e-9
    own = weights.sum(key for key in keys if key in candidate.tokens)
    named = weights.sum(
        key for key in keys if key in candidate.heading and key not in candidate.tokens
    )
    share = (own + _HEADING_SHARE * named) / total
    if own == 0 and not candidate.unit.opens:
        share = 0.0
    bonus = _PHRASE_SHARE * _phrase(candidate, keys)
    too_long = max(1.0, _length(candidate.unit.text) / _LONG_CHARACTERS)
    # The search has read more than the words: its order counts.
    match = share * (1 + bonus) / math.sqrt(too_long)
    return replace(candidate, match=match, score=match / (1 + _RANK_DECAY * candidate.rank))


def _length(text: str) -> float:
    """Characters, a Chinese one as the two and a half Latin ones that say as much."""
    return len(text) + 1.5 * len(_CJK.findall(text))


def _phrase(candidate: _Candidate, keys: Sequence[str]) -> float:
    tokens = tokenize(candidate.unit.text)
    pairs = set(pairwise(tokens))
    wanted = list(pairwise(keys))
    return sum(pair in pairs for pair in wanted) / max(1, len(wanted))


def _choose(
    scored: Sequence[_Candidate], terms: Sequence[Term], weights: _Weights
) -> list[_Candidate]:
    """Greedy: the best one, then what adds new terms or is nearly as good."""
    keys = {term.key for term in terms}
    total = weights.sum(keys) + 1e-9
    ordered = sorted(scored, key=lambda c: (-c.score, c.rank, c.position))
    best = ordered[0].score
    if max(c.match for c in ordered) < _LEAST_MATCH:
        return []
    # What the search put first is the strongest evidence: it has a say in every answer.
    lead = [c for c in ordered if c.rank == 0 and c.match >= _LEAST_LEAD]
    chosen = [ordered[0], *lead[:1]] if ordered[0].rank else ordered[:1]
    while len(chosen) < MOST_QUOTES:
        covered = keys & _found(chosen)
        gains = [
            (weights.sum((keys & c.tokens) - covered) / total, c)
            for c in ordered
            if c.score >= _LEAST_OF_BEST * best and not _repeats(c, chosen)
        ]
        useful = [
            (gain + 0.5 * c.score, -c.rank, -c.position, c)
            for gain, c in gains
            if gain >= _LEAST_GAIN or c.score >= _NEARLY_BEST * best
        ]
        if not useful:
            break
        chosen.append(max(useful, key=lambda entry: entry[:3])[3])
    return chosen


def _repeats(candidate: _Candidate, chosen: Sequence[_Candidate]) -> bool:
    return any(
        len(candidate.tokens & other.tokens)
        >= _SAME_TEXT * min(len(candidate.tokens), len(other.tokens))
        for other in chosen
    )


def _found(candidates: Iterable[_Candidate]) -> set[str]:
    return {token for c in candidates for token in c.tokens | c.heading}


def _coverage(terms: tuple[Term, ...], missing: tuple[Term, ...], weights: _Weights) -> float:
    absent = {term.key for term in missing}
    # A bigram over a word border that counts as found has no weight of its own to add.
    have = weights.sum(term.key for term in terms if term.key not in absent)
    return have / (have + weights.sum(absent) + 1e-9)


def _in_reading_order(
    chosen: Sequence[_Candidate], scored: Sequence[_Candidate]
) -> list[_Candidate]:
    """Best source first, document order within; a sentence that points back gets the one before."""
    best_of = {c.rank: max(o.score for o in chosen if o.rank == c.rank) for c in chosen}
    picked = list(chosen)
    by_place = {(c.rank, c.position): c for c in scored}
    for candidate in chosen:
        before = by_place.get((candidate.rank, candidate.position - 1))
        if (
            len(picked) < MOST_QUOTES
            and before is not None
            and before.unit.block == candidate.unit.block
            and candidate.unit.text.lower().startswith(_ANAPHORS)
            and not _repeats(before, picked)
        ):
            picked.append(before)
    return sorted(picked, key=lambda c: (-best_of[c.rank], c.rank, c.position))
