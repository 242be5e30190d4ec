"""The dictionary as a table from terms to tokens of the lexical index: an SQLite file in the cache.

In memory it would take some 80 MB, and translating its words when a question comes, a millisecond for each.
"""

import json
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np

from kb_service.query_translation.cedict import SHA256, DictionaryEntry, read_entries, read_packaged
from kb_service.text.tokenizer import stem
from kb_service.vector_index.bm25 import is_stop_word, word_tokens

LONGEST_TERM = 8
"""Characters of a Chinese term."""
LONGEST_PHRASE = 3
"""Words of an English term."""

# Raise it with every change of the table.
_RECIPE = 1
# More are rare words, which meet passages by chance.
_MOST_TRANSLATIONS = 30
_TOKEN = np.dtype([("index", "<u4"), ("weight", "<f4")])


class TermTable:
    """The opened table; thread-safe."""

    def __init__(self, path: Path) -> None:
        # Nobody writes to the file: another version has another name.
        self._connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        # A damaged file is told apart now, not at the first search.
        self._connection.execute("SELECT tokens FROM translation LIMIT 1").fetchone()
        self._lock = Lock()

    def find(self, terms: Iterable[str]) -> dict[str, Mapping[int, float]]:
        """The tokens of the translations of those terms that the dictionary has, with their weights; none of stop words."""
        query = "SELECT term, tokens FROM translation WHERE term IN (SELECT value FROM json_each(?))"
        with self._lock:
            rows: list[tuple[str, bytes]] = self._connection.execute(query, [json.dumps(list(terms))]).fetchall()
        return {term: _unpack(tokens) for term, tokens in rows}


def prepared_path(cache_dir: Path) -> Path:
    """Where the table of this version is, or would be."""
    return cache_dir / "dictionaries" / f"cc-cedict-{SHA256[:12]}-{_RECIPE}.sqlite"


def prepare(cache_dir: Path) -> Path | None:
    """The table's file, made first where it is missing, which takes seconds; None without the dictionary's package."""
    path = prepared_path(cache_dir)
    if path.is_file():
        return path
    packed = read_packaged()
    if packed is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        _write(made, _rows(read_entries(packed)))
        # Of processes that race, the last one's stays.
        made.replace(path)
    return path


def _write(path: Path, rows: Iterable[tuple[str, bytes]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE translation (term TEXT PRIMARY KEY, tokens BLOB NOT NULL) WITHOUT ROWID")
        connection.executemany("INSERT INTO translation VALUES (?, ?)", rows)


def _rows(entries: Iterable[DictionaryEntry]) -> Iterator[tuple[str, bytes]]:
    """Each term with the tokens of its translations, both ways."""
    chinese: defaultdict[str, dict[str, float]] = defaultdict(dict)
    english: defaultdict[str, dict[str, float]] = defaultdict(dict)
    written: dict[str, str] = {}
    for entry in entries:
        if len(entry.chinese) > LONGEST_TERM:
            continue
        for place, meaning in enumerate(entry.meanings):
            # The first meaning is the main one.
            share = (1 + place) ** -0.5
            term = " ".join(map(stem, meaning.split()))
            written.setdefault(term, meaning)
            for words, translation in ((chinese[entry.chinese], meaning), (english[term], entry.chinese)):
                words[translation] = max(words.get(translation, 0.0), share)
    # Most translations stand in several entries.
    tokens_of = cache(word_tokens)
    for term, translations in chinese.items():
        yield term, b"" if is_stop_word(term) else _pack(translations, tokens_of)
    for term, translations in english.items():
        yield term, b"" if is_stop_word(written[term]) else _pack(translations, tokens_of)


def _pack(translations: Mapping[str, float], tokens_of: Callable[[str], Sequence[int]]) -> bytes:
    best = sorted(translations, key=translations.__getitem__, reverse=True)[:_MOST_TRANSLATIONS]
    tokens: dict[int, float] = {}
    for translation in best:
        indices = tokens_of(translation)
        for index in indices:
            # The words of a phrase share its weight.
            weight = translations[translation] / len(indices)
            tokens[index] = max(tokens.get(index, 0.0), weight)
    return np.array(list(tokens.items()), dtype=_TOKEN).tobytes()


def _unpack(tokens: bytes) -> Mapping[int, float]:
    pairs = np.frombuffer(tokens, dtype=_TOKEN)
    return dict(zip(pairs["index"].tolist(), pairs["weight"].tolist(), strict=True))
