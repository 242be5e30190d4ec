"""Selection of the sentences that answer a question best, by shared terms."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agents.llm.extractive.sentences import QuotableUnit, quotable_units
from kb_service.text.tokenizer import tokenize

_CHINESE_QUESTION_WORDS = """
    什么 什麼 什么样 为什么 為什麼 为何 怎么 怎麼 怎么样 怎样 怎麼樣 如何 哪些 哪个 哪個 哪里 哪裡 哪儿 哪一
    哪种 哪年 哪位 多少 多久 多大 多长 几个 几种 几次 谁 誰 何时 何處 何处 是什么 什么时候 是否 是不是 有没有
    有沒有 能不能 可不可以 能否 可否 会不会 需不需要 吗 嗎 呢 请问 請問 请 請 告诉我 告訴我 介绍一下 介紹一下
    解释一下 解釋一下 说明一下 说说 讲讲 我想知道 想知道 我想 帮我 麻烦 一下 应该 應該 可以 怎么办 怎麼辦 该怎么 该如何 让一个 一个 一個 区别 区別 再详细一点 详细一点
    具体一点 继续说 继续 还有呢 还有吗 更多 你好 您好 谢谢 謝謝 再见"""
_CHINESE_PARTICLES = "的地得是了在和與与及或把被之而哪"
_CHINESE_CUT = re.compile(
    # Longest first: a phrase must go before the word inside it.
    "|".join(sorted(_CHINESE_QUESTION_WORDS.split(), key=len, reverse=True)) + f"|[{_CHINESE_PARTICLES}]"
)
_ENGLISH_QUESTION_WORDS = """
    about also any anyone anything between can could describe difference every explain find get give
    going help hello hey hi just kind know later list let like many may me mean might more most much
    must my need now one our please s say see shall should show so some someone something sort t tell
    than thank thanks type us use want way whose would yes your m re ve ll d"""
_ENGLISH_QUESTION_TOKENS = frozenset(tokenize(_ENGLISH_QUESTION_WORDS))
_WORD = re.compile(r"[^\W_]+")

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
class Term:
    """A search term by its token; terms of one unbroken Chinese run share its number, words have -1."""

    key: str
    surface: str
    position: int
    run: int = -1


def content_terms(question: str) -> tuple[Term, ...]:
    """The terms of the question without question words, particles and repeats, in order."""
    terms: dict[str, Term] = {}
    text = _CHINESE_CUT.sub(" ", unicodedata.normalize("NFKC", question))
    for number, piece in enumerate(_pieces(text)):
        is_chinese = _CJK.match(piece) is not None
        for token in tokenize(piece):
            if token in _ENGLISH_QUESTION_TOKENS or token in terms:
                continue
            surface = token if is_chinese else piece
            terms[token] = Term(token, surface, len(terms), number if is_chinese else -1)
    # Single characters between particles mean nothing next to real words.
    whole = tuple(term for term in terms.values() if term.run < 0 or len(term.key) > 1)
    return whole or tuple(terms.values())


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for word in _WORD.findall(text):
        start = 0
        for index in range(1, len(word) + 1):
            if index == len(word) or _is_cjk(word[index]) != _is_cjk(word[start]):
                pieces.append(word[start:index])
                start = index
    return pieces


def _is_cjk(character: str) -> bool:
    return _CJK.match(character) is not None


def uncovered(terms: tuple[Term, ...], present: set[str]) -> tuple[Term, ...]:
    """The terms not among the present tokens.

    A Chinese bigram is covered if each of its characters belongs to a present bigram of its run.
    """
    covered: dict[int, set[str]] = {}
    for term in terms:
        if term.run >= 0 and term.key in present:
            covered.setdefault(term.run, set()).update(term.key)
    return tuple(
        term for term in terms if term.key not in present and not set(term.key) <= covered.get(term.run, set())
    )


def nameable(terms: tuple[Term, ...], missing: tuple[Term, ...]) -> tuple[Term, ...]:
    """The missing words and whole Chinese runs; the rest of a partly covered run is rarely a word."""
    absent = {term.key for term in missing}
    found_in_part = {term.run for term in terms if term.run >= 0 and term.key not in absent}
    return tuple(term for term in missing if term.run not in found_in_part)


def surface_text(terms: tuple[Term, ...]) -> str:
    """The terms as the question writes them, with Chinese bigrams joined again."""
    words: list[str] = []
    previous: Term | None = None
    for term in terms:
        joins = previous is not None and previous.run == term.run >= 0
        if joins and words[-1].endswith(term.surface[0]):
            words[-1] += term.surface[1:]
        else:
            words.append(term.surface)
        previous = term
    return " ".join(words)


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
    """The chosen quotes, in reading order, and the uncovered terms that can be named (``nameable``).

    ``coverage``: share of the question's terms that they cover, weighted by rarity; 0 to 1.
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
            # Half of a Chinese run's bigrams span a word border: most unseen ones do.
            * (_UNSEEN_BIGRAM if term.run >= 0 and not counts[term.key] else 1)
            for term in terms
        }

    def sum(self, keys: Iterable[str]) -> float:
        return sum(self._idf.get(key, 0.0) for key in keys)


def _idf(count: int, n: int) -> float:
    return math.log(1 + (n - count + 0.5) / (count + 0.5))


def select_quotes(question: str, sources: Sequence[QuoteSource]) -> Quotation:
    """At most three quotes, best source first and in document order within a source.

    Sentences are scored by the rarity of the question's terms, with discounts for terms in headings only and for lower
    passages, and chosen greedily for what they add; none if even the best is too far from the question. On 400
    questions each, a quote held the answer for .81 (SQuAD, eight passages) and .90 (CMRC 2018).
    """
    terms = content_terms(question)
    candidates = _candidates(sources)
    if not terms or not candidates:
        return Quotation((), 0.0, terms)
    weights = _Weights(terms, candidates)
    scored = [_scored(candidate, terms, weights) for candidate in candidates]
    chosen = _choose(scored, terms, weights)
    if not chosen:
        return Quotation((), 0.0, nameable(terms, uncovered(terms, _tokens_of(scored))))
    missing = uncovered(terms, _tokens_of(chosen))
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
    in_heading = weights.sum(key for key in keys if key in candidate.heading and key not in candidate.tokens)
    share = (own + _HEADING_SHARE * in_heading) / total
    if own == 0 and not candidate.unit.opens:
        share = 0.0
    bonus = _PHRASE_SHARE * _phrase(candidate, keys)
    too_long = max(1.0, _length(candidate.unit.text) / _LONG_CHARACTERS)
    # The search knows more than the words: its order counts.
    match = share * (1 + bonus) / math.sqrt(too_long)
    return replace(candidate, match=match, score=match / (1 + _RANK_DECAY * candidate.rank))


def _length(text: str) -> float:
    return len(text) + 1.5 * len(_CJK.findall(text))


def _phrase(candidate: _Candidate, keys: Sequence[str]) -> float:
    tokens = tokenize(candidate.unit.text)
    pairs = set(pairwise(tokens))
    question_pairs = list(pairwise(keys))
    return sum(pair in pairs for pair in question_pairs) / max(1, len(question_pairs))


def _choose(scored: Sequence[_Candidate], terms: Sequence[Term], weights: _Weights) -> list[_Candidate]:
    keys = {term.key for term in terms}
    total = weights.sum(keys) + 1e-9
    ordered = sorted(scored, key=lambda c: (-c.score, c.rank, c.position))
    best = ordered[0].score
    if max(c.match for c in ordered) < _LEAST_MATCH:
        return []
    # The search's first passage is the strongest evidence: it is quoted in every answer.
    lead = [c for c in ordered if c.rank == 0 and c.match >= _LEAST_LEAD]
    chosen = [ordered[0], *lead[:1]] if ordered[0].rank else ordered[:1]
    while len(chosen) < MOST_QUOTES:
        covered = keys & _tokens_of(chosen)
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
        len(candidate.tokens & other.tokens) >= _SAME_TEXT * min(len(candidate.tokens), len(other.tokens))
        for other in chosen
    )


def _tokens_of(candidates: Iterable[_Candidate]) -> set[str]:
    return {token for c in candidates for token in c.tokens | c.heading}


def _coverage(terms: tuple[Term, ...], missing: tuple[Term, ...], weights: _Weights) -> float:
    absent = {term.key for term in missing}
    # A covered bigram over a word border adds no weight.
    have = weights.sum(term.key for term in terms if term.key not in absent)
    return have / (have + weights.sum(absent) + 1e-9)


def _in_reading_order(chosen: Sequence[_Candidate], scored: Sequence[_Candidate]) -> list[_Candidate]:
    """Best source first; a sentence that starts with an anaphor gets its predecessor."""
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
