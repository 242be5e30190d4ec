"""Document bytes, streamed into the object store, measured and hashed on the way."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from core.db.types import new_id
from core.errors.requests import EmptyFile, FileTooLarge
from kb_service.object_storage.protocol import FOLDER_CHARACTERS, ObjectStore


@dataclass(frozen=True)
class StoredFile:
    """Bytes durably in the object store."""

    storage_key: str
    size: int
    sha256: str


@dataclass(frozen=True)
class FileType:
    """A kind of file; lists show the label (docs/reference/agentex-api.md, section 9.6: ``markdown``)."""

    media_type: str
    label: str


async def store_stream(store: ObjectStore, content: AsyncIterator[bytes], *, max_bytes: int) -> StoredFile:
    """Stream an upload into the object store; durable on return, and nothing is kept on an error."""
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
    """Put small, non-empty files into the object store; durable on return, and nothing is kept on an error."""
    # One shared folder, so that a single fsync of it suffices.
    folder = new_id()[:FOLDER_CHARACTERS]
    files = [
        StoredFile(folder + new_id()[FOLDER_CHARACTERS:], len(content), hashlib.sha256(content).hexdigest())
        for content in contents
    ]
    keys = (file.storage_key for file in files)
    await store.write_few(dict(zip(keys, contents, strict=True)))
    return files
