"""The single checks of the doctor: database, queue, keys, addresses, clocks, models, connections."""

import base64
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.commands.doctor import security
from cli.commands.doctor.backends import BackendReport, BackendReports, check_kept_parts
from cli.commands.doctor.local import CheckResult, CheckVerdict, check_conversion, check_unstructured
from cli.commands.doctor.probe_backends import _database, _issuer
from cli.commands.doctor.security import check_clock, check_exposure, check_secret_key, check_transport
from cli.ui.i18n.common import Language
from cli.ui.i18n.doctor import MADE_AT_START
from cli.ui.output import Output
from core.settings import Settings, get_settings
from ingestion.parsers.unstructured import installation
from tests.cli.conftest import Agentex
from tests.fixtures.product.processes import free_port
from tests.fixtures.servers.contract_server import Contract
from tests.fixtures.servers.parser_services import parsing_services

OUTPUT = Output(json_only=True, language=Language.EN)
SECRET = "hunter2-never-shown"
NEW_PARTS = {name: {"state": "new"} for name in ("database", "redis", "vectors", "issuer")}


def findings(said) -> dict[str, dict]:
    return {check["name"]: check for check in said.json["checks"]}


def settings(tmp_path: Path, **fields) -> Settings:
    return Settings(_env_file=None, data_dir=tmp_path, **fields)


def outcome_of(check: CheckResult) -> tuple[str, str, bool]:
    return check.verdict.value, check.detail, bool(check.hint)


def test_doctor_finds_a_database_of_another_version(agentex: Agentex, tmp_path: Path):
    (tmp_path / "data").mkdir(mode=0o700)
    file = tmp_path / "data" / "agentex.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('0001')")
    found = findings(agentex("doctor", "--json"))
    assert found["migrations"]["status"] == "failed"
    assert found["migrations"]["detail"].startswith("at migration 0001 of ")
    assert "agentex migrate" in found["migrations"]["hint"]
    # What was sealed can't be read again without the key that was there.
    assert (found["secret_key"]["status"], "backup" in found["secret_key"]["hint"]) == (
        "failed", True,
    )  # fmt: skip
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    found = findings(agentex("doctor", "--json"))["migrations"]
    assert "does not know" in found["detail"]
    assert "newer Agentex" in found["hint"]


@pytest.mark.anyio
async def test_damaged_database_is_not_taken_for_a_new_one(tmp_path: Path):
    file = tmp_path / "agentex.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('0001')")
    database.close()
    whole = file.read_bytes()
    assert (await _database(settings(tmp_path))).state == "behind"
    file.write_bytes(whole[:100] + b"\xff" * 200 + whole[300:])
    assert (await _database(settings(tmp_path))).state == "damaged"
    file.write_bytes(b"no database at all" * 100)
    found = await _database(settings(tmp_path))
    (database_check, *_) = check_kept_parts(
        OUTPUT, settings(tmp_path), BackendReports(**{**NEW_PARTS, "database": asdict(found)})
    )
    assert (database_check.verdict, "backup" in database_check.hint) == ("failed", True)


@pytest.mark.anyio
async def test_looking_at_a_database_makes_and_changes_no_file(tmp_path: Path):
    file = tmp_path / "else where" / "own.db"
    file.parent.mkdir()
    named = settings(tmp_path / "data", database_url=f"sqlite:///{file}")
    assert (await _database(named)).state == "new"
    assert [*file.parent.iterdir()] == []
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE other (id TEXT)")
    database.close()
    before = file.read_bytes()
    assert (await _database(named)).state == "new"
    assert ([*file.parent.iterdir()], file.read_bytes()) == ([file], before)
    assert not (tmp_path / "data").exists()


def test_doctor_names_servers_that_are_away_and_no_secret_of_them(agentex: Agentex, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    for name, url in {
        "DATABASE_URL": f"postgresql://agentex:{SECRET}@127.0.0.1:{port}/agentex",
        "REDIS_URL": f"redis://:{SECRET}@127.0.0.1:{port}/0",
        "QDRANT_URL": f"http://127.0.0.1:{port}",
        "QDRANT_API_KEY": SECRET,
        "SECRET_KEY": SECRET,
    }.items():
        monkeypatch.setenv(f"AGENTEX_{name}", url)
    get_settings.cache_clear()
    said = agentex("doctor", "--url", f"http://127.0.0.1:{free_port()}", "--json")
    found = findings(said)
    assert said.code == 1
    for name, setting in (("migrations", "DATABASE"), ("queue", "REDIS"), ("vectors", "QDRANT")):
        assert (found[name]["status"], found[name]["detail"]) == ("failed", "does not answer")
        assert f"AGENTEX_{setting}_URL" in found[name]["hint"]
    assert found["secret_key"]["status"] == "warning"
    assert SECRET not in said.out + said.err
    skipped = ("ready", "login", "backlog", "registered_models", "mcp_connections", "knowledge_bases")
    assert {found[name]["status"] for name in skipped} == {"skipped"}


def test_doctor_asks_registered_models_and_connections(agentex: Agentex, server: Contract):
    server.models = {
        "good": {"success": True, "latency": 12, "message": "Connection successful"},
        "bad {0}": {
            "success": False, "fault": "key_refused",
            "message": "refuses the key (HTTP 401): set its api_key",
            "message_zh": "拒绝了密钥（HTTP 401）：请设置 api_key",
        },
        "full": {"success": False, "fault": "busy", "message": "is busy: wait"},
        "mute": {},
    }  # fmt: skip
    server.connections = {"files": {"success": False, "message": "does not answer"}}
    server.queue = 5000
    said = agentex("doctor", "--json")
    found = findings(said)
    assert said.code == 1
    assert found["model:good"]["detail"] == "answers in 12 ms"
    bad = found["model:bad {0}"]
    assert (bad["status"], bad["detail"], bad["hint"]) == (
        "failed", "refuses the key (HTTP 401)", "set its api_key",
    )  # fmt: skip
    assert found["model:full"]["status"] == "warning"
    mute = found["model:mute"]
    assert (mute["status"], "again" in mute["hint"]) == ("failed", True)
    files = found["mcp:files"]
    assert (files["status"], "switch the connection off" in files["hint"]) == ("failed", True)
    assert "mcp:off" not in found
    assert (found["backlog"]["status"], found["backlog"]["detail"]) == (
        "warning", "1 workers, 5000 jobs",
    )  # fmt: skip
    words = agentex("doctor", "--lang", "zh").out
    assert "模型 bad {0}: 拒绝了密钥（HTTP 401）" in words
    assert "→ 请设置 api_key" in words


def test_doctor_names_the_knowledge_bases_that_are_offered_a_re_index(agentex: Agentex, server: Contract):
    server.add_base("Notes {0}")
    found = findings(agentex("doctor", "--json"))["knowledge_bases"]
    assert (found["status"], found["detail"], found["hint"]) == ("ok", "1", None)
    server.add_base("Manuals {1}", notices=[{"code": "reindex_offered", "message": "English only"}])
    said = agentex("doctor", "--json")
    assert said.code == 0
    found = findings(said)["knowledge_bases"]
    assert found["status"] == "ok"
    assert found["detail"] == "1 with an encoder that reads English only: Manuals {1}"
    assert "agentex kb show" in found["hint"]
    assert "1 个知识库的编码器只能理解英文：Manuals {1}" in agentex("doctor", "--lang", "zh").out


def test_doctor_leaves_to_administrators_what_is_theirs(agentex: Agentex, server: Contract):
    server.queue = None
    said = agentex("doctor", "--json")
    assert said.code == 0
    assert findings(said)["backlog"]["status"] == "skipped"


def test_doctor_finds_jobs_that_nobody_does(tmp_path: Path):
    idle = BackendReport(state="ok", waiting=3)
    parts = BackendReports(**{**NEW_PARTS, "redis": idle})
    database, queue, vectors, _ = check_kept_parts(OUTPUT, settings(tmp_path), parts)
    assert outcome_of(queue) == ("failed", "0 workers, 3 jobs", True)
    assert database.detail == vectors.detail == MADE_AT_START.en


@pytest.fixture
def discovery() -> Iterator[tuple[str, dict[str, dict]]]:
    """A provider that answers with what is put into it: its URL, and its answers by path."""
    answers: dict[str, dict] = {}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path)
            body = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}", answers
        server.shutdown()


@pytest.mark.anyio
async def test_issuer_that_nobody_can_log_in_at_is_found(tmp_path: Path, discovery: tuple[str, dict[str, dict]]):
    issuer, answers = discovery
    named = settings(tmp_path, oidc_issuer=issuer, oidc_client_id="agentex")

    async def found() -> CheckResult:
        state = asdict(await _issuer(named))
        return check_kept_parts(OUTPUT, named, BackendReports(**{**NEW_PARTS, "issuer": state}))[-1]

    document = {
        "issuer": f"{issuer}/",
        **dict.fromkeys(("authorization_endpoint", "token_endpoint"), f"{issuer}/x"),
        "jwks_uri": f"{issuer}/keys",
    }
    assert outcome_of(await found()) == ("failed", "does not answer", True)
    answers["/.well-known/openid-configuration"] = document
    other = await found()
    assert ("another issuer" in other.detail, "last slash" in other.hint) == (True, True)
    document["issuer"] = issuer
    assert outcome_of(await found()) == ("failed", "its keys can't be read", True)
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    x = base64.urlsafe_b64encode(key).decode().rstrip("=")
    answers["/keys"] = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "k"}]}
    assert outcome_of(await found()) == ("ok", "the issuer answers", False)
    assert (await _issuer(settings(tmp_path))).state == "off"


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        (None, 0, "ok"),
        (b"k" * 64, 0o600, "ok"),
        (b"k" * 64, 0o640, "failed"),
        (b"k" * 64, 0o604, "failed"),
        (b" \n", 0o600, "failed"),
    ],
)
def test_secret_key_is_its_owners_alone(tmp_path: Path, content: bytes | None, mode: int, expected: str):
    if content is not None:
        (tmp_path / "secret-key").write_bytes(content)
        (tmp_path / "secret-key").chmod(mode)
    check = check_secret_key(OUTPUT, settings(tmp_path), "new")
    assert (check.verdict, bool(check.hint)) == (expected, expected == "failed")


@pytest.mark.parametrize(
    ("database", "expected", "word"),
    [
        ("new", "ok", "first start"),
        ("ok", "failed", "backup"),
        ("behind", "failed", "backup"),
        ("damaged", "failed", "backup"),
        ("unreachable", "warning", "database first"),
        (None, "warning", "database first"),
    ],
)
def test_missing_secret_key_is_judged_by_the_database_whichever_it_is(
    tmp_path: Path, database: str | None, expected: str, word: str
):
    # Of another database than the file in the data folder.
    url = "postgresql://127.0.0.1/agentex"
    check = check_secret_key(OUTPUT, settings(tmp_path, database_url=url), database)
    assert (check.verdict, word in check.detail + check.hint) == (expected, True)


@pytest.mark.parametrize(
    ("fields", "expected", "word"),
    [
        ({}, "ok", "127.0.0.1"),
        ({"host": "::1"}, "ok", "::1"),
        ({"host": "0.0.0.0"}, "warning", "without TLS"),
        ({"trusted_proxies": "127.0.0.1,::/0"}, "failed", "believes everybody"),
        ({"trusted_proxies": "0.0.0.0/1, 128.0.0.0/1"}, "failed", "0.0.0.0/0"),
        ({"trusted_proxies": "127.0.0.1,64.0.0.0/2"}, "failed", "64.0.0.0/2"),
        ({"trusted_proxies": "2000::/3"}, "failed", "2000::/3"),
        ({"trusted_proxies": "10.0.0.0/8,172.16.0.0/12,fc00::/7"}, "ok", "127.0.0.1"),
        ({"trusted_proxies": "none"}, "ok", "127.0.0.1"),
        ({"allowed_origins": "http://wiki.example.com"}, "warning", "http://wiki.example.com"),
        ({"allowed_origins": "http://localhost:5173,https://a.b"}, "ok", "127.0.0.1"),
    ],
)
def test_addresses_that_are_too_open_are_found(tmp_path: Path, fields: dict[str, str], expected: str, word: str):
    check = check_exposure(OUTPUT, settings(tmp_path, **fields))
    assert (check.verdict, word in check.detail) == (expected, True)


@pytest.mark.parametrize(
    ("url", "headers", "days", "hints"),
    [
        ("http://127.0.0.1:8000", {}, None, []),
        ("http://agentex.example.com", {}, None, ["https address"]),
        ("https://agentex.example.com", {}, 300, ["X-Forwarded-Proto"]),
        ("https://agentex.example.com", {}, 3, ["X-Forwarded-Proto", "Renew"]),
        ("https://agentex.example.com", {"strict-transport-security": "1"}, 300, []),
        ("https://agentex.example.com", {"strict-transport-security": "1"}, 3, ["Renew"]),
    ],
)
@pytest.mark.anyio
async def test_connection_that_others_can_read_is_found(
    monkeypatch: pytest.MonkeyPatch, url: str, headers: dict[str, str], days: int, hints: list[str]
):
    async def known(_: str) -> int:
        return days

    monkeypatch.setattr(security, "_certificate_days", known)
    check = await check_transport(OUTPUT, url, headers)
    assert check.verdict is (CheckVerdict.WARNING if hints else CheckVerdict.OK)
    assert all(hint in check.hint for hint in hints)
    assert bool(check.hint) == bool(hints)
    # When it ends is told whatever else is wrong.
    assert days is None or f"{days} more days" in check.detail


@pytest.mark.parametrize(
    ("skews", "expected"),
    [
        ({}, "skipped"),
        ({"server": -0.9}, "ok"),
        ({"server": 0.5, "Redis": -30.0}, "warning"),
        ({"server": 0.5, "database": 400.0}, "failed"),
    ],
)
def test_clocks_that_are_apart_are_found(skews: dict[str, float], expected: str):
    check = check_clock(OUTPUT, skews)
    assert check.verdict is CheckVerdict(expected)
    if expected == "failed":
        assert check.detail == "400 s away from database"


def test_doctor_finds_a_missing_converter_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert check_conversion(OUTPUT, settings(tmp_path)).verdict is CheckVerdict.SKIPPED
    asked = settings(tmp_path, parsers=("libreoffice",))
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    missing = check_conversion(OUTPUT, asked)
    assert missing.verdict is CheckVerdict.WARNING
    assert "libreoffice-writer-nogui" in missing.hint
    program = programs / "soffice"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    present = check_conversion(OUTPUT, asked)
    assert (present.verdict, present.detail) == (CheckVerdict.OK, str(program.resolve()))


def test_doctor_asks_the_parsing_services_that_are_switched_on(agentex: Agentex, monkeypatch: pytest.MonkeyPatch):
    names = {"parser:unstructured_api", "parser:docling", "parser:mineru"}
    assert names.isdisjoint(findings(agentex("doctor", "--json")))
    with parsing_services() as services:
        for name, value in {
            **services.variables,
            "AGENTEX_DOCLING_API_KEY": SECRET,
            "AGENTEX_MINERU_URL": f"http://127.0.0.1:{free_port()}",
        }.items():
            monkeypatch.setenv(name, value)
        get_settings.cache_clear()
        said = agentex("doctor", "--json")
    found = findings(said)
    assert found["parser:unstructured_api"]["status"] == "ok"
    assert (found["parser:docling"]["status"], "AGENTEX_DOCLING_API_KEY" in found["parser:docling"]["hint"]) == (
        "failed", True,
    )  # fmt: skip
    assert (found["parser:mineru"]["status"], "AGENTEX_MINERU_URL" in found["parser:mineru"]["hint"]) == (
        "failed", True,
    )  # fmt: skip
    assert SECRET not in said.out


def test_unstructured_and_what_its_strategies_lack_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def found(**fields: str) -> tuple[str, str, bool]:
        environment = {"unstructured_dir": tmp_path / "env", "ocr_data_dir": tmp_path}
        return outcome_of(check_unstructured(OUTPUT, settings(tmp_path, **environment, **fields)))

    monkeypatch.setattr(installation, "PROGRAM_FOLDERS", str(tmp_path))
    assert found()[0] == "skipped"
    assert found(parsers="unstructured") == ("failed", "-", True)
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").touch()
    (tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "unstructured").mkdir(parents=True)
    verdict, detail, _ = found(parsers="unstructured")
    assert (verdict, "ocr_only: tesseract, pdfinfo, tessdata chi_sim+eng" in detail) == ("ok", True)
    assert "hi_res" in detail
    for name in ("tesseract", "pdfinfo", "eng.traineddata"):
        (tmp_path / name).touch(mode=0o755)
    assert "ocr_only" not in found(parsers="unstructured")[1]
