"""Marks on items that a sync has met and found as they were."""

from collections.abc import Mapping
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from ingestion.source_sync import items


class ItemMarks:
    """Marks that are written many at a time: an unchanged item needs no transaction of its own."""

    def __init__(self) -> None:
        self._unchanged: list[str] = []
        self._failed: list[str] = []
        self._states: dict[str, Mapping[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._unchanged) + len(self._failed)

    def add_unchanged(self, hash_: str, new_state: Mapping[str, Any] | None) -> None:
        """An item with the contents that its document has; with a state if that is another one."""
        self._unchanged.append(hash_)
        if new_state is not None:
            self._states[hash_] = new_state

    def add_failed(self, hash_: str) -> None:
        """An item that could not be read for the reason that stands in its row."""
        self._failed.append(hash_)

    async def write(self, session: AsyncSession, source_id: str, sync_id: str) -> None:
        """Write the marks, and begin anew."""
        unchanged, failed, states = self._unchanged, self._failed, self._states
        self._unchanged, self._failed, self._states = [], [], {}
        await items.mark_seen(session, source_id, sync_id, unchanged)
        await items.mark_seen(session, source_id, sync_id, failed, keeps_failures=True)
        await items.adopt_states(session, source_id, states)
