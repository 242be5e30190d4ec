"""The caller's account and API keys (docs/reference/agentex-api.md, section 3)."""

import pytest

from core.errors.auth import ApiKeyNotFound, InvalidCredentials, InvalidToken
from core.errors.conflicts import UsernameTaken
from core.errors.requests import InvalidRequest, WeakPassword
from tests.fixtures.http.client import PASSWORD, Api, conforms, unique
from tests.fixtures.product.server import Server, one_shape

ME = {
    "id": "uuid",
    "username": "zhangsan",
    "email": "zhangsan@example.com",
    "avatar_url": None,
    "settings": {"timezone": None},
    "role": {"id": "uuid", "name": "developer", "display_name": "开发者"},
    "permissions": ["models:view", "mcp:view", "mcp:create"],
    "created_at": "2026-01-15T10:00:00Z",
}
KEY = {
    "id": "uuid",
    "name": "开发测试",
    "key_prefix": "sk-...abc",
    "last_used_at": "2026-02-01T10:00:00Z",
    "created_at": "2026-01-20T10:00:00Z",
}
NEW_KEY = {
    "id": "uuid",
    "name": "生产环境",
    "key": "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "created_at": "2026-02-03T10:00:00Z",
}
NEW_PASSWORD = "NewPassword456"


@pytest.fixture
def member(server: Server) -> Api:
    """A person who has logged in, and has no API key."""
    return server.member()


def test_own_account_answers_as_documented(member: Api):
    data = member.get("/users/me")
    conforms(data, ME)
    assert (data["username"], data["role"]["name"]) == (member.name, "user")
    assert "kb:write" in data["permissions"]
    assert "users:manage" not in data["permissions"]


def test_administrator_has_every_permission_and_is_the_first_account(server: Server):
    data = server.admin().get("/users/me")
    assert data["role"]["name"] == "admin"
    assert {"users:manage", "system:manage", "mcp:create"} <= set(data["permissions"])


def test_name_and_picture_change_as_documented(user: Api, server: Server):
    name = unique("zhangsan_new")
    body = {"username": name, "avatar_url": "https://example.com/a.png"}
    conforms(user.put("/users/me", body), ME)
    data = user.get("/users/me")
    assert (data["username"], data["avatar_url"]) == (name, body["avatar_url"])
    assert server.api().log_in(name).user_id == user.user_id


def test_what_is_left_out_of_a_change_stays(user: Api):
    user.put("/users/me", {"avatar_url": "https://example.com/a.png"})
    user.put("/users/me", {"username": user.name.upper()})
    data = user.get("/users/me")
    assert data["avatar_url"] == "https://example.com/a.png"
    assert data["username"] == user.name.upper()
    user.put("/users/me", {"avatar_url": ""})
    assert user.get("/users/me")["avatar_url"] is None


def test_time_zone_is_set_kept_and_unset(user: Api):
    body = {"settings": {"timezone": "Asia/Shanghai"}}
    assert user.put("/users/me", body)["settings"] == {"timezone": "Asia/Shanghai"}
    user.put("/users/me", {"username": user.name, "settings": {}})
    assert user.get("/users/me")["settings"] == {"timezone": "Asia/Shanghai"}
    user.put("/users/me", {"settings": {"timezone": ""}})
    assert user.get("/users/me")["settings"] == {"timezone": None}


def test_change_with_an_unknown_time_zone_changes_nothing(user: Api):
    body = {"avatar_url": "https://example.com/b.png", "settings": {"timezone": "Asia/Peking"}}
    details = user.refused(InvalidRequest, "PUT", "/users/me", json=body)
    assert details["field"] == "settings.timezone"
    assert user.get("/users/me")["avatar_url"] is None


@one_shape
@pytest.mark.parametrize(
    "body",
    [
        {"settings": {"timezone": "x" * 65}},
        {"settings": {"locale": "zh"}},
        {"avatar_url": "javascript:alert(1)"},
        {"avatar_url": "https://" + "x" * 2000},
        {"username": "a b"},
        {"role": "admin"},
        {"id": "7"},
        {"permissions": ["users:manage"]},
        {"status": "active"},
        {"email": "new@example.com"},
        {"is_admin": True},
        {"created_at": "2020-01-01T00:00:00Z"},
        [],
        "text",
        None,
    ],
)
def test_change_that_is_not_the_persons_to_make_changes_nothing(someone: Api, body: object):
    before = someone.get("/users/me")
    someone.refused(InvalidRequest, "PUT", "/users/me", json=body)
    assert someone.get("/users/me") == before


def test_name_of_another_person_is_refused(user: Api, other: Api):
    body = {"username": other.name.upper()}
    user.refused(UsernameTaken, "PUT", "/users/me", json=body)


def test_password_change_ends_other_logins_and_keeps_this_one(server: Server, member: Api):
    elsewhere = server.api().log_in(member.name)
    body = {"old_password": PASSWORD, "new_password": NEW_PASSWORD}
    answer = member.request("PUT", "/users/me/password", json=body)
    assert answer.json() == {"code": 0, "message": "success"}
    assert member.get("/users/me")["id"] == member.user_id
    elsewhere.refused(InvalidToken, "GET", "/users/me")
    old = {"refresh_token": elsewhere.refresh_token}
    elsewhere.refused(InvalidToken, "POST", "/auth/refresh", json=old)
    login = {"username": member.name, "password": PASSWORD}
    member.refused(InvalidCredentials, "POST", "/auth/login", json=login)
    assert server.api().log_in(member.name, NEW_PASSWORD).user_id == member.user_id


def test_password_change_needs_the_old_password_and_a_strong_new_one(server: Server, member: Api):
    wrong = {"old_password": "Wrong-password1", "new_password": NEW_PASSWORD}
    path = "/users/me/password"
    details = member.refused(InvalidCredentials, "PUT", path, json=wrong)
    assert details["field"] == "old_password"
    weak = {"old_password": PASSWORD, "new_password": "short1"}
    member.refused(WeakPassword, "PUT", path, json=weak)
    assert server.api().log_in(member.name).user_id == member.user_id


def test_new_api_key_answers_as_documented_and_is_shown_once(user: Api):
    data = user.post("/users/me/api-keys", {"name": "生产环境"})
    conforms(data, NEW_KEY)
    assert data["key"].startswith("sk-")
    assert len(data["key"]) > 40
    listed = user.request("GET", "/users/me/api-keys")
    assert data["key"] not in listed.text


def test_api_key_list_answers_as_documented(server: Server, member: Api):
    new = member.post("/users/me/api-keys", {"name": "开发测试"})
    before = member.get("/users/me/api-keys")["items"][0]
    assert before["last_used_at"] is None
    server.api(**{"X-API-Key": new["key"]}).get("/users/me")
    data = member.get("/users/me/api-keys")
    conforms(data, {"items": [KEY], "total": 1})
    assert data["total"] == 1
    assert data["items"][0]["key_prefix"] == f"sk-...{new['key'][-3:]}"


def test_api_key_works_in_both_headers_until_it_is_revoked(server: Server, user: Api):
    new = user.post("/users/me/api-keys", {"name": "k"})
    callers = [
        server.api(**{"X-API-Key": new["key"]}),
        server.api(Authorization=f"Bearer {new['key']}"),
        server.api(Authorization=f"bearer {new['key']}"),
    ]
    for caller in callers:
        assert caller.get("/users/me")["id"] == user.user_id
    answer = user.request("DELETE", f"/users/me/api-keys/{new['id']}")
    assert answer.json() == {"code": 0, "message": "success"}
    for caller in callers:
        caller.refused(InvalidToken, "GET", "/users/me")
    path = f"/users/me/api-keys/{new['id']}"
    user.refused(ApiKeyNotFound, "DELETE", path)


def test_api_key_of_another_person_is_not_found_and_stays(server: Server, user: Api, other: Api):
    new = user.post("/users/me/api-keys", {"name": "k"})
    path = f"/users/me/api-keys/{new['id']}"
    other.refused(ApiKeyNotFound, "DELETE", path)
    assert server.api(**{"X-API-Key": new["key"]}).get("/users/me")["id"] == user.user_id
    assert new["id"] not in other.request("GET", "/users/me/api-keys").text


@one_shape
@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": "n\x00"}, {"name": "k", "key": "sk-1"}]
)
def test_api_key_with_a_bad_name_is_not_made(someone: Api, body: dict[str, str]):
    before = someone.get("/users/me/api-keys")["total"]
    someone.refused(InvalidRequest, "POST", "/users/me/api-keys", json=body)
    assert someone.get("/users/me/api-keys")["total"] == before


def test_no_secret_is_stored_in_plain(server: Server, member: Api):
    key = member.post("/users/me/api-keys", {"name": "k"})["key"]
    rows = [
        server.sql(f'SELECT * FROM "{table}"') for table in ("user", "api_key", "token_family", "stored_signing_key")
    ]
    text = str(rows)
    assert member.name in text
    for secret in (PASSWORD, key, member.access_token, member.refresh_token, "BEGIN PRIVATE KEY"):
        assert secret not in text
