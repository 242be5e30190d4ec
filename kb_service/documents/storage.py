"""The bytes of documents: streamed into the object store, measured and hashed on their way."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from core.db.types import new_id
from core.errors.requests import EmptyFile, FileTooLarge
from kb_service.object_storage.protocol import FOLDER_CHARACTERS, ObjectStore


@dataclass(frozen=True)
class StoredFile:
    """Bytes that are safe in the object store.

    Args:
        storage_key: where.
        size: in bytes.
        sha256: in hex.
    """

    storage_key: str
    size: int
    sha256: str


@dataclass(frozen=True)
class FileType:
    """What kind of file it is.

    Args:
        media_type: by content and name.
        label: as lists show it (seed 002, section 9.6: ``markdown``).
    """

    media_type: str
    label: str


async def store_stream(store: ObjectStore, content: AsyncIterator[bytes], *, max_bytes: int) -> StoredFile:
    """Stream an upload into the object store; it is durable when this returns.

    Raises:
        FileTooLarge: more than ``max_bytes``; nothing is kept.
        EmptyFile: no bytes; nothing is kept.
        StorageFull: no room; nothing is kept.
    """
    key, digest, size = new_id(), hashlib.sha256(), 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal size
        async for block in content:
            size += len(block)
            if size > max_bytes:
                raise FileTooLarge(max_bytes=max_bytes)
            digest.update(block)
            yield block
        if size == 0:
            raise EmptyFile(field="file")

    await store.write(key, counted())
    return StoredFile(key, size, digest.hexdigest())


async def store_batch(store: ObjectStore, contents: Sequence[bytes]) -> list[StoredFile]:
    """Put some small files into the object store together; they are durable when this returns.

    Args:
        store: where to.
        contents: none is empty.

    Raises:
        StorageFull: no room; nothing is kept.
        ObjectStoreUnavailable: likewise.
    """
    # A folder for all of them, which is forced to disk once.
    folder = new_id()[:FOLDER_CHARACTERS]
    files = [
        StoredFile(folder + new_id()[FOLDER_CHARACTERS:], len(content), hashlib.sha256(content).hexdigest())
        for content in contents
    ]
    keys = (file.storage_key for file in files)
    await store.write_few(dict(zip(keys, contents, strict=True)))
    return files
