"""The API under load and faults: no secret in a log, no write held up by logins, clean errors."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from uuid import uuid4

import pytest

from core.errors.auth import InvalidCredentials, InvalidToken
from core.errors.requests import InvalidRequest
from core.errors.server import DatabaseUnavailable
from tests.fixtures.http.client import check_error, eventually, unique
from tests.fixtures.product.server import ADMIN_PASSWORD, Server

pytestmark = pytest.mark.timeout(300)
# Five are promised (invariant I15); the machine may be busy.
LOCKED_SECONDS = 7


def logs_of(server: Server) -> str:
    texts = [path.read_text(errors="replace") for path in server.log_files]
    return "\n".join([*texts, server.output.read_text(errors="replace")])


def test_no_secret_is_in_any_log_at_debug_level(server: Server):
    password, new_password = f"Canary-{uuid4().hex}", f"Canary-{uuid4().hex}"
    caller = server.api().register(password)
    key = caller.post("/users/me/api-keys", {"name": "canary"})["key"]
    by_key = server.api(**{"X-API-Key": key})
    kb_id = by_key.create_kb()
    words = f"zebra{uuid4().hex}"
    by_key.ingest(kb_id, "a.md", f"# T\n\n{words} sleeps.")
    by_key.search(kb_id, words)
    wrong = {"username": caller.name, "password": f"{password}x"}
    caller.refused(InvalidCredentials, "POST", "/auth/login", json=wrong)
    for body in ({"username": 7, "password": password}, {"password": password}, [password]):
        caller.refused(InvalidRequest, "POST", "/auth/login", json=body)
    fresh = caller.post("/auth/refresh", {"refresh_token": caller.refresh_token})
    old = {"refresh_token": caller.refresh_token}
    second = server.api().log_in(caller.name, password)
    change = {"old_password": password, "new_password": new_password}
    second.request("PUT", "/users/me/password", json=change)
    caller.refused(InvalidToken, "POST", "/auth/refresh", json=old)
    broken = {"Authorization": f"Bearer {fresh['access_token']}x"}
    server.api(**broken).refused(InvalidToken, "GET", "/users/me")
    server.api(**{"X-API-Key": f"{key}x"}).refused(InvalidToken, "GET", "/users/me")
    server.api().request("GET", "/users/me", params={"api_key": key})
    secrets = {
        "password": password,
        "new password": new_password,
        "administrator's password": ADMIN_PASSWORD,
        "API key": key,
        "access token": fresh["access_token"],
        "refresh token": fresh["refresh_token"],
        "signature of a token": fresh["access_token"].rpartition(".")[2],
        "secret key": (server.settings.data_dir / "secret-key").read_text().strip(),
        "private key": "BEGIN PRIVATE KEY",
        "text of a document": words,
    }
    eventually(lambda: f"/{kb_id}/search" in logs_of(server), what="the requests are logged")
    text = logs_of(server)
    assert [name for name, secret in secrets.items() if secret in text] == []


def test_database_locked_by_another_program_is_503_and_heals(embedded: Server):
    caller = embedded.person()
    kb_id = caller.create_kb()
    path = embedded.settings.data_dir / "agentex.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as lock,
        ThreadPoolExecutor(6) as pool,
    ):
        lock.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        # Readers go on; writers are told when the wait is over.
        assert caller.get(f"/knowledge-bases/{kb_id}")["id"] == kb_id
        body = {"name": unique()}
        asked = [pool.submit(caller.request, "POST", "/knowledge-bases", json=body)]
        # Who has to wait for the turn as well is told as soon as the others.
        time.sleep(1)
        asked += [pool.submit(caller.send_file, kb_id, f"{number}.md", b"# A\n\ntext") for number in range(4)]
        for answer in (one.result() for one in asked):
            check_error(answer, DatabaseUnavailable)
            assert int(answer.headers["Retry-After"]) > 0
        assert time.monotonic() - started < 1 + LOCKED_SECONDS
        lock.execute("ROLLBACK")
    assert embedded.count("knowledge_base", owner_id=caller.user_id) == 1
    assert caller.get(f"/knowledge-bases/{kb_id}")["document_count"] == 0
    caller.ingest(kb_id, "a.md", "# A\n\ntext")


def test_parts_that_are_down_are_named(embedded: Server):
    caller = embedded.person()
    kb_id = caller.create_kb()
    embedded.kill("engine")
    seen: set[str] = set()

    def is_back() -> bool:
        answer = embedded.http.get("/readyz")
        if answer.status_code == 503:
            components = answer.json()["components"]
            seen.update(name for name, part in components.items() if part["status"] == "error")
        return answer.status_code == 200 and bool(seen)

    eventually(is_back, seconds=120)
    assert seen <= {"engine", "vector_index", "worker"}
    assert "engine" in seen
    assert caller.get(f"/knowledge-bases/{kb_id}")["id"] == kb_id
