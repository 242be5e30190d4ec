"""Selection of the sentences that answer a question: by shared terms, their place, and the form of the question."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.llm.extractive.question_types import QuestionType, answer_factor, question_types
from agents.llm.extractive.sentences import QuotableUnit
from agents.llm.extractive.terms import FUNCTION_CHARACTERS, Term, content_terms, nameable, uncovered
from agents.llm.extractive.words import UnitWords, unit_words

MOST_QUOTES = 3
_PHRASE_SHARE = 0.25
_KEY_SHARE, _SUBJECT_SHARE = 0.3, 0.15
_RANK_DECAY = 0.12
_FEWEST_NEWS, _NO_NEWS = 2, 0.6
_UNSEEN_BIGRAM = 0.6
_FUNCTION_BIGRAM = 0.4
# Among a few sentences, every word that they lack would look rare beside those that they have.
_FEWEST_FOR_RARITY = 30
_LEAST_MATCH = 0.3
_LEAST_WITHOUT_MARK = 0.45
_LEAST_WITHOUT_WORD = 0.55
_LEAST_WITHOUT_NAME = 0.8
_LEAST_LEAD = 0.1
_LEAST_GAIN = 0.12
_LEAST_OF_BEST = 0.4
_NEARLY_BEST = 0.7
_SAME_TEXT = 0.75
_LONG_CHARACTERS = 420
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
    """The chosen quotes, best first, and the uncovered terms that can be named (``nameable``).

    ``coverage``: share of the question's terms that they cover, weighted by rarity; 0 to 1.
    """

    quotes: tuple[Quote, ...]
    coverage: float
    missing: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    terms: tuple[Term, ...]
    types: tuple[QuestionType, ...]

    @property
    def keys(self) -> list[str]:
        return [term.key for term in self.terms]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A unit of a passage.

    Attributes:
        match: Share of the question's terms that it covers, weighted by rarity.
        likelihood: By the question's form; below 1 if a mark is missing that an answer needs.
    """

    source: QuoteSource
    rank: int
    words: UnitWords
    match: float = 0.0
    likelihood: float = 1.0
    score: float = 0.0

    @property
    def unit(self) -> QuotableUnit:
        return self.words.unit

    @property
    def tokens(self) -> frozenset[str]:
        return self.words.own.tokens


class _Weights:
    """Weight of each term: its rarity among the candidates, ``ln(1 + (N - df + .5) / (df + .5))``, as far as it is a word."""

    def __init__(self, terms: Sequence[Term], candidates: Sequence[_Candidate]) -> None:
        counts = Counter(token for c in candidates for token in c.tokens - c.words.own.parts)
        n = max(len(candidates), _FEWEST_FOR_RARITY)
        lengths = Counter(term.run for term in terms)
        seen_runs = {term.run for term in terms if counts[term.key]}
        self._weights: dict[str, float] = {}
        for term in terms:
            is_leftover = not counts[term.key] and term.run in seen_runs
            certainty = 1.0 if term.run < 0 else _certainty(term, lengths[term.run], is_leftover=is_leftover)
            self._weights[term.key] = _idf(counts[term.key], n) * certainty

    def sum(self, keys: Iterable[str]) -> float:
        return sum(self._weights.get(key, 0.0) for key in keys)


def _idf(count: int, n: int) -> float:
    return math.log(1 + (n - count + 0.5) / (count + 0.5))


def _certainty(term: Term, bigrams: int, *, is_leftover: bool) -> float:
    """How far a Chinese bigram is a word: a run of n characters has about n / 2 words, and n - 1 bigrams."""
    share = (bigrams + 1) / (2 * bigrams)
    if not FUNCTION_CHARACTERS.isdisjoint(term.key):
        return share * _FUNCTION_BIGRAM
    # Most bigrams that are nowhere, when others of their run are, span a border of words.
    return share * (_UNSEEN_BIGRAM if is_leftover else 1)


def select_quotes(question: str, sources: Sequence[QuoteSource]) -> Quotation:
    """At most three quotes, best first, or none where no sentence seems to answer.

    A sentence is scored by the share of the question's terms in it, weighted by their rarity among all sentences found; terms of
    its heading, its list's introduction or its table's header count less. Marks of an answer to such a question, a key or subject
    that is asked about and the search's order change the score. Further quotes are chosen for what they add.
    """
    form = _Question(question, content_terms(question), question_types(question))
    candidates = _candidates(sources)
    if not form.terms or not candidates:
        return Quotation((), 0.0, form.terms)
    weights = _Weights(form.terms, candidates)
    scored = [_scored(candidate, form, weights) for candidate in candidates]
    ordered = sorted(scored, key=lambda c: (-c.score, c.rank, c.words.position))
    if not _is_answered(form, ordered):
        return Quotation((), 0.0, nameable(form.terms, uncovered(form.terms, _tokens_of(scored))))
    chosen = _choose(ordered, form, weights)
    missing = uncovered(form.terms, _tokens_of(chosen))
    quotes = tuple(Quote(c.source.number, c.unit.text) for c in _in_reading_order(chosen, scored))
    return Quotation(quotes, _coverage(form.terms, missing, weights), nameable(form.terms, missing))


def _candidates(sources: Sequence[QuoteSource]) -> list[_Candidate]:
    return [
        _Candidate(source, rank, words)
        for rank, source in enumerate(sources)
        for words in unit_words(source.title, source.text, source.heading_path)
    ]


def _scored(candidate: _Candidate, question: _Question, weights: _Weights) -> _Candidate:
    words, keys = candidate.words, question.keys
    own = covered = 0.0
    for term in question.terms:
        weight = weights.sum([term.key])
        own += weight * words.own.share(term)
        covered += weight * words.share(term)
    if own == 0 and not candidate.unit.opens:
        covered = 0.0
    match = covered / (weights.sum(keys) + 1e-9)
    likelihood = answer_factor(question.types, question.text, candidate.unit.text, candidate.unit.context)
    news = 1.0 if len(words.news.difference(keys)) >= _FEWEST_NEWS else _NO_NEWS
    too_long = max(1.0, _length(candidate.unit.text) / _LONG_CHARACTERS)
    score = match * (1 + _bonus(words, keys)) * likelihood * news / math.sqrt(too_long)
    # The search knows more than the words: its order counts.
    score /= 1 + _RANK_DECAY * candidate.rank
    return replace(candidate, match=match, likelihood=likelihood, score=score)


def _bonus(words: UnitWords, keys: Sequence[str]) -> float:
    """For words that stand together as in the question, and for a key or first word that is asked about."""
    question_pairs = list(pairwise(keys))
    pairs = words.own.pairs() if question_pairs else set[tuple[str, str]]()
    bonus = _PHRASE_SHARE * sum(pair in pairs for pair in question_pairs) / max(1, len(question_pairs))
    if words.key:
        return bonus + _KEY_SHARE * len(words.key.intersection(keys)) / len(words.key)
    return bonus + (_SUBJECT_SHARE if words.own.order[:1] and words.own.order[0] in keys else 0)


def _length(text: str) -> float:
    return len(text) + 1.5 * sum("\u3040" <= character <= "\u9fff" for character in text)


def _is_answered(question: _Question, ordered: Sequence[_Candidate]) -> bool:
    """Whether the best sentence is near enough to the question to be quoted.

    It must be nearer where it lacks the figure that is asked for, and where a name of the question, or any word of a question for
    yes or no, is in no sentence found: the search would have found the word, so the documents don't speak of it.
    """
    best = ordered[0]
    least = _LEAST_MATCH if best.likelihood >= 1 else _LEAST_WITHOUT_MARK
    unknown = _unknown(question.terms, _tokens_of(ordered))
    is_chinese = any(term.run >= 0 for term in question.terms)
    if any(_is_name(term, is_chinese=is_chinese) for term in unknown):
        least = _LEAST_WITHOUT_NAME
    elif any(kind.is_exact for kind in question.types) and any(not _is_verb_form(term.surface) for term in unknown):
        least = max(least, _LEAST_WITHOUT_WORD)
    return best.match >= least


def _unknown(terms: Sequence[Term], present: set[str]) -> list[Term]:
    """The words that are nowhere; of a Chinese run nothing, if a part of it is."""
    runs = {term.run for term in terms if term.run >= 0 and term.key in present}
    return [term for term in terms if term.key not in present and term.run not in runs and not term.surface.isdecimal()]


def _is_verb_form(word: str) -> bool:
    return word.endswith(("ed", "ing"))


def _is_name(term: Term, *, is_chinese: bool) -> bool:
    """Whether a term is a Latin word in a Chinese question, or has a capital letter that no beginning explains."""
    word = term.surface if term.position else term.surface[1:]
    return term.run < 0 and (is_chinese or word != word.lower())


def _choose(ordered: Sequence[_Candidate], question: _Question, weights: _Weights) -> list[_Candidate]:
    keys = set(question.keys)
    total = weights.sum(keys) + 1e-9
    best = ordered[0].score
    # The search's first passage is the strongest evidence: it is quoted in every answer.
    lead = [c for c in ordered if c.rank == 0 and c.match >= _LEAST_LEAD]
    chosen = [ordered[0], *lead[:1]] if ordered[0].rank else [*ordered[:1]]
    while len(chosen) < MOST_QUOTES:
        covered = keys & _tokens_of(chosen)
        gains = [
            (weights.sum((keys & c.tokens) - covered) / total, c)
            for c in ordered
            if c.score >= _LEAST_OF_BEST * best and not _repeats(c, chosen)
        ]
        useful = [
            (gain + 0.5 * c.score, -c.rank, -c.words.position, c)
            for gain, c in gains
            if gain >= _LEAST_GAIN or c.score >= _NEARLY_BEST * best
        ]
        if not useful:
            break
        chosen.append(max(useful, key=lambda entry: entry[:3])[3])
    return chosen


def _repeats(candidate: _Candidate, chosen: Sequence[_Candidate]) -> bool:
    return any(
        len(candidate.tokens & other.tokens) >= _SAME_TEXT * min(len(candidate.tokens), len(other.tokens))
        or candidate.unit.text in other.unit.text
        for other in chosen
    )


def _tokens_of(candidates: Iterable[_Candidate]) -> set[str]:
    return {
        token
        for c in candidates
        for words in (c.words.own, *(words for _, words in c.words.around))
        for token in words.tokens
    }


def _coverage(terms: tuple[Term, ...], missing: tuple[Term, ...], weights: _Weights) -> float:
    absent = {term.key for term in missing}
    # A covered bigram over a word border adds no weight.
    have = weights.sum(term.key for term in terms if term.key not in absent)
    return have / (have + weights.sum(absent) + 1e-9)


def _in_reading_order(chosen: Sequence[_Candidate], scored: Sequence[_Candidate]) -> list[_Candidate]:
    """Best first; one that starts with an anaphor comes behind its predecessor."""
    by_place = {(c.rank, c.words.position): c for c in scored}
    room = MOST_QUOTES - len(chosen)
    ordered: list[_Candidate] = []
    for candidate in sorted(chosen, key=lambda c: -c.score):
        before = by_place.get((candidate.rank, candidate.words.position - 1))
        if (
            before is not None
            and before.unit.block == candidate.unit.block
            and candidate.unit.text.lower().startswith(_ANAPHORS)
            and (before in chosen or (room > 0 and not _repeats(before, chosen)))
        ):
            room -= before not in chosen
            ordered.append(before)
        ordered.append(candidate)
    return list(dict.fromkeys(ordered))
