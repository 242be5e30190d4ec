"""Terms that the tokenizers of languages lose or tear apart: numbers, codes, parts of identifiers, and emoji."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator

from kb_service.text.tokenizer import numbers

# Prefixes of terms that no text contains as words.
_NUMBER, _CODE, _EMOJI = "agentexnumber", "agentexcode", "agentexemoji"
_GROUP_SIGNS = ",，'’\u00a0\u202f"
# 1,250,000 and 1.250.000; a single point or blank could mean anything else.
_GROUPED = re.compile(rf"\d(?<![\w.,].)\d{{0,2}}(?:(?:[{_GROUP_SIGNS}]\d{{3}})+|(?:\.\d{{3}}){{2,}})(?![\d.,]*\d)")
_CODE_LIKE = re.compile(r"(?<![^\W_])[^\W_]{1,40}(?:[-_./:][^\W_]{1,40}){1,9}(?![^\W_])")
_DIGIT = re.compile(r"\d")
# getUserName, HTTPServer; a digit parts no word: GPT4, B2B.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CASE_CHANGE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_IDENTIFIER = re.compile(r"(?<![^\W_])[A-Za-z]+(?![^\W_])")
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")


def special_terms(text: str) -> list[str]:
    """The special terms of a text in order, repeats kept: words of a kind that no text contains, and parts of identifiers.

    The same in passages and questions: ``1250000`` meets ``1,250,000``, ``get_user_name`` and ``get user name`` meet
    ``getUserName``, ``2.10`` does not meet ``2.1`` as a code.
    """
    normalised = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return [
        *(f"{_NUMBER}{number}" for number in numbers(text)),
        *(f"{_NUMBER}{number}" for number in _grouped_numbers(text)),
        *(f"{_CODE}{_digest(code)}" for code in _codes(normalised)),
        *_identifier_parts(normalised),
        *(f"{_EMOJI}{ord(emoji):x}" for emoji in _SYMBOL.findall(normalised) if unicodedata.category(emoji) == "So"),
    ]


def _grouped_numbers(text: str) -> Iterator[str]:
    for match in _GROUPED.finditer(text):
        yield "".join(str(unicodedata.decimal(sign)) for sign in match.group() if sign.isdecimal())


def _codes(text: str) -> Iterator[str]:
    """``ERR-1234``, ``AB-77/3``, ``10.0.0.1``, ``2.10``: parts that belong together, at least one with a digit."""
    # Few words have a digit, and the search for codes in all others takes longer than this.
    words = (word for word in text.split() if _DIGIT.search(word))
    return (code.lower() for word in words for code in _CODE_LIKE.findall(word) if _DIGIT.search(code))


def _digest(code: str) -> str:
    # In letters and digits alone, or the tokenizer would tear it apart again.
    return hashlib.blake2b(code.encode(), digest_size=8).hexdigest()


def _identifier_parts(text: str) -> Iterator[str]:
    if not _CASE_CHANGE.search(text):
        return
    for identifier in _IDENTIFIER.findall(text):
        parts = _HUMP.split(identifier)
        if len(parts) > 1:
            yield from parts
