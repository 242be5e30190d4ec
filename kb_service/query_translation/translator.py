"""Translation of a question's words, by dictionary, into weights of the lexical index's tokens.

After Pirkola, "The effects of query structure and dictionary setups in dictionary-based cross-language information
retrieval" (SIGIR 1998): all translations of a word are asked for, so that no sense need be chosen.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core.logging import get_logger
from kb_service.query_translation.term_table import LONGEST_PHRASE, LONGEST_TERM, TermTable, prepare
from kb_service.text.tokenizer import runs, stem
from kb_service.vector_index.bm25 import simplified

log = get_logger(__name__)

# Longer questions are texts; their other words find enough.
_MOST_CHARACTERS = 500


class QueryTranslator:
    """A dictionary that questions in Chinese and English are looked up in."""

    def __init__(self, table: TermTable) -> None:
        self._table = table

    def translate(self, question: str) -> dict[int, float]:
        """The tokens of the translations of the question's words and phrases, the longest that the dictionary has.

        Returns:
            weights up to 1 by token; a word's main meaning counts most.
        """
        sequences = [*_sequences(question[:_MOST_CHARACTERS])]
        translations = self._table.find(term for sequence in sequences for term in sequence.terms())
        weights: dict[int, float] = {}
        for sequence in sequences:
            for tokens in sequence.longest(translations):
                for index, weight in tokens.items():
                    weights[index] = max(weights.get(index, 0.0), weight)
        return weights


def open_translator(cache_dir: Path) -> QueryTranslator | None:
    """The translator; None where the dictionary's package isn't installed. Blocks, the first time for seconds.

    None, too, where its table can't be written or read, which is logged: searches do without.
    """
    try:
        path = prepare(cache_dir)
        return None if path is None else QueryTranslator(TermTable(path))
    except (OSError, sqlite3.Error) as error:
        log.warning("translation.unavailable", cache_dir=str(cache_dir), reason=str(error))
        return None


class _Sequence:
    """Units of a question that stand side by side: words between which terms have a blank, or characters."""

    def __init__(self, units: Sequence[str], blank: str, longest: int) -> None:
        self._units, self._blank, self._longest = units, blank, longest

    def terms(self) -> Iterator[str]:
        """All terms that may stand in it."""
        for start in range(len(self._units)):
            for end in self._ends(start):
                yield self._term(start, end)

    def longest(self, translations: Mapping[str, Mapping[int, float]]) -> Iterator[Mapping[int, float]]:
        """The tokens of the longest term at each place, from left to right."""
        start = 0
        while start < len(self._units):
            for end in self._ends(start):
                tokens = translations.get(self._term(start, end))
                if tokens is not None:
                    yield tokens
                    start = end
                    break
            else:
                start += 1

    def _ends(self, start: int) -> range:
        """The ends of the terms that may begin there, the farthest first."""
        return range(min(start + self._longest, len(self._units)), start, -1)

    def _term(self, start: int, end: int) -> str:
        return self._blank.join(self._units[start:end])


def _sequences(question: str) -> Iterator[_Sequence]:
    words: list[str] = []
    for run, is_cjk in runs(question):
        if not is_cjk:
            words.append(stem(run))
            continue
        yield _Sequence(words, " ", LONGEST_PHRASE)
        words = []
        yield _Sequence(simplified(run), "", LONGEST_TERM)
    yield _Sequence(words, " ", LONGEST_PHRASE)
