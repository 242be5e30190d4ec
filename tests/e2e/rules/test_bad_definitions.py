"""Definitions that are refused: each names its field, says what is allowed, and leaves nothing."""

import json
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, RequestTooLarge
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.rules.written_rules import PATH, developer, plain

NOTICE: dict[str, Any] = {"type": "notify", "params": {"title": "t", "text": "x"}}
CALL: dict[str, Any] = {"type": "mcp_call", "target": "t"}
pytestmark = one_shape


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


def condition(**fields: Any) -> dict[str, Any]:
    return {"field": "player.name", "operator": "==", "value": "x", **fields}


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = condition()
    for _ in range(levels):
        node = {"conditions": [node]}
    return node


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("no name", {"name": ""}, "name"),
    ("blank name", {"name": " x "}, "name"),
    ("long name", {"name": "x" * 101}, "name"),
    ("NUL", {"description": "a\x00b"}, "description"),
    ("half a character", {"name": "\ud800"}, "name"),
    ("unknown field", {"owner_id": "me"}, "owner_id"),
    ("no trigger", {"trigger_config": None}, "trigger_config"),
    ("no event type", {"trigger_config": {"event_type": ""}}, "trigger_config.event_type"),
    ("no id of a source", {"trigger_config": {"event_type": "x", "source_id": "y"}}, "trigger_config.source_id"),
    ("unknown operator", {"conditions": [condition(), condition(), condition(operator="=>")]}, "conditions.2.operator"),
    ("unknown logic", {"conditions": [condition(logic="XOR")]}, "conditions.0.logic"),
    ("no path", {"conditions": [condition(field="player..name")]}, "conditions.0.field"),
    ("bad pattern", {"conditions": [condition(operator="matches", value="(")]}, "conditions.0.value"),
    ("no number", {"conditions": [condition(operator="<", value=[])]}, "conditions.0.value"),
    ("deep groups", {"conditions": [nested(7)]}, "conditions"),
    ("many conditions", {"conditions": [condition()] * 51}, "conditions"),
    ("no actions", {"actions": []}, "actions"),
    ("many actions", {"actions": [NOTICE] * 11}, "actions"),
    ("unknown action", {"actions": [NOTICE, {"type": "shell", "params": {}}]}, "actions.1.type"),
    ("action without a type", {"actions": [{"params": {}}]}, "actions.0.type"),
    ("call without a tool", {"actions": [{"type": "mcp_call"}]}, "actions.0.target"),
    ("unknown on_error", {"actions": [{**NOTICE, "on_error": "ignore"}]}, "actions.0.on_error"),
    ("no template", {"actions": [{**CALL, "params": {"a": "{{player.name"}}]}, "actions.0.params"),
    ("unknown filter", {"actions": [{**CALL, "params": {"a": "{{x | shell}}"}}]}, "actions.0.params"),
    ("template bomb", {"actions": [{**CALL, "params": {"a": "{{x}}" * 201}}]}, "actions.0.params"),
    ("template in a key", {"actions": [{**CALL, "params": {"{{x}}": 1}}]}, "actions.0.params"),
    ("huge parameters", {"actions": [{**CALL, "params": {"a": "x" * 70_000}}]}, "actions.0.params"),
    ("negative cooldown", {"cooldown": -1}, "cooldown"),
    ("endless cooldown", {"cooldown": 10**12}, "cooldown"),
    ("cooldown as text", {"cooldown": "5000"}, "cooldown"),
    ("bad cooldown key", {"cooldown_key": "{{"}, "cooldown_key"),
    ("enabled as text", {"enabled": "yes"}, "enabled"),
    (
        "bad cron",
        {"trigger_config": {"event_type": "schedule", "schedule": {"cron": "* * * *"}}},
        "trigger_config.schedule.cron",
    ),
    (
        "every second",
        {"trigger_config": {"event_type": "schedule", "schedule": {"cron": "* * * * * *"}}},
        "trigger_config.schedule.cron",
    ),
    (
        "no zone",
        {"trigger_config": {"event_type": "schedule", "schedule": {"cron": "0 9 * * *", "timezone": "Mars"}}},
        "trigger_config.schedule.timezone",
    ),
    ("schedule without times", {"trigger_config": {"event_type": "schedule"}}, "trigger_config"),
]


@pytest.mark.parametrize(("fields", "field"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_definition_is_refused_and_names_its_field(user: Api, fields: dict[str, Any], field: str):
    content = as_json(plain(**fields))
    headers = {"content-type": "application/json"}
    details = check_error(user.request("POST", PATH, content=content, headers=headers), InvalidRequest)
    assert details["field"] == field, details
    assert details["error"]
    assert not details["error_zh"].isascii()
    assert user.get(PATH)["total"] == 0
    if "owner_id" in fields or fields.get("trigger_config", "") is None:
        return
    # A change to the same is refused alike, and changes nothing.
    rule = user.post(PATH, plain())
    content = as_json(fields)
    details = check_error(user.request("PUT", f"{PATH}/{rule['id']}", content=content, headers=headers), InvalidRequest)
    assert details["field"] == field, details
    assert user.get(f"{PATH}/{rule['id']}") == rule


def as_json(value: Any) -> bytes:
    # Half a character can only be spelt in ASCII.
    return json.dumps(value, ensure_ascii=True).encode()


def test_definition_larger_than_a_request_is_refused(user: Api):
    body = plain(description="x" * (5 * 2**20))
    check_error(user.request("POST", PATH, json=body), RequestTooLarge)
    assert user.get(PATH)["total"] == 0


def test_definition_of_many_large_parts_is_refused(user: Api):
    many = [condition(field=f"a{number}", value="y" * 200) for number in range(50)]
    calls = [{**CALL, "params": {"a": "{{x}}" * 200, "b": "z" * 3000}} for _ in range(10)]
    rule = user.post(PATH, plain(conditions=many, actions=calls))
    assert len(user.get(f"{PATH}/{rule['id']}")["conditions"]) == 50
    larger = {**calls[0], "params": {"b": "z" * 30_000}}
    details = user.refused(RequestTooLarge, "PUT", f"{PATH}/{rule['id']}", json={"actions": [larger] * 2})
    assert details == {"max_bytes": 65_536}
    assert user.get(f"{PATH}/{rule['id']}") == rule
