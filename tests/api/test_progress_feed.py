"""The progress feed of a knowledge base: every changed document, however many at once."""

from datetime import datetime, timedelta

import anyio
import pytest
from sqlalchemy import insert, update
from sqlmodel import col, select

from api.streaming.progress_feed import ProgressFeeds, ProgressSubscriber, ProgressView
from core.db.database import Database
from core.db.now import database_now
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from kb_service.documents import actions as document_actions
from kb_service.documents import queries as document_queries
from kb_service.documents.permissions import mark_narrowed
from kb_service.models import Document
from kb_service.visibility import UserViewer
from tests.fixtures.database.rows import add_document, add_knowledge_base, add_user

pytestmark = pytest.mark.anyio
MANY = 1200


async def fill(database: Database, count: int) -> str:
    """A knowledge base with documents that all changed long ago."""
    async with unit_of_work(database) as work:
        kb_id = (await add_knowledge_base(work)).id
    first = await add_document(database, knowledge_base_id=kb_id)
    async with unit_of_work(database) as work:
        fields = (await work.session.get_one(Document, first)).model_dump()
        rows = [
            {**fields, "id": new_id(), "name": f"{number}.md", "storage_key": new_id()} for number in range(count - 1)
        ]
        await work.session.exec(insert(Document), params=rows)
        old = {"updated_at": datetime.fromisoformat("2026-01-01T00:00:00+00:00")}
        await work.session.exec(update(Document).values(**old))
    return kb_id


async def touch(database: Database, *conditions: object, **values: object) -> None:
    """Change documents in one statement, all at one moment."""
    async with unit_of_work(database) as work:
        statement = update(Document).where(*conditions).values(updated_at=utc_now(), **values)
        await work.session.exec(statement)


async def read_updates(follower: ProgressSubscriber, count: int) -> dict[str, str]:
    """The status of each document of which the follower was told, once they are so many."""
    found: dict[str, str] = {}
    with anyio.fail_after(30):
        while len(found) < count:
            await follower.news.wait()
            found |= {row.id: row.status for row in follower.take()}
    return found


async def test_more_documents_than_one_look_reads_change_at_one_moment(database: Database):
    kb_id = await fill(database, MANY)
    feeds = ProgressFeeds(database)
    async with feeds.follow(kb_id) as follower:
        assert follower is not None
        await touch(database, col(Document.knowledge_base_id) == kb_id, status="paused")
        statuses = await read_updates(follower, MANY)
        assert set(statuses.values()) == {"paused"}
        one = max(statuses)
        await touch(database, col(Document.id) == one, status="cancelled")
        assert await read_updates(follower, 1) == {one: "cancelled"}


async def test_what_was_told_is_not_read_again_and_again(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("api.streaming.progress_feed._POLL_SECONDS", 0.01)
    kb_id = await fill(database, 3)
    reads: list[int] = []
    feeds = ProgressFeeds(database)
    async with feeds.follow(kb_id) as follower:
        assert follower is not None
        await touch(database, col(Document.knowledge_base_id) == kb_id, status="paused")
        await read_updates(follower, 3)
        inner = document_queries.changed_since

        async def counted(*arguments: object, **options: object):
            rows = await inner(*arguments, **options)
            reads.append(len(rows))
            return rows

        monkeypatch.setattr("kb_service.documents.queries.changed_since", counted)
        with anyio.fail_after(30):
            while reads[-5:] != [0] * 5:  # noqa: ASYNC110 - reading has no event
                await anyio.sleep(0.05)
        # What comes later is told all the same.
        await touch(database, col(Document.knowledge_base_id) == kb_id, status="pending")
        assert set((await read_updates(follower, 3)).values()) == {"pending"}


async def test_change_is_told_however_long_its_transaction_takes(database: Database, monkeypatch: pytest.MonkeyPatch):
    # As if every transaction took longer than the margin.
    monkeypatch.setattr("api.streaming.progress_feed._MARGIN", timedelta(0))
    monkeypatch.setattr("api.streaming.progress_feed._POLL_SECONDS", 0.01)
    kb_id = await fill(database, 2)
    slow = col(Document.knowledge_base_id) == kb_id
    async with database.reading() as session:
        others = (await session.exec(select(Document.id).where(slow))).all()[0]
    async with unit_of_work(database) as work:
        moment = await database_now(work.session)
        statement = update(Document).where(slow, col(Document.id) != others)
        await work.session.exec(statement.values(updated_at=moment, status="paused"))
        following = ProgressFeeds(database).follow(kb_id)
        follower = await following.__aenter__()
        assert follower is not None
        if work.session.get_bind().dialect.name == "postgresql":
            for status in ("cancelled", "pending"):
                await touch(database, col(Document.id) == others, status=status)
                assert await read_updates(follower, 1) == {others: status}
    assert list((await read_updates(follower, 1)).values()) == ["paused"]
    await following.__aexit__(None, None, None)


async def test_changes_are_told_whatever_this_machines_clock_shows(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("api.streaming.progress_feed.utc_now", lambda: utc_now() + timedelta(hours=1), raising=False)
    kb_id = await fill(database, 2)
    async with ProgressFeeds(database).follow(kb_id) as follower:
        assert follower is not None
        await touch(database, col(Document.knowledge_base_id) == kb_id, status="paused")
        assert set((await read_updates(follower, 2)).values()) == {"paused"}


async def erase(database: Database, *ids: str) -> None:
    """Remove documents so soon that nobody reads that they were deleted."""
    async with unit_of_work(database) as work:
        await document_actions.delete_rows(work.session, ids, 1000)


async def gone(follower: ProgressSubscriber, count: int) -> set[str]:
    """The documents that are gone, once they are so many."""
    found: set[str] = set()
    with anyio.fail_after(30):
        while len(found) < count:
            await follower.news.wait()
            follower.take()
            found |= follower.take_gone()
    return found


async def ids_of(database: Database, kb_id: str) -> list[str]:
    async with database.reading() as session:
        return [*await document_queries.newest_ids(session, kb_id, limit=MANY)]


async def test_document_that_is_erased_before_anybody_looked_is_told(database: Database):
    kb_id = await fill(database, 3)
    first, second, third = await ids_of(database, kb_id)
    async with ProgressFeeds(database).follow(kb_id) as follower:
        assert follower is not None
        await erase(database, first)
        assert await gone(follower, 1) == {first}
        # The number of documents stays the same.
        new = await add_document(database, knowledge_base_id=kb_id, name="new.md")
        await erase(database, second)
        assert await gone(follower, 1) == {second}
        await erase(database, third, new)
        assert await gone(follower, 2) == {third, new}


async def test_of_more_documents_than_are_remembered_the_ones_shown_are_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("api.streaming.progress_feed._MOST_KNOWN", 3)
    monkeypatch.setattr("api.streaming.progress_feed._POLL_SECONDS", 0.01)
    kb_id = await fill(database, 6)
    *_, changed, shown = await ids_of(database, kb_id)
    async with ProgressFeeds(database).follow(kb_id) as follower:
        assert follower is not None
        await touch(database, col(Document.id) == changed, status="paused")
        await read_updates(follower, 1)
        follower.listed.add(shown)
        await anyio.sleep(0.2)
        await erase(database, changed, shown)
        assert await gone(follower, 2) == {changed, shown}


async def test_end_of_a_document_is_told_to_those_who_read_it(database: Database):
    kb_id = await fill(database, 3)
    secret, open_, other = await ids_of(database, kb_id)
    async with unit_of_work(database) as work:
        stranger = UserViewer((await add_user(work)).id)
        await mark_narrowed(work, kb_id)
    await touch(database, col(Document.id) == secret, restricted=True)
    async with ProgressFeeds(database).follow(kb_id) as follower:
        assert follower is not None
        assert follower.base is not None
        owner = ProgressView(database, UserViewer(follower.base.owner_id), follower)
        view = ProgressView(database, stranger, follower)
        await view.begin(follower.base)
        await erase(database, secret)
        # Something else is news first, when it is in no list any more.
        follower.news.set()
        assert not (await view.take()).removed
        assert await _removed(view, follower, other, database) == [other]
        await erase(database, open_)
        with anyio.fail_after(30):
            # What was news before may be told first.
            while not (found := (await owner.take()).removed):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert found == [open_]


async def _removed(view: ProgressView, follower: ProgressSubscriber, document_id: str, database: Database) -> list[str]:
    """All that a view tells as removed until this document, which is erased now, is told."""
    await erase(database, document_id)
    found: list[str] = []
    with anyio.fail_after(30):
        while document_id not in found:
            await follower.news.wait()
            found += (await view.take()).removed
    return found
