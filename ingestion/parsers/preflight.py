"""Checks of an upload by its declared size, before it is stored."""

import codecs
import errno
import io
import struct
from collections.abc import Sequence
from struct import error as StructError
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

from PIL import Image

from core.errors.requests import ArchiveLimits, ImageTooLarge, TextTooLarge
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.text_cleanup import clean

# Deflate reaches 1,032 : 1 on one repeated byte; text of Office documents stays below 50 : 1.
MAX_RATIO = 100
RATIO_FROM_BYTES = 8 * 2**20

_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_LONGEST_COMMENT = 65_535
# Names of some hundred bytes each; a directory is read into memory as a whole.
_DIRECTORY_BYTES = 4 * 2**20
_LARGE_COUNT, _LARGE_SIZE = 2**16 - 1, 2**32 - 1
# OSErrors of bad bytes: bzip2's has no number, an offset before the file's start is EINVAL. Others are about a disk.
ERRNO_OF_DAMAGE = (None, errno.EINVAL)


def check_container(file: IO[bytes], limits: ParseLimits) -> None:
    """Refuse an Office document or e-book that declares too large an unpacked size.

    A damaged one passes, or a wrong declaration: reading it fails, with a reason of its own. The file's position is
    undefined afterwards.

    Raises:
        ArchiveLimits: more than ``archive_entries`` or ``archive_bytes``.
    """
    try:
        entries, directory = _read_directory_size(file)
        if entries == _LARGE_COUNT or directory == _LARGE_SIZE:
            # Some programs write the large numbers' form always: the sandboxed parser reads it.
            return
        _check_directory_size(entries, directory, limits)
        with ZipFile(file) as content:
            members = content.infolist()
    except (BadZipFile, NotImplementedError, ValueError, StructError):
        return
    except OSError as error:
        if error.errno not in ERRNO_OF_DAMAGE:
            raise
        return
    if exceeds_limits(members, limits):
        raise limits_error(limits)


def check_directory(file: IO[bytes], limits: ParseLimits) -> None:
    """Check a directory before it is read; ArchiveLimits (Zip64 too), or BadZipFile without an end record."""
    _check_directory_size(*_read_directory_size(file), limits)


def _read_directory_size(file: IO[bytes]) -> tuple[int, int]:
    size = file.seek(0, 2)
    file.seek(max(0, size - _LONGEST_COMMENT - _END.size))
    tail = file.read()
    place = tail.rfind(_END_MARK)
    if place < 0 or len(tail) - place < _END.size:
        raise BadZipFile
    _, _, _, _, entries, directory, _, _ = _END.unpack_from(tail, place)
    return entries, directory


def _check_directory_size(entries: int, directory: int, limits: ParseLimits) -> None:
    if entries > limits.archive_entries or directory > _DIRECTORY_BYTES:
        raise limits_error(limits)


def exceeds_limits(entries: Sequence[ZipInfo], limits: ParseLimits) -> bool:
    """Whether there are too many members, too much data, or a ratio that only a bomb has."""
    return (
        len(entries) > limits.archive_entries
        or sum(entry.file_size for entry in entries) > limits.archive_bytes
        or any(entry.file_size > max(RATIO_FROM_BYTES, MAX_RATIO * max(1, entry.compress_size)) for entry in entries)
    )


def limits_error(limits: ParseLimits) -> ArchiveLimits:
    """The error that names the bounds."""
    return ArchiveLimits(max_files=limits.archive_entries, max_bytes=limits.archive_bytes, max_ratio=MAX_RATIO)


# Checked in about a millisecond on the event loop.
_BLOCK_BYTES = 2**16


def check_text(file: IO[bytes], limits: ParseLimits) -> None:
    """Refuse a text that certainly has too many characters; the file's position is undefined afterwards.

    Blanks and controls, which reading may leave out, don't count, and a text in another encoding than UTF-8 passes;
    reading it ends with ``output_too_large`` then.

    Raises:
        TextTooLarge: It has too many.
        OSError: The disk that it lies on can't be read.
    """
    # No character is less than a byte.
    if file.seek(0, 2) <= limits.output_characters:
        return
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    count = 0
    try:
        while block := file.read(_BLOCK_BYTES):
            count += len("".join(clean(decoder.decode(block)).split()))
            if count > limits.output_characters:
                raise TextTooLarge(max_characters=limits.output_characters)
    except UnicodeDecodeError:
        return


# Not WebP: its header is read by a C library, which belongs in the sandbox.
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
# Headers come first, after a camera's metadata; a file of only metadata could take seconds.
_HEAD_BYTES = 256 * 1024
DAMAGE = (OSError, SyntaxError, ValueError, IndexError, KeyError, EOFError, StructError)
"""What bad bytes raise in Pillow, those of a header that is not over among them."""


def check_image(file: IO[bytes], limits: ParseLimits) -> None:
    """Refuse a picture that declares too many pixels; the file's position is undefined afterwards.

    A damaged one passes, or one with its size further behind: reading it fails in the sandbox, with a reason of its
    own.

    Raises:
        ImageTooLarge: more than ``image_pixels``.
        OSError: The disk that it lies on can't be read.
    """
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    # The size is checked here, and not as Pillow does with a warning.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(head), formats=_FORMATS) as image:
            is_beyond = has_too_many_pixels(image, limits)
    except DAMAGE:
        return
    if is_beyond:
        raise ImageTooLarge(max_pixels=limits.image_pixels)


def has_too_many_pixels(image: Image.Image, limits: ParseLimits) -> bool:
    """Whether an opened picture has more pixels than may be decoded."""
    return image.width * image.height > limits.image_pixels
