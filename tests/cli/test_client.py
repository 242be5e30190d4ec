"""The HTTP client towards servers that are away, busy, foreign or newer."""

import json

import pytest

from cli.errors import ServerRefused
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import Language, Message
from core.settings import get_settings
from tests.cli.conftest import Agentex
from tests.fixtures.product.processes import free_port
from tests.fixtures.servers.contract_server import Contract


def test_a_server_that_is_away_gives_exit_code_3_and_says_what_to_do(agentex: Agentex):
    url = f"http://127.0.0.1:{free_port()}"
    said = agentex("kb", "list", "--url", url)
    assert said.code == 3
    assert url in said.err
    assert "agentex serve" in said.err
    said = agentex("kb", "list", "--url", url, "--json")
    assert said.json["code"] == 50205
    assert said.err == ""


def test_a_server_that_is_away_goes_before_a_missing_login(stranger: Agentex):
    assert stranger("kb", "list", "--url", f"http://127.0.0.1:{free_port()}").code == 3


def test_a_foreign_server_is_named_as_such(agentex: Agentex, server: Contract):
    said = agentex("kb", "list", "--url", f"{server.url}/foreign")
    assert said.code == 3
    assert "not Agentex" in said.err


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://a b", "http://[::1"])
def test_a_url_that_is_none_is_a_usage_error(agentex: Agentex, url: str):
    assert agentex("kb", "list", "--url", url).code == 2


def test_a_url_without_scheme_and_with_a_slash_is_understood(agentex: Agentex, server: Contract):
    assert agentex("kb", "list", "--url", f"{server.url.removeprefix('http://')}/").code == 0


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(agentex: Agentex, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    assert agentex("kb", "list").code == 0


def test_a_request_that_the_server_declines_is_tried_again(agentex: Agentex, server: Contract):
    server.declines = 2
    assert agentex("kb", "create", "Docs").code == 0
    assert [base["name"] for base in server.bases.values()] == ["Docs"]


def test_a_server_that_keeps_declining_gives_exit_code_3(agentex: Agentex, server: Contract):
    server.declines = 100
    assert agentex("kb", "list").code == 3


def test_an_answer_of_another_shape_is_no_crash(agentex: Agentex, server: Contract):
    server.bases["x"] = {"id": 7}
    said = agentex("kb", "list", "--json")
    assert said.code == 3
    assert said.json["code"] == 50205


def test_settings_that_cannot_be_used_are_named_by_the_process(process, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTEX_PORT", "many")
    get_settings.cache_clear()
    child = process("kb", "list")
    _, err = child.communicate(timeout=60)
    assert child.returncode == 2
    assert "AGENTEX_PORT" in err


def catalogue() -> list[tuple[str, Message]]:
    found = vars(messages).items()
    return [(name, value) for name, value in found if isinstance(value, Message)]


@pytest.mark.parametrize(("name", "message"), catalogue())
def test_each_message_has_the_same_placeholders_in_both_languages(name: str, message: Message):
    def fields(text: str) -> set[str]:
        return {part.partition("}")[0] for part in text.split("{")[1:]}

    assert fields(message.en) == fields(message.zh), name
    assert message.en, json.dumps(name)
    assert message.zh


def test_a_reason_that_came_in_chinese_is_told_in_chinese():
    details = {"field": "status", "error": "Only a paused document", "error_zh": "只有已暂停的文档"}
    refusal = ServerRefused(40901, "资源冲突", details)
    assert refusal.explain(Language.ZH) == "资源冲突 (status: 只有已暂停的文档)"
    assert refusal.explain(Language.EN) == "资源冲突 (status: Only a paused document)"
