"""``agentex login`` and ``logout``, and the credentials they keep."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.supervisor.preflight import STATE_FILE
from cli.supervisor.status_file import StatusFile
from core.settings import get_settings
from tests.cli.conftest import Agentex, run_here
from tests.fixtures.servers.contract_server import API_KEY, PASSWORD, Contract


@pytest.fixture
def fresh_server(server: Contract, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contract:
    """The contract server as this machine's own, just started for the first time."""
    monkeypatch.setenv("AGENTEX_PORT", server.url.rpartition(":")[2])
    get_settings.cache_clear()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "initial-admin-password").write_text(f"{PASSWORD}\n")
    return server


def test_login_keeps_the_tokens_for_its_owner_alone(stranger: Agentex, server: Contract, person: Path):
    said = stranger("login", "--username", "zhangsan", "--password-stdin", stdin=f"{PASSWORD}\n")
    assert said.code == 0
    assert "zhangsan" in said.out
    file = person / "credentials.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert person.stat().st_mode & 0o777 == 0o700
    kept = json.loads(file.read_text())["logins"][server.url]
    assert kept["refresh_token"] == "refresh-0"
    assert stranger("kb", "list").code == 0


def test_login_says_so_when_the_password_is_wrong(stranger: Agentex, person: Path):
    said = stranger("login", "--username", "a", "--password-stdin", "--json", stdin="no\n")
    assert said.code == 4
    assert said.json["code"] == 40102
    assert not (person / "credentials.json").exists()


def test_login_names_a_server_whose_answer_is_of_another_version(stranger: Agentex, server: Contract, person: Path):
    server.refresh = None
    said = stranger("login", "--username", "a", "--password-stdin", stdin=PASSWORD)
    assert (said.code, server.url in said.err, "version" in said.err) == (3, True, True)
    assert not (person / "credentials.json").exists()


def test_login_needs_a_way_to_learn_the_password_when_there_is_no_terminal(stranger: Agentex):
    assert stranger("login", "--username", "a").code == 2
    assert stranger("login", "--password-stdin", "--api-key-stdin").code == 2
    assert stranger("login", "--username", "a", "--password-stdin").code == 2


def test_login_keeps_an_api_key_that_works(stranger: Agentex, person: Path):
    assert stranger("login", "--api-key-stdin", stdin=f"{API_KEY}\n").code == 0
    assert "access_token" not in (person / "credentials.json").read_text()
    assert stranger("kb", "list").code == 0


def test_login_does_not_keep_an_api_key_that_is_refused(stranger: Agentex, person: Path):
    assert stranger("login", "--api-key-stdin", stdin="sk-wrong\n").code == 4
    assert not (person / "credentials.json").exists()


def test_commands_ask_for_a_login_when_there_is_none(stranger: Agentex):
    said = stranger("kb", "list")
    assert said.code == 4
    assert "agentex login" in said.err
    assert stranger("kb", "list", "--json").json["code"] == 40101


def test_commands_say_in_chinese_that_a_login_is_missing_when_the_locale_is_chinese(
    stranger: Agentex, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "请先登录" in stranger("kb", "list").err
    assert "Log in first" in stranger("kb", "list", "--lang", "en").err


def test_commands_log_in_as_the_first_administrator_and_say_so(fresh_server: Contract):
    said = run_here("kb", "list")
    assert said.code == 0
    assert "logged in as admin" in said.err
    assert fresh_server.logins == ["admin"]
    assert run_here("kb", "list").err == ""


def test_login_uses_the_first_administrators_password_file(fresh_server: Contract):
    said = run_here("login")
    assert said.code == 0
    assert fresh_server.logins == ["admin"]
    assert "initial-admin-password" in said.err


@pytest.fixture
def started_elsewhere(fresh_server: Contract, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fresh server, at another port than the settings'; gives its supervisor's state file."""
    monkeypatch.setenv("AGENTEX_PORT", "1")
    get_settings.cache_clear()
    path = get_settings().runtime_dir / STATE_FILE
    path.parent.mkdir(parents=True)
    StatusFile([], path, url=fresh_server.url).write()
    return path


@pytest.mark.usefixtures("started_elsewhere")
@pytest.mark.parametrize("is_named", [False, True])
def test_login_finds_a_server_that_was_started_at_another_port(fresh_server: Contract, is_named: bool):
    said = run_here("login", *(["--url", fresh_server.url] if is_named else []))
    assert said.code == 0
    assert fresh_server.logins == ["admin"]
    assert run_here("kb", "list").code == 0


@pytest.mark.parametrize("harm", ["gone", "damaged", "ended", "foreign", "old"])
def test_state_file_that_tells_nothing_true_is_as_none(fresh_server: Contract, started_elsewhere: Path, harm: str):
    state = json.loads(started_elsewhere.read_text())
    with subprocess.Popen(["true"]) as ended:
        pass
    contents = {
        "damaged": "[",
        "ended": json.dumps({**state, "supervisor": ended.pid}),
        "foreign": json.dumps({**state, "url": 7}),
        "old": json.dumps({"supervisor": state["supervisor"], "parts": {}}),
    }
    if harm == "gone":
        started_elsewhere.unlink()
    else:
        started_elsewhere.write_text(contents[harm])
    assert run_here("login").code == 3
    assert run_here("kb", "list").code == 3
    assert run_here("kb", "list", "--url", fresh_server.url).code == 4
    assert fresh_server.logins == []


def test_the_first_administrators_password_goes_to_no_other_server(
    fresh_server: Contract, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_PORT", "1")
    get_settings.cache_clear()
    assert run_here("kb", "list", "--url", fresh_server.url).code == 4
    assert fresh_server.logins == []


def test_commands_do_not_log_in_again_after_a_logout(fresh_server: Contract):
    assert run_here("kb", "list").code == 0
    assert run_here("logout").code == 0
    assert run_here("kb", "list").code == 4
    assert run_here("login").code == 0
    assert run_here("kb", "list").code == 0


def test_a_changed_administrators_password_leads_to_the_login(fresh_server: Contract, tmp_path: Path):
    (tmp_path / "data" / "initial-admin-password").write_text("old")
    assert run_here("kb", "list").code == 4


def test_an_expired_token_is_refreshed_and_the_new_pair_kept(stranger: Agentex, server: Contract, person: Path):
    stranger("login", "--username", "a", "--password-stdin", stdin=PASSWORD)
    server.expire()
    assert stranger("kb", "list").code == 0
    assert server.refreshes == 1
    assert server.refresh in (person / "credentials.json").read_text()
    assert stranger("kb", "list").code == 0
    assert server.refreshes == 1


def test_two_commands_at_once_refresh_a_token_once(
    stranger: Agentex, server: Contract, process: Callable[..., subprocess.Popen[str]]
):
    stranger("login", "--username", "a", "--password-stdin", stdin=PASSWORD)
    server.expire()
    children = [process("kb", "list") for _ in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert server.refreshes == 1


def test_a_login_that_the_server_forgot_leads_to_the_login(stranger: Agentex, server: Contract):
    stranger("login", "--username", "a", "--password-stdin", stdin=PASSWORD)
    server.expire()
    server.refresh = "another"
    assert stranger("kb", "list").code == 4


def test_a_refused_api_key_is_named_when_it_came_from_the_environment(
    stranger: Agentex, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_API_KEY", "sk-wrong")
    get_settings.cache_clear()
    said = stranger("kb", "list")
    assert said.code == 4
    assert "AGENTEX_API_KEY" in said.err
    assert "sk-wrong" not in said.err


def test_a_damaged_credentials_file_is_as_none(stranger: Agentex, person: Path):
    person.mkdir(parents=True)
    (person / "credentials.json").write_text("{")
    assert stranger("kb", "list").code == 4
    assert stranger("login", "--username", "a", "--password-stdin", stdin=PASSWORD).code == 0


def test_logout_is_no_error_when_nothing_is_stored(stranger: Agentex):
    said = stranger("logout", "--json")
    assert said.code == 0
    assert said.json["logged_out"] is False


def test_commands_go_to_the_server_of_the_last_named_login_until_its_logout(
    stranger: Agentex, server: Contract, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("AGENTEX_URL")
    monkeypatch.setenv("AGENTEX_PORT", "1")
    get_settings.cache_clear()
    asked = ("login", "--username", "a", "--password-stdin", "--url", server.url)
    assert stranger(*asked, stdin=PASSWORD).code == 0
    assert stranger("kb", "list").code == 0
    assert stranger("logout").code == 0
    assert stranger("kb", "list").code == 3
