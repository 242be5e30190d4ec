"""Fuzzy matching of words, in time that hardly grows with the vocabulary."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

_LEAST = 0.75
_NEAR = 0.6
"""Of a single word, which may be short."""
_LONGEST = 40
_TRIED = 5
_MOST_SHARING = 64


class Vocabulary:
    """Known words, indexed by pairs of characters."""

    def __init__(self, words: Iterable[str]) -> None:
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in dict.fromkeys(words):
            for pair in _pairs(word):
                index[pair].append(word)
        # A pair that most words have tells nothing and would make a search as long as the list.
        self._index: Mapping[str, list[str]] = {
            pair: sharing for pair, sharing in index.items() if len(sharing) <= _MOST_SHARING
        }

    def nearest(self, written: str) -> str | None:
        """The most similar known word for a word of 2 to 40 characters, if similar enough."""
        if not 2 <= len(written) <= _LONGEST:
            return None
        pairs = _pairs(written)
        shared = Counter(word for pair in pairs for word in self._index.get(pair, ()))
        tried = [word for word, _ in shared.most_common(_TRIED)]
        near = difflib.get_close_matches(written, tried, n=1, cutoff=_LEAST)
        return near[0] if near else None


def are_near(word: str, other: str) -> bool:
    """Whether two words differ by at most a typo."""
    return difflib.SequenceMatcher(None, word, other).ratio() >= _NEAR


def _pairs(word: str) -> set[str]:
    framed = f"\n{word}\n"
    return {framed[at : at + 2] for at in range(len(framed) - 1)}
