"""What an object store does for the rest of the product."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

FOLDER_CHARACTERS = 2
"""Keys that begin with the same characters lie together, and are made durable together for less."""


class ObjectStore(Protocol):
    """Bytes under keys; keys are made here, never by a client."""

    async def write(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Store an object; when this returns it survives a crash, when it raises nothing is left.

        Raises:
            StorageFull: no room.
            ObjectStoreUnavailable: the store did not answer.
        """
        ...

    async def write_few(self, objects: Mapping[str, bytes]) -> None:
        """Store some small objects, their bytes by key: as ``write``, all of them or none.

        Raises:
            StorageFull: no room.
            ObjectStoreUnavailable: the store did not answer.
        """
        ...

    def local_copy(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A file with the object's bytes, valid inside the context.

        Raises:
            FileNotFoundError: no such object.
            ObjectStoreUnavailable: the store did not answer.
        """
        ...

    async def delete(self, key: str) -> None:
        """Remove an object; one that is not there is no error."""
        ...

    async def keys(self) -> list[str]:
        """All keys, for the reconciler."""
        ...

    async def ping(self) -> None:
        """Pass when the store can be used.

        Raises:
            ObjectStoreUnavailable: it can't.
        """
        ...
