"""Rules as files: exported, and imported by others with what they lack."""

from typing import Any

import pytest

from core.errors.conflicts import RuleNameTaken
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server
from tests.fixtures.rules.written_rules import PATH, add_connection, developer, plain, welcome


@pytest.fixture
def user(server: Server) -> Api:
    return developer(server)


@pytest.fixture
def source_id(server: Server, user: Api) -> str:
    return add_connection(server, user, "chat_broadcast", name="Minecraft MCP")


def exported(user: Api, rule: dict[str, Any]) -> dict[str, Any]:
    answer = user.request("GET", f"{PATH}/{rule['id']}/export")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="rule-{rule["id"]}.json"'
    return answer.json()


def imported(user: Api, file: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    answer = user.request("POST", f"{PATH}/import", json=file, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_rule_is_exported_and_imported_again(user: Api, source_id: str):
    rule = user.post(PATH, welcome(source_id))
    file = exported(user, rule)
    assert (file["format"], file["format_version"]) == ("agentex.rule", 1)
    assert file["sources"] == {source_id: {"kind": "mcp", "name": "Minecraft MCP"}}
    user.refused(RuleNameTaken, "POST", f"{PATH}/import", json=file)
    tried = imported(user, file, dry_run=True)
    assert tried == {"rule": None, "missing": []}
    assert user.get(PATH)["total"] == 1
    copy = imported(user, file, name="Copy")["rule"]
    same = ("description", "trigger_config", "conditions", "actions", "cooldown", "enabled")
    assert {name: copy[name] for name in same} == {name: rule[name] for name in same}
    assert (copy["name"], copy["version"]) == ("Copy", 1)


def test_what_the_importing_person_lacks_is_named_and_the_rule_is_off(server: Server, user: Api, source_id: str):
    base_id = user.create_kb()
    search = {"type": "search", "params": {"query": "{{player.name}}", "knowledge_base_ids": [base_id]}}
    call = {"type": "mcp_call", "target": "chat_broadcast", "connection_id": source_id}
    rule = user.post(PATH, welcome(source_id, actions=[call, search]))
    file = exported(user, rule)
    other = developer(server)
    tried = imported(other, file, dry_run=True)
    fields = {entry["field"]: entry["value"] for entry in tried["missing"]}
    assert fields == {
        "trigger_config.source_id": source_id,
        "actions.0.connection_id": source_id,
        "actions.1": "search",
    }
    assert all(entry["error"] and not entry["error_zh"].isascii() for entry in tried["missing"])
    assert other.get(PATH)["total"] == 0
    kept = imported(other, file)
    assert kept["missing"] == tried["missing"]
    assert kept["rule"]["enabled"] is False

    # A connection of the same kind and name takes the place of the one that is not there.
    third = developer(server)
    theirs = add_connection(server, third, "chat_broadcast", name="Minecraft MCP")
    kept = imported(third, exported(user, user.put(f"{PATH}/{rule['id']}", {"actions": [call]})))
    assert (kept["missing"], kept["rule"]["enabled"]) == ([], True)
    assert kept["rule"]["trigger_config"]["source_id"] == theirs
    assert kept["rule"]["actions"][0]["connection_id"] == theirs


def test_file_that_is_no_rule_is_refused_with_its_field(user: Api):
    file = exported(user, user.post(PATH, plain(name="mine")))
    wrong = {**file["rule"], "name": "x", "conditions": [{"field": "a", "operator": "=>", "value": 1}]}
    for body, field in (
        ({**file, "rule": wrong}, "rule.conditions.0.operator"),
        ({**file, "rule": {"name": "x"}}, "rule.trigger_config"),
        ({**file, "format": "agentex.skill"}, "format"),
        ({**file, "format_version": 2}, "format_version"),
        ({"rule": file["rule"]}, "format"),
    ):
        details = user.refused(InvalidRequest, "POST", f"{PATH}/import", json=body)
        assert details["field"] == field, details
    assert user.get(PATH)["total"] == 1
