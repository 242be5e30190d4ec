"""Uploaded zip files and their members.

An archive is never unpacked to disk, its members' names are never paths here, and a nested archive is a file that no
parser reads.
"""

import stat
import unicodedata
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import SEEK_END
from lzma import LZMAError
from typing import IO
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo
from zlib import error as DeflateError

from anyio import to_thread

from core.errors.base import AgentexError
from core.errors.requests import ArchiveMemberRefused, CorruptArchive, EmptyFile
from ingestion.parsers.file_type import (
    HEAD_BYTES,
    DetectedType,
    detect_type,
    refuse_document_by_name,
    refuse_document_by_parts,
)
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.preflight import (
    ERRNO_OF_DAMAGE,
    MAX_RATIO,
    RATIO_FROM_BYTES,
    check_directory,
    exceeds_limits,
    limits_error,
)
from ingestion.parsers.text.charset import decode
from kb_service.document_names import document_name

_BLOCK = 256 * 1024
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
_HIDDEN_FOLDER = "__MACOSX"
_DAMAGE = (BadZipFile, LargeZipFile, DeflateError, LZMAError, EOFError, NotImplementedError)


@dataclass(frozen=True)
class ZipMember:
    """A file in an archive.

    Args:
        path: its name there, for people; never used as a path.
        name: of the document it becomes: ``archive.zip › folder › file.md``.
        size: in bytes, as the archive declares; reading gives no more.
        refusal: why it can't become a document.
    """

    path: str
    name: str
    size: int
    refusal: AgentexError | None
    entry: ZipInfo


class ZipUpload:
    """An uploaded zip file whose directory was checked; see ``open_zip_upload``."""

    def __init__(self, content: ZipFile, members: Sequence[ZipMember]) -> None:
        self._content = content
        self.members = members

    async def detect(self, member: ZipMember, support: FormatSupport) -> DetectedType:
        """The type of a member, by its name and its first bytes; raises its refusal."""
        if member.refusal is not None:
            raise member.refusal
        head = await to_thread.run_sync(self._read_head, member)
        return detect_type(member.path, head, member.size, support)

    async def read(self, member: ZipMember) -> AsyncGenerator[bytes]:
        """A member's bytes in blocks, unpacked on demand; ArchiveMemberRefused if damaged, OSError for the disk."""
        blocks = self._blocks(member)
        try:
            while block := await to_thread.run_sync(next, blocks, b""):
                yield block
        finally:
            await to_thread.run_sync(blocks.close)

    def close(self) -> None:
        self._content.close()

    def _read_head(self, member: ZipMember) -> bytes:
        with _as_member_damage(), self._content.open(member.entry) as part:
            return part.read(HEAD_BYTES)

    def _blocks(self, member: ZipMember) -> Generator[bytes]:
        with _as_member_damage(), self._content.open(member.entry) as part:
            while block := part.read(_BLOCK):
                yield block


async def open_zip_upload(file: IO[bytes], name: str, limits: ParseLimits) -> ZipUpload:
    """Check an archive's directory before anything is unpacked.

    Args:
        file: stays open as long as the archive is used.
        name: of the archive; leads the names of its documents.

    Raises:
        EmptyFile: it has no bytes.
        UnsupportedFileType: by its name it is an Office file or an e-book.
        FileTypeMismatch: by its members it is one.
        ArchiveLimits: too many members, too much data, or a ratio that only a bomb has.
        CorruptArchive: it can't be read.
    """
    return await to_thread.run_sync(_open, file, name, limits)


def _open(file: IO[bytes], name: str, limits: ParseLimits) -> ZipUpload:
    if not file.seek(0, SEEK_END):
        raise EmptyFile(field="file")
    refuse_document_by_name(name)
    with _damage_as(CorruptArchive(), UnicodeDecodeError, ValueError):
        check_directory(file, limits)
        content = ZipFile(file)
        refuse_document_by_parts(name, content)
    entries = [entry for entry in content.infolist() if not entry.is_dir()]
    _check_sizes(entries, limits)
    paths = _paths(entries)
    counts = Counter(path.casefold() for path in paths)
    return ZipUpload(
        content,
        [
            ZipMember(
                path,
                document_name((name, *path.split("/"))),
                entry.file_size,
                _refusal(entry, path, is_double=counts[path.casefold()] > 1),
                entry,
            )
            for entry, path in zip(entries, paths, strict=True)
        ],
    )


def _check_sizes(entries: Sequence[ZipInfo], limits: ParseLimits) -> None:
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    # Many small bombs add up.
    if exceeds_limits(entries, limits) or total > max(RATIO_FROM_BYTES, MAX_RATIO * packed):
        raise limits_error(limits)


def _paths(entries: Sequence[ZipInfo]) -> list[str]:
    """The members' names; those not marked as UTF-8 in the encoding detected from all together."""
    raw = [
        entry.orig_filename.encode() if entry.flag_bits & _UTF8_NAME else entry.orig_filename.encode("cp437", "replace")
        for entry in entries
    ]
    old = b"\n".join(name for name, entry in zip(raw, entries, strict=True) if not entry.flag_bits & _UTF8_NAME)
    codec = decode(old).encoding if old else "utf-8"
    codecs = ("utf-8" if entry.flag_bits & _UTF8_NAME else codec for entry in entries)
    return [
        unicodedata.normalize("NFC", name.decode(chosen, "replace")) for name, chosen in zip(raw, codecs, strict=True)
    ]


def _refusal(entry: ZipInfo, path: str, *, is_double: bool) -> AgentexError | None:
    mode = entry.external_attr >> 16
    parts = path.split("/")
    is_unsafe = ".." in parts or not all(parts) or not path.isprintable() or "\\" in path
    reason = None
    if is_unsafe or path[1:2] == ":":
        reason = "unsafe_name"
    elif mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        reason = "link"
    elif is_double:
        reason = "duplicate_name"
    elif entry.flag_bits & _ENCRYPTED:
        reason = "password_protected"
    elif any(part.startswith(".") or part == _HIDDEN_FOLDER for part in parts):
        reason = "hidden"
    return ArchiveMemberRefused(reason=reason) if reason else None


def _as_member_damage() -> AbstractContextManager[None]:
    return _damage_as(ArchiveMemberRefused(reason="corrupt"), RuntimeError)


@contextmanager
def _damage_as(refusal: AgentexError, *kinds: type[Exception]) -> Generator[None]:
    try:
        yield
    except (*_DAMAGE, *kinds) as error:
        raise refusal from error
    except OSError as error:
        if error.errno not in ERRNO_OF_DAMAGE:
            raise
        raise refusal from error
