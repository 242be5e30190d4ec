"""Migrations: from nothing to the newest version, once, with the tables that the code has."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import select

from core.db.database import Database
from migrations.apply import _config, main, migrate
from migrations.level import revisions, schema_revision
from migrations.tables import all_tables
from skills.models import SkillVersion
from tests.fixtures.database.rows import add_document
from tests.fixtures.paths import ROOT

pytestmark = pytest.mark.anyio
LONG_AGO = datetime(2026, 1, 2, tzinfo=UTC)


def tables_of(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def test_empty_database_gets_every_table(empty_database_url: str):
    database = Database(empty_database_url)
    try:
        await migrate(database)
        async with database.engine.connect() as connection:
            tables = await connection.run_sync(tables_of)
        assert tables == {*all_tables().tables, "alembic_version"}
        await migrate(database)
    finally:
        await database.close()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_level_is_told_only_by_a_database_that_lets_one_look(empty_database_url: str):
    database = Database(empty_database_url)
    try:
        assert await schema_revision(database) is None
        async with database.writing() as session:
            await (await session.connection()).execute(text("CREATE TABLE alembic_version (id INT)"))
        with pytest.raises(DBAPIError):
            await schema_revision(database)
        async with database.writing() as session:
            await (await session.connection()).execute(text("DROP TABLE alembic_version"))
        await migrate(database)
        assert await schema_revision(database) == revisions()[-1]
    finally:
        await database.close()


async def test_migrated_tables_are_those_of_the_code(database: Database):
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, all_tables())

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_processes_that_start_at_once_migrate_once(empty_database_url: str):
    code = (
        "import asyncio, sys\n"
        "from core.db.database import Database\n"
        "from migrations.apply import migrate\n"
        "async def run():\n"
        "    database = Database(sys.argv[1])\n"
        "    await migrate(database)\n"
        "    await database.close()\n"
        "asyncio.run(run())\n"
    )
    started = [sys.executable, "-c", code, empty_database_url]
    processes = [await asyncio.create_subprocess_exec(*started, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, errors.decode()
    database = Database(empty_database_url)
    try:
        async with database.engine.connect() as connection:
            rows = await connection.execute(text("SELECT count(*) FROM alembic_version"))
            assert rows.scalar_one() == 1
    finally:
        await database.close()


async def test_failing_migration_leaves_the_database_as_it_was(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
):
    async def broken(_connection: object) -> None:
        raise RuntimeError("the last step fails")

    database = Database(empty_database_url)
    try:
        async with database.engine.begin() as connection:
            await connection.execute(text("CREATE TABLE role (id INTEGER)"))
        with pytest.raises(Exception, match="role"):
            await migrate(database)
        async with database.engine.connect() as connection:
            assert await connection.run_sync(tables_of) <= {"role", "alembic_version"}
    finally:
        await database.close()


async def test_keys_of_names_that_look_alike_are_made_anew(empty_database_url: str):
    database = Database(empty_database_url)
    names = {"рома": "рома", "anna": "anna", "аррӏе": "аррӏе", "apple": "apple"}
    try:
        async with database.engine.begin() as connection:
            await connection.run_sync(lambda sync: command.upgrade(_config(sync), "0018"))
            await connection.execute(
                text("INSERT INTO role (id, name, display_name, permissions, built_in)"
                     " VALUES ('r', 'user', 'x', '[]', true)")
            )  # fmt: skip
            for name in names:
                await connection.execute(
                    text('INSERT INTO "user" (id, username, username_key, email, email_key,'
                         " password_hash, role_id, status, granted, revoked, use_memories,"
                         " remember_after_runs, created_at) VALUES (:name, :name, :name, :name,"
                         " :name, '', 'r', 'active', '[]', '[]', true, false, CURRENT_TIMESTAMP)"),
                    {"name": name},
                )  # fmt: skip
        await migrate(database)
        async with database.engine.connect() as connection:
            rows = await connection.execute(text('SELECT username, username_key FROM "user"'))
            keys = {row.username: row.username_key for row in rows}
    finally:
        await database.close()
    # Of two that look alike already, both stay as they are.
    assert keys == names | {"рома": "poma"}


async def insert(connection: AsyncConnection, table: str, /, **row: object) -> None:
    """A row as an older version of the tables has it."""
    values = ", ".join(f":{name}" for name in row)
    await connection.execute(text(f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({values})'), row)


async def add_owner_of_before(connection: AsyncConnection) -> None:
    await insert(connection, "role", id="r", name="user", display_name="x", permissions="[]", built_in=True)
    names = dict.fromkeys(("id", "username", "username_key", "email", "email_key"), "u")
    rights = {"role_id": "r", "status": "active", "granted": "[]", "revoked": "[]"}
    memories = {"use_memories": True, "remember_after_runs": False}
    moment = {"created_at": LONG_AGO}
    await insert(connection, "user", **names, password_hash="", **rights, **memories, **moment)


async def add_skill_of_before(connection: AsyncConnection, slug: str, *, trusted: bool) -> None:
    texts = dict.fromkeys(("name", "name_key", "description", "category", "category_key"), "")
    lists = {"tags": "[]", "own_fields": "[]"}
    flags = {"is_public": False, "enabled": True, "loads": True, "trusted": trusted}
    said = {"version": 2, "origin": "imported", "created_at": LONG_AGO, "updated_at": LONG_AGO}
    key = {"id": slug, "owner_id": "u", "slug": slug}
    await insert(connection, "skill", **key, **texts, **lists, **flags, **said)


async def add_version_of_before(connection: AsyncConnection, skill_id: str, **said: object) -> None:
    empty = ("content_sha256", "name", "description", "category", "change_note", "review_note")
    lists = dict.fromkeys(("files", "tags", "triggers", "not_for", "findings"), "[]")
    flags = dict.fromkeys(("valid", "publishable", "portable"), True)
    rest = {"size": 0, "parsed": "{}", "parser_version": "1", "created_at": LONG_AGO}
    texts = dict.fromkeys(empty, "")
    row = {"skill_id": skill_id, **texts, **lists, **flags, **rest, **said}
    await insert(connection, "skill_version", **row)


async def test_versions_of_skills_keep_their_meaning(empty_database_url: str):
    database = Database(empty_database_url)
    # Version, review, whether others were served it; the last skill alone is read.
    versions = {
        "brought": [(1, "none", False), (2, "rejected", False)],
        "again": [(1, "approved", False), (2, "none", False)],
        "open": [(1, "none", True), (2, "none", False)],
        "read": [(1, "none", True), (2, "pending", False)],
    }
    try:
        async with database.engine.begin() as connection:
            await connection.run_sync(lambda sync: command.upgrade(_config(sync), "0021"))
            await add_owner_of_before(connection)
            for slug, kept in versions.items():
                await add_skill_of_before(connection, slug, trusted=slug == "read")
                for number, review, served in kept:
                    said = {"version": number, "review": review}
                    said["published_at"] = LONG_AGO if served else None
                    await add_version_of_before(connection, slug, **said)
        await migrate(database)
        async with database.reading() as session:
            rows = (await session.exec(select(SkillVersion))).all()
        async with database.engine.begin() as connection:
            await connection.run_sync(lambda sync: command.downgrade(_config(sync), "0021"))
        await migrate(database)
    finally:
        await database.close()
    unread = {(row.skill_id, row.version) for row in rows if row.unread}
    assert unread == {("brought", 1), ("brought", 2), ("again", 2), ("open", 2)}
    public = {(row.skill_id, row.version) for row in rows if row.public_at == row.published_at}
    assert len(public) == len(rows)
    assert sum(row.public_at is not None for row in rows) == 2


async def test_restricted_documents_are_not_opened_by_going_back(database: Database):
    await add_document(database, restricted=True)
    async with database.engine.begin() as connection:
        with pytest.raises(RuntimeError, match="restricted"):
            await connection.run_sync(lambda sync: command.downgrade(_config(sync), "0017"))


def test_command_tells_drift_from_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["apply", "--check"])
    assert main() == 0
