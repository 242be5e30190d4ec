"""Checks a file's directory before anything in it is unpacked: names, numbers, sizes."""

import struct
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from core.errors import InvalidArchive
from kb_service.transfer import names
from kb_service.transfer.archive_format import MAX_DOCUMENTS

_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_LONGEST_COMMENT = 65_535
_UNSET = 0xFFFFFFFF
# An entry takes about 70 bytes; two for each document would be a lot.
_MAX_DIRECTORY_BYTES = 64 * 2**20
_MAX_ENTRIES = 3 * MAX_DOCUMENTS
_MOST_RATIO = 100
_RATIO_FROM_BYTES = 64 * 2**20
# By the last part of the name. The largest are read as a whole: this is what a file can make the
# memory hold.
_MAX_PART_BYTES = {
    "manifest.json": 2**20,
    "questions.jsonl": 64 * 2**20,
    "documents.jsonl": 16 * 2**20,
    "chunks.jsonl": 256 * 2**20,
    "points.npy": 16 * 2**20,
    "dense.npy": 256 * 2**20,
    "sparse_indices.npy": 64 * 2**20,
    "sparse_values.npy": 64 * 2**20,
}
_STORED_OR_DEFLATED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True)
class Limits:
    """How much a file may hold, in bytes.

    Args:
        original_bytes: of one document.
        unpacked_bytes: of everything together.
    """

    original_bytes: int
    unpacked_bytes: int


def open_checked(file: BinaryIO, limits: Limits) -> zipfile.ZipFile:
    """Open a file whose directory keeps to the format and to the limits.

    Raises:
        InvalidArchive: it does not.
    """
    try:
        if _directory_bytes(file) > _MAX_DIRECTORY_BYTES:
            raise InvalidArchive("the directory is too large")
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise InvalidArchive("not a zip file, or not a whole one") from error
    _check(archive.infolist(), limits)
    return archive


def _directory_bytes(file: BinaryIO) -> int:
    """The size of the directory as its end says: reading it whole comes later."""
    size = file.seek(0, 2)
    tail_from = max(0, size - _END_BYTES - _LONGEST_COMMENT)
    file.seek(tail_from)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0:
        raise zipfile.BadZipFile
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    if directory_bytes != _UNSET:
        return directory_bytes
    locator = tail_from + at - _LOCATOR_BYTES
    file.seek(max(0, locator))
    found = file.read(_LOCATOR_BYTES)
    if not found.startswith(_LOCATOR):
        return directory_bytes
    (end64,) = struct.unpack_from("<Q", found, 8)
    file.seek(end64)
    found = file.read(_END64_BYTES)
    if not found.startswith(_END64):
        raise zipfile.BadZipFile
    return struct.unpack_from("<Q", found, 40)[0]


def _check(members: Iterable[zipfile.ZipInfo], limits: Limits) -> None:
    seen: set[str] = set()
    unpacked = packed = 0
    for member in members:
        if not names.is_known(member.filename) or member.filename in seen:
            raise InvalidArchive("it has a part of an unknown name, or one twice")
        seen.add(member.filename)
        if member.flag_bits & 1 or member.compress_type not in _STORED_OR_DEFLATED:
            raise InvalidArchive("a part is encrypted or packed in an unknown way")
        if member.file_size > _limit_of(member.filename, limits):
            raise InvalidArchive(f"{member.filename} is too large")
        unpacked += member.file_size
        packed += member.compress_size
    if len(seen) > _MAX_ENTRIES:
        raise InvalidArchive("it has too many parts")
    too_dense = unpacked > _RATIO_FROM_BYTES and unpacked > _MOST_RATIO * packed
    if unpacked > limits.unpacked_bytes or too_dense:
        raise InvalidArchive("it holds too much")


def _limit_of(name: str, limits: Limits) -> int:
    if name.startswith("originals/"):
        return limits.original_bytes
    return _MAX_PART_BYTES[name.rpartition("/")[2]]
