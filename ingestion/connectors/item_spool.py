"""Items with their contents on disk, for connectors that get all of them at once."""

import json
import tempfile
import weakref
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from anyio import to_thread

from ingestion.connectors.base import ItemGone, SourceItem

_BLOCK = 256 * 1024
_BATCH = 100


class SpoolFull(Exception):
    """The items have more bytes than allowed."""


class ItemSpool:
    """Items in a file without a name, which goes with the spool.

    What they are read from is asked once, and need not wait until they have become documents.

    Args:
        folder: to make the file in, the system's own if it is None.
        limit: bytes of the file.
    """

    def __init__(self, folder: Path | None, limit: int) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by the finalizer)
        self._limit = limit
        self._places: dict[str, tuple[int, int, int]] = {}
        weakref.finalize(self, self._file.close)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, item: SourceItem) -> None:
        """Put an item that has contents at the end; raises ``SpoolFull``."""
        content = item.content or b""
        fields = [item.name, item.fingerprint, dict(item.attributes), dict(item.state), item.readers]
        head = json.dumps(fields).encode(errors="replace")
        start = self._file.tell()
        if start + len(head) + len(content) > self._limit:
            raise SpoolFull
        self._file.write(head)
        self._file.write(content)
        self._places[item.key] = start, len(head), len(content)

    async def items(self) -> AsyncGenerator[SourceItem]:
        """All items, in their order and without their contents, which those that have not changed don't need."""
        keys = list(self._places)
        for start in range(0, len(keys), _BATCH):
            for item in await to_thread.run_sync(self._heads, keys[start : start + _BATCH]):
                yield item

    async def read(self, key: str) -> AsyncGenerator[bytes]:
        """The contents of an item; raises ``ItemGone`` if it is not here."""
        if key not in self._places:
            raise ItemGone
        start, head_size, size = self._places[key]
        for offset in range(0, size, _BLOCK):
            yield await to_thread.run_sync(self._read, start + head_size + offset, min(_BLOCK, size - offset))

    def _heads(self, keys: Sequence[str]) -> list[SourceItem]:
        items: list[SourceItem] = []
        for key in keys:
            start, head_size, _ = self._places[key]
            name, fingerprint, attributes, state, readers = json.loads(self._read(start, head_size))
            admitted = None if readers is None else tuple(tuple(level) for level in readers)
            items.append(SourceItem(key, name, fingerprint, state, attributes=attributes, readers=admitted))
        return items

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size)
