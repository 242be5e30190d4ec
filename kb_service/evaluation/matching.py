"""Matching of found passages against expected ones, robust to another splitting."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Punctuation and whitespace vary between formats and splitters; letters and digits do not.
_NO_LETTERS = re.compile(r"[\W_]+")
# A partial match of fewer letters proves nothing.
_LEAST_LETTERS = 20


@dataclass(frozen=True)
class ExpectedPassage:
    """A passage that answers a question.

    Args:
        document: the name of its document.
        text: words of the passage; empty: any passage of the document is right.
    """

    document: str
    text: str = ""


@dataclass(frozen=True)
class RetrievedPassage:
    """A passage as a search shows it."""

    document: str
    text: str


def normalised(text: str) -> str:
    """Letters and digits only, case-folded, in one Unicode form."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def match_expected(expected: Sequence[ExpectedPassage], ranking: Sequence[RetrievedPassage]) -> list[list[bool]]:
    """For each expected passage, which of the found ones match."""
    passages = [(passage.document, normalised(passage.text)) for passage in ranking]
    searched = [(passage.document, normalised(passage.text)) for passage in expected]
    return [
        [name == document and contains_words(passage, words) for name, passage in passages]
        for document, words in searched
    ]


def contains_words(passage: str, words: str) -> bool:
    """Whether a passage has the normalised words, or most of them if a chunk boundary cuts them.

    Empty words are in every passage.
    """
    if words in passage:
        return True
    if min(len(words), len(passage)) < _LEAST_LETTERS:
        return False
    half = len(words) - len(words) // 2
    return (
        passage in words
        or _begins_with_an_end_of(words, passage, half)
        or _ends_with_a_beginning_of(words, passage, half)
    )


def _begins_with_an_end_of(words: str, passage: str, least: int) -> bool:
    at = passage.find(words[-least:])
    return at >= 0 and words.endswith(passage[: at + least])


def _ends_with_a_beginning_of(words: str, passage: str, least: int) -> bool:
    at = passage.rfind(words[:least])
    return at >= 0 and words.startswith(passage[at:])
