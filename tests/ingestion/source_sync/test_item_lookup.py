"""Look-ups of a source's items cost a few queries, however many items there are."""

from typing import Any

import pytest

from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from ingestion.connectors.base import ReadFailure
from ingestion.source_sync.item_lookup import ItemLookup
from ingestion.source_sync.items import key_hash
from kb_service.models import Document, KnowledgeSource, KnowledgeSourceItem
from tests.fixtures.database.databases import statements_of
from tests.fixtures.database.rows import add_document, add_knowledge_base

pytestmark = pytest.mark.anyio

GONE = ReadFailure("gone", "It is gone", "已删除")
LINKS = [f"https://example.org/{number}" for number in range(300)]


async def add_source(database: Database, number: int) -> str:
    """A source with unchanged items, and four of another kind each; its id."""
    document_id = await add_document(database)
    deleted_id = await add_document(database, deleted_at=utc_now())

    def item(key: str, **fields: object) -> KnowledgeSourceItem:
        given: dict[str, Any] = {
            "fingerprint": f"mark of {key}",
            "document_id": document_id,
            "seen_in": "earlier",
            **fields,
        }
        return KnowledgeSourceItem(source_id=source.id, key_hash=key_hash(key), key=key, name=key, **given)

    async with unit_of_work(database) as work:
        base = await add_knowledge_base(work)
        source = KnowledgeSource(knowledge_base_id=base.id, name="s", connector="folder")
        work.session.add(source)
        await work.session.flush()
        work.session.add_all(item(f"{n}.md") for n in range(number))
        work.session.add(item("long.md", state={"links": LINKS}))
        work.session.add(item("deleted.md", document_id=deleted_id, state={"etag": "1"}))
        work.session.add(item("failed.md", document_id=None, failure=GONE.words))
        work.session.add(item("done.md", seen_in="now"))
        return source.id


async def test_items_are_found_as_their_rows_say(database: Database):
    source_id = await add_source(database, 2)
    for reads_all in (True, False):
        lookup = ItemLookup(database, source_id, "now", reads_all=reads_all)
        assert await lookup.find("new.md") is None
        found = {key: await lookup.find(key) for key in ("1.md", "long.md", "deleted.md", "failed.md", "done.md")}
        assert {key: item and item.fingerprint for key, item in found.items()} == {
            key: f"mark of {key}" for key in found
        }
        assert {key for key, item in found.items() if item and not item.has_document} == {"deleted.md", "failed.md"}
        assert {key for key, item in found.items() if item and item.is_seen} == {"done.md"}
        assert {key for key, item in found.items() if item and item.has_failed_with(GONE)} == {"failed.md"}
        states = {key: item.known_item.state for key, item in found.items() if item and item.known_item.state}
        assert states == {"long.md": {"links": LINKS}, "deleted.md": {"etag": "1"}}
        row = await lookup.find_row("1.md")
        assert row is not None
        assert (row[0].key, isinstance(row[1], Document)) == ("1.md", True)


# Statements on SQLite's threads of readers are not seen.
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_thousands_of_items_cost_a_few_queries(database: Database):
    source_id = await add_source(database, 2500)
    lookup = ItemLookup(database, source_id, "now", reads_all=True)
    with statements_of(database) as statements:
        items = [await lookup.find(f"{number}.md") for number in range(2500)]
        # Of which the connector asks first, and then the sync.
        assert [await lookup.find("long.md") for _ in range(2)][1] is not None
    assert all(item and item.has_document for item in items)
    assert len(statements) <= 4, statements
