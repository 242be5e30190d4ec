"""Knowledge bases that are kept in step with the rows of a query of a MariaDB server, as of a MySQL one."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.mariadb_server import MariaDbServer, mariadb_server

ANIMALS = "SELECT id, name, food, legs FROM animal"
TABLE = (
    "DROP TABLE IF EXISTS animal",
    "CREATE TABLE animal (id VARCHAR(50), name TEXT, food LONGTEXT, legs INT, picture BLOB, "
    "changed_at TIMESTAMP DEFAULT '2026-01-02 03:04:05')",
    "INSERT INTO animal (id, name, food, legs) VALUES ('otter', 'The otter', 'The otter eats crayfish.', 4), "
    "('heron', 'The heron', 'The heron eats frogs.', 2), "
    "('badger', 'The badger', 'The badger eats worms.\\n\\nAlso | roots.', 4)",
)


@dataclass
class Zoo:
    """A database with animals, and a user who may read them."""

    server: MariaDbServer
    user: str
    password: str

    @property
    def credentials(self) -> dict[str, str]:
        return {"username": self.user, "password": self.password}

    def run(self, *statements: str) -> None:
        self.server.run(*statements)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDbServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture
def zoo(embedded: Server, mariadb: MariaDbServer) -> Iterator[Zoo]:
    # With letters that Latin-1 does not have.
    zoo = Zoo(mariadb, f"reader_{secrets.token_hex(4)}", f"Canary-密-{secrets.token_hex(8)}")
    zoo.run(*TABLE, f"CREATE USER {zoo.user} IDENTIFIED BY '{zoo.password}'", f"GRANT SELECT ON zoo.* TO {zoo.user}")
    with allowed_targets(embedded, mariadb.port):
        yield zoo
    zoo.run(f"DROP USER {zoo.user}")


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


def make_source(writer: Api, zoo: Zoo, **settings: Any) -> Source:
    place = {"url": zoo.server.url, "tls": "off", "query": ANIMALS, "key_columns": ["id"], "title_column": "name"}
    return Source(writer, writer.create_kb(), "sql", {**place, **settings}, credentials=zoo.credentials)


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

    zoo.run("UPDATE animal SET food = 'The otter eats eels now. 密', legs = 5 WHERE id = 'otter'")
    zoo.run("DELETE FROM animal WHERE id = 'badger'", "UPDATE animal SET id = 'bird' WHERE id = 'heron'")
    zoo.run("INSERT INTO animal (id, name, food) VALUES ('marten', 'The marten', 'The marten eats berries.')")
    assert source.sync()["counts"] == {"updated": 1, "created": 1, "renamed": 1, "deleted": 1}
    after = source.documents()
    assert after["The heron.md"]["id"] == first["The heron.md"]["id"]
    assert (after["The otter.md"]["revision"], after["The otter.md"]["metadata"]) == (2, {"legs": "5"})
    assert source.contents()["The otter.md"].endswith("密\n")

    zoo.run("DROP TABLE animal")
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "no_table")
    assert set(source.contents()) == set(after)


def test_values_of_all_types_are_texts_as_the_database_writes_them(writer: Api, zoo: Zoo):
    zoo.run(
        "SET sql_mode = ''",
        "ALTER TABLE animal ADD price DECIMAL(10,2), ADD born DATETIME(3), ADD died DATE, ADD facts JSON, "
        "ADD flags BIT(10), ADD tag UUID, ADD diet SET('fish','frogs'), ADD old VARCHAR(20) CHARACTER SET latin1, "
        "ADD chip BIGINT UNSIGNED, ADD code VARBINARY(4)",
        "UPDATE animal SET price = 12.5, born = '2026-01-02 03:04:05.678', died = '0000-00-00', "
        "facts = '{\"a\": \"ü\"}', flags = b'1010000001', tag = '123e4567-e89b-12d3-a456-426655440000', "
        "diet = 'fish,frogs', old = 'Grüße', chip = 18446744073709551615, code = x'00ff' WHERE id = 'otter'",
        "INSERT INTO animal (id, name, food) VALUES ('whale', 'The whale', repeat('a', 9 * 1024 * 1024))",
    )
    # The server's own zone does not matter, nor how little it takes at once.
    zoo.run("SET GLOBAL time_zone = '+05:00'", "SET GLOBAL max_allowed_packet = 1048576")
    source = make_source(writer, zoo, query="SELECT * FROM animal", format="text", title_column="")
    assert source.wait()["counts"] == {"created": 3, "failed": 1}
    zoo.run("SET GLOBAL time_zone = SYSTEM", "SET GLOBAL max_allowed_packet = 16777216")
    assert source.failures() == {"whale": "too_large"}
    rows = dict(line.split(": ", 1) for line in source.contents()["otter.txt"].splitlines() if ": " in line)
    expected = {
        "price": "12.50",
        "born": "2026-01-02 03:04:05.678",
        "died": "0000-00-00",
        "facts": '{"a": "ü"}',
        "flags": "641",
        "tag": "123e4567-e89b-12d3-a456-426655440000",
        "diet": "fish,frogs",
        "old": "Grüße",
        "chip": "18446744073709551615",
    }
    assert expected.items() <= rows.items()
    assert not {"picture", "code"} & rows.keys()
    assert source.sync()["counts"] == {"unchanged": 3, "failed": 1}


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

    assert reason(query="SELECT id, nombre FROM animal") == "no_column"
    assert reason(query="SELECT id, name FROM animal; DROP TABLE animal") == "several_statements"
    assert reason(query="WITH gone AS (DELETE FROM animal RETURNING *) SELECT * FROM gone") == "wrong_query"
    zoo.run(
        "CREATE OR REPLACE FUNCTION erase() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM animal; RETURN 1; END",
        f"GRANT EXECUTE ON FUNCTION erase TO {zoo.user}",
    )
    assert reason(query="SELECT erase() AS id, 'a' AS name FROM animal") == "writes"
    assert reason(query="SELECT id, name, sleep(60) FROM animal", timeout_seconds=1) == "query_timeout"
    assert reason(query="SELECT id, name FROM animal, mysql.global_priv") == "access_denied"
    assert reason(query="SELECT id, name, food, name FROM animal") == "repeated_column"
    assert reason(query="SELECT seq AS id, 'a' AS name FROM seq_1_to_20001") == "too_many_items"
    assert reason(query="SELECT id, name, picture FROM animal", content_columns=["picture"]) == "binary_column"
    assert reason(query="SELECT seq AS id, 'a' AS name, repeat('b', 1000000) FROM seq_1_to_9") == "too_much_data"
    assert reason(url=f"{zoo.server.url}x") == "no_database"
    assert len(source.contents()) == 3

    # Revoked, and away.
    zoo.run(f"ALTER USER {zoo.user} ACCOUNT LOCK")
    assert reason() == "wrong_credentials"
    zoo.run(f"ALTER USER {zoo.user} ACCOUNT UNLOCK")
    assert source.sync()["status"] == "completed"
    zoo.run(f"ALTER USER {zoo.user} IDENTIFIED BY 'another'")
    assert reason() == "wrong_credentials"
    with allowed_targets(embedded, 9):
        source.body["settings"]["url"] = "mysql://127.0.0.1:9/zoo"
        source.update()
        assert source.sync()["failure"]["reason"] == "no_answer"
    assert len(source.contents()) == 3
    logs = "".join(path.read_text(errors="replace") for path in embedded.log_files)
    assert zoo.password not in logs + str(writer.get(source.path))


def test_certificate_is_checked_before_the_password_is_sent(writer: Api, zoo: Zoo):
    url = f"mariadb://127.0.0.1:{zoo.server.port}/zoo"
    source = make_source(writer, zoo, url=url, tls="verify", ca_certificate=zoo.server.certificate)
    # The certificate is for localhost.
    assert source.wait()["failure"]["reason"] == "untrusted_certificate"
    source.update(url=url.replace("127.0.0.1", "localhost"))
    assert source.sync()["counts"] == {"created": 3}
    source.update(ca_certificate="")
    assert source.sync()["failure"]["reason"] == "untrusted_certificate"
    source.update(tls="encrypt")
    assert source.sync()["counts"] == {"unchanged": 3}
    # What was given for MariaDB is sent to no other server.
    del source.body["credentials"]
    source.body["settings"]["url"] = source.body["settings"]["url"].replace("mariadb", "postgresql")
    assert writer.refused(InvalidRequest, "PUT", source.path, json=source.body)["field"] == "credentials"


def test_settings_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"
    good = {"url": "mysql://example.org/zoo", "query": ANIMALS, "key_columns": ["id"]}

    def refusal(kind: Any, **settings: Any) -> Any:
        body = {"name": "wrong", "connector": "sql", "settings": good | settings}
        return writer.refused(kind, "POST", path, json=body)

    assert refusal(InvalidRequest, query="# a note\nDELETE FROM animal")["field"] == "settings.query"
    for url in ("mysql://example.org", "mysql://example.org/zoo?unix_socket=/tmp/x", "mariadb://example.org/a/b"):
        assert "mysql://host:3306/database" in refusal(InvalidRequest, url=url)["error"]
    for url in (
        "mysql://a:b@example.org/zoo",
        "mysql://127.0.0.1/zoo",
        "mssql://example.org/zoo",
        "mysql://",
    ):
        refusal(UrlNotAllowed, url=url)
