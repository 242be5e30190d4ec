"""``agentex rule`` and ``notifications`` against the real product."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import EventSourceNotFound, OwnerOnly, RuleLogNotFound, RuleNotFound, RuleVersionNotFound
from core.errors.conflicts import Conflict, RuleNameTaken
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.cli_commands import Command, commands_of
from tests.fixtures.product.server import Server
from tests.fixtures.rules.stored_rows import add_firing, add_notification
from tests.fixtures.rules.written_rules import JOIN, PATH, add_connection, developer, plain, send_event, welcome


@pytest.fixture
def owner(embedded: Server) -> Api:
    return developer(embedded)


@pytest.fixture
def agentex(embedded: Server, owner: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Runs ``agentex`` with the key of the owner, in an empty folder."""
    with commands_of("", embedded, owner, tmp_path, monkeypatch) as run:
        yield run


def written(fields: dict[str, Any], name: str = "rule.json") -> str:
    Path(name).write_text(json.dumps(fields, ensure_ascii=False), encoding="utf-8")
    return name


def report(result: Any, code: int = 0) -> Any:
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_rule_of_a_file_acts_on_a_signed_event(agentex: Command, embedded: Server, owner: Api):
    made = agentex("rule", "source", "create", "Game")
    assert made.exit_code == 0, made.output
    secret = made.stdout.strip()
    assert secret.startswith("whsec_")
    (source,) = report(agentex("rule", "source", "list", "--json"))["items"]
    assert (source["url"] in made.stderr, source.get("secret")) == (True, None)
    rule = plain(name="Hello", trigger_config={"event_type": "player_join", "source_id": source["id"]})
    created = agentex("rule", "create", written(rule))
    assert "Created the rule Hello" in created.stdout
    assert agentex("rule", "list").stdout.splitlines()[1].split("\t")[:4] == ["Hello", "player_join", "Game", "yes"]

    send_event(embedded.http, {**source, "secret": secret}, JOIN).raise_for_status()
    entry = eventually(lambda: report(agentex("rule", "logs", "hello", "--status", "success", "--json"))["items"])[0]
    assert entry["event_data"] == JOIN["data"]
    shown = agentex("rule", "logs", "Hello", entry["id"])
    assert ('"testPlayer"' in shown.stdout, "1. notify: success" in shown.stdout) == (True, True)
    (message,) = report(agentex("notifications", "list", "--unread", "--json"))["items"]
    assert message["title"] == "testPlayer"
    assert "testPlayer\njoined" in agentex("notifications", "read", message["id"]).stdout
    assert report(agentex("notifications", "list", "--unread", "--json"))["items"] == []

    listed = agentex("rule", "types", "--source", "Game").stdout.splitlines()
    assert [line.split("\t")[:4] for line in listed[1:]] == [["player_join", "Game", "no", "1"]]
    assert '"testPlayer"' in agentex("rule", "types", "player_join").stdout


def test_rule_is_shown_switched_changed_and_deleted(agentex: Command, owner: Api):
    conditions = [
        {"field": "player.level", "operator": ">=", "value": 5},
        {
            "negate": True,
            "logic": "OR",
            "conditions": [{"field": "player.name", "operator": "==", "value": "阿强"}],
        },
    ]
    body = plain(name="问候", conditions=conditions, cooldown=5000, cooldown_key="{{player.name}}")
    rule = owner.post(PATH, body)
    shown = agentex("rule", "show", "问候").stdout
    assert '  player.level >= 5\n  OR NOT (\n    player.name == "阿强"\n  )\n' in shown
    assert "  1. notify\n     title: {{player.name}}\n" in shown
    assert "5000 ms ({{player.name}})" in shown
    assert "条件\n" in agentex("rule", "show", rule["id"], "--lang", "zh").stdout

    assert "is off" in agentex("rule", "disable", "问候").stdout
    assert owner.get(f"{PATH}/{rule['id']}")["enabled"] is False
    assert report(agentex("rule", "enable", "问候", "--json"))["enabled"] is True
    # What is shown as JSON can be given back, and counts only while nobody else changed the rule.
    fields = report(agentex("rule", "show", "问候", "--json"))
    assert agentex("rule", "update", "问候", written({**fields, "cooldown": 7})).exit_code == 0
    stale = agentex("rule", "update", "问候", "-", stdin=json.dumps({**fields, "cooldown": 8}))
    assert (stale.exit_code, owner.get(f"{PATH}/{rule['id']}")["cooldown"]) == (1, 7)
    assert report(agentex("rule", "update", "问候", "rule.json", "--json"), 1)["code"] == Conflict.code

    assert agentex("rule", "delete", "问候").exit_code == 2
    assert report(agentex("rule", "delete", "问候", "--yes", "--json"))["deleted"] is True
    owner.refused(RuleNotFound, "GET", f"{PATH}/{rule['id']}")


def test_wrong_rules_are_refused_with_the_next_step(agentex: Command, owner: Api):
    rule = owner.post(PATH, plain(name="Hello"))
    unknown = agentex("rule", "show", "Goodbye")
    assert (unknown.exit_code, "Hello" in unknown.stderr) == (5, True)
    # These are paths of the API, too.
    assert report(agentex("rule", "show", "sources", "--json"), 5)["code"] == RuleNotFound.code
    wrong = plain(conditions=[{"field": "a", "operator": "=>", "value": 1}])
    refused = agentex("rule", "create", written(wrong), "--lang", "zh")
    assert (refused.exit_code, "conditions.0.operator" in refused.stderr) == (2, True)
    assert report(agentex("rule", "create", written(plain(name="Hello")), "--json"), 1)["code"] == RuleNameTaken.code
    Path("broken.json").write_text('{"name": ')
    Path("list.json").write_text("[]")
    for name, words in (("broken.json", "no JSON"), ("list.json", "no rule"), ("nowhere.json", "no file")):
        refused = agentex("rule", "create", name)
        assert (refused.exit_code, words in refused.stderr) == (2, True)
    agentex("rule", "export", rule["id"], "export.json")
    assert "agentex rule import export.json" in agentex("rule", "create", "export.json").stderr
    assert owner.get(PATH)["total"] == 1


def test_dry_run_shows_verdicts_texts_and_what_is_missing(agentex: Command, embedded: Server, owner: Api):
    source_id = add_connection(embedded, owner, "chat_send_player")
    conditions = [
        {"field": "player.name", "operator": "!=", "value": "admin"},
        {"field": "player.level", "operator": ">", "value": 5, "logic": "OR"},
    ]
    body = welcome(source_id, name="Welcome", conditions=conditions)
    owner.post(PATH, body)
    event = written(JOIN, "event.json")
    tried = agentex("rule", "test", "Welcome", "--event", event)
    assert tried.exit_code == 1
    assert 'true\tplayer.name !=\t"testPlayer"\t\n' in tried.stdout
    assert "false\tplayer.level >\t(nothing)\tThe event has no player.level\n" in tried.stdout
    assert "message: 欢迎 testPlayer 进入游戏！" in tried.stdout
    assert "has no tool 'chat_broadcast'" in tried.stdout
    chinese = agentex("rule", "test", "Welcome", "--event", event, "--lang", "zh").stdout
    assert ("事件没有 player.level" in chinese, "没有工具 'chat_broadcast'" in chinese) == (True, True)

    draft = {**body, "actions": [{**body["actions"][0], "target": "chat_send_player"}]}
    as_json = ("--file", written(draft), "--event", "-", "--json")
    assert report(agentex("rule", "test", *as_json, stdin=json.dumps(JOIN)))["would_execute"] is True
    other = {**JOIN, "type": "player_leave"}
    left = agentex("rule", "test", "--file", "rule.json", "--event", written(other, "other.json"))
    assert (left.exit_code, "not of the type and source" in left.stdout) == (1, True)
    assert owner.get(f"{PATH}")["items"][0]["trigger_count"] == 0


def test_dry_run_takes_an_event_of_the_log_and_tells_the_cooldown(agentex: Command, embedded: Server, owner: Api):
    rule = owner.post(PATH, plain(name="Hello", conditions=[{"field": "player.name", "operator": "exists"}]))
    log_id = add_firing(embedded, rule, 1)
    tried = agentex("rule", "test", "Hello", "--log", log_id)
    assert (tried.exit_code, "title: testPlayer" in tried.stdout, "It would act." in tried.stdout) == (0, True, True)
    stricter = plain(name="Hello", conditions=[{"field": "player.name", "operator": "==", "value": "Alex"}])
    tried = agentex("rule", "test", "Hello", "--log", log_id, "--file", written(stricter))
    assert (tried.exit_code, "conditions not met" in tried.stdout) == (1, True)
    assert report(agentex("rule", "test", "Hello", "--log", "none", "--json"), 5)["code"] == RuleLogNotFound.code
    for words in ((), ("Hello",), ("Hello", "--log", log_id, "--event", "-"), ("--file", "rule.json", "--log", log_id)):
        assert agentex("rule", "test", *words).exit_code == 2
    loop = add_firing(embedded, rule, 2, event={**JOIN, "chain": [rule["id"]], "time": "2026-02-03T09:50:00Z"})
    assert "It would not act (loop)." in agentex("rule", "test", "Hello", "--log", loop).stdout


def test_log_tells_what_went_wrong_in_either_language(agentex: Command, embedded: Server, owner: Api):
    rule = owner.post(PATH, plain(name="Hello"))
    result = {"type": "webhook", "target": "https://a.example", "status": "failed", "duration": 12, "attempts": 3}
    failure = {**result, "error": "The address answered 500", "error_zh": "该地址返回了 500"}
    failed = add_firing(embedded, rule, 1, status="failed", actions_result=[failure])
    # As older versions wrote it.
    add_firing(embedded, rule, 2, status="failed", trace={"problem": "cooldown_key: no"}, conditions_met=False)
    add_firing(embedded, rule, 3, status="cooldown")
    lines = agentex("rule", "logs", "Hello").stdout.splitlines()
    assert [line.split("\t")[1] for line in lines[1:]] == ["cooldown", "failed", "failed"]
    lines = agentex("rule", "logs", "Hello", "--status", "failed", "--lang", "zh").stdout.splitlines()
    assert [line.split("\t")[4] for line in lines[1:]] == ["cooldown_key: no", "webhook: 该地址返回了 500"]
    shown = agentex("rule", "logs", "Hello", failed).stdout
    assert "1. webhook https://a.example: failed, 12 ms, 3 attempts\n   The address answered 500\n" in shown
    assert report(agentex("rule", "logs", "Hello", "--since", "2099-01-01", "--json"))["items"] == []
    assert agentex("rule", "logs", "Hello", "--follow", "--since", "2026-01-01").exit_code == 2


def test_earlier_version_is_restored(agentex: Command, owner: Api):
    rule = owner.post(PATH, plain(name="Before"))
    owner.put(f"{PATH}/{rule['id']}", {"name": "After", "cooldown": 5})
    lines = agentex("rule", "versions", "After").stdout.splitlines()
    assert [[line.split("\t")[place] for place in (0, 2, 5)] for line in lines[1:]] == [
        ["2", "After", "notify"],
        ["1", "Before", "notify"],
    ]
    assert "version 3" in agentex("rule", "restore", "After", "1").stdout
    assert owner.get(f"{PATH}/{rule['id']}")["cooldown"] == 0
    assert report(agentex("rule", "restore", "Before", "9", "--json"), 5)["code"] == RuleVersionNotFound.code


def test_rule_goes_through_a_file_to_another_person(
    agentex: Command, embedded: Server, owner: Api, monkeypatch: pytest.MonkeyPatch
):
    source_id = add_connection(embedded, owner, "chat_broadcast")
    owner.post(PATH, welcome(source_id, name="Welcome"))
    assert agentex("rule", "export", "Welcome", "welcome.json").exit_code == 0
    assert agentex("rule", "export", "Welcome", "welcome.json").exit_code == 2
    printed = agentex("rule", "export", "Welcome", "-").stdout
    assert json.loads(printed) == json.loads(Path("welcome.json").read_text())

    other = developer(embedded)
    with commands_of("rule", embedded, other, Path.cwd(), monkeypatch) as theirs:
        tried = theirs("import", "welcome.json", "--dry-run", "--lang", "zh")
        assert (tried.exit_code, other.get(PATH)["total"]) == (1, 0)
        assert "trigger_config.source_id: 您没有" in tried.stdout
        kept = theirs("import", "-", "--name", "Theirs", stdin=printed)
        assert (kept.exit_code, "switched off" in kept.stderr) == (1, True)
    (rule,) = other.get(PATH)["items"]
    assert (rule["name"], rule["enabled"]) == ("Theirs", False)


def test_secret_of_a_source_is_shown_once_and_changed(agentex: Command, embedded: Server, owner: Api):
    made = report(agentex("rule", "source", "create", "Game", "--json"))
    assert agentex("rule", "source", "rotate", "Game").exit_code == 2
    rotated = agentex("rule", "source", "rotate", "Game", "--yes").stdout.strip()
    assert rotated not in ("", made["secret"])
    assert send_event(embedded.http, made, JOIN).is_error
    assert send_event(embedded.http, {**made, "secret": rotated}, JOIN).is_success
    assert "whsec_" not in agentex("rule", "source", "list", "--json").stdout
    assert agentex("rule", "source", "delete", "Game", "--yes").exit_code == 0
    assert report(agentex("rule", "source", "delete", "Game", "--yes", "--json"), 5)["code"] == EventSourceNotFound.code
    assert agentex("rule", "list", "--source", "Game").exit_code == 5
    unknown = agentex("rule", "types", "nothing")
    assert (unknown.exit_code, "document.completed" in unknown.stderr) == (2, True)
    assert "文档已可检索" in agentex("rule", "types", "--source", "platform", "--lang", "zh").stdout


def test_notifications_are_read_at_once_and_deleted(agentex: Command, embedded: Server, owner: Api):
    ids = [add_notification(embedded, owner.user_id, title=title, level="warning") for title in ("a", "b")]
    lines = agentex("notifications", "list", "--lang", "zh").stdout.splitlines()
    assert [line.split("\t")[1:4] for line in lines[1:]] == [["警告", "-", "b"], ["警告", "-", "a"]]
    assert agentex("notifications", "read").exit_code == 2
    assert report(agentex("notifications", "read", "--all", "--json"))["total"] == 2
    assert owner.get("/notifications")["unread"] == 0
    assert agentex("notifications", "delete", ids[0], "--yes").exit_code == 0
    assert [item["id"] for item in owner.get("/notifications")["items"]] == [ids[1]]


def test_dropped_events_are_shown_with_their_source(agentex: Command, embedded: Server):
    made = report(agentex("rule", "source", "create", "Game", "--json"))
    assert send_event(embedded.http, made, {"no": "type"}).is_error
    listed = eventually(lambda: [text for text in [agentex("rule", "source", "list").stdout] if "dropped" in text])[0]
    assert "Game: dropped events: 1, the last one 20" in listed
    chinese = agentex("rule", "types", "--source", "Game", "--lang", "zh").stdout
    assert ("Game：丢弃了 1 个事件" in chinese, "没有可用的类型" in chinese) == (True, True)
    assert report(agentex("rule", "types", "--source", "Game", "--json"))["drops"][0]["reason"] == "unusable"


def test_rule_is_shared_in_the_terminal_and_switched_by_somebody_else(
    agentex: Command, embedded: Server, owner: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = developer(embedded)
    rule = owner.post(PATH, plain(name="Night watch"))
    assert "shared with nobody" in agentex("rule", "share", "Night watch").stdout
    assert report(agentex("rule", "share", "Night watch", "--user", other.name, "--json"))["total"] == 1
    assert report(agentex("rule", "share", "Night watch", "--user", other.name, "--remove", "--json"))["total"] == 0
    shared = report(agentex("rule", "share", "Night watch", "--user", other.name, "--write", "--json"))
    assert [(item["user"]["username"], item["access"]) for item in shared["items"]] == [(other.name, "write")]
    with commands_of("", embedded, other, tmp_path, monkeypatch) as colleague:
        (listed,) = report(colleague("rule", "list", "--json"))["items"]
        assert (listed["id"], listed["owner_name"], listed["access"]) == (rule["id"], owner.name, "write")
        # A rule of one's own goes before one of the same name that is shared.
        own = other.post(PATH, plain(name="Night watch"))
        assert report(colleague("rule", "show", "night watch", "--json"))["id"] == own["id"]
        assert report(colleague("rule", "disable", rule["id"], "--json"))["enabled"] is False
        refused = report(colleague("rule", "share", rule["id"], "--json"), code=1)
        assert refused["code"] == OwnerOnly.code
