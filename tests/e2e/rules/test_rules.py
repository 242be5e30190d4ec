"""Rules over HTTP: kept, listed, changed, switched, deleted, and their owner's alone (seed 002, section 10)."""

from typing import Any
from uuid import uuid4

import pytest

from core.errors.auth import (
    EventSourceNotFound,
    McpConnectionNotFound,
    NotAuthenticated,
    PermissionDenied,
    RuleNotFound,
    RuleVersionNotFound,
)
from core.errors.conflicts import Conflict, RuleNameTaken, RulesFull
from core.errors.requests import InvalidPagination, InvalidRequest
from rules.store import MOST_RULES
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.written_rules import PATH, add_connection, developer, low_health, plain, welcome

MOMENT = "2026-02-03T09:50:00Z"
ITEM = {
    "id": "uuid",
    "name": "玩家进入欢迎",
    "description": "当玩家进入游戏时发送欢迎消息",
    "trigger_config": {"event_type": "player_join", "source_id": "uuid"},
    "enabled": True,
    "trigger_count": 156,
    "last_triggered_at": None,
    "created_at": MOMENT,
}
DETAIL = {
    **ITEM,
    "conditions": [{"field": "player.name", "operator": "!=", "value": "admin", "logic": "AND"}],
    "actions": [
        {
            "type": "mcp_call",
            "target": "chat_broadcast",
            "params": {"message": "x", "color": "green"},
            "on_error": "continue",
        }
    ],
    "cooldown": 5000,
}


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def source_id(server: Server, user: Api) -> str:
    return add_connection(server, user, "chat_broadcast", "chat_send_player")


def test_rules_of_the_contract_are_kept_and_answered_as_documented(user: Api, source_id: str):
    made = user.post(PATH, welcome(source_id))
    conforms(made, DETAIL)
    assert {name: made[name] for name in ("name", "description", "cooldown", "enabled")} == {
        "name": "玩家进入欢迎",
        "description": "当玩家进入游戏时发送欢迎消息",
        "cooldown": 5000,
        "enabled": True,
    }
    second = user.post(PATH, low_health(source_id))
    (condition,) = second["conditions"]
    assert condition == {"field": "player.health_percent", "operator": "<", "value": 20, "logic": "AND"}
    assert second["actions"][0]["params"]["playerName"] == "{{player.name}}"

    listed = user.get(PATH)
    conforms(listed, {"items": [ITEM], "total": 2, "page": 1, "page_size": 20, "pages": 1})
    assert [item["id"] for item in listed["items"]] == [second["id"], made["id"]]
    assert user.get(f"{PATH}/{made['id']}") == made


def test_rule_of_the_contract_is_changed_switched_and_deleted(user: Api, source_id: str):
    path = f"{PATH}/{user.post(PATH, welcome(source_id))['id']}"
    changed = user.put(path, {"name": "欢迎", "cooldown": 0})
    assert (changed["name"], changed["cooldown"], changed["version"]) == ("欢迎", 0, 2)
    assert changed["actions"][0]["target"] == "chat_broadcast"
    # What stays the same is no new version.
    assert user.put(path, {"name": "欢迎"})["version"] == 2
    whole = user.put(path, low_health(source_id))
    assert (whole["name"], whole["version"]) == ("低血量警告", 3)

    off = user.put(f"{path}/enabled", {"enabled": False})
    assert (off["enabled"], off["version"]) == (False, 3)
    assert user.get(path)["enabled"] is False
    assert user.put(f"{path}/enabled", {"enabled": True})["enabled"] is True

    assert user.delete(path) is None
    user.refused(RuleNotFound, "GET", path)
    user.refused(RuleNotFound, "DELETE", path)


def test_change_against_another_version_is_refused(user: Api):
    rule = user.post(PATH, plain())
    path = f"{PATH}/{rule['id']}"
    user.put(path, {"cooldown": 1, "version": 1})
    details = user.refused(Conflict, "PUT", path, json={"cooldown": 2, "version": 1})
    assert details == {"field": "version", "version": 2}
    assert user.get(path)["cooldown"] == 1


def test_rules_are_filtered_and_paged(user: Api, source_id: str):
    names = ["Greet", "Warn_1", "Warn21"]
    ids = [user.post(PATH, plain(name=name))["id"] for name in names]
    user.put(f"{PATH}/{ids[0]}/enabled", {"enabled": False})
    of_source = user.post(PATH, welcome(source_id))["id"]

    def listed(**filters: Any) -> set[str]:
        return {item["id"] for item in user.get(PATH, **filters)["items"]}

    assert listed(enabled=False) == {ids[0]}
    assert listed(enabled=True) == {ids[1], ids[2], of_source}
    assert listed(source_id=source_id) == {of_source}
    assert listed(event_type="player_join") == {*ids, of_source}
    assert listed(event_type="player") == set()
    assert listed(q="WARN_") == {ids[1]}
    assert listed(q="进入游戏") == {of_source}
    first = user.get(PATH, page_size=3, sort_order="asc")
    assert [item["name"] for item in first["items"]] == names
    assert (first["total"], first["pages"]) == (4, 2)
    (last,) = user.get(PATH, page_size=3, page=2, sort_order="asc")["items"]
    assert last["id"] == of_source
    user.refused(InvalidPagination, "GET", PATH, params={"sort_by": "definition"})


def test_other_persons_rules_are_as_if_they_were_not(server: Server, user: Api):
    other = developer(server)
    rule = user.post(PATH, plain(name="mine"))
    path = f"{PATH}/{rule['id']}"
    assert other.get(PATH)["total"] == 0
    for method, where, body in (
        ("GET", path, None),
        ("PUT", path, {"name": "theirs"}),
        ("DELETE", path, None),
        ("PUT", f"{path}/enabled", {"enabled": False}),
        ("POST", f"{path}/test", {"test_event": {"type": "player_join", "data": {}}}),
        ("GET", f"{path}/logs", None),
        ("GET", f"{path}/logs/stream", None),
        ("GET", f"{path}/versions", None),
        ("POST", f"{path}/versions/1/restore", None),
        ("GET", f"{path}/export", None),
    ):
        assert other.refused(RuleNotFound, method, where, json=body) == {}
    assert user.get(path) == rule
    # Names are their owner's own.
    assert other.post(PATH, plain(name="mine"))["name"] == "mine"


def test_name_is_unique_among_ones_own(user: Api):
    user.post(PATH, plain(name="a"))
    second = user.post(PATH, plain(name="b"))
    assert user.refused(RuleNameTaken, "POST", PATH, json=plain(name="a")) == {"field": "name", "name": "a"}
    user.refused(RuleNameTaken, "PUT", f"{PATH}/{second['id']}", json={"name": "a"})
    assert user.get(f"{PATH}/{second['id']}") == second


def test_number_of_rules_is_limited(server: Server, user: Api):
    for _ in range(MOST_RULES):
        user.post(PATH, plain())
    assert user.refused(RulesFull, "POST", PATH, json=plain()) == {"limit": MOST_RULES}
    assert user.get(PATH)["total"] == MOST_RULES
    developer(server).post(PATH, plain())


def test_sources_and_connections_must_be_ones_own(server: Server, user: Api, source_id: str):
    other = developer(server)
    for foreign in (str(uuid4()), source_id):
        details = other.refused(EventSourceNotFound, "POST", PATH, json=welcome(foreign))
        assert details == {"field": "trigger_config.source_id"}
        action = {"type": "mcp_call", "target": "x", "connection_id": foreign}
        details = other.refused(McpConnectionNotFound, "POST", PATH, json=plain(actions=[action]))
        assert details == {"field": "actions.0.connection_id"}
    assert other.get(PATH)["total"] == 0
    webhook = user.post(f"{PATH}/sources", {"name": "game"})["id"]
    user.post(PATH, plain(trigger_config={"event_type": "player_join", "source_id": webhook}))
    details = user.refused(InvalidRequest, "POST", PATH, json=welcome(webhook))
    assert details["field"] == "actions.0.connection_id"


def test_rule_whose_source_is_gone_is_not_switched_on(user: Api):
    source = user.post(f"{PATH}/sources", {"name": "game"})["id"]
    trigger = {"event_type": "player_join", "source_id": source}
    path = f"{PATH}/{user.post(PATH, plain(trigger_config=trigger, enabled=False))['id']}"
    user.delete(f"{PATH}/sources/{source}")
    assert user.get(path)["trigger_config"]["source_id"] == source
    user.refused(EventSourceNotFound, "PUT", f"{path}/enabled", json={"enabled": True})
    assert user.get(path)["enabled"] is False


def test_schedule_is_due_while_it_is_switched_on(user: Api):
    trigger = {"event_type": "schedule", "schedule": {"cron": "0 9 * * *", "timezone": "Asia/Shanghai"}}
    rule = user.post(PATH, plain(trigger_config=trigger, actions=[notice()]))
    path = f"{PATH}/{rule['id']}"
    assert rule["due_at"].endswith("T01:00:00Z")
    assert user.put(f"{path}/enabled", {"enabled": False})["due_at"] is None
    later = {**trigger, "schedule": {"cron": "30 9 * * *", "timezone": "UTC"}}
    assert user.put(path, {"trigger_config": later})["due_at"] is None
    assert user.put(f"{path}/enabled", {"enabled": True})["due_at"].endswith("T09:30:00Z")
    assert user.put(path, {"trigger_config": {"event_type": "player_join"}})["due_at"] is None


def notice() -> dict[str, Any]:
    return {"type": "notify", "params": {"title": "Morning", "text": "It is nine"}}


def test_versions_are_listed_and_restored(server: Server, user: Api, source_id: str):
    path = f"{PATH}/{user.post(PATH, welcome(source_id))['id']}"
    user.put(path, {"name": "second", "conditions": []})
    listed = user.get(f"{path}/versions")
    assert [item["version"] for item in listed["items"]] == [2, 1]
    assert listed["items"][1]["definition"]["name"] == "玩家进入欢迎"
    user.put(f"{path}/enabled", {"enabled": False})
    back = user.post(f"{path}/versions/1/restore")
    assert (back["name"], back["version"], back["enabled"]) == ("玩家进入欢迎", 3, False)
    assert len(back["conditions"]) == 1
    for absent in ("9", "x", "0", "9" * 30):
        user.refused(RuleVersionNotFound, "POST", f"{path}/versions/{absent}/restore")


def test_who_may_not_write_rules_reads_their_own(server: Server, user: Api):
    rule = user.post(PATH, plain())
    role = server.sql("SELECT id FROM role WHERE name = 'user'")[0]["id"]
    server.sql('UPDATE "user" SET role_id = :role WHERE id = :id', role=role, id=user.user_id)
    assert user.get(f"{PATH}/{rule['id']}") == rule
    assert user.refused(PermissionDenied, "POST", PATH, json=plain()) == {"permission": "rule:write"}
    user.refused(PermissionDenied, "DELETE", f"{PATH}/{rule['id']}")
    user.refused(PermissionDenied, "PUT", f"{PATH}/{rule['id']}/enabled", json={"enabled": False})


@one_shape
def test_rule_does_no_more_than_the_key_that_it_is_written_with(server: Server, user: Api):
    key = user.post("/users/me/api-keys", {"name": "narrow", "scopes": ["rule:view", "rule:write", "kb:view"]})["key"]
    narrow = server.api(**{"X-API-Key": key})
    run = {"type": "agent_run", "params": {"prompt": "Who is {{player.name}}?"}}
    details = narrow.refused(PermissionDenied, "POST", PATH, json=plain(actions=[notice(), run]))
    assert details == {"permission": "agent:run", "field": "actions.1.type"}
    rule = narrow.post(PATH, plain())
    narrow.refused(PermissionDenied, "PUT", f"{PATH}/{rule['id']}", json={"actions": [run]})
    dangerous = user.post(PATH, plain(actions=[run], enabled=False))
    narrow.refused(PermissionDenied, "PUT", f"{PATH}/{dangerous['id']}/enabled", json={"enabled": True})
    assert user.get(f"{PATH}/{dangerous['id']}")["enabled"] is False


@one_shape
def test_rules_need_a_login(server: Server):
    for path in (PATH, "/notifications", f"{PATH}/sources", f"{PATH}/event-types"):
        server.api().refused(NotAuthenticated, "GET", path)


@one_shape
def test_acts_on_rules_are_in_the_audit_log_without_what_they_say(server: Server, user: Api):
    rule = user.post(PATH, plain(name="secret name"))
    user.put(f"{PATH}/{rule['id']}", {"cooldown": 5})
    user.put(f"{PATH}/{rule['id']}/enabled", {"enabled": False})
    user.delete(f"{PATH}/{rule['id']}")
    entries = server.admin().get("/system/audit", object_id=rule["id"])["items"]
    actions = [entry["action"] for entry in reversed(entries)]
    assert actions == ["rule.created", "rule.changed", "rule.changed", "rule.deleted"]
    assert "secret name" not in str(entries)
