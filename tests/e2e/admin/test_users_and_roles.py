"""Administration of users and roles over HTTP (docs/reference/agentex-api.md, section 4)."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from core.auth.permissions import Permission
from core.errors.auth import (
    AccountDisabled,
    InvalidToken,
    KnowledgeBaseNotFound,
    PermissionDenied,
    RoleNotFound,
    UserNotFound,
)
from core.errors.base import AgentexError
from core.errors.conflicts import (
    LastAdministrator,
    RoleBuiltIn,
    RoleInUse,
    RoleNameTaken,
    UsernameTaken,
    UserOwnsThings,
)
from core.errors.requests import InvalidPagination, InvalidRequest, WeakPassword
from tests.fixtures.http.client import PASSWORD, Api, conforms, eventually, unique
from tests.fixtures.product.server import ADMIN_PASSWORD, Server, one_shape

ROW = {
    "id": "uuid",
    "username": "zhangsan",
    "email": "zhangsan@example.com",
    "role": {"id": "uuid", "name": "developer"},
    "status": "active",
    "last_login_at": None,
    "created_at": "2026-01-15T10:00:00Z",
}
LISTED = {"items": [ROW], "total": 10, "page": 1, "page_size": 20}
WHOLE = {
    **ROW,
    "custom_permissions": {"grants": ["mcp:create"], "revokes": ["kb:write"]},
    "model_access": ["model_id_1"],
    "mcp_access": ["connection_id_1"],
}
USERS, ROLES = "/admin/users", "/admin/roles"


@pytest.fixture(scope="module")
def admins() -> dict[str, Api]:
    """The first administrator of each shape: a login takes long."""
    return {}


@pytest.fixture
def admin(server: Server, admins: dict[str, Api]) -> Api:
    if server.shape not in admins:
        admins[server.shape] = server.admin()
    return admins[server.shape]


def roles_of(admin: Api) -> dict[str, str]:
    return {role["name"]: role["id"] for role in admin.get(ROLES)["items"]}


def test_list_answers_as_documented_and_finds_by_name_role_and_status(admin: Api, user: Api):
    data = admin.get(USERS)
    conforms(data, LISTED)
    assert [row["username"] for row in admin.get(USERS, search=user.name.upper())["items"]] == [user.name]
    assert admin.get(USERS, search=f"{user.name}@EXAMPLE")["total"] == 1
    for sign in "%_":
        found = admin.get(USERS, search=sign, page_size=100)["items"]
        assert all(sign in row["username"] + row["email"] for row in found)
        assert user.name not in {row["username"] for row in found}
    roles = roles_of(admin)
    assert admin.get(USERS, search=user.name, role_id=roles["user"])["total"] == 1
    assert admin.get(USERS, search=user.name, role_id=roles["viewer"])["total"] == 0
    admin.put(f"{USERS}/{user.user_id}", {"status": "disabled"})
    assert admin.get(USERS, search=user.name, status="active")["total"] == 0
    assert admin.get(USERS, search=user.name, status="disabled")["total"] == 1


@one_shape
def test_list_is_sorted_and_paged_and_no_secret_column_can_be_sorted_by(admin: Api, server: Server):
    part = unique("sorted")
    for name in ("b", "A", "c"):
        body = {"username": f"{part}-{name}", "email": f"{name}-{part}@example.com"}
        admin.post(USERS, {**body, "password": PASSWORD})
    options = {"search": part, "sort_by": "username", "sort_order": "asc", "page_size": 2}
    pages = [admin.get(USERS, page=number, **options) for number in (1, 2)]
    names = [row["username"][-1] for page in pages for row in page["items"]]
    assert (names, pages[0]["total"], pages[0]["pages"]) == (["A", "b", "c"], 3, 2)
    for field in ("password_hash", "username_key", "id;--", ""):
        params = {"sort_by": field}
        admin.refused(InvalidPagination, "GET", USERS, params=params)
    admin.refused(InvalidRequest, "GET", USERS, params={"status": "deleted"})
    assert "password" not in admin.request("GET", USERS).text


def test_new_account_answers_as_documented_and_can_log_in(admin: Api, server: Server):
    name, role_id = unique("lisi"), roles_of(admin)["developer"]
    body = {
        "username": name,
        "email": f"{name}@example.com",
        "password": "InitialPassword123",
        "role_id": role_id,
    }
    data = admin.post(USERS, body)
    assert data["role"] == {"id": role_id, "name": "developer", "display_name": "开发者"}
    assert data["custom_permissions"] == {"grants": [], "revokes": []}
    assert (data["model_access"], data["mcp_access"]) == (None, None)
    lisi = server.api().log_in(name, "InitialPassword123")
    assert lisi.user_id == data["id"]
    assert lisi.get("/users/me")["permissions"] == data["permissions"]
    conforms(admin.get(f"{USERS}/{data['id']}"), {**ROW, "last_login_at": "2026-02-03T08:00:00Z"})


@one_shape
def test_address_is_verified_by_whoever_vouches_for_it(admin: Api, server: Server):
    name = unique("wangwu")
    body = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    assert admin.post(USERS, body)["email_verified"] is True
    # Whoever registers may type the address of somebody else.
    path = f"{USERS}/{server.api().register().user_id}"
    assert admin.get(path)["email_verified"] is False
    assert admin.put(path, {"email_verified": True})["email_verified"] is True
    (entry,) = admin.get("/system/audit", action="user.changed", object_id=path.rpartition("/")[2])["items"]
    assert entry["details"] == {"email_verified": {"before": False, "after": True}}


def test_change_as_documented_counts_from_the_next_request(admin: Api, user: Api):
    path, roles = f"{USERS}/{user.user_id}", roles_of(admin)
    body = {
        "role_id": roles["developer"],
        "status": "active",
        "custom_permissions": {"grants": ["rule:write"], "revokes": ["kb:write"]},
        "model_access": ["model_id_1", "model_id_2"],
        "mcp_access": ["connection_id_1"],
    }
    data = admin.put(path, body)
    conforms(data, WHOLE | {"custom_permissions": body["custom_permissions"]})
    assert admin.get(path) == data
    assert {key: data[key] for key in ("custom_permissions", "model_access", "mcp_access")} == {
        key: body[key] for key in ("custom_permissions", "model_access", "mcp_access")
    }
    mine = user.get("/users/me")
    assert (mine["role"]["name"], mine["permissions"]) == ("developer", data["permissions"])
    assert "kb:write" not in mine["permissions"]
    body = {"name": "x"}
    user.refused(PermissionDenied, "POST", "/knowledge-bases", json=body)
    # What is left out stays; null lifts a limit.
    admin.put(path, {"custom_permissions": {"revokes": []}, "model_access": None})
    changed = admin.get(path)
    assert changed["custom_permissions"] == {"grants": ["rule:write"], "revokes": []}
    assert (changed["model_access"], changed["mcp_access"]) == (None, ["connection_id_1"])
    assert user.create_kb()
    admin.put(path, {"role_id": roles["viewer"]})
    user.refused(PermissionDenied, "POST", "/knowledge-bases", json=body)


@one_shape
@pytest.mark.parametrize(
    "body",
    [
        {"role": "admin"},
        {"is_admin": True},
        {"id": "7"},
        {"username": "other"},
        {"email": "a@b.co"},
        {"password_hash": "x"},
        {"permissions": ["users:manage"]},
        {"granted": ["users:manage"]},
        {"created_at": "2020-01-01T00:00:00Z"},
        {"status": "deleted"},
        {"status": "root"},
        {"role_id": str(uuid4())},
        {"role_id": ""},
        {"custom_permissions": {"grants": ["users:everything"]}},
        {"custom_permissions": {"grants": "users:manage"}},
        {"custom_permissions": {"extra": []}},
        {"model_access": ["x" * 201]},
        {"mcp_access": ["x"] * 1001},
        [],
    ],
)
def test_change_that_can_not_be_made_changes_nothing(admin: Api, someone: Api, body: object):
    path = f"{USERS}/{someone.user_id}"
    before = admin.get(path)
    admin.refused(InvalidRequest, "PUT", path, json=body)
    assert admin.get(path) == before


@one_shape
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("role", "admin", InvalidRequest),
        ("status", "disabled", InvalidRequest),
        ("role_id", str(uuid4()), InvalidRequest),
        ("email", "no address", InvalidRequest),
        ("password", "short", WeakPassword),
        ("username", "ADMIN", UsernameTaken),
    ],
)
def test_account_that_can_not_be_made_is_not(admin: Api, field: str, value: str, code: type[AgentexError]):
    name = unique("wangwu")
    body = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    before = admin.get(USERS)["total"]
    admin.refused(code, "POST", USERS, json={**body, field: value})
    assert admin.get(USERS)["total"] == before


def test_disabled_account_loses_logins_and_keys_at_once(admin: Api, server: Server):
    member = server.member()
    key = member.post("/users/me/api-keys", {"name": "k"})["key"]
    program = server.api(**{"X-API-Key": key})
    path = f"{USERS}/{member.user_id}"
    assert admin.put(path, {"status": "disabled"})["status"] == "disabled"
    member.refused(InvalidToken, "GET", "/users/me")
    program.refused(AccountDisabled, "GET", "/users/me")
    login = {"username": member.name, "password": PASSWORD}
    member.refused(AccountDisabled, "POST", "/auth/login", json=login)
    token = {"refresh_token": member.refresh_token}
    admin.put(path, {"status": "active"})
    # Its logins ended for good, its keys were only refused.
    member.refused(InvalidToken, "GET", "/users/me")
    member.refused(InvalidToken, "POST", "/auth/refresh", json=token)
    assert program.get("/users/me")["id"] == member.user_id


@one_shape
def test_reset_password_ends_logins_and_keys_only_if_wanted(admin: Api, server: Server):
    member = server.member()
    program = server.api(**{"X-API-Key": member.post("/users/me/api-keys", {"name": "k"})["key"]})
    path = f"{USERS}/{member.user_id}/password"
    weak = {"new_password": "short1"}
    admin.refused(WeakPassword, "PUT", path, json=weak)
    assert member.get("/users/me")["id"] == member.user_id
    admin.put(path, {"new_password": "Another-pass-1"})
    member.refused(InvalidToken, "GET", "/users/me")
    assert program.get("/users/me")["id"] == member.user_id
    admin.put(path, {"new_password": "Another-pass-2", "revoke_api_keys": True})
    program.refused(InvalidToken, "GET", "/users/me")
    assert server.api().log_in(member.name, "Another-pass-2").user_id == member.user_id


@one_shape
def test_only_administrator_keeps_the_office(admin: Api, server: Server):
    path, roles = f"{USERS}/{admin.user_id}", roles_of(admin)
    for body in (
        {"status": "disabled"},
        {"role_id": roles["user"]},
        {"custom_permissions": {"revokes": ["users:manage"]}},
    ):
        admin.refused(LastAdministrator, "PUT", path, json=body)
    assert server.api().log_in(admin.name, ADMIN_PASSWORD).get("/users/me")["role"]["name"] == ("admin")


@one_shape
def test_deleted_persons_knowledge_bases_go_to_an_heir_and_the_rest_is_erased(
    admin: Api, server: Server, user: Api, other: Api
):
    kb_id = user.create_kb()
    doc_id = user.ingest(kb_id, "a.md", "# Zebra\n\nThe zebra sleeps at noon.")
    user.post("/sessions", {"title": "private"})
    user.post("/memories", {"text": "My zebra is called Stripe."})
    user.post("/skills", {"content": "# SKILL: Report\n\n## Description\n\nWrites the daily report."})
    path = f"{USERS}/{user.user_id}"
    counts = {"knowledge_bases": 1, "documents": 1, "skills": 1}
    details = admin.refused(UserOwnsThings, "DELETE", path)
    owned = {**counts, "sessions": 1, "memories": 1, "calendar_events": 0, "images": 0}
    assert details == owned
    for params in ({"transfer_to": str(uuid4())}, {"transfer_to": other.user_id, "erase": True}):
        admin.refused(InvalidRequest, "DELETE", path, params=params)
    assert user.get(f"/knowledge-bases/{kb_id}")["can_write"] is True

    answer = admin.request("DELETE", path, params={"transfer_to": other.user_id})
    assert answer.json()["data"] == {
        "id": user.user_id,
        "username": user.name,
        "transferred_to": other.user_id,
        "transferred": counts,
        "erased": {**owned, "knowledge_bases": 0, "documents": 0, "skills": 0, "api_keys": 1},
    }
    assert other.get(f"/knowledge-bases/{kb_id}")["can_write"] is True
    assert other.search(kb_id, "zebra")[0]["document_id"] == doc_id
    assert (other.get("/sessions")["total"], other.get("/memories")["total"]) == (0, 0)
    user.refused(InvalidToken, "GET", "/users/me")
    admin.refused(UserNotFound, "GET", path)
    admin.refused(UserNotFound, "DELETE", path)
    assert admin.get(USERS, search=user.name)["total"] == 0
    assert admin.get(USERS, search=user.user_id)["total"] == 0


@one_shape
def test_deleted_persons_things_are_erased_when_that_is_wanted(admin: Api, server: Server, user: Api):
    before = server.stored
    kb_id = user.create_kb(is_public=True)
    user.ingest(kb_id, "a.md", "# Zebra\n\nThe zebra sleeps at noon.")
    path = f"{USERS}/{user.user_id}"
    answer = admin.request("DELETE", path, params={"erase": True}).json()["data"]
    assert answer["transferred_to"] is None
    assert (answer["erased"]["knowledge_bases"], answer["erased"]["documents"]) == (1, 1)
    admin.refused(KnowledgeBaseNotFound, "GET", f"/knowledge-bases/{kb_id}")
    left = 'SELECT id FROM "user" WHERE id = :id'
    eventually(lambda: not server.stored - before, what="the file goes")
    eventually(lambda: not server.sql(left, id=user.user_id), seconds=90, what="the row goes")


@one_shape
def test_account_that_is_not_there_is_not_found(admin: Api):
    for id_ in (str(uuid4()), "x", "x" * 300):
        admin.refused(UserNotFound, "GET", f"{USERS}/{id_}")
        admin.refused(UserNotFound, "PUT", f"{USERS}/{id_}", json={})
        body = {"new_password": "Another-pass-1"}
        admin.refused(UserNotFound, "PUT", f"{USERS}/{id_}/password", json=body)


@pytest.fixture
def role(admin: Api) -> Iterator[dict[str, object]]:
    """A role of one's own, gone again at the end."""
    name = unique("auditor")
    body = {"name": name, "display_name": "审计员", "permissions": ["kb:view", "session:view"]}
    made = admin.post(ROLES, body)
    yield made
    admin.request("DELETE", f"{ROLES}/{made['id']}")


@one_shape
def test_role_of_ones_own_is_made_given_changed_and_deleted(admin: Api, user: Api, role: dict[str, object]):
    path = f"{ROLES}/{role['id']}"
    assert role["built_in"] is False
    assert admin.get(path) == role
    admin.put(f"{USERS}/{user.user_id}", {"role_id": role["id"]})
    assert user.get("/users/me")["permissions"] == ["kb:view", "session:view"]
    admin.put(path, {"permissions": ["kb:view", "kb:write"]})
    assert user.get("/users/me")["permissions"] == ["kb:view", "kb:write"]
    assert user.create_kb()
    admin.refused(RoleInUse, "DELETE", path)
    admin.put(f"{USERS}/{user.user_id}", {"role_id": roles_of(admin)["user"]})
    admin.delete(path)
    admin.refused(RoleNotFound, "GET", path)
    admin.refused(RoleNotFound, "DELETE", path)


@one_shape
def test_built_in_roles_stay_as_they_are(admin: Api):
    listed = admin.get(ROLES)
    assert [item["name"] for item in listed["items"]][:4] == [
        "admin", "developer", "user", "viewer"
    ]  # fmt: skip
    assert set(listed["permissions"]) == {permission.value for permission in Permission}
    for item in listed["items"][:4]:
        path = f"{ROLES}/{item['id']}"
        admin.refused(RoleBuiltIn, "PUT", path, json={"permissions": []})
        admin.refused(RoleBuiltIn, "DELETE", path)
    assert admin.get(ROLES) == listed


@one_shape
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x"},
        {"name": "Ober Admin"},
        {"name": "ok", "permissions": ["everything"]},
        {"name": "ok", "built_in": True},
        {"name": "ok", "id": "7"},
        {"name": "ok", "display_name": "x" * 101},
    ],
)
def test_role_that_can_not_be_made_is_not(admin: Api, body: dict[str, object]):
    before = admin.get(ROLES)
    admin.refused(InvalidRequest, "POST", ROLES, json=body)
    admin.refused(RoleNameTaken, "POST", ROLES, json={"name": "admin"})
    assert admin.get(ROLES) == before
