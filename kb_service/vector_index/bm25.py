"""BM25 term weights for text in any script, the same for Edge and servers.

A passage has its words as they are written and, in scripts and languages where these alone don't meet a question's,
terms below the word (``kb_service.text.subwords``), which share the words' weight: a question's word in another form
counts ``_SUBWORD_SHARE``, the same form all, and a passage with subwords as much as one without.
"""

# opencc's types are not complete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import opencc
import qdrant_edge

from kb_service.text.special_terms import special_terms
from kb_service.text.subwords import ScriptRun, Subwords, is_japanese, latin_words, script_runs, subwords
from kb_service.vector_index.protocol import SparseVector
from kb_service.vector_index.stop_words import is_english, is_foreign, stop_word_kinds

# Less finds fewer inflected words, more puts them before the exact one.
_SUBWORD_SHARE = 0.7
# In questions. A long word has many n-grams, which together must not outweigh the other words.
_REST_WEIGHT = 0.1
# In questions. None would lose those that hold little else, all lets 来了怎么办 outweigh 台风.
_STOP_WORD_WEIGHT = 0.4

# In questions. Passages in traditional characters have other words if they were indexed before these were simplified.
_TRADITIONAL_WEIGHT = 0.3
_SHARP_S = re.compile("[ßẞ]")
_WORD = re.compile(r"[^\W_]+")


def encode_document(text: str) -> SparseVector:
    """The saturated term weights of a passage; the index multiplies by idf."""
    clean = _clean(text)
    readable = simplified(clean)
    special = special_terms(clean)
    # Appended, so that all other terms stay unchanged.
    words = _bm25().embed_document(" ".join([readable, *special]))
    weights = dict(zip(words.indices, words.values, strict=True))
    folded = _folded_words(readable)
    normalised = "" if _has_words_alone(readable) else _normalised(readable)
    covered = _passage_runs(normalised)
    left = 1 - _SUBWORD_SHARE if covered else 1.0
    if covered:
        whole = set(_bm25().embed_query(" ".join([_blanked(normalised, covered), *special])).indices)
        weights = {index: value if index in whole else left * value for index, value in weights.items()}
        shared = _exact_bm25().embed_document(" ".join(term for terms in _subwords(covered) for term in terms))
        # A term of one kind is none of the other.
        weights |= {index: _SUBWORD_SHARE * value for index, value in zip(shared.indices, shared.values, strict=True)}
    if folded:
        others = _bm25().embed_document(" ".join(folded))
        for index, value in zip(others.indices, others.values, strict=True):
            # Less than the word that is written so.
            weights.setdefault(index, left * (1 - _SUBWORD_SHARE) * value)
    return SparseVector(tuple(weights), tuple(weights.values()))


def encode_query(text: str) -> SparseVector:
    """Weight 1 for each distinct term of a question, less for Chinese stop words and n-grams behind a word's first."""
    clean = _clean(text)
    readable = simplified(clean)
    written = " ".join([readable, *_folded_words(readable)])
    words = _bm25().embed_query(" ".join([written, *special_terms(clean)]))
    weights: dict[int, float] = {}
    terms = _subwords(_question_runs(_normalised(readable)))
    if terms:
        rest, whole = (
            _exact_bm25().embed_query(" ".join(kind))
            for kind in ([term.rest for term in terms], [term.whole for term in terms])
        )
        weights = dict.fromkeys(rest.indices, _REST_WEIGHT) | dict.fromkeys(whole.indices, 1.0)
    if readable != clean:
        weights |= dict.fromkeys(_bm25().embed_query(clean).indices, _TRADITIONAL_WEIGHT)
    weights |= dict.fromkeys(words.indices, 1.0)
    if not text.isascii():
        meaningful = set(_bm25_without_chinese_stop_words().embed_query(written).indices)
        weights |= {
            index: _STOP_WORD_WEIGHT for index in _bm25().embed_query(written).indices if index not in meaningful
        }
    return SparseVector(tuple(weights), tuple(weights.values()))


def word_tokens(text: str) -> Sequence[int]:
    """The distinct tokens of the words of an English or Chinese text."""
    return _bm25().embed_query(text).indices


def is_stop_word(word: str) -> bool:
    """Whether a word, English or Chinese, is among the commonest, which say little of a question's subject."""
    return not _bm25_without_chinese_stop_words().embed_query(word).indices


def _has_words_alone(text: str) -> bool:
    """Whether a quick look tells that a passage is in English or Chinese."""
    words = latin_words(text)
    return words is not None and not is_foreign(words)


def _passage_runs(text: str) -> list[ScriptRun]:
    """The runs of a passage that get subwords: none of English, which has stems, and Chinese, which has words."""
    all_runs = script_runs(text)
    left_out: set[str] = set()
    if not is_foreign(run.text for run in all_runs if run.script == "Latin"):
        left_out.add("Latin")
    if not is_japanese(run for run in all_runs if run.script == "CJK"):
        left_out.add("CJK")
    return [run for run in all_runs if run.script not in left_out]


def _question_runs(text: str) -> list[ScriptRun]:
    """The runs of a question that passages may have subwords of."""
    words = latin_words(text) if text.isascii() else None
    if words is not None and is_english(words):
        return []
    all_runs = script_runs(text)
    # English words would meet those of other languages by chance.
    if is_english(run.text for run in all_runs if run.script == "Latin"):
        return [run for run in all_runs if run.script != "Latin"]
    return all_runs


def _subwords(covered: Iterable[ScriptRun]) -> list[Subwords]:
    return [subwords(run) for run in covered if run.script != "Latin" or not stop_word_kinds(run.text).english]


def _blanked(text: str, covered: Iterable[ScriptRun]) -> str:
    """The text without these runs."""
    parts: list[str] = []
    last = 0
    for run in covered:
        parts.append(text[last : run.start])
        last = run.end
    return " ".join([*parts, text[last:]])


def _clean(text: str) -> str:
    # Lone surrogates (from broken JSON or PDF text) can't be passed to Rust.
    return text.encode("utf-8", "replace").decode("utf-8")


def _normalised(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _folded_words(text: str) -> list[str]:
    """The words with ß once more with ss, as Swiss and older texts have them."""
    if text.isascii() or not _SHARP_S.search(text):
        return []
    return [word.casefold() for word in _WORD.findall(text) if _SHARP_S.search(word)]


def simplified(text: str) -> str:
    """The text with simplified instead of traditional Chinese characters, in which the tokenizer knows its words."""
    return text if text.isascii() else str(_tosimplified().convert(text))


@lru_cache(maxsize=1)
def _tosimplified() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


@lru_cache(maxsize=1)
def _bm25() -> qdrant_edge.Bm25:
    # Only the tokenizer differs from the defaults: the default one finds no Chinese word (R@5 .16 instead of .99), and
    # language="chinese" loses English stemming.
    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(tokenizer=qdrant_edge.TokenizerType.Multilingual))


@lru_cache(maxsize=1)
def _bm25_without_chinese_stop_words() -> qdrant_edge.Bm25:
    stop_words = qdrant_edge.StopwordsSet({qdrant_edge.Language.English, qdrant_edge.Language.Chinese})
    config = qdrant_edge.Bm25Config(tokenizer=qdrant_edge.TokenizerType.Multilingual, stopwords=stop_words)
    return qdrant_edge.Bm25(config)


@lru_cache(maxsize=1)
def _exact_bm25() -> qdrant_edge.Bm25:
    """For terms between blanks, taken as they are."""
    return qdrant_edge.Bm25(
        qdrant_edge.Bm25Config(
            tokenizer=qdrant_edge.TokenizerType.Whitespace,
            stemmer=qdrant_edge.DisabledStemmer(),
            stopwords=qdrant_edge.StopwordsSet(),
        )
    )
