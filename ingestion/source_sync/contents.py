"""Contents of a source's item, from its connector into the object store."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

from anyio import to_thread
from pydantic import JsonValue

from core.errors.requests import InvalidRequest
from core.settings import Settings
from ingestion.connectors.base import ItemUnreadable, SourceConnector, SourceItem, too_large
from ingestion.context import WorkerContext
from ingestion.parsers import run_preflight
from ingestion.parsers.choice import format_support
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.sandbox.client import parse_limits
from kb_service.document_names import clean_name
from kb_service.documents.metadata import Attributes, validate_attributes
from kb_service.documents.storage import FileType, StoredFile, store_stream

_IN_MEMORY_BYTES = 4 * 2**20
_BLOCK = 256 * 1024


@dataclass(frozen=True)
class StoredItem:
    """An item's contents in the object store, checked as an upload is; no row names the file yet."""

    name: str
    file: StoredFile
    file_type: FileType


@asynccontextmanager
async def stored_item(
    context: WorkerContext, settings: Settings, connector: SourceConnector, item: SourceItem
) -> AsyncGenerator[StoredItem]:
    """Read and store an item; what the caller does not adopt is swept later.

    Raises:
        ItemUnreadable: the connector could not read it.
        ItemGone: it is there no more.
        AgentexError: as an upload of these bytes would.
    """
    with SpooledTemporaryFile[bytes](max_size=_IN_MEMORY_BYTES) as file:
        size = await _copy(connector, item, file, settings.max_upload_bytes)
        name = clean_name(item.name)
        file.seek(0)
        detected = detect_type(name, file.read(HEAD_BYTES), size, format_support(settings))
        file.seek(0)
        await to_thread.run_sync(run_preflight, detected.name, file, parse_limits(settings))
        file.seek(0)
        stored = await store_stream(context.store, _blocks(file), max_bytes=settings.max_upload_bytes)
        yield StoredItem(name, stored, FileType(detected.name, detected.file_type))


async def _copy(connector: SourceConnector, item: SourceItem, file: IO[bytes], limit: int) -> int:
    if item.content is not None:
        file.write(item.content)
        return len(item.content)
    size = 0
    async with aclosing(connector.read(item)) as blocks:
        async for block in blocks:
            size += len(block)
            if size > limit:
                raise ItemUnreadable(too_large(limit))
            await to_thread.run_sync(file.write, block)
    return size


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    while block := await to_thread.run_sync(file.read, _BLOCK):
        yield block


def metadata_of(attributes: Mapping[str, JsonValue]) -> Attributes:
    """The metadata of an item's document; without what metadata can't hold, such as a very long address."""
    try:
        return validate_attributes({name: value for name, value in attributes.items() if not _is_empty(value)})
    except InvalidRequest:
        return {}


def merge_metadata(present: Attributes, attributes: Mapping[str, JsonValue]) -> Attributes:
    """A document's metadata with those that its item has now; what else a person gave it stays."""
    empty = {name for name, value in attributes.items() if _is_empty(value)}
    return {name: value for name, value in present.items() if name not in empty} | metadata_of(attributes)


def _is_empty(value: JsonValue) -> bool:
    return value is None or value == ""
