"""Definitions of rules, and what a request is told about wrong ones."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from core.types.validation_errors import error_details
from rules.language.action_types import AnyAction, McpCallAction, WebhookAction
from rules.language.definition import RuleDefinition
from tests.fixtures.paths import ROOT
from tests.fixtures.rules.rule_parts import JSON, body, name_case, nested

ID = "6b7a5c3e-1111-4222-8333-944444444444"
CONTRACT: dict[str, Any] = {
    "name": "低血量警告",
    "description": "当玩家血量低于20%时发送警告",
    "trigger_config": {"event_type": "player_damage", "source_id": ID},
    "conditions": [{"field": "player.health_percent", "operator": "<", "value": 20, "logic": "AND"}],
    "actions": [
        {
            "type": "mcp_call",
            "target": "chat_send_player",
            "params": {"playerName": "{{player.name}}", "message": "⚠️ 警告：你的血量低于20%！"},
            "on_error": "continue",
        }
    ],
    "cooldown": 10000,
    "enabled": True,
}
LEAF = {"field": "a", "operator": "exists"}


def refusal(request: Any) -> dict[str, object]:
    with pytest.raises(ValidationError) as caught:
        RuleDefinition.model_validate(request)
    problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in caught.value.errors()]
    return error_details(problems, request)


def in_groups(node: Any, depth: int) -> Any:
    for _ in range(depth):
        node = {"conditions": [node]}
    return node


def action(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def test_the_example_of_the_contract_is_a_rule():
    rule = RuleDefinition.model_validate(CONTRACT)
    dumped = rule.model_dump(mode="json", exclude_unset=True)
    assert dumped == CONTRACT
    assert RuleDefinition.model_validate(rule.model_dump(mode="json")) == rule


@pytest.mark.parametrize(
    "valid",
    [
        action("mcp_call", target="say"),
        action("mcp_call", target="say", connection_id=ID, on_error="retry", retry={"attempts": 5, "backoff_ms": 0}),
        action("agent_run", params={"prompt": "Sum up {{x}}", "knowledge_base_ids": [ID]}),
        action("agent_run", target="react", params={"prompt": "x", "skill_ids": [ID], "model_id": "m"}),
        action("search", params={"query": "{{q}}", "knowledge_base_ids": [ID], "top_k": 3}),
        action("ingest", params={"knowledge_base_id": ID, "name": "{{event.id}}.md", "text": "{{x}}"}),
        action("ingest", params={"knowledge_base_id": ID, "name": "a", "url": "{{url}}"}),
        action(
            "webhook",
            target="https://example.com/hook",
            params={"body": {"a": ["{{x}}"]}, "headers": {"X-Kind": "{{event.type}}"}},
        ),
        action("webhook", target="http://[::1]:8080/"),
        action("notify", params={"title": "a", "text": "b", "level": "error"}),
        action("set_state", params={"count": "{{x}}", "at": "{{event.time}}"}),
    ],
)
def test_every_type_of_action_is_read(valid: dict[str, Any]):
    rule = RuleDefinition.model_validate(body(actions=[valid]))
    assert rule.actions[0].type == valid["type"]
    assert rule.model_dump(mode="json")["actions"][0]["type"] == valid["type"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": " x"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a\x00"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"description": "x" * 1_001}, "description"),
        ({"owner_id": ID}, "owner_id"),
        ({"enabled": 1}, "enabled"),
        ({"cooldown": -1}, "cooldown"),
        ({"cooldown": 30 * 86_400_000 + 1}, "cooldown"),
        ({"cooldown": "5"}, "cooldown"),
        ({"cooldown_key": "{{"}, "cooldown_key"),
        ({"trigger_config": {"event_type": ""}}, "trigger_config.event_type"),
        ({"trigger_config": {"event_type": "x", "source_id": "y"}}, "trigger_config.source_id"),
        ({"trigger_config": {"event_type": "schedule"}}, "trigger_config"),
        ({"trigger_config": {"event_type": "x", "schedule": {"cron": "* * * * *"}}}, "trigger_config"),
        ({"trigger_config": {"event_type": "schedule", "schedule": {"cron": "x"}}}, "trigger_config.schedule.cron"),
        (
            {"trigger_config": {"event_type": "schedule", "schedule": {"cron": "* * * * *", "timezone": "x"}}},
            "trigger_config.schedule.timezone",
        ),
        (
            {"trigger_config": {"event_type": "schedule", "schedule": {"cron": "* * * * *", "catch_up_minutes": 1441}}},
            "trigger_config.schedule.catch_up_minutes",
        ),
        (
            {"trigger_config": {"event_type": "schedule", "source_id": ID, "schedule": {"cron": "* * * * *"}}},
            "trigger_config",
        ),
        ({"conditions": [{**LEAF, "field": "a b"}]}, "conditions.0.field"),
        ({"conditions": [{**LEAF, "operator": "~"}]}, "conditions.0.operator"),
        ({"conditions": [{**LEAF, "operator": "changed", "field": "state.x"}]}, "conditions.0.operator"),
        ({"conditions": [{**LEAF, "operator": "matches", "value": "("}]}, "conditions.0.value"),
        ({"conditions": [{**LEAF, "operator": "<", "value": None}]}, "conditions.0.value"),
        ({"conditions": [{**LEAF, "logic": "XOR"}]}, "conditions.0.logic"),
        ({"conditions": [{**LEAF, "x": 1}]}, "conditions.0.x"),
        ({"conditions": [{"conditions": []}]}, "conditions.0.conditions"),
        ({"conditions": [{"conditions": [LEAF], "negate": 1}]}, "conditions.0.negate"),
        ({"conditions": [LEAF] * 51}, "conditions"),
        ({"conditions": [{"conditions": [LEAF] * 26}] * 2}, "conditions"),
        ({"conditions": [in_groups(LEAF, 6)]}, "conditions"),
        ({"conditions": [in_groups(LEAF, 50_000)]}, "conditions"),
        ({"actions": []}, "actions"),
        ({"actions": [action("notify", params={"title": "a", "text": "b"})] * 11}, "actions"),
        ({"actions": [action("email")]}, "actions.0.type"),
        ({"actions": [{}]}, "actions.0.type"),
        ({"actions": [action("mcp_call", params={})]}, "actions.0.target"),
        ({"actions": [action("mcp_call", target="x", params={"a": "{{"})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", params={"a": nested(50_000)})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", params={"a": float("nan")})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", params={"a": 10**5000})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", params={"\ud800": 1})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", params={"a": "x" * 70_000})]}, "actions.0.params"),
        ({"actions": [action("mcp_call", target="x", on_error="ignore")]}, "actions.0.on_error"),
        ({"actions": [action("mcp_call", target="x", retry={})]}, "actions.0"),
        (
            {"actions": [action("mcp_call", target="x", on_error="retry", retry={"attempts": 6})]},
            "actions.0.retry.attempts",
        ),
        (
            {"actions": [action("search", params={"query": "x", "knowledge_base_ids": []})]},
            "actions.0.params.knowledge_base_ids",
        ),
        ({"actions": [action("ingest", params={"knowledge_base_id": ID, "name": "x"})]}, "actions.0.params"),
        ({"actions": [action("webhook", target="ftp://x")]}, "actions.0.target"),
        ({"actions": [action("webhook", target="http://u:p@x/")]}, "actions.0.target"),
        ({"actions": [action("webhook", target="http://{{x}}/")]}, "actions.0.target"),
        (
            {"actions": [action("webhook", target="http://x/", params={"headers": {"Host": "y"}})]},
            "actions.0.params.headers",
        ),
        (
            {"actions": [action("webhook", target="http://x/", params={"headers": {"authorization": "y"}})]},
            "actions.0.params.headers",
        ),
        (
            {"actions": [action("webhook", target="http://x/", params={"headers": {"X-A": "y\r\nHost: z"}})]},
            "actions.0.params.headers",
        ),
        ({"actions": [action("set_state", params={"a b": 1})]}, "actions.0.params"),
        ({"actions": [action("set_state", params={})]}, "actions.0.params"),
    ],
    ids=name_case,
)
def test_a_wrong_definition_is_refused_at_its_field(changes: dict[str, Any], field: str):
    details = refusal(body(**changes))
    assert details["field"] == field
    assert details["error"]


def test_a_refusal_names_place_position_and_next_step():
    details = refusal(body(actions=[action("mcp_call", target="x", params={"a": [{"b": "Hi {{player.}}"}]})]))
    assert details["error"] == "a[0].b: At character 13: a name is expected, such as player.name"
    assert details["error_zh"] == "a[0].b：第 13 个字符：此处应为名称，例如 player.name"


def test_conditions_at_their_limits_are_read():
    RuleDefinition.model_validate(body(conditions=[in_groups(LEAF, 5), *[LEAF] * 49]))


def test_retries_have_defaults():
    read = TypeAdapter[AnyAction](AnyAction).validate_python
    assert read(action("mcp_call", target="x")).retries is None
    retry = read(action("mcp_call", target="x", on_error="retry")).retries
    assert retry is not None
    assert (retry.attempts, retry.backoff_ms) == (3, 1_000)


def test_parameters_are_ready_to_be_rendered():
    call = McpCallAction.model_validate(action("mcp_call", target="x", params={"a": "{{player.name}}"}))
    assert [path.text for path in call.compile_params().paths] == ["player.name"]
    hook = WebhookAction.model_validate(action("webhook", target="http://x/", params={"body": {"b": "{{event.id}}"}}))
    assert [path.text for path in hook.compile_params().paths] == ["event.id"]


@given(st.sampled_from(sorted(body())), JSON)
def test_any_json_is_a_rule_or_refused(field: str, value: Any):
    try:
        RuleDefinition.model_validate(body(**{field: value}))
    except ValidationError:
        return


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rules_of_the_guide_can_be_copied(language: str):
    page = (ROOT / "docs" / "guide" / language / "rules.md").read_text()
    examples = re.findall(r"```json\n(.*?)\n```", page, flags=re.DOTALL)
    assert len([RuleDefinition.model_validate_json(example) for example in examples]) == 10
