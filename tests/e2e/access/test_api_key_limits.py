"""API keys with scopes and an end, and streams that end with what they were opened with."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from core.errors.auth import AccountDisabled, InvalidToken, KnowledgeBaseNotFound, PermissionDenied, TokenExpired
from core.errors.base import AgentexError
from core.errors.conflicts import ApiKeysFull
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.runs.agent_runs import Run, run_body, types_of

KEYS = "/users/me/api-keys"


def in_time(**span: float) -> str:
    return (datetime.now(UTC) + timedelta(**span)).isoformat()


def with_api_key(server: Server, owner: Api, **bounds: Any) -> Api:
    """A caller with a new key of somebody's."""
    made = owner.post(KEYS, {"name": "k", **bounds})
    caller = server.api(**{"X-API-Key": made["key"]})
    caller.user_id, caller.name = owner.user_id, made["id"]
    return caller


def test_key_may_do_what_its_scopes_say_in_every_header(server: Server, user: Api):
    kb_id = user.create_kb()
    reader = with_api_key(server, user, scopes=["kb:view"])
    for headers in (reader.headers, {"Authorization": f"Bearer {reader.headers['X-API-Key']}"}):
        caller = server.api(**headers)
        assert caller.get(f"/knowledge-bases/{kb_id}")["id"] == kb_id
        details = caller.refused(PermissionDenied, "POST", "/knowledge-bases", json={"name": unique()})
        assert details == {"permission": "kb:write"}
        caller.refused(PermissionDenied, "GET", "/sessions")
        assert caller.get("/users/me")["permissions"] == ["kb:view"]
    # A name that is no object's tells nothing that the right to look would not.
    reader.refused(KnowledgeBaseNotFound, "GET", "/knowledge-bases/absent")


def test_key_loses_what_its_owner_loses(server: Server, user: Api):
    writer = with_api_key(server, user, scopes=["kb:view", "kb:write"])
    writer.create_kb()
    server.sql(
        "UPDATE \"user\" SET role_id = (SELECT id FROM role WHERE name = 'viewer') WHERE id = :id",
        id=user.user_id,
    )
    body = {"name": unique()}
    writer.refused(PermissionDenied, "POST", "/knowledge-bases", json=body)
    assert writer.get("/users/me")["permissions"] == ["kb:view"]


def test_key_with_scopes_can_not_change_the_account(server: Server, user: Api):
    denied = PermissionDenied
    caller = with_api_key(server, user, scopes=["kb:view"])
    other_key = user.post(KEYS, {"name": "other"})["id"]
    caller.refused(denied, "PUT", "/users/me", json={"username": unique()})
    passwords = {"old_password": "Password123", "new_password": "NewPassword456"}
    caller.refused(denied, "PUT", "/users/me/password", json=passwords)
    caller.refused(denied, "DELETE", f"{KEYS}/{other_key}")
    choice = {"policies": {"calendar_write": "never"}}
    caller.refused(denied, "PUT", "/users/me/tool-policies", json=choice)
    caller.refused(denied, "DELETE", "/users/me/tool-policies")
    assert other_key in {key["id"] for key in user.get(KEYS)["items"]}
    # It may end itself.
    caller.delete(f"{KEYS}/{caller.name}")
    caller.refused(InvalidToken, "GET", "/users/me")


def test_key_makes_no_key_that_outlives_it_and_one_with_scopes_makes_none(server: Server, user: Api):
    end = in_time(hours=1)
    caller = with_api_key(server, user, expires_at=end)
    later = {"name": "k", "expires_at": in_time(hours=2)}
    details = caller.refused(InvalidRequest, "POST", KEYS, json=later)
    assert details["field"] == "expires_at"
    made = caller.post(KEYS, {"name": "k"})
    assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(end)
    bounds = {"scopes": ["kb:view", "agent:run"], "expires_at": in_time(minutes=5)}
    narrow = with_api_key(server, caller, **bounds)
    narrow.refused(PermissionDenied, "POST", KEYS, json={"name": "k", "scopes": []})
    shown = {key["id"]: key for key in user.get(KEYS)["items"]}
    assert shown[narrow.name]["scopes"] == ["agent:run", "kb:view"]
    assert shown[narrow.name]["expires_at"] < shown[made["id"]]["expires_at"]


def test_key_is_revoked_with_the_one_it_was_made_with(server: Server, user: Api):
    first = with_api_key(server, user)
    second = with_api_key(server, first)
    third, other = with_api_key(server, second), with_api_key(server, user)
    user.delete(f"{KEYS}/{first.name}")
    for caller in (first, second, third):
        caller.refused(InvalidToken, "GET", "/users/me")
    assert other.get("/users/me")["id"] == user.user_id


def test_account_has_so_many_keys_and_no_more(embedded: Server):
    person = embedded.person()
    row = "SELECT hex(randomblob(18)), user_id, name, hex(randomblob(32)), key_prefix, created_at"
    columns = "id, user_id, name, key_hash, key_prefix, created_at"
    numbers = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
    embedded.sql(
        f"INSERT INTO api_key ({columns}) {numbers} {row} FROM api_key, n WHERE user_id = :id",
        id=person.user_id,
    )
    refused = person.refused(ApiKeysFull, "POST", KEYS, json={"name": "k"})
    assert refused == {"most": 100}
    listed = person.get(KEYS, page=5, sort_by="name")
    assert (len(listed["items"]), listed["total"], listed["pages"]) == (20, 100, 5)
    person.delete(f"{KEYS}/{listed['items'][0]['id']}")
    assert person.post(KEYS, {"name": "k"})["name"] == "k"


def test_nobody_makes_a_key_with_a_permission_they_lack(user: Api):
    body = {"name": "k", "scopes": ["users:manage"]}
    details = user.refused(PermissionDenied, "POST", KEYS, json=body)
    assert details == {"permission": "users:manage"}


def test_key_ends_when_it_was_to_end(server: Server, user: Api):
    caller = with_api_key(server, user, expires_at=in_time(hours=1))
    assert caller.get("/users/me")["id"] == user.user_id
    server.sql("UPDATE api_key SET expires_at = created_at WHERE id = :id", id=caller.name)
    caller.refused(TokenExpired, "GET", "/users/me")
    # Its owner sees what became of it.
    assert caller.name in {key["id"] for key in user.get(KEYS)["items"]}


@one_shape
@pytest.mark.parametrize(
    "bounds",
    [
        {"scopes": ["kb:everything"]},
        {"scopes": "kb:view"},
        {"scopes": ["kb:view"] * 500},
        {"scopes": [None]},
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"expires_at": "tomorrow"},
        {"expires_at": "2999-01-01T00:00:00"},
        {"expires_at": -1},
    ],
)
def test_key_with_bad_bounds_is_not_made(someone: Api, bounds: dict[str, Any]):
    before = someone.get(KEYS)["total"]
    someone.refused(InvalidRequest, "POST", KEYS, json={"name": "k", **bounds})
    assert someone.get(KEYS)["total"] == before


def endings(server: Server) -> list[tuple[Api, Callable[[], object], type[AgentexError]]]:
    """Callers, what ends what they came with, and what they are told then; the account's last."""

    def sql(statement: str, id_: str) -> Callable[[], object]:
        return lambda: server.sql(f"UPDATE {statement} WHERE id = :id", id=id_)

    revoked, narrowed, expired, disabled = (with_api_key(server, server.person()) for _ in range(4))
    logged_in = server.api().log_in(server.person().name)
    return [
        (revoked, lambda: revoked.delete(f"{KEYS}/{revoked.name}"), InvalidToken),
        (narrowed, sql("api_key SET scopes = '[]'", narrowed.name), PermissionDenied),
        (
            expired,
            sql("api_key SET expires_at = created_at", expired.name),
            TokenExpired,
        ),
        (logged_in, lambda: logged_in.post("/auth/logout"), InvalidToken),
        (
            disabled,
            sql("\"user\" SET status = 'disabled'", disabled.user_id),
            AccountDisabled,
        ),
    ]


def wait_for(server: Server, stream: Run, status: str, *, seconds: float) -> None:
    """Wait until the run of a stream has a status."""
    query = "SELECT status FROM agent_run WHERE run_id = :id AND status = :status"
    values = {"id": stream.body["run_id"], "status": status}
    eventually(lambda: server.sql(query, **values), seconds=seconds, what=status)


def test_open_streams_end_with_the_login_key_right_or_account(llm_product: Server, scripted_llm: ModelServer):
    ends = endings(llm_product)
    props = {"forwarded_props": {"agent_type": "react"}}
    with ExitStack() as stack:
        *streams, other = (
            stack.enter_context(Run(caller, run_body("#slow", **props)))
            for caller in [*(caller for caller, _, _ in ends), llm_product.person()]
        )
        for stream in [*streams, other]:
            assert stream.response.status_code == httpx.codes.OK
            stream.until("TEXT_MESSAGE_CONTENT")
        for _, end, _ in ends:
            end()
        # The model would never end.
        started = time.monotonic()
        for stream in streams:
            stream.finish()
        assert time.monotonic() - started < 20
        *unseen, cancelled = streams
        for stream in unseen:
            assert not {"RUN_FINISHED", "RUN_ERROR"} & set(types_of(stream.events))
            wait_for(llm_product, stream, "running", seconds=0)
        # A disabled account's run is stopped besides; its stream may end before it is told so.
        if cancelled.events[-1]["type"] != "TEXT_MESSAGE_CONTENT":
            assert cancelled.events[-1]["outcome"] == {"type": "cancelled"}
        wait_for(llm_product, cancelled, "cancelled", seconds=5)
        scripted_llm.release.set()
        # Nobody else's stream is touched, and the runs that nobody sees come to their end.
        assert other.finish()[-1]["type"] == "RUN_FINISHED"
        for stream in unseen:
            wait_for(llm_product, stream, "completed", seconds=20)
    for caller, _, code in ends:
        caller.refused(code, "GET", "/sessions")
