"""The text of a memory: cleaned, compared with others, and with what its owner said."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from core.errors.requests import InvalidRequest
from kb_service.text.tokenizer import tokenize

MAX_CHARACTERS = 2000
"""Longest text of one memory."""

_ENOUGH_OF_IT = 0.5
_CLOSING = " .!。！;；,，"
# How models speak of the person: no words of a fact.
_PERSON = re.compile(r"\b(?:the )?user(?:'s)?\b|用户|使用者", re.IGNORECASE)
_SECRET = re.compile(
    r"pass(?:word|code|phrase)|(?-i:\bPIN\b)|pin[ _-]?(?:code|number)|api[ _-]?key|(?:access|secret|private)[ _-]?(?:key|token)"
    r"|密码|口令|密钥|私钥|验证码|令牌",
    re.IGNORECASE,
)
# Control characters, format characters and half characters; those that belong into a text.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
_KEPT = frozenset("\n\t\u200c\u200d")


def clean(text: str, *, field: str = "text") -> str:
    """A text as it is stored: without blanks around it and without invisible characters.

    Control characters and those that turn the direction of writing could show a reader something
    else than what a model reads.

    Args:
        field: what to call it in an error.

    Raises:
        InvalidRequest: nothing is left of it, or it is longer than ``MAX_CHARACTERS``.
    """
    cleaned = "".join(filter(_is_visible, text)).strip()
    if not 0 < len(cleaned) <= MAX_CHARACTERS:
        raise InvalidRequest(field, f"Use 1 to {MAX_CHARACTERS} characters")
    return cleaned


def _is_visible(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _INVISIBLE


def text_digest(text: str) -> str:
    """What two memories that say the same share, whatever their case, width and spacing."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = " ".join(folded.split())
    # What is nothing but signs is told apart by them.
    plain = spaced.rstrip(_CLOSING) or spaced
    return hashlib.sha256(plain.encode()).hexdigest()


def mentions_secret(text: str) -> bool:
    """Whether a text speaks of a password or a key: nothing that is noted without being asked."""
    return _SECRET.search(text) is not None


def is_stated_in(text: str, utterances: Sequence[str]) -> bool:
    """Whether a fact is made of words that somebody said: at least half of them.

    It keeps a document that was read in between from writing memories of its own; a fact said
    in one language and noted in another does not pass either.

    Args:
        said: the messages of the person it is about.
    """
    words = set(tokenize(_PERSON.sub(" ", text)))
    heard = {token for message in utterances for token in tokenize(message)}
    return len(words & heard) >= _ENOUGH_OF_IT * len(words) if words else False
