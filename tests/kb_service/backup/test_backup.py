"""Backups of a small installation: whatever happens meanwhile, and in whichever databases."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from sqlalchemy import text
from sqlmodel import col, delete, select, update

from agents.llm_registry.models import ModelUsage
from core.db.database import Database
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from kb_service.backup.create import BackupCreator
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest, RowStream
from kb_service.backup.models import BackupJob
from kb_service.backup.repository import BackupRepository, create_repository
from kb_service.backup.restore import (
    BackupRestorer,
    require_empty_database,
    require_empty_files,
    require_empty_points,
    require_readable,
)
from kb_service.backup.row_format import RowWriter, read_rows
from kb_service.backup.sql_rows import export_table
from kb_service.backup.verify import verify
from kb_service.embeddings.catalog import DEFAULT
from kb_service.models import Chunk, Document, DocumentStatus
from migrations.level import revisions
from migrations.tables import all_tables
from rules.models import AcceptedEvent
from tests.fixtures.database.databases import async_url, one_database
from tests.fixtures.knowledge.backups import Installation
from tests.fixtures.servers.external_services import Postgres

pytestmark = pytest.mark.anyio
# Those that came after 0030.
LATER_COLUMNS = {
    "user": frozenset({"email_verified"}),
    "knowledge_base": frozenset({"parser", "strategy"}),
    "document": frozenset({"parser", "chosen_parser", "chosen_strategy", "source_levels", "only_by_source"}),
    "chunk": frozenset({"boxes", "later_pages"}),
}


@pytest.fixture
async def source(database: Database, tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "source", database)
    yield installation
    await installation.shard.close()


@pytest.fixture
def postgres_url(find_postgres: Callable[[], Postgres]) -> Iterator[str]:
    url = find_postgres().create()
    yield async_url(url)
    find_postgres().drop(url)


@pytest.fixture
def repository(tmp_path: Path) -> BackupRepository:
    return create_repository(tmp_path / "backups", None)


async def back_up(source: Installation, repository: BackupRepository) -> BackupManifest:
    with repository.writing():
        return await BackupCreator(source.source, repository).create()


@pytest.fixture
async def restored(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Restores a backup into a new installation, by default on SQLite."""
    made: list[Installation] = []

    async def restore(repository: BackupRepository, manifest: BackupManifest, url: str | None = None) -> Installation:
        folder = tmp_path / f"target-{len(made)}"
        folder.mkdir()
        made.append(Installation(folder, Database(url or f"sqlite+aiosqlite:///{folder / 'agentex.db'}")))
        await BackupRestorer(repository, manifest, made[-1].target).restore()
        return made[-1]

    yield restore
    for installation in made:
        await installation.database.close()
        await installation.shard.close()


async def rows_in(database: Database, repository: BackupRepository) -> dict[str, list[str]]:
    """The ids of the blobs that the database's rows would make."""
    ids: dict[str, list[str]] = {}
    async with database.snapshot() as connection:
        for table in all_tables().sorted_tables:
            stream = await export_table(connection, table, repository, lambda _: None)
            ids[table.name] = [blob.id for blob in stream.blobs]
    return ids


async def add_odd_rows(source: Installation) -> None:
    """Values that databases keep in different ways."""
    document = await source.add("Ünïcode 三号温室 \u2028 and\ttabs", attributes={"a": 1.5, "n": None, "z": "\u0001"})
    values: tuple[JsonValue, ...] = (5, "text", None, True, {"deep": [1, {"x": 10**20}]}, 1e300)
    async with unit_of_work(source.database) as work:
        owner = (await (await work.session.connection()).execute(text('SELECT id FROM "user"'))).scalars().all()[0]
        for data in values:
            moment = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
            event = AcceptedEvent(
                owner_id=owner,
                source_kind="mcp",
                source_id=new_id(),
                event_id=new_id(),
                type="t",
                occurred_at=moment,
                data=data,
            )
            work.session.add(event)
        usage = ModelUsage(day=date(2026, 2, 3), user_id=owner, model_id=new_id(), model="m")
        work.session.add(usage)
        # JSON's own null and SQL's NULL are two things.
        await (await work.session.connection()).execute(
            text("UPDATE document SET failure = NULL WHERE id = :id"), {"id": document.id}
        )
        # A number that was given out and is gone must not come again.
        await work.session.exec(delete(AcceptedEvent).where(col(AcceptedEvent.seq) == 6))


async def test_rows_are_the_same_after_a_restore_into_either_database(
    source: Installation,
    repository: BackupRepository,
    restored: Callable[..., Any],
    postgres_url: str,
):
    await add_odd_rows(source)
    async with unit_of_work(source.database) as work:
        work.session.add(BackupJob(kind="create"))
    manifest = await back_up(source, repository)
    # In a restored installation it would begin again.
    assert "backup_job" not in manifest.tables
    async with unit_of_work(source.database) as work:
        await work.session.exec(delete(BackupJob))
    before = await rows_in(source.database, repository)
    for url in (None, postgres_url):
        target = await restored(repository, manifest, url)
        assert await rows_in(target.database, repository) == before
        async with unit_of_work(target.database) as work:
            owner = (await (await work.session.connection()).execute(text('SELECT id FROM "user"'))).scalars().all()[0]
            event = AcceptedEvent(
                owner_id=owner,
                source_kind="mcp",
                source_id="s",
                event_id="e",
                type="t",
                occurred_at=datetime.now(UTC),
                data=1,
            )
            work.session.add(event)
            await work.session.flush()
            assert event.seq == 7
        await target.database.close()


@one_database
async def test_files_and_points_are_those_of_the_rows(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    document = await source.add("plum")
    manifest = await back_up(source, repository)
    assert verify(repository, repository.backup_ids()).findings == []
    target = await restored(repository, manifest)
    assert await target.text(document.storage_key) == "plum"
    assert await target.weights(document.id) == [1.0, 1.0, 1.0]
    with pytest.raises(BackupError) as caught:
        await require_empty_database(target.database)
    assert caught.value.fault is BackupFault.DATABASE_NOT_EMPTY
    with pytest.raises(BackupError) as caught:
        await require_empty_files(target.files)
    assert caught.value.fault is BackupFault.FILES_NOT_EMPTY
    with pytest.raises(BackupError) as caught:
        await require_empty_points({DEFAULT.name: target.shard})
    assert caught.value.fault is BackupFault.VECTORS_NOT_EMPTY


@one_database
async def test_second_backup_reads_only_what_is_new(source: Installation, repository: BackupRepository):
    await source.add("plum " * 10_000)
    await back_up(source, repository)
    before = repository.added_bytes
    read: list[str] = []
    source.files.before_reading = lambda: asyncio.sleep(0, read.append("plum"))
    await back_up(source, repository)
    assert read == []
    await source.add("pear")
    manifest = await back_up(source, repository)
    assert manifest.counts.documents == 2
    assert repository.added_bytes - before < before


@one_database
async def test_document_that_is_deleted_meanwhile_is_left_out(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    first, second = await source.add("plum"), await source.add("pear")

    async def erase() -> None:
        async with unit_of_work(source.database) as work:
            for row in (first, second):
                await work.session.exec(delete(Chunk).where(col(Chunk.document_id) == row.id))
                await work.session.exec(delete(Document).where(col(Document.id) == row.id))
        for row in (first, second):
            await source.files.delete(row.storage_key)

    source.files.before_reading = erase
    manifest = await back_up(source, repository)
    assert (manifest.counts.documents, manifest.counts.files) == (0, 0)
    target = await restored(repository, manifest)
    assert await target.files.keys() == []


@one_database
async def test_document_that_is_replaced_meanwhile_has_its_new_file(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    document, new_key = await source.add("plum"), new_id()

    async def replace() -> None:
        await source.write(new_key, "quince")
        async with unit_of_work(source.database) as work:
            await work.session.exec(update(Document).where(col(Document.id) == document.id).values(storage_key=new_key))
        await source.files.delete(document.storage_key)

    source.files.before_reading = replace
    target = await restored(repository, await back_up(source, repository))
    assert await target.text(new_key) == "quince"


@one_database
async def test_passage_that_is_edited_meanwhile_has_the_points_of_its_text(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    await source.add("plum")
    late: list[Document] = []

    async def edit() -> None:
        async with unit_of_work(source.database) as work:
            edited = update(Chunk).where(col(Chunk.document_id) == late[0].id)
            await work.session.exec(edited.values(content="fig", version=2))
        await source.write_points(late[0], 3, weight=2.0)

    async def add() -> None:
        late.append(await source.add("pear"))
        # After the snapshot that shows the document, before its points are read.
        source.shard.before_reading = edit

    source.files.before_reading = add
    target = await restored(repository, await back_up(source, repository))
    async with target.database.reading() as session:
        contents = set(await session.exec(select(Chunk.content).where(col(Chunk.document_id) == late[0].id)))
    assert contents == {"fig"}
    assert await target.weights(late[0].id) == [2.0, 2.0, 2.0]


@one_database
async def test_document_with_incomplete_points_is_indexed_again_after_a_restore(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    whole, partial = await source.add("plum"), await source.add("pear", points=1)
    manifest = await back_up(source, repository)
    assert manifest.unindexed == (partial.id,)
    target = await restored(repository, manifest)
    async with target.database.reading() as session:
        rows = {row.id: row for row in await session.exec(select(Document))}
    assert rows[whole.id].status == DocumentStatus.COMPLETED
    assert (rows[partial.id].status, rows[partial.id].revision) == (DocumentStatus.PENDING, 2)


@one_database
async def test_missing_file_is_no_backup(
    source: Installation, repository: BackupRepository, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("kb_service.backup.create._PAUSE_SECONDS", 0)
    document = await source.add("plum")
    await source.files.delete(document.storage_key)
    with pytest.raises(BackupError) as caught:
        await back_up(source, repository)
    assert caught.value.fault is BackupFault.NEVER_QUIET
    assert repository.backup_ids() == []


def without_columns(repository: BackupRepository, stream: RowStream, names: frozenset[str]) -> RowStream:
    """A table as it was before some columns came."""
    kept = [place for place, column in enumerate(stream.columns) if column.name not in names]
    writer = RowWriter(repository, [stream.columns[place] for place in kept], [0])
    with repository.writing():
        for rows in read_rows(repository, stream):
            writer.add([[row[place] for place in kept] for row in rows])
        return writer.finish()


@one_database
async def test_backup_of_an_earlier_schema_is_migrated_and_a_later_one_refused(
    source: Installation, repository: BackupRepository, restored: Callable[..., Any]
):
    await source.add("plum")
    manifest = await back_up(source, repository)
    # The rules' tables came with 0031 and 0032.
    new = {
        name for name in manifest.tables if name.startswith(("rule", "event_", "accepted_", "seen_", "notification"))
    }
    tables = {
        name: without_columns(repository, stream, LATER_COLUMNS.get(name, frozenset()))
        for name, stream in manifest.tables.items()
        if name not in new
    }
    earlier = manifest.model_copy(update={"tables": tables, "counters": {}, "schema_revision": "0030"})
    target = await restored(repository, earlier)
    async with target.database.reading() as session:
        version = (
            await (await session.connection()).execute(text("SELECT version_num FROM alembic_version"))
        ).scalar_one()
        assert version == revisions()[-1]
        assert len((await session.exec(select(Document))).all()) == 1
    later = manifest.model_copy(update={"schema_revision": "9999"})
    with pytest.raises(BackupError) as caught:
        require_readable(later, revisions(), {DEFAULT.name: 384})
    assert caught.value.fault is BackupFault.NEWER_SCHEMA
    with pytest.raises(BackupError) as caught:
        require_readable(manifest, revisions(), {})
    assert caught.value.fault is BackupFault.MODEL_NOT_SERVED


@one_database
async def test_restore_that_fails_leaves_no_rows(source: Installation, repository: BackupRepository, tmp_path: Path):
    await source.add("plum")
    manifest = await back_up(source, repository)
    blob = manifest.tables["document"].blobs[0]
    (repository.root / "blobs" / blob.id[:2] / blob.id).unlink()
    target = Installation(tmp_path / "target", Database(f"sqlite+aiosqlite:///{tmp_path / 'target.db'}"))
    with pytest.raises(BackupError) as caught:
        await BackupRestorer(repository, manifest, target.target).restore()
    assert caught.value.fault is BackupFault.BLOB_MISSING
    await require_empty_database(target.database)
    await target.database.close()
    await target.shard.close()


async def test_snapshot_shows_one_state_and_holds_no_writer(source: Installation):
    async with source.database.snapshot() as connection:
        count = text("SELECT count(*) FROM document")
        assert (await connection.execute(count)).scalar_one() == 0
        await source.add("plum")
        assert (await connection.execute(count)).scalar_one() == 0
    async with source.database.snapshot() as connection:
        assert (await connection.execute(count)).scalar_one() == 1
