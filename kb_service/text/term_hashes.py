"""A passage's lexical tokens as stable hashes, packed for storage beside its text."""

import hashlib
import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kb_service.text.tokenizer import sentences, tokenize

# Raise it with any change of tokens, sentences or layout: older bytes are then made anew.
_LAYOUT = 1
_HEAD = struct.Struct("<BI")

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Terms:
    """Tokens in order, and how many of them each sentence has."""

    tokens: Ints
    sizes: Ints


def pack_terms(text: str) -> bytes:
    """Tokenise a passage for storage; about a millisecond, so not on an event loop.

    Layout, little-endian: version (1 byte), number of sentences (4), tokens of each sentence
    (4 each), hash of each token (8 each).
    """
    sizes, hashes = _analysed(text)
    return _HEAD.pack(_LAYOUT, len(sizes)) + sizes.astype("<u4").tobytes() + hashes.tobytes()


def compute_terms(text: str) -> Terms:
    """The terms of a text that has none in store; as slow as ``pack_terms``."""
    sizes, tokens = _analysed(text)
    return Terms(tokens, sizes)


def _analysed(text: str) -> tuple[Ints, Ints]:
    """The number of tokens in each sentence, and the hash of each token."""
    parts = [tokenize(sentence) for sentence in sentences(text)]
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    hashes = np.fromiter((hash_token(t) for part in parts for t in part), "<i8", int(sizes.sum()))
    return sizes, hashes


def unpack_terms(packed: bytes | None) -> Terms | None:
    """What ``pack_terms`` made; None if there is nothing or another version made it."""
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
