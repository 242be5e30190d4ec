"""Rules that are shared: seen and tried by readers, switched by writers, changed by their owner alone."""

import json
from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import OwnerOnly, PermissionDenied, ReadOnly, RuleNotFound
from core.errors.base import AgentexError
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.http.event_streams import frames_of, streaming
from tests.fixtures.product.server import Server
from tests.fixtures.rules.stored_rows import add_firing
from tests.fixtures.rules.written_rules import (
    JOIN,
    PATH,
    add_connection,
    developer,
    greeter,
    plain,
    send_event,
    welcome,
)

# What a reader may do with a rule, a writer besides, and the owner alone.
READS = ("", "/export", "/logs", "/logs/{log_id}", "/versions")
CHANGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "change": ("PUT", "", {"json": {"description": "taken over"}}),
    "restore": ("POST", "/versions/1/restore", {}),
    "delete": ("DELETE", "", {}),
    "see shares": ("GET", "/shares", {}),
    "share": ("PUT", "/shares", {"json": {"shares": []}}),
}


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def other(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def rule(user: Api) -> dict[str, Any]:
    return user.post(PATH, plain())


def share(owner: Api, rule: dict[str, Any], *shares: dict[str, Any]) -> dict[str, Any]:
    return owner.put(f"{PATH}/{rule['id']}/shares", {"shares": list(shares)})


def listed(caller: Api, **filters: Any) -> list[tuple[str, str, str]]:
    return [(item["id"], item["owner_name"], item["access"]) for item in caller.get(PATH, **filters)["items"]]


@pytest.mark.parametrize("access", ["read", "write"])
def test_shared_rule_is_seen_with_its_log_and_tried(
    server: Server, user: Api, other: Api, rule: dict[str, Any], access: str
):
    log_id, path = add_firing(server, rule, 1), f"{PATH}/{rule['id']}"
    for place in READS:
        other.refused(RuleNotFound, "GET", path + place.format(log_id=log_id))
    assert listed(other) == []
    share(user, rule, {"username": other.name, "access": access})
    assert listed(other) == listed(other, owned=False) == [(rule["id"], user.name, access)]
    assert listed(other, owned=True) == listed(user, owned=False) == []
    assert listed(user) == [(rule["id"], user.name, "owner")]
    for place in READS:
        assert other.request("GET", path + place.format(log_id=log_id)).status_code == 200
    tried = other.post(f"{path}/test", {"test_event": JOIN})
    assert tried["dry_run_result"]["actions"][0]["rendered_params"]["title"] == "testPlayer"
    with streaming(other, "GET", f"/api/v1{path}/logs/stream", params={"until_quiet": True}) as response:
        assert [frame.event for frame in frames_of(response)] == ["start", "end"]


@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("change", CHANGES)
def test_rule_that_acts_as_its_owner_is_changed_by_nobody_else(
    user: Api, other: Api, rule: dict[str, Any], access: str, change: str
):
    share(user, rule, {"username": other.name, "access": access})
    method, place, options = CHANGES[change]
    refusal: type[AgentexError] = OwnerOnly if access == "write" else ReadOnly
    before = user.get(f"{PATH}/{rule['id']}")
    other.refused(refusal, method, f"{PATH}/{rule['id']}{place}", **options)
    assert user.get(f"{PATH}/{rule['id']}") == before
    assert user.get(f"{PATH}/{rule['id']}/shares")["total"] == 1


def test_draft_of_somebody_else_reads_nothing_of_a_shared_rules_state(user: Api, other: Api, rule: dict[str, Any]):
    share(user, rule, {"username": other.name, "access": "write"})
    draft = {**plain(), "rule_id": rule["id"], "test_event": JOIN}
    other.refused(OwnerOnly, "POST", f"{PATH}/test", json=draft)


def test_writer_switches_a_rule_and_reader_does_not(user: Api, other: Api, rule: dict[str, Any]):
    path = f"{PATH}/{rule['id']}/enabled"
    share(user, rule, {"username": other.name, "access": "read"})
    other.refused(ReadOnly, "PUT", path, json={"enabled": False})
    share(user, rule, {"username": other.name, "access": "write"})
    assert other.put(path, {"enabled": False})["access"] == "write"
    assert user.get(f"{PATH}/{rule['id']}")["enabled"] is False
    assert other.put(path, {"enabled": True})["enabled"] is True


def test_switching_on_needs_what_the_owner_has_and_not_what_the_writer_has(server: Server, user: Api, other: Api):
    connection_id = add_connection(server, user, "chat_broadcast")
    rule = user.post(PATH, welcome(connection_id, enabled=False))
    share(user, rule, {"username": other.name, "access": "write"})
    path = f"{PATH}/{rule['id']}/enabled"
    # The connection is the owner's; the writer has none.
    name = user.get(f"/mcp/connections/{connection_id}")["name"]
    shown = other.put(path, {"enabled": True})
    assert (shown["enabled"], shown["source_name"]) == (True, name)
    other.put(path, {"enabled": False})
    user.delete(f"/mcp/connections/{connection_id}")
    assert other.get(f"{PATH}/{rule['id']}")["source_name"] is None
    assert other.request("PUT", path, json={"enabled": True}).status_code == 404
    assert user.get(f"{PATH}/{rule['id']}")["enabled"] is False


def test_writer_without_the_permission_for_rules_switches_none(server: Server, user: Api, rule: dict[str, Any]):
    viewer = server.person()
    share(user, rule, {"username": viewer.name, "access": "write"})
    assert viewer.get(f"{PATH}/{rule['id']}")["access"] == "write"
    viewer.refused(PermissionDenied, "PUT", f"{PATH}/{rule['id']}/enabled", json={"enabled": False})


def test_shared_rule_acts_for_its_owner_alone(server: Server, user: Api, other: Api):
    rule_id = greeter(server, user)
    share(user, {"id": rule_id}, {"username": other.name, "access": "write"})
    assert [item["rule_id"] for item in user.get("/notifications")["items"]] == [rule_id]
    assert other.get("/notifications")["total"] == 0
    source = other.post(f"{PATH}/sources", {"name": "mine"})
    check_success(send_event(server.http, source, JOIN))
    eventually(lambda: source["id"] in str(other.get(f"{PATH}/event-types")), what="the reader's own event is known")
    # An event of a reader reaches their own rules, not those that they see.
    assert user.get(f"{PATH}/{rule_id}/logs")["total"] == 1


def test_role_shares_with_all_who_have_it_and_the_wider_share_counts(user: Api, other: Api, rule: dict[str, Any]):
    share(user, rule, {"role": "developer", "access": "read"}, {"username": other.name, "access": "write"})
    assert listed(other) == [(rule["id"], user.name, "write")]
    share(user, rule, {"role": "developer", "access": "read"})
    assert listed(other) == [(rule["id"], user.name, "read")]
    share(user, rule)
    assert listed(other) == []
    other.refused(RuleNotFound, "GET", f"{PATH}/{rule['id']}")


def test_list_of_shares_that_changed_meanwhile_is_not_overwritten(user: Api, other: Api, rule: dict[str, Any]):
    path = f"{PATH}/{rule['id']}/shares"
    read = user.get(path)["version"]
    share(user, rule, {"username": other.name})
    user.refused(Conflict, "PUT", path, json={"shares": [], "version": read})
    user.refused(InvalidRequest, "PUT", path, json={"shares": [{"username": f"nobody-{uuid4()}"}]})
    assert user.get(path)["items"][0]["user"]["username"] == other.name


def test_live_log_ends_when_the_share_does(server: Server, user: Api, other: Api, rule: dict[str, Any]):
    share(user, rule, {"username": other.name})
    with streaming(other, "GET", f"/api/v1{PATH}/{rule['id']}/logs/stream") as response:
        frames = frames_of(response)
        assert next(frames).event == "start"
        log_id = add_firing(server, rule, 1)
        assert json.loads(next(frames).data)["id"] == log_id
        share(user, rule)
        last = next(frames)
        assert (last.event, json.loads(last.data)["reason"]) == ("end", "deleted")


def test_shares_go_with_the_rule_and_with_its_owners_account(server: Server, user: Api, other: Api):
    rules = [user.post(PATH, plain()) for _ in range(2)]
    for rule in rules:
        share(user, rule, {"username": other.name})
    user.delete(f"{PATH}/{rules[0]['id']}")
    assert [item[0] for item in listed(other)] == [rules[1]["id"]]
    assert server.count("share", resource_id=rules[0]["id"]) == 0
    server.admin().request("DELETE", f"/admin/users/{user.user_id}", params={"erase": True})
    assert listed(other) == []
    other.refused(RuleNotFound, "GET", f"{PATH}/{rules[1]['id']}")


def test_sharing_is_in_the_audit_log(server: Server, user: Api, other: Api, rule: dict[str, Any]):
    share(user, rule, {"username": other.name})
    share(user, rule)
    entries = server.admin().get("/system/audit", object_id=rule["id"])["items"]
    assert [entry["action"] for entry in entries] == ["rule.unshared", "rule.shared", "rule.created"]
    assert other.name in str(entries[1]["details"])
