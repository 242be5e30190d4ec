"""Knowledge bases that are kept in step with the rows of a query of a PostgreSQL database."""

# asyncpg carries no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import asyncio
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.external_services import Postgres
from tests.fixtures.servers.postgres_server import postgres_server

ANIMALS = "SELECT id, name, food, legs FROM animal"
TABLE = """
CREATE TABLE animal (id text, name text, food text, legs int, picture bytea, changed_at timestamptz DEFAULT now());
INSERT INTO animal VALUES
    ('otter', 'The otter', 'The otter eats crayfish.', 4),
    ('heron', 'The heron', 'The heron eats frogs.', 2),
    ('badger', 'The badger', E'The badger eats worms.\n\nAlso | roots.', 4);
"""


@dataclass
class Zoo:
    """A database with animals, and a user who may read them."""

    url: str
    user: str
    password: str
    owner_url: str

    @property
    def credentials(self) -> dict[str, str]:
        return {"username": self.user, "password": self.password}

    def run(self, statement: str) -> None:
        """Run SQL as the owner of the database."""

        async def run() -> None:
            connection = await asyncpg.connect(self.owner_url)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(run())


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def zoo(embedded: Server, find_postgres: Callable[[], Postgres]) -> Iterator[Zoo]:
    postgres = find_postgres()
    owner_url = postgres.create()
    parts, user = urlsplit(owner_url), f"reader_{secrets.token_hex(4)}"
    url = f"postgresql://127.0.0.1:{parts.port}{parts.path}"
    zoo = Zoo(url, user, f"Canary-{secrets.token_hex(8)}", owner_url)
    zoo.run(f"{TABLE} CREATE ROLE {user} LOGIN PASSWORD '{zoo.password}'; GRANT SELECT ON animal TO {user}")
    with allowed_targets(embedded, parts.port or 5432):
        yield zoo
    postgres.drop(owner_url)
    asyncio.run(_drop_user(postgres.url, user))


async def _drop_user(url: str, user: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"DROP ROLE {user}")
    await connection.close()


def make_source(writer: Api, zoo: Zoo, **settings: Any) -> Source:
    place = {"url": zoo.url, "tls": "off", "query": ANIMALS, "key_columns": ["id"], "title_column": "name", **settings}
    return Source(writer, writer.create_kb(), "sql", place, credentials=zoo.credentials)


def test_knowledge_base_equals_the_rows_after_each_change(writer: Api, zoo: Zoo):
    source = make_source(writer, zoo, content_columns=["food"], attribute_columns=["legs"])
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 3}), sync
    assert source.contents() == {
        "The otter.md": "# The otter\n\nThe otter eats crayfish.\n",
        "The heron.md": "# The heron\n\nThe heron eats frogs.\n",
        "The badger.md": "# The badger\n\nThe badger eats worms.\n\nAlso | roots.\n",
    }
    first = source.documents()
    assert first["The heron.md"]["metadata"] == {"legs": "2"}
    assert source.sync()["counts"] == {"unchanged": 3}
    assert {name: row["revision"] for name, row in source.documents().items()} == dict.fromkeys(first, 1)

    zoo.run("UPDATE animal SET food = 'The otter eats eels now.', legs = 5 WHERE id = 'otter'")
    zoo.run("DELETE FROM animal WHERE id = 'badger'; UPDATE animal SET id = 'bird' WHERE id = 'heron'")
    zoo.run("INSERT INTO animal VALUES ('marten', 'The marten', 'The marten eats berries.', 4)")
    assert source.sync(preview=True)["counts"] == {"updated": 1, "created": 2, "deleted": 2}
    assert source.sync()["counts"] == {"updated": 1, "created": 1, "renamed": 1, "deleted": 1}
    after = source.documents()
    assert after["The heron.md"]["id"] == first["The heron.md"]["id"]
    assert (after["The otter.md"]["revision"], after["The otter.md"]["metadata"]) == (2, {"legs": "5"})
    assert set(after) == {"The otter.md", "The heron.md", "The marten.md"}

    zoo.run("UPDATE animal SET legs = 6 WHERE id = 'marten'")
    assert source.sync()["counts"] == {"unchanged": 3}
    assert source.documents()["The marten.md"]["metadata"] == {"legs": "6"}
    zoo.run("DROP TABLE animal")
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "no_table")
    assert set(source.contents()) == set(after)


def test_rows_become_documents_as_the_settings_say(writer: Api, zoo: Zoo):
    fields = make_source(writer, zoo)
    fields.wait()
    badger = "# The badger\n\n| | |\n| --- | --- |\n| id | badger |\n| legs | 4 |\n\n## food\n\nThe badger eats worms."
    assert fields.contents()["The badger.md"].startswith(badger)
    template = make_source(writer, zoo, template="{{{id}}}: {food} ({legs} legs)", format="text", title_column="")
    template.wait()
    assert template.contents()["otter.txt"] == "{otter}: The otter eats crayfish. (4 legs)"
    zoo.run("UPDATE animal SET food = '<p>Fish &amp; <b>chips</b>.</p>', name = 'a/../<b>' WHERE id = 'otter'")
    page = make_source(writer, zoo, content_columns=["food"], format="html")
    page.wait()
    text = page.contents()["a-..-<b>.html"]
    assert "<h1>a/../&lt;b&gt;</h1>\n\n<p>Fish &amp; <b>chips</b>.</p>" in text

    # A row is read again when the column says so, and not otherwise.
    source = make_source(
        writer, zoo, query="SELECT id, food, changed_at FROM animal", title_column="", fingerprint_column="changed_at"
    )
    source.wait()
    zoo.run("UPDATE animal SET food = 'The heron eats mice.' WHERE id = 'heron'")
    assert source.sync()["counts"] == {"unchanged": 3}
    zoo.run("UPDATE animal SET changed_at = changed_at + interval '1 second' WHERE id = 'heron'")
    assert source.sync()["counts"] == {"unchanged": 2, "updated": 1}
    assert "mice" in source.contents()["heron.md"]


def test_failures_say_what_to_do_and_delete_nothing(embedded: Server, writer: Api, zoo: Zoo):
    source = make_source(writer, zoo)
    assert source.wait()["counts"] == {"created": 3}

    def reason(**settings: Any) -> str:
        before = dict(source.body["settings"])
        source.update(**settings)
        sync = source.sync()
        source.body["settings"] = before
        failure = sync["failure"]
        assert sync["status"] == "failed", sync
        assert failure["next_action"], failure
        assert failure["next_action_zh"], failure
        assert zoo.password not in str(sync)
        return failure["reason"]

    assert reason(query="SELECT id, name FROM animals") == "no_table"
    assert reason(query="SELECT id, nombre FROM animal") == "no_column"
    assert reason(query="SELECT id, name FROM animal; DROP TABLE animal") == "several_statements"
    assert reason(query="WITH gone AS (DELETE FROM animal RETURNING *) SELECT * FROM gone") == "wrong_query"
    erase = "CREATE FUNCTION erase() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'DELETE FROM animal RETURNING 1'"
    zoo.run(erase)
    assert reason(query="SELECT erase()::text AS id, 'a' AS name") == "writes"
    assert reason(query="SELECT id, name, pg_sleep(60)::text FROM animal", timeout_seconds=1) == "query_timeout"
    assert (
        reason(query="SELECT id, name, set_config('statement_timeout', '0', false), 1/0 AS n FROM animal") == "refused"
    )
    assert reason(query="SELECT id, name, rolpassword FROM animal, pg_authid") == "access_denied"
    assert reason(query="SELECT id, name, food, name FROM animal") == "repeated_column"
    assert reason(query="SELECT NULL AS id, name FROM animal") == "empty_key"
    assert reason(query="SELECT repeat('a', 600) AS id, name FROM animal") == "long_key"
    assert (
        reason(query="SELECT 1 AS id, 'a' AS name FROM generate_series(1, 20001)", key_columns=["id"]) == "repeated_key"
    )
    assert reason(query="SELECT n AS id, 'a' AS name FROM generate_series(1, 20001) AS n") == "too_many_items"
    assert reason(title_column="titel") == "missing_column"
    assert reason(template="{food} {nobody}") == "missing_column"
    assert reason(query="SELECT id, name, picture FROM animal", content_columns=["picture"]) == "binary_column"
    assert reason(url=zoo.url + "x") == "no_database"
    assert reason(tls="encrypt") == "no_tls"
    assert len(source.contents()) == 3
    zoo.run(f"ALTER ROLE {zoo.user} NOLOGIN")
    assert reason() == "wrong_credentials"
    assert len(source.contents()) == 3
    logs = "".join(path.read_text(errors="replace") for path in embedded.log_files)
    assert zoo.password not in logs + str(writer.get(source.path))


def test_password_and_certificate_are_checked(embedded: Server, writer: Api, tmp_path: Path):
    with postgres_server(tmp_path) as server, allowed_targets(embedded, server.port):
        zoo = Zoo(f"postgresql://localhost:{server.port}/postgres", "postgres", server.password, server.owner_url)
        zoo.run(TABLE)
        source = make_source(writer, zoo, tls="verify", ca_certificate=server.certificate)
        assert source.wait()["counts"] == {"created": 3}

        def reason(credentials: dict[str, str] | None, **settings: str) -> str:
            source.body["credentials"] = credentials
            source.update(**settings)
            failure = source.sync()["failure"]
            return failure["reason"] if failure else "none"

        other = f"postgresql://127.0.0.1:{server.port}/postgres"
        assert reason(zoo.credentials, ca_certificate="") == "untrusted_certificate"
        # The address is the same, but the certificate is for the name.
        assert reason(zoo.credentials, ca_certificate=server.certificate, url=other) == "untrusted_certificate"
        assert reason(zoo.credentials, ca_certificate="", tls="encrypt") == "none"
        assert reason({"username": "postgres", "password": "wrong"}) == "wrong_credentials"
        assert reason({"username": "postgres"}) == "wrong_credentials"
        assert reason(None) == "no_credentials"
        source.body["credentials"] = zoo.credentials
        source.update()
        del source.body["credentials"]
        source.body["settings"]["tls"] = "off"
        writer.refused(InvalidRequest, "PUT", source.path, json=source.body)
        assert len(source.contents()) == 3


def test_rows_that_are_too_large_fail_alone(writer: Api, zoo: Zoo):
    zoo.run("INSERT INTO animal VALUES ('../../etc/passwd', '../../etc/passwd', 'A key with dots', 0)")
    zoo.run("INSERT INTO animal VALUES ('whale', 'The whale', repeat('a', 100 * 1024 * 1024), 0)")
    source = make_source(writer, zoo)
    assert source.wait()["counts"] == {"created": 4, "failed": 1}
    assert source.failures() == {"whale": "too_large"}
    assert set(source.contents()) == {"The otter.md", "The heron.md", "The badger.md", "-..-etc-passwd.md"}
    # Rows that are too many together end it: the cache of this server's sources takes 4 MiB.
    source.update(
        query="SELECT n AS id, 'a' AS name, repeat('b', 1000000) AS food, 1 AS legs FROM generate_series(1, 9) AS n"
    )
    assert source.sync()["failure"]["reason"] == "too_much_data"


def test_settings_of_queries_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"
    good = {"url": "postgresql://example.org/zoo", "query": ANIMALS, "key_columns": ["id"]}

    def refusal(kind: type[AgentexError], credentials: dict[str, str] | None = None, **settings: Any) -> Any:
        body = {"name": "wrong", "connector": "sql", "settings": good | settings, "credentials": credentials}
        return writer.refused(kind, "POST", path, json=body)

    for query in ("DROP TABLE animal", "-- SELECT\nINSERT INTO animal", "COMMIT", "EXPLAIN ANALYZE SELECT 1", ";"):
        assert refusal(InvalidRequest, query=query)["field"] == "settings.query"
    for url in (
        "postgresql://example.org",
        "postgresql://example.org/zoo?host=10.0.0.1",
        "postgresql://example.org/a/b",
    ):
        assert refusal(InvalidRequest, url=url)["field"] == "settings.url"
    assert refusal(InvalidRequest, key_columns=[])["field"] == "settings.key_columns"
    assert refusal(InvalidRequest, ca_certificate="none")["field"] == "settings.ca_certificate"
    assert refusal(InvalidRequest, {"password": "x"})["field"] == "credentials.username"
    for url in ("postgresql://a:b@example.org/zoo", "postgresql://127.0.0.1:9999/zoo", "oracle://example.org/zoo"):
        refusal(UrlNotAllowed, url=url)
