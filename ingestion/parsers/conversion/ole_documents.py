"""What LibreOffice does not say of old Office files: whether they are any, and whether they have a password."""

# olefile has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import codecs
from pathlib import Path

import olefile

# Names of streams; no module can be loaded any more where this is used.
codecs.lookup("utf-16-le")

# [MS-DOC] FibBase: flags behind the five words; [MS-XLS] FilePass; [MS-PPT] CurrentUserAtom's header token.
_WORD_FLAGS_AT, _WORD_ENCRYPTED = 10, 0x0100
_FILE_PASS, _LAST_RECORD_OF_HEAD = 0x002F, 0x0085
_SLIDES_TOKEN_AT, _SLIDES_ENCRYPTED = 12, 0xF3D1C4DF
_ENCRYPTED = "EncryptedPackage"
_HEAD = 65_536
_STREAMS = ("WordDocument", "Workbook", "Book", "PowerPoint Document")

ENDINGS = frozenset({"doc", "xls", "ppt"})
"""Of the formats that are such containers."""


def is_document(path: Path) -> bool:
    """Whether it is a container with a document of Word, Excel or PowerPoint, or an encrypted one.

    LibreOffice reads other bytes as text, and makes a document of noise from them.
    """
    try:
        with path.open("rb") as content, olefile.OleFileIO(content) as file:
            return any(file.exists(name) for name in (*_STREAMS, _ENCRYPTED))
    # A damaged container raises nearly anything.
    except Exception:  # noqa: BLE001
        return False


def is_protected(path: Path) -> bool:
    """Whether a doc, xls or ppt file is encrypted; False for what can't be told."""
    try:
        with path.open("rb") as content, olefile.OleFileIO(content) as file:
            return _is_protected(file)
    # As above; it is reported as what can't be converted.
    except Exception:  # noqa: BLE001
        return False


def _is_protected(file: "olefile.OleFileIO[str]") -> bool:
    if file.exists(_ENCRYPTED) or file.exists("EncryptedSummary"):
        return True
    if file.exists("WordDocument"):
        return bool(_word(_head(file, "WordDocument"), _WORD_FLAGS_AT) & _WORD_ENCRYPTED)
    if file.exists("Current User"):
        head = _head(file, "Current User")
        return int.from_bytes(head[_SLIDES_TOKEN_AT : _SLIDES_TOKEN_AT + 4], "little") == _SLIDES_ENCRYPTED
    name = next((name for name in ("Workbook", "Book") if file.exists(name)), None)
    return name is not None and _has_file_pass(_head(file, name))


def _has_file_pass(head: bytes) -> bool:
    """Whether a workbook's first records have the one that says how it is encrypted."""
    place = 0
    while place + 4 <= len(head):
        kind = _word(head, place)
        if kind == _FILE_PASS:
            return True
        if kind == _LAST_RECORD_OF_HEAD:
            return False
        place += 4 + _word(head, place + 2)
    return False


def _head(file: "olefile.OleFileIO[str]", name: str) -> bytes:
    with file.openstream(name) as stream:
        return stream.read(_HEAD)


def _word(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 2], "little")
