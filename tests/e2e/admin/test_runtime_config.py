"""Runtime settings over HTTP (docs/reference/agentex-api.md, section 11): in force at once, everywhere."""

import asyncio
from collections.abc import Iterator

import pytest

from core.db.database import open_database
from core.errors.auth import ConfigKeyNotFound, PermissionDenied, RegistrationDisabled
from core.errors.conflicts import SessionsFull
from core.errors.requests import FileTooLarge, InvalidRequest, QuotaExceeded
from core.runtime_config.live import LiveSettings
from core.runtime_config.registry import KEYS
from tests.fixtures.http.client import Api, check_success, conforms, unique
from tests.fixtures.product.server import Server, one_shape

PATH = "/admin/system/config"


@pytest.fixture
def admin(server: Server) -> Iterator[Api]:
    """The administrator, whose changes are forgotten at the end: other tests share the server."""
    admin = server.admin()
    yield admin
    server.sql("DELETE FROM stored_config")


def item(admin: Api, key: str) -> dict[str, object]:
    (found,) = [one for one in admin.get(PATH)["items"] if one["key"] == key]
    return found


def test_examples_of_the_reference_document(admin: Api):
    headers = {"Accept-Language": "zh-CN"}
    answer = admin.request("GET", PATH, headers=headers)
    listed = check_success(answer)
    example = {"key": "max_sessions_per_user", "value": 100, "description": "每用户最大会话数"}
    assert {one["key"] for one in listed["items"]} == set(KEYS)
    (sessions,) = [one for one in listed["items"] if one["key"] == example["key"]]
    conforms(sessions, example)
    assert sessions["description"].startswith(example["description"])

    changed = admin.put(f"{PATH}/max_sessions_per_user", {"value": 200})
    assert (changed["value"], changed["source"]) == (200, "stored")
    assert changed["updated_by"] == admin.name
    assert item(admin, "max_sessions_per_user")["value"] == 200

    back = admin.delete(f"{PATH}/max_sessions_per_user")
    assert (back["value"], back["source"], back["updated_at"]) == (0, "default", None)


@one_shape
def test_each_key_takes_its_bounds_and_nothing_beyond(admin: Api):
    for key in admin.get(PATH)["items"]:
        path = f"{PATH}/{key['key']}"
        if key["type"] == "boolean":
            good, bad = [False, True], [0, 1, "true", None]
        elif key["type"] == "targets":
            good = [[], [f"localhost:{port}" for port in range(1, key["maximum"] + 1)]]
            bad = [[*good[1], "localhost:101"], ["localhost"], 5, True, None]
        else:
            good = [key["minimum"], key["maximum"]]
            bad = [key["minimum"] - 1, key["maximum"] + 1, True, "5", None, [5], 1e400, 10**400]
            bad += [] if key["type"] == "number" else [5.5]
        for value in good:
            assert admin.put(path, {"value": value})["value"] == value
        for value in bad:
            content = repr(value).replace("None", "null").replace("'", '"')
            content = content.replace("True", "true").replace("inf", "1e400")
            sent = {
                "content": f'{{"value": {content}}}',
                "headers": {"Content-Type": "application/json"},
            }
            details = admin.refused(InvalidRequest, "PUT", path, **sent)
            assert details["field"] == "value"
        assert item(admin, key["key"])["value"] == good[-1]


@one_shape
def test_unknown_key_and_unknown_field_are_refused(admin: Api):
    for method, options in (("PUT", {"json": {"value": 1}}), ("DELETE", {})):
        details = admin.refused(ConfigKeyNotFound, method, f"{PATH}/secret_key", **options)
        assert details["known"] == list(KEYS)
    body = {"value": 1, "updated_by": "somebody"}
    admin.refused(InvalidRequest, "PUT", f"{PATH}/run_max_turns", json=body)


def test_who_is_no_administrator_sees_and_changes_nothing(server: Server, admin: Api, user: Api):
    viewer = server.sql("SELECT id FROM role WHERE name = 'viewer'")[0]["id"]
    reader = server.person()
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=viewer, id=reader.user_id)
    path = f"{PATH}/registration_enabled"
    for caller in (user, reader):
        for method, url, options in (
            ("GET", PATH, {}), ("PUT", path, {"json": {"value": False}}), ("DELETE", path, {}),
        ):  # fmt: skip
            details = caller.refused(PermissionDenied, method, url, **options)
            assert details == {"permission": "system:manage"}
    assert item(admin, "registration_enabled")["value"] is True


def test_change_counts_at_once_here_and_in_every_other_process(server: Server, admin: Api, user: Api):
    database = open_database(server.settings)
    elsewhere = LiveSettings(database, server.settings)

    async def seen() -> bool:
        try:
            return (await elsewhere.now()).registration_enabled
        finally:
            await database.close()

    assert asyncio.run(seen()) is True
    name = unique("late")
    body = {"username": name, "email": f"{name}@example.com", "password": "Password123"}
    admin.put(f"{PATH}/registration_enabled", {"value": False})
    assert asyncio.run(seen()) is False
    server.api().refused(RegistrationDisabled, "POST", "/auth/register", json=body)
    admin.put(f"{PATH}/registration_enabled", {"value": True})
    assert asyncio.run(seen()) is True
    assert server.api().post("/auth/register", body)["username"] == name


def test_limits_count_for_what_begins_after_the_change(admin: Api, user: Api):
    kb_id = user.create_kb()
    admin.put(f"{PATH}/max_upload_bytes", {"value": 20})
    answer = user.send_file(kb_id, "a.md", b"# Zebra\n\nA zebra sleeps standing up.")
    assert answer.json()["code"] == FileTooLarge.code
    admin.delete(f"{PATH}/max_upload_bytes")
    admin.put(f"{PATH}/user_quota_bytes", {"value": 50})
    assert user.get("/users/me/storage")["limit_bytes"] == 50
    answer = user.send_file(kb_id, "a.md", b"# Zebra\n\n" + 50 * b"a")
    assert answer.json()["code"] == QuotaExceeded.code
    admin.put(f"{PATH}/run_max_turns", {"value": 7})
    told = user.request("GET", "/agent/capabilities").json()
    assert told["execution"]["maxIterations"] == 7


def test_sessions_are_limited_however_they_begin(admin: Api, user: Api):
    user.post("/sessions", {})
    admin.put(f"{PATH}/max_sessions_per_user", {"value": 1})
    full = SessionsFull
    assert user.refused(full, "POST", "/sessions", json={}) == {"limit": 1}
    body = {
        "thread_id": unique("thread"),
        "messages": [{"id": "1", "role": "user", "content": "?"}],
    }
    assert user.refused(full, "POST", "/agent/run", json=body) == {"limit": 1}
    assert user.get("/sessions")["total"] == 1


@one_shape
def test_search_without_a_number_gives_as_many_as_configured(admin: Api, user: Api):
    kb_id = user.create_kb(chunk_size=64, chunk_overlap=0)
    text = "\n\n".join(f"# Zebra {n}\n\n" + f"The zebra number {n} sleeps at noon. " * 12 for n in range(4))
    user.ingest(kb_id, "a.md", text)
    admin.put(f"{PATH}/search_top_k", {"value": 2})
    assert len(user.search(kb_id, "zebra")) == 2
    assert len(user.search(kb_id, "zebra", top_k=3)) == 3
