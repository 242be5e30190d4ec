"""Requests for more than the caller may have: foreign fields, hidden columns, a name taken twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.middleware import is_open
from core.errors.auth import InvalidToken, TokenReused
from core.errors.conflicts import UsernameTaken
from core.errors.requests import InvalidPagination, InvalidRequest, WeakPassword
from tests.fixtures.http.client import PASSWORD, Api, check_error, eventually, unique
from tests.fixtures.product.owned_objects import operations
from tests.fixtures.product.processes import free_port
from tests.fixtures.product.server import Server, one_shape, spawn

# What a server decides, and what a careless one would take from a body.
NOT_THE_CALLERS = {
    "id": "00000000-0000-4000-8000-000000000000",
    "owner_id": "me",
    "user_id": "me",
    "is_admin": True,
    "role": "admin",
    "permissions": ["users:manage"],
    "created_at": "2020-01-01T00:00:00Z",
    "password_hash": "$argon2id$",
    "built_in": True,
}
# Where a body's name, or what it names, is kept.
TABLES = (
    "user",
    "role",
    "api_key",
    "knowledge_base",
    "chat_session",
    "memory",
    "mcp_connection",
    "registered_model",
)
HIDDEN = ("password_hash", "key_hash", "sealed_api_key", "username_key", "owner_id", "id;--", "")


def bodies(name: str, ids: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Requests that would succeed, by whose they are and what they make or change."""
    account = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    model = {"name": name, "provider": "openai", "model_id": "m"}
    server = {"name": name, "type": "standard", "url": "https://mcp.invalid/mcp"}
    return {
        "user POST /auth/register": account,
        "user PUT /users/me": {"username": name},
        "user PUT /users/me/password": {"old_password": PASSWORD, "new_password": "Another-1x"},
        "user POST /users/me/api-keys": {"name": name},
        "user POST /knowledge-bases": {"name": name},
        f"user PUT /knowledge-bases/{ids['kb']}": {"name": name},
        "user POST /sessions": {"title": name},
        f"user PUT /sessions/{ids['session']}": {"title": name},
        "user POST /memories": {"text": name},
        "admin POST /mcp/connections": server,
        "admin POST /admin/users": account,
        f"admin PUT /admin/users/{ids['user']}": {"status": "active"},
        "admin POST /admin/roles": {"name": name, "display_name": name, "permissions": []},
        "admin POST /admin/models": model,
        f"admin PUT /admin/models/{ids['model']}": {"name": name},
    }


@one_shape
def test_fields_that_are_not_the_callers_to_set_are_refused_everywhere(server: Server, user: Api):
    admin, name = server.admin(), unique("mass").lower()
    model = {"name": unique("model"), "provider": "openai", "model_id": "m"}
    ids = {
        "kb": user.create_kb(),
        "session": user.post("/sessions", {})["id"],
        "user": user.user_id,
        "model": admin.post("/admin/models", model)["id"],
    }
    callers = {"user": user, "admin": admin}
    own = {*ids.values(), admin.user_id}
    before = rows_about(server, own, name)
    assert len(before) == len(own)
    for request, body in bodies(name, ids).items():
        who, method, path = request.split()
        for field, value in NOT_THE_CALLERS.items():
            if field in body:
                continue
            answer = callers[who].request(method, path, json={**body, field: value})
            details = check_error(answer, InvalidRequest)
            assert details["field"] == field, request
    assert rows_about(server, own, name) == before
    admin.delete(f"/admin/models/{ids['model']}")


def rows_about(server: Server, own: set[str], name: str) -> list[dict[str, Any]]:
    """Rows of things by their ids, or that have a name, without the notes that each request leaves.

    Others' rows may change meanwhile: earlier tests leave knowledge bases to erase.
    """
    rows = [row for table in TABLES for row in server.sql(f'SELECT * FROM "{table}"')]
    return [
        {column: value for column, value in row.items() if column != "last_used_at"}
        for row in rows
        if row["id"] in own or name in row.values()
    ]


@one_shape
def test_no_list_is_longer_than_a_page_or_sorted_by_what_it_hides(server: Server, user: Api):
    admin, lists = server.admin(), Counter[str]()
    kb_id, session_id = admin.create_kb(), admin.post("/sessions", {})["id"]
    for method, path, described in operations(server):
        known = {one["name"]: one for one in described.get("parameters", [])}
        where = path.replace("{kb_id}", kb_id).replace("{session_id}", session_id)
        if method != "GET" or "{" in where or is_open(path):
            continue
        for name in {"page", "page_size", "limit"} & set(known):
            lists[name] += 1
            for value in ("1000000000", "-1", "0", str(2**63), "1e9", "x", "1" * 5000):
                check_refused(admin, where, **{name: value})
        if "sort_by" in known:
            lists["sort_by"] += 1
            for value in HIDDEN:
                check_refused(admin, where, sort_by=value)
            check_refused(admin, where, sort_order="password_hash")
    assert lists["page_size"] >= 5
    assert lists["sort_by"] >= 5


def check_refused(caller: Api, path: str, **params: str) -> None:
    answer = caller.http.get(path, params=params, headers=caller.headers)
    assert answer.status_code == 400, f"{path} {params}: {answer.text[:200]}"
    assert answer.json()["code"] in {InvalidRequest.code, InvalidPagination.code}
    assert answer.json()["details"]["field"] in params


@one_shape
def test_password_of_a_megabyte_is_refused_before_it_is_hashed(server: Server, user: Api):
    long = "Aa1" + "x" * 2**20
    name = unique("long")
    account = {"username": name, "email": f"{name}@example.com", "password": long}
    admin = server.admin()
    change = {"old_password": long, "new_password": PASSWORD}
    for caller, method, path, body in (
        (user, "POST", "/auth/register", account),
        (user, "POST", "/auth/login", {"username": user.name, "password": long}),
        (user, "PUT", "/users/me/password", change),
        (user, "PUT", "/users/me/password", {"old_password": PASSWORD, "new_password": long}),
        (admin, "POST", "/admin/users", account),
        (admin, "PUT", f"/admin/users/{user.user_id}/password", {"new_password": long}),
    ):
        answer = caller.request(method, path, json=body)
        details = check_error(answer, InvalidRequest)
        assert details["field"] in {"password", "old_password", "new_password"}
        # What was sent is not sent back.
        assert len(answer.content) < 1000
    # One below that limit is refused by the rules, as is one that Argon2 would be given.
    for length in (257, 1000):
        body = {**account, "password": "a1" * (length // 2) + "x" * (length % 2)}
        user.refused(WeakPassword, "POST", "/auth/register", json=body)


@one_shape
def test_name_that_looks_like_anothers_is_refused_wherever_names_are_given(server: Server, user: Api):
    admin, part = server.admin(), unique("").lower().replace("-", "")
    taken = f"apex{part}"
    body = {"username": taken, "email": f"{taken}@example.com", "password": PASSWORD}
    user.post("/auth/register", body)
    whole = f"арех{part}"
    for name, code in (
        (
            whole,
            InvalidRequest if any(map(str.isalpha, part)) else UsernameTaken,
        ),
        (f"аpex{part}", InvalidRequest),
        (taken.replace("a", "ａ", 1), UsernameTaken),
        (taken.replace("a", "ᴀ", 1), UsernameTaken),
    ):
        wanted = {**body, "username": name, "email": f"{unique('x')}@example.com"}
        user.refused(code, "POST", "/auth/register", json=wanted)
        user.refused(code, "PUT", "/users/me", json={"username": name})
        admin.refused(code, "POST", "/admin/users", json=wanted)


@pytest.fixture(scope="module")
def pair(servers: Callable[[str], Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """Two API processes on one PostgreSQL: the shared one, and another beside it."""
    first = servers("external")
    port, folder = free_port(), tmp_path_factory.mktemp("second")
    environment = {**first.environment, "AGENTEX_PORT": str(port)}
    output: Path = folder / "output.txt"
    process = spawn(["api"], environment, output)
    base = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=base, timeout=60, trust_env=False) as http:
            second = Server("second", first.settings, process, output, http, environment)
            eventually(lambda: lives(second), what="the second API answers")
            yield first, second
            second.forget_database()
    finally:
        process.terminate()
        process.wait(30)


def lives(server: Server) -> bool:
    assert server.process.poll() is None, server.output.read_text()
    try:
        return server.http.get("/healthz").is_success
    except httpx.TransportError:
        return False


def at_once(count: int, ask: Callable[[int], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(count) as pool:
        return [*pool.map(ask, range(count))]


@one_shape
def test_one_of_many_who_register_one_name_at_once_gets_it(server: Server):
    # Only so many hashes are made at once: the others wait, and find the name taken.
    check_one_wins(server, server.api(), server.api(), count=16)


def test_one_of_fifty_gets_a_name_across_two_processes(pair: tuple[Server, Server]):
    first, second = pair
    check_one_wins(first, first.api(), second.api(), count=50)


def check_one_wins(server: Server, first: Api, second: Api, *, count: int) -> None:
    name = unique("race")

    def register(number: int) -> httpx.Response:
        # Names and addresses by turns: each alone must be had once.
        account = {"username": name, "email": f"{name}-{number}@example.com", "password": PASSWORD}
        caller = (first, second)[number % 2]
        # So many hashes take their time on a small machine, and 503 says to come again.
        while True:
            answer = caller.request("POST", "/auth/register", json=account, timeout=200)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                return answer

    answers = at_once(count, register)
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: count - 1}
    for answer in answers:
        if answer.status_code != httpx.codes.OK:
            assert check_error(answer, UsernameTaken) == {"field": "username"}
    assert server.count("user", username=name) == 1


@one_shape
def test_refresh_token_that_many_use_at_once_works_once_and_ends_its_login(server: Server):
    check_refreshes(server.api().register(), server.api())


def test_refresh_token_works_once_across_two_processes(pair: tuple[Server, Server]):
    check_refreshes(pair[0].api().register(), pair[1].api())


def check_refreshes(user: Api, elsewhere: Api) -> None:
    body = {"refresh_token": user.refresh_token}
    callers = (user, elsewhere)
    answers = at_once(16, lambda number: callers[number % 2].request("POST", "/auth/refresh", json=body))
    codes = Counter(answer.json()["code"] for answer in answers)
    assert codes[0] == 1
    # The second use ends the login; those behind it find none any more.
    assert set(codes) <= {0, TokenReused.code, InvalidToken.code}
    assert codes[TokenReused.code] == 1
    (won,) = [answer.json()["data"] for answer in answers if answer.is_success]
    later = {"refresh_token": won["refresh_token"]}
    user.refused(InvalidToken, "POST", "/auth/refresh", json=later)
    for token in (won["access_token"], user.access_token):
        headers = {"Authorization": f"Bearer {token}"}
        elsewhere.refused(InvalidToken, "GET", "/users/me", headers=headers)
    # Another login of the same person is another matter.
    assert user.log_in(user.name).get("/users/me")["id"] == user.user_id
