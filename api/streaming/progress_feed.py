"""Progress of a knowledge base's documents: one poll for all its subscribers."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.sharing import share_subject_ids
from core.db.database import Database
from core.db.now import visible_until
from core.errors.base import AgentexError
from core.logging import get_logger
from kb_service.documents import progress as document_progress
from kb_service.documents import queries as document_queries
from kb_service.documents.progress import KnowledgeBaseProgress
from kb_service.models import Document, KnowledgeBase
from kb_service.visibility import SYSTEM_VIEWER, Viewer, hidden_ids_in, visible_ids

log = get_logger(__name__)

_POLL_SECONDS = 0.5
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
# Transactions become visible in another order than their timestamps, which are all of the
# database's clock, say. Writers that take longer than this are waited for.
_MARGIN = timedelta(seconds=3)
# Documents read per query.
_MOST_CHANGES = 500
_Shared = frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True)
class _Poll:
    """The result of a poll: ``rows`` are changed documents, ``gone`` ids of erased ones."""

    base: KnowledgeBase | None = None
    progress: KnowledgeBaseProgress | None = None
    shared: _Shared = frozenset()
    rows: Sequence[Document] = ()
    gone: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        return sum(self.progress.counts.values()) if self.progress else 0


@dataclass(eq=False)
class ProgressSubscriber:
    """A reader of a feed, with what changed since it last read, each document once.

    Args:
        base: the current knowledge base; None when it is deleted.
        progress: of all its documents; ``ProgressView`` filters it per user.
        gone: ids of erased documents whose deletion no poll has seen.
        listed: ids that the reader got elsewhere, whose deletion it must also learn.
    """

    base: KnowledgeBase | None
    progress: KnowledgeBaseProgress
    shared: _Shared = frozenset()
    changed: dict[str, Document] = field(default_factory=dict[str, Document])
    gone: set[str] = field(default_factory=set[str])
    listed: set[str] = field(default_factory=set[str])
    news: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False

    def take(self) -> Sequence[Document]:
        self.news.clear()
        changed = list(self.changed.values())
        self.changed.clear()
        return changed

    def take_gone(self) -> frozenset[str]:
        gone = frozenset(self.gone)
        self.gone.clear()
        return gone

    def take_listed(self) -> frozenset[str]:
        listed = frozenset(self.listed)
        self.listed.clear()
        return listed


class _Feed:
    """Polls one knowledge base and notifies its subscribers."""

    def __init__(self, database: Database, knowledge_base_id: str) -> None:
        self._database = database
        self._id = knowledge_base_id
        self.followers: set[ProgressSubscriber] = set()
        self._seen: dict[str, datetime] = {}
        self._known = DocumentTracker()
        # Where the next poll begins: a timestamp, and the last id read at that timestamp.
        self._since, self._after_id = _BEGINNING, ""
        self._heard = time.monotonic()

    async def begin(self, session: AsyncSession) -> None:
        settled = await visible_until(session)
        newest = await document_queries.last_changed_at(session, self._id)
        if newest is not None:
            self._since = min(newest - _MARGIN, settled)
            self._note(await self._read_changed(session), settled)
            await self._known.begin(session, self._id)

    async def look(self) -> _Poll:
        async with self._database.reading() as session:
            settled = await visible_until(session)
            poll = await _read(session, self._id)
            rows = await self._read_changed(session)
            for follower in self.followers:
                self._known.add(follower.take_listed())
            gone = await self._known.gone(session, poll.total, rows)
        self._known.record(poll.total, rows, gone)
        return replace(poll, rows=self._note(rows, settled), gone=gone)

    async def _read_changed(self, session: AsyncSession) -> list[Document]:
        # A single statement can change any number of documents at the same timestamp.
        rows: list[Document] = []
        since, after_id, is_last = self._since, self._after_id, False
        while not is_last:
            page = await document_queries.changed_since(
                session, self._id, since, after_id=after_id, limit=_MOST_CHANGES
            )
            rows += page
            is_last = len(page) < _MOST_CHANGES
            if not is_last:
                since, after_id = page[-1].updated_at, page[-1].id
        return rows

    def _note(self, rows: Sequence[Document], settled: datetime) -> list[Document]:
        fresh = [row for row in rows if self._seen.get(row.id) != row.updated_at]
        for row in fresh:
            self._seen[row.id] = row.updated_at
        if fresh:
            self._heard = time.monotonic()
        if rows:
            newest = rows[-1].updated_at
            if time.monotonic() - self._heard > _MARGIN.total_seconds():
                # Everything before it is visible by now and need not be read again.
                self._since, self._after_id = newest, rows[-1].id
            else:
                self._since, self._after_id = newest - _MARGIN, ""
            if settled < self._since:
                # A transaction with an earlier timestamp is still open.
                self._since, self._after_id = settled, ""
            oldest = min(self._since, newest - _MARGIN)
            self._seen = {id_: at for id_, at in self._seen.items() if at >= oldest}
        return fresh

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            try:
                poll = await self.look()
            except AgentexError as error:
                log.warning("progress.not_read", cause=type(error).__name__)
                continue
            except Exception:
                # The next poll must run whatever happened: the subscribers have no other source.
                log.exception("progress.look_crashed")
                continue
            for follower in self.followers:
                _notify(follower, poll)


async def _read(session: AsyncSession, knowledge_base_id: str) -> _Poll:
    base = await session.get(KnowledgeBase, knowledge_base_id)
    if base is None or base.deleted_at is not None:
        return _Poll()
    progress = await document_progress.get_progress(session, SYSTEM_VIEWER, base)
    return _Poll(base, progress, await share_subject_ids(session, base))


def _notify(follower: ProgressSubscriber, poll: _Poll) -> None:
    news = bool(poll.rows or poll.gone) or poll.progress != follower.progress
    follower.base, follower.shared = poll.base, poll.shared
    if poll.progress is not None:
        follower.progress = poll.progress
    follower.changed.update((row.id, row) for row in poll.rows)
    follower.gone |= poll.gone
    if news or poll.base is None:
        follower.news.set()


class ProgressFeeds:
    """The feeds of this process; each lives while it has subscribers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._feeds: dict[str, tuple[_Feed, asyncio.Task[None]]] = {}
        self._is_closed = False

    @asynccontextmanager
    async def follow(self, knowledge_base_id: str) -> AsyncGenerator[ProgressSubscriber | None]:
        """Subscribe to a knowledge base that the caller may see; None if it was just deleted."""
        async with self._database.reading() as session:
            poll = await _read(session, knowledge_base_id)
            feed = self._feeds.get(knowledge_base_id, (None,))[0]
            if feed is None:
                feed = _Feed(self._database, knowledge_base_id)
                await feed.begin(session)
        if poll.progress is None:
            yield None
            return
        follower = ProgressSubscriber(poll.base, poll.progress, poll.shared, closed=self._is_closed)
        feed = self._started(knowledge_base_id, feed)
        feed.followers.add(follower)
        try:
            yield follower
        finally:
            feed.followers.discard(follower)
            await self._release(knowledge_base_id, feed)

    def _started(self, knowledge_base_id: str, feed: _Feed) -> _Feed:
        if knowledge_base_id not in self._feeds:
            self._feeds[knowledge_base_id] = (feed, asyncio.create_task(feed.run()))
        return self._feeds[knowledge_base_id][0]

    async def _release(self, knowledge_base_id: str, feed: _Feed) -> None:
        if feed.followers or self._feeds.get(knowledge_base_id, (None,))[0] is not feed:
            return
        _, task = self._feeds.pop(knowledge_base_id)
        task.cancel()
        await asyncio.wait({task})

    @property
    def is_closed(self) -> bool:
        """Whether this process is shutting down, so that streams end."""
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True
        for feed, _ in self._feeds.values():
            for follower in feed.followers:
                follower.closed = True
                follower.news.set()


# Ids remembered per followed knowledge base: some megabytes.
_MOST_KNOWN = 50_000
_ASKED_AT_ONCE = 1000
# Checking all of them takes at most this share of the time.
_SHARE_OF_TIME = 0.05


class DocumentTracker:
    """Finds documents that were erased before a poll saw their deletion.

    If the number of documents differs from what the polled changes explain, all known ids are checked.
    """

    def __init__(self) -> None:
        # An ordered set: the most recently changed id is forgotten last.
        self._ids: dict[str, None] = {}
        # The number of documents that are not remembered.
        self._beyond = 0
        self._is_due = False
        self._not_before = 0.0

    async def begin(self, session: AsyncSession, knowledge_base_id: str) -> None:
        limit = _MOST_KNOWN + 1
        newest_first = await document_queries.newest_ids(session, knowledge_base_id, limit=limit)
        self._ids = dict.fromkeys(reversed(newest_first))
        # The first poll counts the rest.
        self._is_due = len(newest_first) == limit

    def add(self, ids: Iterable[str]) -> None:
        """Remember ids that a reader was shown; a wrong count makes the next poll check them."""
        self._ids |= dict.fromkeys(ids)

    async def gone(self, session: AsyncSession, total: int, rows: Sequence[Document]) -> frozenset[str]:
        """Erased ids, given the total and recently changed rows; pass them to :meth:`record` next."""
        deleted = {row.id for row in rows if row.deleted_at is not None}
        new = {row.id for row in rows if row.deleted_at is None} - self._ids.keys()
        remembered = len(self._ids) + len(new) - len(deleted & self._ids.keys())
        if total - remembered != self._beyond:
            self._is_due = True
        if not self._is_due or time.monotonic() < self._not_before:
            return frozenset()
        began = time.monotonic()
        ids = [id_ for id_ in self._ids if id_ not in deleted]
        there: set[str] = set()
        for start in range(0, len(ids), _ASKED_AT_ONCE):
            there |= await document_queries.existing_ids(session, ids[start : start + _ASKED_AT_ONCE])
        self._is_due = False
        now = time.monotonic()
        self._not_before = now + (now - began) / _SHARE_OF_TIME
        return frozenset(ids) - there

    def record(self, total: int, rows: Sequence[Document], gone: Iterable[str]) -> None:
        for id_ in (*gone, *(row.id for row in rows)):
            self._ids.pop(id_, None)
        self.add(row.id for row in rows if row.deleted_at is None)
        for id_ in [*islice(self._ids, max(0, len(self._ids) - _MOST_KNOWN))]:
            del self._ids[id_]
        # If more are remembered than counted, the next poll checks again.
        self._beyond = max(0, total - len(self._ids))


@dataclass(frozen=True)
class ProgressUpdate:
    """Changes since the last poll.

    ``base`` is None if nothing changed, ``removed`` ids no longer exist for this reader.
    """

    base: KnowledgeBase | None = None
    changed: Sequence[Document] = ()
    removed: Sequence[str] = ()


class ProgressView:
    """The part of a feed that a reader may see."""

    def __init__(self, database: Database, reader: Viewer, follower: ProgressSubscriber) -> None:
        self._database = database
        self._reader = reader
        self._follower = follower
        self._hidden: frozenset[str] = frozenset()
        self.progress = follower.progress

    async def begin(self, base: KnowledgeBase) -> None:
        self._hidden, self.progress = await self._look(base, ())

    async def take(self) -> ProgressUpdate:
        base = self._follower.base
        if base is None or not self._follower.news.is_set():
            return ProgressUpdate()
        rows, gone = self._follower.take(), self._follower.take_gone()
        before, was = self._hidden, self.progress
        self._hidden, self.progress = await self._look(base, rows)
        changed = [row for row in rows if row.deleted_at is None and row.id not in self._hidden | gone]
        changed_ids = {row.id for row in changed}
        # The deletion of a document that was hidden all the time is not reported either.
        ended = dict.fromkeys([*(row.id for row in rows if row.id not in changed_ids), *sorted(gone)])
        removed = [id_ for id_ in ended if id_ not in before]
        self._hidden -= gone
        is_silent = not changed and not removed and self._hidden and was == self.progress
        return ProgressUpdate() if is_silent else ProgressUpdate(base, changed, removed)

    async def _look(
        self, base: KnowledgeBase, rows: Sequence[Document]
    ) -> tuple[frozenset[str], KnowledgeBaseProgress]:
        # A row may be newer than the knowledge base that was read.
        is_narrowed = base.narrowed or any(row.restricted for row in rows)
        if base.owner_id == self._reader.user_id or not is_narrowed:
            return frozenset(), self._follower.progress
        async with self._database.reading() as session:
            hidden = await hidden_ids_in(session, [base.id], self._reader)
            # Erased ids are in no list: they stay hidden until their deletion is known.
            doubtful = self._hidden.union(row.id for row in rows if row.restricted) - hidden
            if doubtful:
                hidden |= doubtful - await visible_ids(session, self._reader, doubtful)
            if not hidden:
                return hidden, self._follower.progress
            return hidden, await document_progress.get_progress(session, self._reader, base)
