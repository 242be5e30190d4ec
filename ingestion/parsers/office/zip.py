"""Bounded reading of zip containers."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as DeflateError

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.preflight import exceeds_limits

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_CHUNK = 65_536


@contextmanager
def open_zip(path: Path, limits: ParseLimits) -> Generator[ZipFile]:
    """A zip container whose directory was checked; ``archive_limits``, ``password_protected`` or ``corrupt_file``."""
    with path.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            is_encrypted = _ENCRYPTED_STREAM in path.read_bytes()
            raise ParseFailure(FailureReason.PASSWORD_PROTECTED if is_encrypted else FailureReason.CORRUPT_FILE)
    try:
        with ZipFile(path) as archive:
            _check_directory(archive.infolist(), limits)
            yield archive
    except (BadZipFile, DeflateError, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error


def _check_directory(members: list[ZipInfo], limits: ParseLimits) -> None:
    if exceeds_limits(members, limits):
        raise ParseFailure(FailureReason.ARCHIVE_LIMITS)
    if any(member.flag_bits & 1 for member in members):
        raise ParseFailure(FailureReason.PASSWORD_PROTECTED)


def stream_part(archive: ZipFile, name: str) -> Generator[bytes]:
    """A part block by block, nothing for a missing one; never more bytes than ``open_zip`` has checked."""
    if name in archive.NameToInfo:
        with archive.open(name) as part:
            while block := part.read(_CHUNK):
                yield block


def read_part(archive: ZipFile, name: str, limits: ParseLimits) -> bytes | None:
    """The bytes of a part, or None if missing; ParseFailure ``archive_limits`` while unpacking."""
    if name not in archive.NameToInfo:
        return None
    content = bytearray()
    with archive.open(name) as part:
        while chunk := part.read(_CHUNK):
            content += chunk
            if len(content) > limits.part_bytes:
                raise ParseFailure(FailureReason.ARCHIVE_LIMITS)
    return bytes(content)
