"""The audit log over HTTP: entries, readers, and safe export to spreadsheets."""

import csv
import io
from typing import Any

import pytest

from core.errors.auth import InvalidCredentials, PermissionDenied, TokenReused
from core.errors.requests import InvalidPagination, InvalidRequest
from tests.fixtures.http.client import PASSWORD, Api
from tests.fixtures.product.server import Server, one_shape

PATH = "/system/audit"


@pytest.fixture
def admin(server: Server) -> Api:
    return server.admin()


def acts(admin: Api, **wanted: Any) -> list[dict[str, Any]]:
    return admin.get(PATH, page_size=100, **wanted)["items"]


@one_shape
def test_acts_of_an_account_are_noted_with_their_request(server: Server, admin: Api):
    person = server.api().register()
    login = {"username": person.name, "password": "Wrong-Password-1"}
    failed = person.request("POST", "/auth/login", json=login)
    assert failed.json()["code"] == InvalidCredentials.code
    key = person.post("/users/me/api-keys", {"name": "=cmd"})
    person.delete(f"/users/me/api-keys/{key['id']}")
    body = {"old_password": PASSWORD, "new_password": "Another-Password-2"}
    person.put("/users/me/password", body)
    first = person.refresh_token
    person.post("/auth/refresh", {"refresh_token": first})
    again = {"refresh_token": first}
    person.refused(TokenReused, "POST", "/auth/refresh", json=again)

    own = acts(admin, actor=person.user_id)
    assert [row["action"] for row in reversed(own)] == [
        "user.created", "login.succeeded", "api_key.created", "api_key.revoked",
        "password.changed",
    ]  # fmt: skip
    (wrong,) = acts(admin, action="login.failed", object_id=person.user_id)
    assert wrong["request_id"] == failed.headers["X-Request-ID"]
    assert (wrong["actor_id"], wrong["object_name"], wrong["address"]) == (
        None, person.name, "127.0.0.1",
    )  # fmt: skip
    assert next(row["object_id"] for row in acts(admin, q="token.reused")) == person.user_id
    text = admin.request("GET", PATH, params={"page_size": 100}).text
    for secret in (key["key"], "Another-Password-2", "Wrong-Password-1", first):
        assert secret not in text


@one_shape
def test_sharing_and_deleting_a_knowledge_base_is_noted_without_its_name(admin: Api, user: Api):
    kb_id = user.create_kb(name=f"private plans {user.name}")
    user.put(f"/knowledge-bases/{kb_id}", {"is_public": True})
    user.put(f"/knowledge-bases/{kb_id}", {"is_public": True, "description": "x"})
    user.put(f"/knowledge-bases/{kb_id}", {"is_public": False})
    user.delete(f"/knowledge-bases/{kb_id}")
    rows = acts(admin, object_type="knowledge_base", object_id=kb_id)
    assert [row["action"].partition(".")[2] for row in rows] == ["deleted", "unshared", "shared"]
    assert {row["actor_name"] for row in rows} == {user.name}
    assert "private plans" not in str(rows)


def test_export_has_what_the_filters_leave_and_no_formula(server: Server, admin: Api):
    server.sql(
        "INSERT INTO audit_entry (id, created_at, action, actor_name, object_type, object_id, "
        "object_name, address, request_id, details) VALUES (:id, '2026-01-01 12:00:00.000000+00:00', "
        "'user.changed', '=HYPERLINK(1)', 'user', 'evil', '@x', '', 'r', '{}')",
        id=f"row-{server.shape}",
    )
    answer = admin.request("GET", f"{PATH}/export", params={"object_id": "evil"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    (row,) = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline=""))
    assert (row["actor_name"], row["object_name"]) == ("'=HYPERLINK(1)", "'@x")
    (export, *_) = acts(admin, action="audit.exported")
    assert export["details"] == {"object_id": "evil"}
    empty = admin.request("GET", f"{PATH}/export", params={"until": "2020-01-01T00:00:00Z"})
    assert empty.content.decode("utf-8-sig").startswith("created_at,action")
    assert admin.get(PATH, since="2026-01-01T00:00:00Z", until="2026-01-02T00:00:00Z")["total"] == 1


@one_shape
def test_only_administrators_read_it_and_only_by_known_filters(admin: Api, user: Api):
    for path in (PATH, f"{PATH}/export"):
        details = user.refused(PermissionDenied, "GET", path)
        assert details == {"permission": "system:manage"}
    for wanted in ({"action": "everything"}, {"since": "yesterday"}, {"since": "2026-01-01T00:00"}):
        admin.refused(InvalidRequest, "GET", PATH, params=wanted)
    sort = {"sort_by": "details"}
    admin.refused(InvalidPagination, "GET", PATH, params=sort)
