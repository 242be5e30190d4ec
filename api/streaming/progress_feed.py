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
# Transactions become visible in another order than the moments in them say, which are all of the
# database's clock: what the clocks of several machines show does not matter. Whoever writes for
# longer than this is waited for.
_MARGIN = timedelta(seconds=3)
# Read at a time.
_MOST_CHANGES = 500
_Shared = frozenset[tuple[str | None, str | None]]


@dataclass(frozen=True)
class _Poll:
    """A knowledge base as it was found, how far it is, with whom it is shared, and what happened.

    ``rows`` are documents that changed, ``gone`` the ids of others that are erased already.
    """

    base: KnowledgeBase | None = None
    progress: KnowledgeBaseProgress | None = None
    shared: _Shared = frozenset()
    rows: Sequence[Document] = ()
    gone: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """The number of its documents."""
        return sum(self.progress.counts.values()) if self.progress else 0


@dataclass(eq=False)
class ProgressSubscriber:
    """One who looks: what happened since they were last told, each document once.

    Args:
        base: the knowledge base as it is now; None when it is gone.
        progress: how far all of it is: ``ProgressView`` knows how much of that is for whom.
        shared: with whom it is shared.
        changed: documents that changed since, by id.
        gone: ids of documents that are erased, of whose deletion nothing was read.
        shown: ids of documents that they saw elsewhere, to be told of their end as well.
        news: set when there is something to tell.
        closed: whether the process stops.
    """

    base: KnowledgeBase | None
    progress: KnowledgeBaseProgress
    shared: _Shared = frozenset()
    changed: dict[str, Document] = field(default_factory=dict[str, Document])
    gone: set[str] = field(default_factory=set[str])
    shown: set[str] = field(default_factory=set[str])
    news: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False

    def take(self) -> Sequence[Document]:
        """What changed since the last call."""
        self.news.clear()
        changed = list(self.changed.values())
        self.changed.clear()
        return changed

    def take_gone(self) -> frozenset[str]:
        """What is gone since the last call."""
        gone = frozenset(self.gone)
        self.gone.clear()
        return gone

    def take_shown(self) -> frozenset[str]:
        """What they saw elsewhere since the last call."""
        shown = frozenset(self.shown)
        self.shown.clear()
        return shown


class _Feed:
    """Looks at one knowledge base again and again, and tells its followers."""

    def __init__(self, database: Database, knowledge_base_id: str) -> None:
        self._database = database
        self._id = knowledge_base_id
        self.followers: set[ProgressSubscriber] = set()
        self._seen: dict[str, datetime] = {}
        self._known = DocumentTracker()
        # Where the next look begins: a moment, and the last id of that moment that was read.
        self._since, self._after_id = _BEGINNING, ""
        self._heard = time.monotonic()

    async def begin(self, session: AsyncSession) -> None:
        """Take note of what is there: only what changes is told."""
        settled = await visible_until(session)
        newest = await document_queries.last_changed_at(session, self._id)
        if newest is not None:
            self._since = min(newest - _MARGIN, settled)
            self._note(await self._read_changed(session), settled)
            await self._known.begin(session, self._id)

    async def look(self) -> _Poll:
        """The knowledge base as it is, and what happened since the last look."""
        async with self._database.reading() as session:
            settled = await visible_until(session)
            poll = await _read(session, self._id)
            rows = await self._read_changed(session)
            for follower in self.followers:
                self._known.add(follower.take_shown())
            gone = await self._known.gone(session, poll.total, rows)
        self._known.note(poll.total, rows, gone)
        return replace(poll, rows=self._note(rows, settled), gone=gone)

    async def _read_changed(self, session: AsyncSession) -> list[Document]:
        # One statement can change any number of documents at one moment.
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
                # Whatever lay before it is visible by now: nobody needs to read it again.
                self._since, self._after_id = newest, rows[-1].id
            else:
                self._since, self._after_id = newest - _MARGIN, ""
            if settled < self._since:
                # Somebody still writes what they dated before it, however long that takes.
                self._since, self._after_id = settled, ""
            oldest = min(self._since, newest - _MARGIN)
            self._seen = {id_: at for id_, at in self._seen.items() if at >= oldest}
        return fresh

    async def run(self) -> None:
        """Look and tell, until cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            try:
                poll = await self.look()
            except AgentexError as error:
                log.warning("progress.not_read", cause=type(error).__name__)
                continue
            except Exception:
                # Whatever it is, the next look must come: the followers have no other.
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
    """The feeds of this process; each lives as long as somebody follows it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._feeds: dict[str, tuple[_Feed, asyncio.Task[None]]] = {}
        self._is_closed = False

    @asynccontextmanager
    async def follow(self, knowledge_base_id: str) -> AsyncGenerator[ProgressSubscriber | None]:
        """Follow a knowledge base that the caller may see; None when it is gone meanwhile."""
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
        """The feed that runs; another follower may have started one meanwhile."""
        if knowledge_base_id not in self._feeds:
            self._feeds[knowledge_base_id] = (feed, asyncio.create_task(feed.run()))
        return self._feeds[knowledge_base_id][0]

    async def _release(self, knowledge_base_id: str, feed: _Feed) -> None:
        if feed.followers or self._feeds.get(knowledge_base_id, (None,))[0] is not feed:
            return
        _, task = self._feeds.pop(knowledge_base_id)
        task.cancel()
        await asyncio.wait({task})

    def close(self) -> None:
        """Tell all followers that the process stops."""
        self._is_closed = True
        for feed, _ in self._feeds.values():
            for follower in feed.followers:
                follower.closed = True
                follower.news.set()


# Ids that are remembered of a knowledge base: some megabytes for each that somebody follows.
_MOST_KNOWN = 50_000
_ASKED_AT_ONCE = 1000
# Asking for all of them takes at most this part of the time.
_SHARE_OF_TIME = 0.05


class DocumentTracker:
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
        newest_first = await document_queries.newest_ids(session, knowledge_base_id, limit=limit)
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
        ids = [id_ for id_ in self._ids if id_ not in deleted]
        there: set[str] = set()
        for start in range(0, len(ids), _ASKED_AT_ONCE):
            there |= await document_queries.existing_ids(
                session, ids[start : start + _ASKED_AT_ONCE]
            )
        self._is_due = False
        now = time.monotonic()
        self._not_before = now + (now - began) / _SHARE_OF_TIME
        return frozenset(ids) - there

    def note(self, total: int, rows: Sequence[Document], gone: Iterable[str]) -> None:
        """Take note of what is told from now on: of these rows, and of what is gone."""
        for id_ in (*gone, *(row.id for row in rows)):
            self._ids.pop(id_, None)
        self.add(row.id for row in rows if row.deleted_at is None)
        for id_ in [*islice(self._ids, max(0, len(self._ids) - _MOST_KNOWN))]:
            del self._ids[id_]
        # Where more are remembered than were counted, it is asked again.
        self._beyond = max(0, total - len(self._ids))


@dataclass(frozen=True)
class ProgressUpdate:
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
    """

    def __init__(self, database: Database, reader: Viewer, follower: ProgressSubscriber) -> None:
        self._database = database
        self._reader = reader
        self._follower = follower
        self._hidden: frozenset[str] = frozenset()
        self.progress = follower.progress

    async def begin(self, base: KnowledgeBase) -> None:
        """Take note of what is there."""
        self._hidden, self.progress = await self._look(base, ())

    async def take(self) -> ProgressUpdate:
        """What happened since the last call, and ``progress`` with it."""
        base = self._follower.base
        if base is None or not self._follower.news.is_set():
            return ProgressUpdate()
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
        return ProgressUpdate() if is_silent else ProgressUpdate(base, changed, removed)

    async def _look(
        self, base: KnowledgeBase, rows: Sequence[Document]
    ) -> tuple[frozenset[str], KnowledgeBaseProgress]:
        """What is hidden, and how far the rest is."""
        # A row may be newer than what is known of its knowledge base.
        is_narrowed = base.narrowed or any(row.restricted for row in rows)
        if base.owner_id == self._reader.user_id or not is_narrowed:
            return frozenset(), self._follower.progress
        async with self._database.reading() as session:
            hidden = await hidden_ids_in(session, [base.id], self._reader)
            # What is erased by now is in no list: it stays hidden until its end is known.
            doubtful = self._hidden.union(row.id for row in rows if row.restricted) - hidden
            if doubtful:
                hidden |= doubtful - await visible_ids(session, self._reader, doubtful)
            if not hidden:
                return hidden, self._follower.progress
            return hidden, await document_progress.get_progress(session, self._reader, base)
