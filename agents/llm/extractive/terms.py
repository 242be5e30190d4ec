"""The terms that a question asks about: what is left without question words and particles."""

import re
import unicodedata
from dataclasses import dataclass

from agents.llm.extractive.question_types import without_question_forms
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
    than thank thanks type us use want way whose would yes your m re ve ll d
    shouldn doesn don isn aren won couldn wouldn hasn haven per"""
_ENGLISH_QUESTION_TOKENS = frozenset(tokenize(_ENGLISH_QUESTION_WORDS))
# Characters that carry grammar rather than a subject.
FUNCTION_CHARACTERS = frozenset(
    "的地得是了在和與与及或把被之而哪要会會能用有到去里上下中为為这這那我你您他它们們个個由从從向对對等让讓给給还還又也都就才再请請找呢吗嗎"
)
IDENTIFIER = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")
_WORD = re.compile(r"[^\W_]+")

CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Term:
    """A search term by its token.

    Attributes:
        run: The number of the unbroken Chinese run that it is of, -1 for words.
        identifier: The whole identifier of which it is a part, in small letters: ``job_id`` for ``id``.
    """

    key: str
    surface: str
    position: int
    run: int = -1
    identifier: str = ""


def content_terms(question: str) -> tuple[Term, ...]:
    """The terms of the question without question words, particles and repeats, in order."""
    terms: dict[str, Term] = {}
    text = _CHINESE_CUT.sub(" ", without_question_forms(unicodedata.normalize("NFKC", question)))
    names = identifiers(question)
    for number, piece in enumerate(_pieces(text)):
        is_chinese = CJK.match(piece) is not None
        for token in tokenize(piece):
            if token in _ENGLISH_QUESTION_TOKENS or token in terms:
                continue
            surface = token if is_chinese else piece
            identifier = next((name for name in names if piece.lower() in name.split("_")), "")
            terms[token] = Term(token, surface, len(terms), number if is_chinese else -1, identifier)
    # Single characters between particles mean nothing next to real words.
    whole = tuple(term for term in terms.values() if term.run < 0 or len(term.key) > 1)
    return whole or tuple(terms.values())


def identifiers(text: str) -> frozenset[str]:
    """The names of several words joined by underscores, in small letters."""
    return frozenset(name.lower() for name in IDENTIFIER.findall(text))


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
    return CJK.match(character) is not None


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
