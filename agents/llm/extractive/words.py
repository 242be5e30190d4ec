"""The words of a passage's units, of what stands around them, and how much of a question's term they have."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from agents.llm.extractive.sentences import QuotableUnit, quotable_units
from agents.llm.extractive.terms import CJK, FUNCTION_CHARACTERS, IDENTIFIER, Term, identifiers
from kb_service.text.tokenizer import tokenize

# How much a term counts that stands above or before a sentence instead of in it.
_CONTEXT_SHARE, _LABEL_SHARE, _QUESTION_SHARE, _PATH_SHARE, _BEFORE_SHARE = 0.75, 0.75, 0.9, 0.6, 0.4
_SCATTERED_BIGRAM = 0.5
_PART_OF_IDENTIFIER = 0.4
_CACHED_PASSAGES = 256
_KEY_ENDS = ("：", ":", " | ", " — ", " – ", " - ")
_LONGEST_KEY = 40
# "id: <number>" says nothing of what it is.
_PLACEHOLDER = re.compile(r"<[^<>]{1,40}>")
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+){1,4}")


class TextWords:
    """The tokens of a text.

    Attributes:
        order: As they stand, repeats kept.
        tokens: Each once, with the initials of names: "European Union" has EU.
        parts: Those that stand in identifiers only: "thread_id" speaks of no "id".
        characters: All Chinese characters.
    """

    __slots__ = ("characters", "identifiers", "order", "parts", "tokens")

    def __init__(self, text: str) -> None:
        self.order = tokenize(text)
        initials = ("".join(word[0] for word in name.split()).lower() for name in _NAME.findall(text))
        self.tokens = frozenset([*self.order, *initials])
        self.identifiers = identifiers(text)
        plain = tokenize(IDENTIFIER.sub(" ", text)) if self.identifiers else self.tokens
        self.parts = self.tokens.difference(plain)
        self.characters = frozenset(CJK.findall(text))

    def share(self, term: Term) -> float:
        """How much of a term they have, 0 to 1; scattered characters of a Chinese bigram are less than the bigram."""
        if term.key in self.tokens:
            is_part = term.key in self.parts and term.identifier not in self.identifiers
            return _PART_OF_IDENTIFIER if is_part else 1.0
        if term.run < 0 or len(term.key) < 2:
            return 0.0
        meaningful = set(term.key) - FUNCTION_CHARACTERS
        return _SCATTERED_BIGRAM if meaningful and self.characters.issuperset(meaningful) else 0.0

    def pairs(self) -> set[tuple[str, str]]:
        return set(pairwise(self.order))


@dataclass(frozen=True, slots=True)
class UnitWords:
    """A unit with its words.

    Attributes:
        key: What it is about, if it says so first: "timeout: 30 s", "404 | not found".
        news: What it says beside placeholders.
        around: The words above and before it, each with what they count.
    """

    position: int
    unit: QuotableUnit
    own: TextWords
    key: frozenset[str]
    news: frozenset[str]
    around: tuple[tuple[float, TextWords], ...]

    def share(self, term: Term) -> float:
        """How much of a term the unit has, by itself or through what stands around it."""
        return max(self.own.share(term), *(part * words.share(term) for part, words in self.around))


@lru_cache(maxsize=_CACHED_PASSAGES)
def unit_words(title: str, text: str, heading_path: tuple[str, ...]) -> tuple[UnitWords, ...]:
    """The units of a passage with their words; kept, because a run reads its passages several times."""
    path = TextWords(" ".join(heading_path))
    name = TextWords(title)
    every: list[UnitWords] = []
    words_of = lru_cache(TextWords)
    for position, unit in enumerate(quotable_units(text, heading_path)):
        own = TextWords(unit.lead or unit.text)
        before = every[-1] if every and every[-1].unit.block == unit.block else None
        around = [
            (_CONTEXT_SHARE, words_of(unit.context)),
            (_QUESTION_SHARE if unit.asks else _LABEL_SHARE, words_of(unit.label)),
            (_PATH_SHARE, path),
            (_BEFORE_SHARE, name),
            *([(_BEFORE_SHARE, before.own)] if before else []),
        ]
        has_placeholder = "<" in unit.text and _PLACEHOLDER.search(unit.text)
        news = frozenset(tokenize(_PLACEHOLDER.sub("", unit.text))) if has_placeholder else own.tokens
        every.append(UnitWords(position, unit, own, _key(unit), news, tuple(around)))
    return tuple(every)


def _key(unit: QuotableUnit) -> frozenset[str]:
    ends = [at for end in _KEY_ENDS if 0 < (at := unit.text.find(end)) <= _LONGEST_KEY]
    return frozenset(tokenize(unit.text[: min(ends)])) if ends else frozenset()
