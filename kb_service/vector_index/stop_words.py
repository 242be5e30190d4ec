"""Stop words of texts in Latin script, which tell English from other languages."""

from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

import qdrant_edge

_LANGUAGES = qdrant_edge.Language
# All lists of languages in Latin script.
_OTHER_LANGUAGES = (
    *(_LANGUAGES.Azerbaijani, _LANGUAGES.Basque, _LANGUAGES.Catalan, _LANGUAGES.Danish, _LANGUAGES.Dutch),
    *(_LANGUAGES.Finnish, _LANGUAGES.French, _LANGUAGES.German, _LANGUAGES.Hungarian, _LANGUAGES.Indonesian),
    *(_LANGUAGES.Italian, _LANGUAGES.Norwegian, _LANGUAGES.Portuguese, _LANGUAGES.Romanian, _LANGUAGES.Slovene),
    *(_LANGUAGES.Spanish, _LANGUAGES.Swedish, _LANGUAGES.Turkish),
)
# More words show nothing else.
_SAMPLE = 200
# No stop word is as long, and long ones would fill the cache.
_LONGEST = 20
# Of English words a third are stop words, of those of other languages between a tenth and a half. Languages without a
# list have more words than that with other letters than English.
_SHARE = 0.1
_LEAST = 2


class StopWordKinds(NamedTuple):
    """Whether a word is a stop word of English, and whether of another language."""

    english: bool
    other: bool


def is_english(words: Iterable[str]) -> bool:
    """Whether more of a question's words in lower case are stop words of English alone than of other languages alone."""
    kinds = [stop_word_kinds(word) for word in _distinct(words)]
    return kinds.count(_ENGLISH_ALONE) > kinds.count(_OTHER_ALONE)


def is_foreign(words: Iterable[str]) -> bool:
    """Whether a passage's words in lower case are of another language than English: not if its stop words are few."""
    distinct = _distinct(words)
    kinds = [stop_word_kinds(word) for word in distinct]
    if kinds.count(_ENGLISH_ALONE) >= _SHARE * len(kinds):
        return False
    least = max(_LEAST, _SHARE * len(kinds))
    return kinds.count(_OTHER_ALONE) >= least or sum(not word.isascii() for word in distinct) >= least


@lru_cache(maxsize=1 << 16)
def stop_word_kinds(word: str) -> StopWordKinds:
    """In which languages a word is one of the commonest."""
    return StopWordKinds(*(not bm25.embed_query(word).indices for bm25 in _tokenizers()))


_ENGLISH_ALONE = StopWordKinds(True, False)
_OTHER_ALONE = StopWordKinds(False, True)


def _distinct(words: Iterable[str]) -> Collection[str]:
    # Single letters are initials and variables as well.
    return [word for word in list(dict.fromkeys(words))[:_SAMPLE] if 1 < len(word) < _LONGEST]


@cache
def _tokenizers() -> tuple[qdrant_edge.Bm25, qdrant_edge.Bm25]:
    """Tokenizers that drop stop words and no other words, of English and of the other languages."""
    english, others = ({_LANGUAGES.English}, set(_OTHER_LANGUAGES))
    return (_dropping(english), _dropping(others))


def _dropping(languages: set[qdrant_edge.Language]) -> qdrant_edge.Bm25:
    return qdrant_edge.Bm25(
        qdrant_edge.Bm25Config(
            tokenizer=qdrant_edge.TokenizerType.Whitespace,
            stemmer=qdrant_edge.DisabledStemmer(),
            stopwords=qdrant_edge.StopwordsSet(languages),
        )
    )
