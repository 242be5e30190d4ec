"""The content terms of a question: what an answer has to cover, without its question words."""

import re
import unicodedata
from dataclasses import dataclass

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
    "|".join(sorted(_CHINESE_QUESTION_WORDS.split(), key=len, reverse=True))
    + f"|[{_CHINESE_PARTICLES}]"
)
_ENGLISH_QUESTION_WORDS = """
    about also any anyone anything between can could describe difference every explain find get give
    going help hello hey hi just kind know later list let like many may me mean might more most much
    must my need now one our please s say see shall should show so some someone something sort t tell
    than thank thanks type us use want way whose would yes your m re ve ll d"""
_ENGLISH_QUESTION_TOKENS = frozenset(tokenize(_ENGLISH_QUESTION_WORDS))
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to find.

    Attributes:
        key: The lexical token it is in a tokenised text.
        surface: How the question writes it.
        position: Its place among the terms.
        run: Terms of one unbroken Chinese run share the number; -1 for a word.
    """

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
    # A character left over between particles says nothing beside real words.
    whole = tuple(term for term in terms.values() if term.run < 0 or len(term.key) > 1)
    return whole or tuple(terms.values())


def _pieces(text: str) -> list[str]:
    """Words and unbroken Chinese runs."""
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


def uncovered(terms: tuple[Term, ...], found: set[str]) -> tuple[Term, ...]:
    """The terms not among the found tokens.

    A Chinese bigram that only spans the border of two found words is not missing: each of its
    characters belongs to a bigram that was found.
    """
    covered: dict[int, set[str]] = {}
    for term in terms:
        if term.run >= 0 and term.key in found:
            covered.setdefault(term.run, set()).update(term.key)
    return tuple(
        term
        for term in terms
        if term.key not in found and not set(term.key) <= covered.get(term.run, set())
    )


def nameable(terms: tuple[Term, ...], missing: tuple[Term, ...]) -> tuple[Term, ...]:
    """The missing terms that mean something by themselves: words, and Chinese runs as a whole.

    What is left of a run that was found in part is seldom a word.
    """
    absent = {term.key for term in missing}
    found_in_part = {term.run for term in terms if term.run >= 0 and term.key not in absent}
    return tuple(term for term in missing if term.run not in found_in_part)


def surface_text(terms: tuple[Term, ...]) -> str:
    """The terms as the question writes them; overlapping Chinese bigrams are joined again."""
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
