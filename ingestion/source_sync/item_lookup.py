"""Look-up of a source's items, which a sync compares its listing with."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row, Select, Text, case, cast, func, select
from sqlmodel import col

from core.db.database import Database
from ingestion.connectors.base import KnownItem, ReadFailure
from ingestion.source_sync.items import StoredRow, find, has_document, key_hash
from kb_service.models import Document, KnowledgeSourceItem

_PAGE = 1000
_LONGEST_STATE = 4096
_MOST_STATE_CHARACTERS = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ItemSummary:
    """What an item's row says of it.

    Args:
        fingerprint: of the contents that its document has.
        has_document: False if that was deleted here, or never made.
        is_seen: this sync has written it, in this try or an earlier one.
        state: what the connector keeps, as JSON.
        failure: why the last sync could not read it, as JSON; None if it could.
        is_owner: its document was made of it.
        is_behind: searches see an earlier text of its document.
        readers: lists that the source's permissions gave its document, as JSON; None without.
        next_readers: those that wait for its text, as JSON; None without.
    """

    fingerprint: str
    has_document: bool
    is_seen: bool
    state: str
    failure: str | None
    is_owner: bool
    is_behind: bool
    readers: str | None
    next_readers: str | None

    @property
    def known_item(self) -> KnownItem:
        """What its connector may know."""
        return KnownItem(self.fingerprint, json.loads(self.state))

    @property
    def levels(self) -> list[list[str]] | None:
        """The lists of readers."""
        return json.loads(self.readers) if self.readers is not None else None

    @property
    def next_levels(self) -> list[list[str]] | None:
        """The lists that wait."""
        return json.loads(self.next_readers) if self.next_readers is not None else None

    def has_failed_with(self, failure: ReadFailure) -> bool:
        """Whether the last sync could not read it for the same reason."""
        return self.failure is not None and json.loads(self.failure) == failure.words


class ItemLookup:
    """Finds the items of a source by their keys.

    All are read at once, some hundred bytes of each: with a query for each item, a sync without changes does little
    else than wait for the database. Only long states stay there, such as the links of a page.

    Args:
        sync_id: of the sync that asks.
        reads_all: False for a source that keeps more items than it lists, which are asked for one by one.
    """

    def __init__(self, database: Database, source_id: str, sync_id: str, *, reads_all: bool) -> None:
        self._database = database
        self._source_id = source_id
        self._sync_id = sync_id
        self._reads_all = reads_all
        self._is_read = False
        self._items: dict[str, ItemSummary] = {}
        self._left: set[str] = set()
        self._last: tuple[str, ItemSummary | None] = ("", None)

    async def find(self, key: str) -> ItemSummary | None:
        """An item, None if it is new."""
        hash_ = key_hash(key)
        # A connector asks for it before the sync does.
        if self._last[0] == hash_:
            return self._last[1]
        if self._reads_all and not self._is_read:
            await self._read_all()
        item = self._items.get(hash_)
        if item is None and (hash_ in self._left or not self._reads_all):
            rows = await self._rows(self._query(None).where(col(KnowledgeSourceItem.key_hash) == hash_))
            item = _summary(rows[0]) if rows else None
        self._last = hash_, item
        return item

    async def find_row(self, key: str) -> StoredRow | None:
        """An item's row as it is now, and its document."""
        async with self._database.reading() as session:
            return await find(session, self._source_id, key)

    async def _read_all(self) -> None:
        texts: dict[str, str] = {}
        last, size = "", 0
        while True:
            query = self._query(_LONGEST_STATE).where(col(KnowledgeSourceItem.key_hash) > last)
            rows = await self._rows(query.order_by(col(KnowledgeSourceItem.key_hash)).limit(_PAGE))
            for row in rows:
                if row.state is None or size > _MOST_STATE_CHARACTERS:
                    self._left.add(row.key_hash)
                    continue
                size += len(row.state) + len(row.readers or "") + len(row.next_readers or "")
                item = _summary(row)
                # Most of them say the same.
                state = texts.setdefault(item.state, item.state)
                failure = texts.setdefault(item.failure, item.failure) if item.failure else None
                readers = texts.setdefault(item.readers, item.readers) if item.readers else None
                self._items[row.key_hash] = replace(item, state=state, failure=failure, readers=readers)
            if len(rows) < _PAGE:
                break
            last = rows[-1].key_hash
        self._is_read = True

    async def _rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
        return await self._database.read(lambda reads: reads.connection.execute(query).all())

    def _query(self, longest_state: int | None) -> Select[*tuple[Any, ...]]:
        item = KnowledgeSourceItem
        state = cast(col(item.state), Text)
        short = state if longest_state is None else case((func.length(state) <= longest_state, state))
        return (
            select(
                col(item.key_hash),
                col(item.fingerprint),
                col(Document.id).is_not(None).label("has_document"),
                (col(item.seen_in) == self._sync_id).label("is_seen"),
                short.label("state"),
                cast(col(item.failure), Text).label("failure"),
                col(item.is_owner),
                (cast(col(Document.superseded_keys), Text) != "[]").label("is_behind"),
                cast(col(item.readers), Text).label("readers"),
                cast(col(item.next_readers), Text).label("next_readers"),
            )
            .outerjoin(Document, has_document())
            .where(col(item.source_id) == self._source_id)
        )


def _summary(row: Row[*tuple[Any, ...]]) -> ItemSummary:
    return ItemSummary(
        fingerprint=row.fingerprint,
        has_document=bool(row.has_document),
        is_seen=bool(row.is_seen),
        state=row.state,
        failure=row.failure,
        is_owner=bool(row.is_owner),
        is_behind=bool(row.is_behind),
        readers=row.readers,
        next_readers=row.next_readers,
    )
