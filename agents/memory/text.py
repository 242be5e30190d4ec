"""Text of memories: cleaning, comparison, and checks against what users wrote."""

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
# How models refer to the person, which is no part of a fact.
_PERSON = re.compile(r"\b(?:the )?user(?:'s)?\b|用户|使用者", re.IGNORECASE)
_SECRET = re.compile(
    r"pass(?:word|code|phrase)|(?-i:\bPIN\b)|pin[ _-]?(?:code|number)|api[ _-]?key|(?:access|secret|private)[ _-]?(?:key|token)"
    r"|密码|口令|密钥|私钥|验证码|令牌",
    re.IGNORECASE,
)
# Control and format characters and surrogates, except for those that texts need.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
_KEPT = frozenset("\n\t\u200c\u200d")


def clean(text: str, *, field: str = "text") -> str:
    """The text without surrounding white space and invisible characters, which could hide what a model reads."""
    cleaned = "".join(c for c in text if c in _KEPT or unicodedata.category(c) not in _INVISIBLE).strip()
    if not 0 < len(cleaned) <= MAX_CHARACTERS:
        raise InvalidRequest(field, f"Use 1 to {MAX_CHARACTERS} characters")
    return cleaned


def text_digest(text: str) -> str:
    """Digest that ignores case, width, spacing and final punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = " ".join(folded.split())
    # Texts of punctuation only keep it.
    plain = spaced.rstrip(_CLOSING) or spaced
    return hashlib.sha256(plain.encode()).hexdigest()


def mentions_secret(text: str) -> bool:
    """Whether a text mentions a password or key, which agents never save."""
    return _SECRET.search(text) is not None


def is_stated_in(text: str, utterances: Sequence[str]) -> bool:
    """Whether at least half of a fact's words are the user's.

    This keeps documents from writing memories; a fact in another language than the messages fails, too.
    """
    words = set(tokenize(_PERSON.sub(" ", text)))
    heard = {token for message in utterances for token in tokenize(message)}
    return len(words & heard) >= _ENOUGH_OF_IT * len(words) if words else False
