"""The documents that the followers of a knowledge base may have seen, so that an end is noticed."""

import time
from collections.abc import Iterable, Sequence
from itertools import islice

from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service import documents
from kb_service.models import Document

# Ids that are remembered of a knowledge base: some megabytes for each that somebody follows.
_MOST_KNOWN = 50_000
_ASKED_AT_ONCE = 1000
# Asking for all of them takes at most this part of the time.
_SHARE_OF_TIME = 0.05


class KnownDocuments:
    """Notices which documents of a knowledge base are gone though nobody read their deletion.

    What is deleted is erased in the background, often before anybody looked. All that are known
    are asked for when the number of documents is not what the changes that were read make it.
    """

    def __init__(self) -> None:
        # As a set that keeps its order: who changed last is forgotten last.
        self._ids: dict[str, None] = {}
        # So many documents there are that are not remembered.
        self._beyond = 0
        self._is_due = False
        self._not_before = 0.0

    async def begin(self, session: AsyncSession, knowledge_base_id: str) -> None:
        """Take note of what is there, the newest of it where it is too much."""
        limit = _MOST_KNOWN + 1
        newest_first = await documents.newest_ids(session, knowledge_base_id, limit=limit)
        self._ids = dict.fromkeys(reversed(newest_first))
        # How many more there are, the first look counts.
        self._is_due = len(newest_first) == limit

    def add(self, ids: Iterable[str]) -> None:
        """Remember what somebody was shown: a wrong number makes the next look ask for it."""
        self._ids |= dict.fromkeys(ids)

    async def gone(
        self, session: AsyncSession, total: int, rows: Sequence[Document]
    ) -> frozenset[str]:
        """Which ones are gone that are not among the rows; :meth:`note` is told of them next.

        Args:
            session: to ask for them.
            total: so many documents the knowledge base has.
            rows: what is read of those that changed lately, the deleted ones too.
        """
        deleted = {row.id for row in rows if row.deleted_at is not None}
        new = {row.id for row in rows if row.deleted_at is None} - self._ids.keys()
        remembered = len(self._ids) + len(new) - len(deleted & self._ids.keys())
        if total - remembered != self._beyond:
            self._is_due = True
        if not self._is_due or time.monotonic() < self._not_before:
            return frozenset()
        began = time.monotonic()
        asked = [id_ for id_ in self._ids if id_ not in deleted]
        there: set[str] = set()
        for start in range(0, len(asked), _ASKED_AT_ONCE):
            there |= await documents.ids_there(session, asked[start : start + _ASKED_AT_ONCE])
        self._is_due = False
        now = time.monotonic()
        self._not_before = now + (now - began) / _SHARE_OF_TIME
        return frozenset(asked) - there

    def note(self, total: int, rows: Sequence[Document], gone: Iterable[str]) -> None:
        """Take note of what is told from now on: of these rows, and of what is gone."""
        for id_ in (*gone, *(row.id for row in rows)):
            self._ids.pop(id_, None)
        self.add(row.id for row in rows if row.deleted_at is None)
        for id_ in [*islice(self._ids, max(0, len(self._ids) - _MOST_KNOWN))]:
            del self._ids[id_]
        # Where more are remembered than were counted, it is asked again.
        self._beyond = max(0, total - len(self._ids))
