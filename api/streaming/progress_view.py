"""What one person is shown of the news that a feed has for all who follow a knowledge base."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.streaming.progress_feed import Follower
from core.db.database import Database
from kb_service import documents
from kb_service.documents import Progress
from kb_service.documents.visibility import Reader, hidden_in, readable_of
from kb_service.models import Document, KnowledgeBase


@dataclass(frozen=True)
class News:
    """What happened since the last look.

    Args:
        base: the knowledge base as it is now; None where there is nothing to tell.
        changed: documents as they are now.
        removed: ids of those that are gone, for this person.
    """

    base: KnowledgeBase | None = None
    changed: Sequence[Document] = ()
    removed: Sequence[str] = ()


class ProgressView:
    """One person's part of a feed.

    Args:
        database: to ask what is not for them.
        reader: who looks.
        follower: what happens.
    """

    def __init__(self, database: Database, reader: Reader, follower: Follower) -> None:
        self._database = database
        self._reader = reader
        self._follower = follower
        self._hidden: frozenset[str] = frozenset()
        self.progress = follower.progress

    async def begin(self, base: KnowledgeBase) -> None:
        """Take note of what is there."""
        self._hidden, self.progress = await self._look(base, ())

    async def take(self) -> News:
        """What happened since the last call, and ``progress`` with it."""
        base = self._follower.base
        if base is None or not self._follower.news.is_set():
            return News()
        rows, gone = self._follower.take(), self._follower.take_gone()
        before, was = self._hidden, self.progress
        self._hidden, self.progress = await self._look(base, rows)
        changed = [
            row for row in rows if row.deleted_at is None and row.id not in self._hidden | gone
        ]
        shown = {row.id for row in changed}
        # Of what was hidden all the while not even the end is told.
        ended = dict.fromkeys([*(row.id for row in rows if row.id not in shown), *sorted(gone)])
        removed = [id_ for id_ in ended if id_ not in before]
        self._hidden -= gone
        is_silent = not changed and not removed and self._hidden and was == self.progress
        return News() if is_silent else News(base, changed, removed)

    async def _look(
        self, base: KnowledgeBase, rows: Sequence[Document]
    ) -> tuple[frozenset[str], Progress]:
        """What is hidden, and how far the rest is."""
        # A row may be newer than what is known of its knowledge base.
        is_narrowed = base.narrowed or any(row.restricted for row in rows)
        if base.owner_id == self._reader.user_id or not is_narrowed:
            return frozenset(), self._follower.progress
        async with self._database.reading() as session:
            hidden = await hidden_in(session, [base.id], self._reader)
            # What is erased by now is in no list: it stays hidden until its end is known.
            doubtful = self._hidden.union(row.id for row in rows if row.restricted) - hidden
            if doubtful:
                hidden |= doubtful - await readable_of(session, self._reader, doubtful)
            if not hidden:
                return hidden, self._follower.progress
            return hidden, await documents.summarise(session, self._reader, base)
