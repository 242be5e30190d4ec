"""Tests of rules with an event: every condition's verdict, the actions as they would be called, and what is missing."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import EventSourceNotFound, RuleLogNotFound, RuleNotFound
from core.errors.requests import InvalidRequest
from rules.models import RuleFiring, RuleKey
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.stored_rows import add_firing
from tests.fixtures.rules.written_rules import JOIN, PATH, add_connection, developer, low_health, plain, welcome

DOCUMENTED = {
    "conditions_met": True,
    "would_execute": True,
    "dry_run_result": {
        "actions": [
            {
                "type": "mcp_call",
                "target": "chat_broadcast",
                "rendered_params": {"message": "欢迎 testPlayer 进入游戏！", "color": "green"},
            }
        ]
    },
}
# What a dry run could change.
TABLES = ("rule", "rule_firing", "rule_version", "rule_key", "notification", "accepted_event")


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def source_id(server: Server, user: Api) -> str:
    return add_connection(server, user, "chat_broadcast", "chat_send_player")


def try_out(user: Api, rule: dict[str, Any], **event: Any) -> dict[str, Any]:
    return user.post(f"{PATH}/{rule['id']}/test", {"test_event": {**JOIN, **event}})


def missing_of(tried: dict[str, Any], position: int = 0) -> tuple[str, str]:
    """The only reason for which an action would fail, in English and in Chinese."""
    action = tried["dry_run_result"]["actions"][position]
    (reason,), (reason_zh,) = action["missing"], action["missing_zh"]
    return reason, reason_zh


def rows(server: Server, user: Api) -> list[int]:
    return [server.count(table, owner_id=user.user_id) for table in TABLES if table not in {"rule_version", "rule_key"}]


def test_test_of_the_contract_is_answered_as_documented(server: Server, user: Api, source_id: str):
    rule = user.post(PATH, welcome(source_id))
    before = rows(server, user)
    tried = try_out(user, rule)
    conforms(tried, DOCUMENTED)
    (action,) = tried["dry_run_result"]["actions"]
    assert {name: action[name] for name in ("type", "target", "rendered_params")} == DOCUMENTED["dry_run_result"][
        "actions"
    ][0]
    assert (action["missing"], tried["status"], tried["triggered"]) == ([], "pending", True)
    assert tried["cooldown"] == {"key": "", "holds_back": False, "rests_until": None}
    (verdict,) = tried["conditions"]
    assert (verdict["field"], verdict["operator"], verdict["holds"]) == ("player.name", "!=", True)
    assert verdict["value"] == '"testPlayer"'
    assert rows(server, user) == before
    assert user.get(f"{PATH}/{rule['id']}")["trigger_count"] == 0


@one_shape
def test_condition_that_does_not_hold_says_what_it_met(user: Api, source_id: str):
    rule = user.post(PATH, low_health(source_id))
    event = {"type": "player_damage", "data": {"player": {"name": "Steve", "health_percent": 35}}}
    tried = user.post(f"{PATH}/{rule['id']}/test", {"test_event": event})
    assert (tried["conditions_met"], tried["would_execute"], tried["status"]) == (False, False, "not_met")
    (verdict,) = tried["conditions"]
    assert (verdict["holds"], verdict["value"], verdict["expected"]) == (False, "35", "20")
    assert verdict["explanation"]
    assert verdict["explanation_zh"]
    event["data"] = {"player": {"name": "Steve"}}
    (verdict,) = user.post(f"{PATH}/{rule['id']}/test", {"test_event": event})["conditions"]
    assert (verdict["holds"], verdict["value"], verdict["reason"]) == (False, None, "missing")


@one_shape
def test_event_of_another_type_or_source_triggers_nothing(user: Api, source_id: str):
    rule = user.post(PATH, welcome(source_id))
    for event in ({"type": "player_leave"}, {"source_id": str(uuid4())}):
        tried = try_out(user, rule, **event)
        assert (tried["conditions_met"], tried["triggered"], tried["would_execute"]) == (True, False, False)


def test_cooldown_that_lasts_holds_the_rule_back(server: Server, user: Api, source_id: str):
    rule = user.post(PATH, welcome(source_id, cooldown=60_000, cooldown_key="{{player.name}}"))
    until = datetime.now(UTC) + timedelta(seconds=50)

    async def rest(database: Database) -> None:
        async with unit_of_work(database) as work:
            work.session.add(RuleKey(rule_id=rule["id"], key="testPlayer", rests_until=until))

    server.work(rest)
    tried = try_out(user, rule)
    assert (tried["conditions_met"], tried["would_execute"], tried["status"]) == (True, False, "cooldown")
    assert (tried["cooldown"]["key"], tried["cooldown"]["holds_back"]) == ("testPlayer", True)
    assert tried["cooldown"]["rests_until"]
    free = try_out(user, rule, data={"player": {"name": "Alex"}})
    assert (free["would_execute"], free["cooldown"]["key"]) == (True, "Alex")


def test_what_an_action_lacks_is_named(server: Server, user: Api, source_id: str):
    missing = [{"type": "mcp_call", "target": "nothing"}]
    gone = user.post(PATH, welcome(source_id, name="gone", actions=missing))
    reason, reason_zh = missing_of(try_out(user, gone))
    assert ("no tool 'nothing'" in reason, "没有工具 'nothing'" in reason_zh) == (True, True)

    rule = user.post(PATH, welcome(source_id))
    user.put(f"/mcp/connections/{source_id}", {"enabled": False})
    reason, reason_zh = missing_of(try_out(user, rule))
    assert ("switched off" in reason, "已停用" in reason_zh) == (True, True)

    denied = {"custom_permissions": {"grants": [], "revokes": ["agent:run"]}}
    server.admin().put(f"/admin/users/{user.user_id}", denied)
    reason, reason_zh = missing_of(try_out(user, rule))
    assert ("agent:run" in reason, "agent:run" in reason_zh, reason_zh.isascii()) == (True, True, False)


@one_shape
def test_reason_holds_each_fact_once_and_in_its_language(user: Api):
    ingest = {"knowledge_base_id": str(uuid4()), "name": "a", "url": "{{player.name}}"}
    agent = {"prompt": "Hello"}
    actions = [
        {"type": "ingest", "params": ingest},
        {"type": "agent_run", "target": "nobody", "params": agent},
        {"type": "notify", "params": {"title": "{{player.name}}", "text": "x", "level": "info"}},
    ]
    tried = try_out(user, user.post(PATH, plain(actions=actions)), data={"player": {"name": " "}})
    reasons = [missing_of(tried, position) for position in range(3)]
    assert all("_zh" not in reason and not reason_zh.isascii() for reason, reason_zh in reasons)
    assert "'nobody'" in reasons[1][1]
    assert reasons[2] == ("`params.title` is empty after rendering", "`params.title` 填充后为空")


@one_shape
def test_problem_of_a_key_is_said_in_both_languages(user: Api):
    rule = user.post(PATH, plain(cooldown=1000, cooldown_key="{{player.nick}}"))
    tried = try_out(user, rule)
    assert (tried["status"], "no player.nick" in tried["problem"]) == ("failed", True)
    assert tried["problem_zh"].startswith("cooldown_key：事件没有 player.nick")


@one_shape
def test_template_without_a_value_is_named_and_a_result_is_awaited(user: Api):
    actions = [
        {"type": "notify", "params": {"title": "{{player.nick}}", "text": "x"}},
        {"type": "notify", "params": {"title": "{{results[0].notification_id}}", "text": "{{player.name}}"}},
    ]
    first, second = try_out(user, user.post(PATH, plain(actions=actions)))["dry_run_result"]["actions"]
    assert (first["rendered_params"], first["awaits_results"]) == ({}, False)
    assert "player.nick" in first["missing"][0]
    assert (second["missing"], second["awaits_results"]) == ([], True)
    assert second["rendered_params"]["title"] == "{{results[0].notification_id}}"


def test_event_of_the_log_is_tried_again(server: Server, user: Api):
    rule = user.post(PATH, plain())
    other = user.post(PATH, plain())
    log_id = add_firing(server, rule, 1)
    tried = user.post(f"{PATH}/{rule['id']}/test", {"log_id": log_id})
    assert tried["dry_run_result"]["actions"][0]["rendered_params"]["title"] == "testPlayer"
    user.refused(RuleLogNotFound, "POST", f"{PATH}/{other['id']}/test", json={"log_id": log_id})
    of_itself = add_firing(server, rule, 2, event={**event_of(server, log_id), "chain": [rule["id"]]})
    assert user.post(f"{PATH}/{rule['id']}/test", {"log_id": of_itself})["status"] == "loop"
    for body in ({}, {"log_id": log_id, "test_event": JOIN}):
        details = user.refused(InvalidRequest, "POST", f"{PATH}/{rule['id']}/test", json=body)
        assert details["field"] == "test_event"


def event_of(server: Server, log_id: str) -> dict[str, Any]:
    async def read(database: Database) -> dict[str, Any]:
        async with database.reading() as session:
            row = await session.get(RuleFiring, log_id)
            assert row is not None
            return dict(row.event)

    return server.work(read)


def test_draft_is_tried_before_it_is_kept(server: Server, user: Api, source_id: str):
    tried = user.post(f"{PATH}/test", {**welcome(source_id), "test_event": JOIN})
    conforms(tried, DOCUMENTED)
    assert user.get(PATH)["total"] == 0
    rule = user.post(PATH, welcome(source_id))
    log_id = add_firing(server, rule, 1)
    draft = {**welcome(source_id), "conditions": [], "rule_id": rule["id"], "log_id": log_id}
    assert user.post(f"{PATH}/test", draft)["conditions"] == []
    details = user.refused(InvalidRequest, "POST", f"{PATH}/test", json={**welcome(source_id), "log_id": log_id})
    assert details["field"] == "rule_id"
    wrong = welcome(source_id)
    wrong["conditions"][0]["operator"] = "=>"
    details = user.refused(InvalidRequest, "POST", f"{PATH}/test", json={**wrong, "test_event": JOIN})
    assert details["field"] == "conditions.0.operator"

    other = developer(server)
    other.refused(EventSourceNotFound, "POST", f"{PATH}/test", json={**welcome(source_id), "test_event": JOIN})
    foreign = {**plain(), "rule_id": rule["id"], "log_id": log_id}
    other.refused(RuleNotFound, "POST", f"{PATH}/test", json=foreign)
