"""What a zip container says of itself before anything of it is unpacked: how many members, how large."""

import errno
import struct
from collections.abc import Sequence
from struct import error as StructError
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

from core.errors import ArchiveLimits
from ingestion.parsers.limits import Limits

# Deflate reaches 1,032 : 1 on one repeated byte; text of Office documents stays below 50 : 1.
MOST_RATIO = 100
RATIO_FROM_BYTES = 8 * 2**20

_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_LONGEST_COMMENT = 65_535
# Names of some hundred bytes each; a directory is read into memory as a whole.
_DIRECTORY_BYTES = 4 * 2**20
_LARGE_COUNT, _LARGE_SIZE = 2**16 - 1, 2**32 - 1
# What bad bytes raise: bzip2 gives no number, a place before the file's start is no argument. Any
# other is about a disk.
ERRNO_OF_DAMAGE = (None, errno.EINVAL)


def check_container(file: IO[bytes], limits: Limits) -> None:
    """Refuse an Office document or e-book that says itself that it unpacks to too much.

    One that is damaged passes, or that lies: reading it fails, with a reason of its own.

    Args:
        file: the uploaded bytes; where it stands afterwards is not said.
        limits: bounds of ``archive_entries`` and ``archive_bytes``.

    Raises:
        ArchiveLimits: it does.
    """
    try:
        entries, directory = _end(file)
        if entries == _LARGE_COUNT or directory == _LARGE_SIZE:
            # Some programs write the large numbers' form always: the parser reads it, in its jail.
            return
        _check_end(entries, directory, limits)
        with ZipFile(file) as content:
            members = content.infolist()
    except (BadZipFile, NotImplementedError, ValueError, StructError):
        return
    except OSError as error:
        if error.errno not in ERRNO_OF_DAMAGE:
            raise
        return
    if is_beyond(members, limits):
        raise beyond(limits)


def check_end(file: IO[bytes], limits: Limits) -> None:
    """Look at the number of entries and the size of the directory before it is read.

    Raises:
        ArchiveLimits: the archive says itself that it has too many, or needs large numbers.
        BadZipFile: it has no end.
    """
    _check_end(*_end(file), limits)


def _end(file: IO[bytes]) -> tuple[int, int]:
    """The number of entries and the bytes of the directory, as the archive's end says."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _LONGEST_COMMENT - _END.size))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise BadZipFile
    _, _, _, _, entries, directory, _, _ = _END.unpack_from(tail, place)
    return entries, directory


def _check_end(entries: int, directory: int, limits: Limits) -> None:
    if entries > limits.archive_entries or directory > _DIRECTORY_BYTES:
        raise beyond(limits)


def is_beyond(entries: Sequence[ZipInfo], limits: Limits) -> bool:
    """Whether there are too many members, too much data, or a ratio that only a bomb has."""
    return (
        len(entries) > limits.archive_entries
        or sum(entry.file_size for entry in entries) > limits.archive_bytes
        or any(
            entry.file_size > max(RATIO_FROM_BYTES, MOST_RATIO * max(1, entry.compress_size))
            for entry in entries
        )
    )


def beyond(limits: Limits) -> ArchiveLimits:
    """The error that names the bounds."""
    return ArchiveLimits(
        max_files=limits.archive_entries, max_bytes=limits.archive_bytes, max_ratio=MOST_RATIO
    )
