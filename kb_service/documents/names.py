"""What documents are called: display names cleaned of what misleads, and numbered ones."""

import unicodedata
from collections.abc import Iterator

from core.errors import InvalidFileName

_NAME_BYTES = 255
# Direction marks and zero-width characters make a name look like another one.
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean_name(name: str) -> str:
    """A file's display name: no path, no invisible characters, at most 255 bytes.

    Raises:
        InvalidFileName: nothing is left.
    """
    text = unicodedata.normalize("NFC", name)
    text = text.replace("\\", "/").rpartition("/")[2]
    text = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE)
    text = text.strip().rstrip(". ")
    if not text.strip("."):
        raise InvalidFileName(field="file", error="The file needs a name")
    stem, dot, suffix = text.rpartition(".")
    while len(text.encode()) > _NAME_BYTES:
        if not stem:
            raise InvalidFileName(field="file", error="The file's name is too long")
        stem = stem[:-1]
        text = stem + dot + suffix
    return text


def numbered_names(name: str) -> Iterator[str]:
    """``name (2).ext``, ``name (3).ext`` and so on, each at most 255 bytes."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while True:
        ending = f" ({number}){dot}{suffix}"
        room = _NAME_BYTES - len(ending.encode())
        yield stem.encode()[:room].decode(errors="ignore") + ending
        number += 1
