"""Lexical tokens, sentences and windows of a text in Chinese, English or both.

The tokens of Agentex's rerank: runs of CJK characters become overlapping bigrams, other runs of letters and digits
become stemmed words. Two decisions on normalisation:

- Tokens are made after NFKC and lower-casing, so that full-width and half-width forms, ligatures
  and compatibility ideographs meet their plain forms. Simplified and Traditional stay apart.
- Sentences are cut before NFKC: it would turn the Chinese marks into ASCII ones, which end a
  sentence only before a blank.
"""

# snowballstemmer has no types for its stemmers' methods.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import hashlib
import re
import struct
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_CJK_RUN = re.compile(rf"[{_CJK}]+")
_FIRST_CJK = "\u3040"
_DIGIT = re.compile(r"\d")
_SENTENCE_BORDER = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been but by did do does for from had has have he how i if in into is
    it its no not of on or she such that the their then there these they this to was we were what
    when where which who whom why will with you""",
    )
)
_CJK_DOMINANT_SHARE = 0.2


def tokenize(text: str) -> list[str]:
    """The lexical tokens of ``text`` in order, repeats kept; linear time.

    A run of CJK characters gives its overlapping bigrams (a single character stays itself); any other run of letters
    and digits one lower-case, stemmed word, stop words dropped.
    """
    tokens: list[str] = []
    for run, is_cjk in runs(text):
        if is_cjk:
            if len(run) == 1:
                tokens.append(run)
            else:
                tokens.extend(map(str.__add__, run, run[1:]))
        elif run not in _STOP_WORDS:
            tokens.append(stem(run))
    return tokens


def runs(text: str) -> list[tuple[str, bool]]:
    """The words of ``text`` in order, normalised, each with whether it is a run of CJK characters."""
    return _runs(_normalised(text))


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _runs(normalised: str) -> list[tuple[str, bool]]:
    matches = _RUN.findall(normalised)
    return [(run, run[0] >= _FIRST_CJK and _is_cjk(run[0])) for run in matches]


def numbers(text: str) -> list[str]:
    """The numbers of ``text`` in order, repeats kept, each in the digits 0 to 9.

    A number is a run of digits beside no letter: 2024年 has one, GPT4 has none, 3.14 has two.
    """
    normalised = _normalised(text)
    # Most passages have none, and this check takes a tenth of splitting into words.
    if _DIGIT.search(normalised) is None:
        return []
    decimals = (run for run, is_cjk in _runs(normalised) if not is_cjk and run.isdecimal())
    return ["".join(str(unicodedata.decimal(digit)) for digit in run) for run in decimals]


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, blank ones dropped.

    A sentence ends at ``.``, ``!`` or ``?`` before a blank, or at a Chinese full stop, exclamation or question mark.
    """
    return [sentence for sentence in _SENTENCE_BORDER.split(text) if sentence.strip()]


def windows(text: str) -> list[str]:
    """Each two consecutive sentences; a text of one sentence is one window."""
    parts = sentences(text)
    if len(parts) < 2:
        return parts
    return [f"{first} {second}" for first, second in pairwise(parts)]


def is_cjk_dominant(query: str) -> bool:
    """Whether at least a fifth of the query's characters are Chinese characters or kana."""
    count = sum(map(len, _CJK_RUN.findall(query)))
    return count > 0 and count >= _CJK_DOMINANT_SHARE * len(query)


def _is_cjk(character: str) -> bool:
    return _CJK_RUN.match(character) is not None


# A longer run is no word of a language (base64, hashes): it is its own stem.
_LONGEST = 40

_stemmer = snowballstemmer.stemmer("english")
# The stemmer keeps the word it works on in its own state.
_lock = Lock()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word; words of other languages mostly stay unchanged."""
    if len(word) > _LONGEST:
        return word
    with _lock:
        return str(_stemmer.stemWord(word))


# Raise it with any change of tokens, sentences or layout: older bytes are then recomputed.
_LAYOUT = 1
_HEAD = struct.Struct("<BI")

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Terms:
    """Tokens in order, and their number in each sentence."""

    tokens: Ints
    sizes: Ints


def pack_terms(text: str) -> bytes:
    """Tokenise a passage for storage; takes about a millisecond, so not on an event loop.

    Layout, little-endian: version (1 byte), number of sentences (4), tokens of each sentence (4 each), hash of each
    token (8 each).
    """
    sizes, hashes = _analysed(text)
    return _HEAD.pack(_LAYOUT, len(sizes)) + sizes.astype("<u4").tobytes() + hashes.tobytes()


def compute_terms(text: str) -> Terms:
    """The terms of a text without stored ones; as slow as ``pack_terms``."""
    sizes, tokens = _analysed(text)
    return Terms(tokens, sizes)


def _analysed(text: str) -> tuple[Ints, Ints]:
    parts = [tokenize(sentence) for sentence in sentences(text)]
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    hashes = np.fromiter((hash_token(t) for part in parts for t in part), "<i8", int(sizes.sum()))
    return sizes, hashes


def unpack_terms(packed: bytes | None) -> Terms | None:
    """Read the output of ``pack_terms``; None for None or another version."""
    if packed is None or len(packed) < _HEAD.size:
        return None
    layout, count = _HEAD.unpack_from(packed)
    start = _HEAD.size + 4 * count
    if layout != _LAYOUT or len(packed) < start:
        return None
    sizes = np.frombuffer(packed, "<u4", count, _HEAD.size)
    if len(packed) != start + 8 * int(sizes.sum()):
        return None
    tokens = np.frombuffer(packed, "<i8", -1, start).astype(np.int64, copy=False)
    return Terms(tokens, sizes.astype(np.int64))


@lru_cache(maxsize=1 << 17)
def hash_token(token: str) -> int:
    """A token's 64-bit hash, the same in every process and on every machine."""
    digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
