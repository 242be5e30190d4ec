"""A look over a pack before it is taken in: no pack may unpack beyond what a worker has.

The library unpacks whatever size an object's header names, and a megabyte may name a gigabyte.
Source: https://git-scm.com/docs/pack-format
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap

_HEADER = 12
_NAME = 20
_OFFSET_DELTA, _REFERENCE_DELTA = 6, 7
_BLOCK = 256 * 1024
# Sizes of a base and of a result, 7 bits a byte.
_DELTA_HEADER = 20


class PackTooLarge(Exception):
    """The pack unpacks to more than is allowed."""


class PackDamaged(Exception):
    """This is no pack, or one that breaks off."""


@dataclass(frozen=True)
class PackLimits:
    """Most bytes of one object, of all objects that are differences, and of all objects."""

    object: int
    differences: int
    total: int


def check_pack(content: mmap, limits: PackLimits, check: Callable[[], None]) -> int:
    """Read a pack to its end without keeping anything.

    Args:
        check: called for each object; may raise.

    Returns:
        The number of objects.

    Raises:
        PackTooLarge: some size is beyond its limit.
        PackDamaged: it can't be read.
    """
    if content[:4] != b"PACK" or len(content) < _HEADER:
        raise PackDamaged
    count = int.from_bytes(content[8:_HEADER], "big")
    position, total, differences = _HEADER, 0, 0
    try:
        for _ in range(count):
            check()
            kind, size, position = _read_header(content, position)
            total += size
            if size > limits.object or total > limits.total:
                raise PackTooLarge
            position, start = _inflate(content, position, size)
            if kind in (_OFFSET_DELTA, _REFERENCE_DELTA):
                result = _result_size(start)
                differences += result
                if result > limits.object or differences > limits.differences:
                    raise PackTooLarge
    except (IndexError, zlib.error) as error:
        raise PackDamaged from error
    return count


def _read_header(content: mmap, position: int) -> tuple[int, int, int]:
    """Kind and size of an object, and where its compressed bytes begin."""
    byte = content[position]
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        position += 1
        byte = content[position]
        size |= (byte & 0x7F) << shift
        shift += 7
    position += 1
    if kind == _REFERENCE_DELTA:
        position += _NAME
    elif kind == _OFFSET_DELTA:
        while content[position] & 0x80:
            position += 1
        position += 1
    return kind, size, position


def _inflate(content: mmap, position: int, size: int) -> tuple[int, bytes]:
    """Where an object ends, and its first bytes; never more of it in memory than a block."""
    inflater = zlib.decompressobj()
    start, length = b"", 0
    # What does not shrink grows by a few bytes.
    step = min(size + size // 1000 + 64, _BLOCK)
    while not inflater.eof:
        block = inflater.unconsumed_tail
        if not block:
            block = content[position : position + step]
            position += len(block)
        if not block:
            raise PackDamaged
        data = inflater.decompress(block, _BLOCK)
        length += len(data)
        if length > size:
            raise PackDamaged
        start = start or data[:_DELTA_HEADER]
    if length != size:
        raise PackDamaged
    return position - len(inflater.unused_data), start


def _result_size(delta: bytes) -> int:
    """The size that a difference names for its result, its second number."""
    position = 0
    while delta[position] & 0x80:
        position += 1
    position += 1
    size, shift = delta[position] & 0x7F, 7
    while delta[position] & 0x80:
        position += 1
        size |= (delta[position] & 0x7F) << shift
        shift += 7
    return size
