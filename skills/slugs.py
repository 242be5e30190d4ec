"""Slugs of skills: lower-case ASCII words with hyphens (agentskills.io)."""

import re
import unicodedata
from collections.abc import Container

LONGEST_SLUG = 64
# Uploads of packages elsewhere refuse names that hold one of these.
RESERVED_WORDS = ("claude", "anthropic")

# A hyphen and a number; nobody has more skills than seven digits count.
_LONGEST_TAIL = 8
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PLACEHOLDER = re.compile(r"skill-[0-9a-f]{6}")
_NOT_HEXADECIMAL = re.compile(r"[^0-9a-f]+")
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_APOSTROPHES = re.compile("['’ʼ`]")
# Latin letters that Unicode does not decompose into an ASCII letter and a mark.
_LATIN = str.maketrans(
    {
        **dict.fromkeys("æǽ", "ae"),
        **dict.fromkeys("øǿ", "o"),
        **dict.fromkeys("ðđ", "d"),
        "œ": "oe",
        "þ": "th",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "ŋ": "ng",
        "ß": "ss",
    }
)


def is_slug(text: str) -> bool:
    """Whether every consumer of the open standard accepts a name."""
    return len(text) <= LONGEST_SLUG and _SLUG.fullmatch(text) is not None


def has_reserved_word(text: str) -> bool:
    """Whether a name contains a word that other hosts refuse."""
    lowered = text.lower()
    return any(word in lowered for word in RESERVED_WORDS)


def is_placeholder(slug: str) -> bool:
    """Whether a slug comes from ``placeholder_slug`` and so tells a model nothing."""
    return _PLACEHOLDER.fullmatch(slug) is not None


def slugify(name: str) -> str:
    """The ASCII fold of a name (``resume-review``), without reserved words, cut between words; may be empty."""
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_LATIN)
    decomposed = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", folded))
    bare = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    words = [word for word in _SEPARATORS.split(bare) if word and not has_reserved_word(word)]
    return _joined(words)


def placeholder_slug(identity: str) -> str:
    """The slug of a skill whose name gives none: ``skill-`` and six digits of its id or hash."""
    return f"skill-{_NOT_HEXADECIMAL.sub('', identity.lower())[:6]:0<6}"


def choose_slug(name: str, identity: str, requested: str | None = None) -> str:
    """The requested slug, else one from the name, else a placeholder."""
    return slugify(requested or "") or slugify(name) or placeholder_slug(identity)


def numbered_slug(slug: str, number: int) -> str:
    """A slug with a number, such as ``code-review-2``; never too long."""
    tail = f"-{number}"
    return slug[: LONGEST_SLUG - len(tail)].rstrip("-") + tail


def free_slug(first: str, taken_slugs: Container[str]) -> str:
    """The slug, or the first free numbered form of it."""
    slug, number = first, 1
    while slug in taken_slugs:
        number += 1
        slug = numbered_slug(first, number)
    return slug


def slug_prefix(slug: str) -> str:
    """The prefix that a slug shares with its numbered forms."""
    return slug[: LONGEST_SLUG - _LONGEST_TAIL].rstrip("-")


def _joined(words: list[str]) -> str:
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > LONGEST_SLUG:
            return slug or word[:LONGEST_SLUG]
        slug = longer
    return slug
