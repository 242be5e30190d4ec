"""The format of a blob on disk: a header, then the content, compressed where that helps and sealed where asked."""

import secrets
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from cryptography.exceptions import InvalidTag

from kb_service.backup.encryption import SALT_BYTES, RepositoryKeys, seal, stream_key, unseal

_MAGIC = b"AGXB\x01"
_COMPRESSED, _SEALED = 1, 2
_LEVEL = 3
# Compressed content of a file that is compressed already is as long and costs time.
_WORTH = 0.9
_BLOCK = 2**18


class BlobDamaged(Exception):
    """A blob is not what was written."""


def encode(blocks: Iterable[bytes], keys: RepositoryKeys) -> Iterator[bytes]:
    """The bytes on disk of a content that comes in blocks."""
    blocks = iter(blocks)
    first = next(blocks, b"")
    compresses = len(zlib.compress(first, _LEVEL)) < _WORTH * len(first)
    flags = (_COMPRESSED if compresses else 0) | (_SEALED if keys.content is not None else 0)
    header = _MAGIC + bytes([flags])
    content: Iterable[bytes] = chain([first], blocks)
    if compresses:
        content = _compress(content)
    if keys.content is None:
        yield header
        yield from content
        return
    header += secrets.token_bytes(SALT_BYTES)
    yield header
    yield from seal(content, stream_key(keys, header[-SALT_BYTES:]), header)


def decode(file: BinaryIO, keys: RepositoryKeys) -> Iterator[bytes]:
    """The content of a blob's bytes, in blocks.

    Raises:
        BlobDamaged: they are cut off, changed, or sealed with other keys.
    """
    header = file.read(len(_MAGIC) + 1)
    if header[:-1] != _MAGIC or header[-1] & ~(_COMPRESSED | _SEALED):
        raise BlobDamaged
    flags = header[-1]
    if bool(flags & _SEALED) != (keys.content is not None):
        raise BlobDamaged
    try:
        content = _sealed_content(file, keys, header) if flags & _SEALED else _blocks(file)
        yield from (_decompress(content) if flags & _COMPRESSED else content)
    except (InvalidTag, zlib.error) as error:
        raise BlobDamaged from error


def _sealed_content(file: BinaryIO, keys: RepositoryKeys, header: bytes) -> Iterator[bytes]:
    salt = file.read(SALT_BYTES)
    return unseal(file, stream_key(keys, salt), header + salt)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _compress(blocks: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_LEVEL)
    for block in blocks:
        yield compressor.compress(block)
    yield compressor.flush()


def _decompress(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decompressor = zlib.decompressobj()
    for block in blocks:
        pending = block
        # Bounded: a small block may hold a large one.
        while pending:
            yield decompressor.decompress(pending, _BLOCK)
            pending = decompressor.unconsumed_tail
    yield decompressor.flush()
    if not decompressor.eof or decompressor.unused_data:
        raise BlobDamaged
