"""Objects in an S3-compatible store, through obstore."""

# obstore types its listings by an Arrow package that is not installed here.
# pyright: reportUnknownMemberType=false

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import obstore
from anyio import open_file
from obstore.exceptions import BaseError
from obstore.store import ObjectStore as AnyStore

from core.errors.server import ObjectStoreUnavailable


class S3ObjectStore:
    """Objects below a prefix of a bucket."""

    def __init__(self, store: AnyStore) -> None:
        self._store = store

    async def write(self, key: str, content: AsyncIterator[bytes]) -> None:
        """Upload in parts; the object appears only when the last part was accepted."""
        try:
            await obstore.put_async(self._store, key, content)
        except BaseError as error:
            raise ObjectStoreUnavailable from error

    async def write_few(self, objects: Mapping[str, bytes]) -> None:
        """Upload in parallel; if one fails, the others are removed."""
        puts = [obstore.put_async(self._store, key, content) for key, content in objects.items()]
        outcomes = await asyncio.gather(*puts, return_exceptions=True)
        failure = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
        if failure is None:
            return
        for key in objects:
            # The sweep removes what remains.
            with suppress(ObjectStoreUnavailable):
                await self.delete(key)
        if isinstance(failure, BaseError):
            raise ObjectStoreUnavailable from failure
        raise failure

    @asynccontextmanager
    async def local_copy(self, key: str) -> AsyncGenerator[Path]:
        with tempfile.TemporaryDirectory(prefix="agentex-") as folder:
            path = Path(folder) / "object"
            try:
                answer = await obstore.get_async(self._store, key)
                async with await open_file(path, "wb") as file:
                    async for block in answer.stream():
                        await file.write(bytes(block))
            except FileNotFoundError as error:
                raise FileNotFoundError(key) from error
            except BaseError as error:
                raise ObjectStoreUnavailable from error
            yield path

    async def delete(self, key: str) -> None:
        try:
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        except BaseError as error:
            raise ObjectStoreUnavailable from error

    async def keys(self) -> list[str]:
        try:
            batches = [batch async for batch in obstore.list(self._store)]
        except BaseError as error:
            raise ObjectStoreUnavailable from error
        return [entry["path"] for batch in batches for entry in batch]

    async def ping(self) -> None:
        """List one level to see that the store answers."""
        try:
            await obstore.list_with_delimiter_async(self._store)
        except BaseError as error:
            raise ObjectStoreUnavailable from error
