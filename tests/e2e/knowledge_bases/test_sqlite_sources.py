"""Knowledge bases that are kept in step with the rows of a query of an SQLite file."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import PermissionDenied
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, unique
from tests.fixtures.knowledge.knowledge_sources import Source
from tests.fixtures.product.server import Server

NOTES = {"query": "SELECT id, title, body FROM note", "key_columns": ["id"], "title_column": "title"}


@pytest.fixture
def admin(embedded: Server) -> Api:
    return embedded.admin()


@pytest.fixture
def file(embedded: Server) -> Path:
    folder = embedded.settings.source_folders[0] / unique("data")
    folder.mkdir(parents=True)
    path = folder / "notes.db"
    execute(path, "CREATE TABLE note (id INTEGER PRIMARY KEY, title, body); PRAGMA journal_mode = WAL")
    execute(path, "INSERT INTO note VALUES (1, 'Otter', 'It eats crayfish.'), (2, 'Heron', 'It eats frogs.')")
    return path


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def test_rows_of_a_file_are_followed(admin: Api, file: Path):
    source = Source(admin, admin.create_kb(), "sqlite", {"path": str(file), "content_columns": ["body"], **NOTES})
    assert source.wait()["counts"] == {"created": 2}
    assert source.contents()["Otter.md"] == "# Otter\n\nIt eats crayfish.\n"
    execute(file, "UPDATE note SET body = 'It eats eels.' WHERE id = 1; INSERT INTO note VALUES (3, 'Lynx', x'ff00')")
    execute(file, "INSERT INTO note VALUES (4, 'Whale', hex(zeroblob(3000000)))")
    assert source.sync()["counts"] == {"unchanged": 1, "updated": 1, "created": 1, "failed": 1}
    assert source.failures() == {"4": "too_large"}
    assert source.contents()["Lynx.md"] == "# Lynx\n\n��\n"

    def reason(**settings: Any) -> str:
        source.update(**settings)
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]["reason"]

    assert reason(query="SELECT id, title, body FROM notes") == "no_table"
    assert reason(query="SELECT id, title, text AS body FROM note") == "no_column"
    assert reason(query="SELECT id, title, body FROM note; DROP TABLE note") == "several_statements"
    assert reason(query="SELECT seq AS id, name AS title, file AS body FROM pragma_database_list") == "writes"
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
    assert (
        reason(query=f"{endless} SELECT max(id) AS id, '' AS title, '' AS body FROM n", timeout_seconds=1)
        == "query_timeout"
    )
    unbounded = f"{endless} SELECT id, '' AS title, '' AS body FROM n"
    assert reason(query=unbounded, timeout_seconds=300) == "too_many_items"
    source.update(**NOTES)
    file.with_name("notes.db-wal").unlink(missing_ok=True)
    file.write_bytes(b"no database at all")
    assert reason() == "no_sqlite"
    file.rename(file.with_name("away.db"))
    assert source.sync()["failure"]["reason"] == "unreadable"
    assert len(source.contents()) == 3


def test_only_files_in_allowed_folders_are_read_and_only_by_administrators(embedded: Server, admin: Api, file: Path):
    def body(path: Path | str) -> dict[str, Any]:
        return {"name": unique("wrong"), "connector": "sqlite", "settings": {"path": str(path), **NOTES}}

    writer = embedded.person()
    own = f"/knowledge-bases/{writer.create_kb()}/sources"
    writer.refused(PermissionDenied, "POST", own, json=body(file))
    path = f"/knowledge-bases/{admin.create_kb()}/sources"
    (file.parent / "link.db").symlink_to(file)
    (file.parent / "folder-link").symlink_to(file.parent)
    own_data = embedded.settings.data_dir / "agentex.db"
    outside = file.parent / ".." / ".." / ".." / "data" / "agentex.db"
    links = (file.parent / "link.db", file.parent / "folder-link" / "notes.db")
    for wrong in (own_data, outside, *links, file.parent, file.parent / "none.db", "/etc/passwd"):
        assert admin.refused(InvalidRequest, "POST", path, json=body(wrong))["field"] == "settings.path"
