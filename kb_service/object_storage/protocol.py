"""The protocol of object stores; every method may raise ObjectStoreUnavailable."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

FOLDER_CHARACTERS = 2
"""Keys that begin with the same characters lie together, and are made durable together for less."""


class ObjectStore(Protocol):
    """Bytes under keys; keys are made here, never by a client."""

    async def write(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Store an object durably, or raise (StorageFull without room) and leave nothing."""
        ...

    async def write_few(self, objects: Mapping[str, bytes]) -> None:
        """Store small objects by key: as ``write``, all of them or none."""
        ...

    def local_copy(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A file with the object's bytes, valid inside the context; FileNotFoundError for an unknown key."""
        ...

    async def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        ...

    async def keys(self) -> list[str]: ...

    async def ping(self) -> None:
        """Raise ObjectStoreUnavailable when the store can't be used."""
        ...
