"""Every operation of the API, asked by everyone who might: generated from the OpenAPI document."""

from typing import Any
from uuid import uuid4

import pytest

from api.middleware import is_open
from core.errors import ErrorCode
from tests.fixtures.client import Api
from tests.fixtures.server import Server
from tests.fixtures.things import REQUESTS, Things, fill, filled, operations

KB = "/api/v1/knowledge-bases/{kb_id}"
# What a reader of a knowledge base may ask for though it is no GET.
READING = {f"POST {KB}/{name}" for name in ("search", "search/why", "copy")}
ACCESS = f"{KB}/documents/{{doc_id}}/access"
MANAGING = {
    f"DELETE {KB}",
    *(f"{method} {KB}/shares" for method in ("GET", "PUT")),
    *(f"{method} {ACCESS}" for method in ("GET", "PUT", "DELETE")),
}
ENDED = {
    ErrorCode.INVALID_TOKEN,
    ErrorCode.TOKEN_EXPIRED,
    ErrorCode.ACCOUNT_DISABLED,
}


def with_role(server: Server, caller: Api, role: str) -> Api:
    server.sql(
        'UPDATE "user" SET role_id = (SELECT id FROM role WHERE name = :role) WHERE id = :id',
        role=role,
        id=caller.user_id,
    )
    return caller


def with_key(caller: Api, **fields: Any) -> tuple[Api, str]:
    """The same person by an API key, and the key's id."""
    made = caller.post("/users/me/api-keys", {"name": "matrix", **fields})
    return Api(caller.http, {"X-API-Key": made["key"]}), made["id"]


def test_credential_that_has_ended_opens_no_operation(server: Server):
    gone, off = Api(server.http, {}).register(), Api(server.http, {}).register()
    by_key, key_id = with_key(gone)
    off_by_key, _ = with_key(off)
    gone.delete(f"/users/me/api-keys/{key_id}")
    gone.post("/auth/logout", {})
    server.sql("UPDATE \"user\" SET status = 'disabled' WHERE id = :id", id=off.user_id)
    for method, path, _ in operations(server):
        # Who has ended a login may say so again.
        if is_open(path) or path == "/api/v1/auth/logout":
            continue
        url = fill(path, lambda _: str(uuid4()))
        for caller in (gone, by_key, off, off_by_key):
            answer = caller.http.request(method, url, headers=caller.headers)
            assert answer.status_code == 401, f"{method} {path}: {answer.text}"
            assert answer.json()["code"] in ENDED, f"{method} {path}"


def test_foreign_and_absent_things_are_alike_for_everyone(
    server: Server, things: Things, other: Api
):
    viewer = with_role(server, server.person(), "viewer")
    developer = with_role(server, server.person(), "developer")
    narrow, _ = with_key(other, scopes=["kb:view"])
    before = things.state()
    for name, options in REQUESTS.items():
        method, _, path = name.partition(" ")
        here = fill(path, things.ids.__getitem__).removeprefix("/api/v1")
        nowhere = fill(path, lambda _: str(uuid4())).removeprefix("/api/v1")
        for caller in (viewer, developer, narrow):
            foreign = caller.request(method, here, **filled(options, things.ids.__getitem__))
            absent = caller.request(method, nowhere, **filled(options, lambda _: str(uuid4())))
            assert foreign.status_code in {403, 404}, f"{name}: {foreign.text}"
            assert foreign.content == absent.content, name
    assert things.state() == before


@pytest.mark.parametrize("access", ["read", "write"])
def test_shared_knowledge_base_is_open_as_far_as_it_is_shared(
    things: Things, other: Api, access: str
):
    body = {"shares": [{"username": other.name, "access": access}]}
    things.owner.put(f"/knowledge-bases/{things.ids['kb_id']}/shares", body)
    names = [name for name in REQUESTS if name.partition(" ")[2].startswith(KB)]
    # What takes something away comes last.
    for name in sorted(names, key=lambda name: name.startswith("DELETE")):
        method, _, path = name.partition(" ")
        is_reading = method == "GET" or name in READING
        if name in MANAGING:
            refusal = ErrorCode.READ_ONLY if access == "read" else ErrorCode.OWNER_ONLY
        else:
            refusal = None if is_reading or access == "write" else ErrorCode.READ_ONLY
        url = fill(path, things.ids.__getitem__).removeprefix("/api/v1")
        options = filled(REQUESTS[name], things.ids.__getitem__)
        answer = other.request(method, url, **options)
        if refusal is None:
            assert answer.status_code in {200, 409}, f"{name}: {answer.text}"
        else:
            assert answer.status_code == 403, f"{name}: {answer.text}"
            assert answer.json() == {
                "code": int(refusal), "message": refusal.message, "details": {}
            }, name  # fmt: skip
