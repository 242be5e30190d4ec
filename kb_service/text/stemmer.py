"""The Snowball English stemmer behind a cache."""

# snowballstemmer has no types for its stemmers' methods.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from functools import lru_cache
from threading import Lock

import snowballstemmer

# A longer run is no word of a language (base64, hashes): it is its own stem.
_LONGEST = 40

_stemmer = snowballstemmer.stemmer("english")
# The stemmer keeps the word it works on in its own state.
_lock = Lock()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word; a word of another language mostly stays as it is."""
    if len(word) > _LONGEST:
        return word
    with _lock:
        return str(_stemmer.stemWord(word))
