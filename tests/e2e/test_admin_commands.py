"""``agentex admin``: accounts and roles from the terminal, against the running product."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from core.errors import ErrorCode
from core.settings import get_settings
from tests.fixtures.client import Api, unique
from tests.fixtures.server import ADMIN_PASSWORD, Server, one_shape

pytestmark = one_shape
PASSWORD = "InitialPassword123"


class Terminal:
    """Runs commands as the first administrator."""

    def __call__(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(app, ["admin", *arguments], input=stdin)
        return result.exit_code, result.output

    def json(self, *arguments: str, stdin: str = "") -> Any:
        result = CliRunner().invoke(app, ["admin", *arguments, "--json"], input=stdin)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture(scope="module")
def admin_key(servers: Any) -> str:
    """An API key of the first administrator: a login takes long."""
    admin = servers("embedded").admin()
    return admin.post("/users/me/api-keys", {"name": unique("terminal")})["key"]


@pytest.fixture
def admin(
    server: Server, admin_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("AGENTEX_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTEX_URL", f"http://127.0.0.1:{server.settings.port}")
    monkeypatch.setenv("AGENTEX_API_KEY", admin_key)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    get_settings.cache_clear()
    return Terminal()


@pytest.fixture(autouse=True)
def _settings() -> Any:
    yield
    get_settings.cache_clear()


def test_account_is_created_changed_switched_off_and_on(admin: Terminal, server: Server):
    name = unique("lisi")
    options = ("--email", f"{name}@example.com", "--role", "viewer", "--password-stdin")
    made = admin.json("users", "create", name, *options, stdin=f"{PASSWORD}\n")
    assert (made["username"], made["role"]["name"]) == (name, "viewer")
    lisi = server.api().log_in(name, PASSWORD)
    for wanted in (made["id"], f"{name}@EXAMPLE.com", name.upper()):
        assert admin("users", "set-role", wanted, "developer") == (
            0, f"{name} has the role developer now.\n",
        )  # fmt: skip
    assert lisi.get("/users/me")["role"]["name"] == "developer"
    code, said = admin("users", "disable", name, "--lang", "zh")
    assert (code, said) == (0, f"{name} 已停用：它的登录已结束，密钥被拒绝。\n")
    login = {"username": name, "password": PASSWORD}
    lisi.refused(ErrorCode.ACCOUNT_DISABLED, "POST", "/auth/login", json=login)
    _, listed = admin("users", "list", "--search", name, "--status", "disabled")
    assert listed.splitlines()[1].split("\t")[:4] == [
        name, f"{name}@example.com", "developer", "disabled"
    ]  # fmt: skip
    assert admin("users", "enable", name) == (0, f"{name} may log in again.\n")
    admin.json("users", "reset-password", name, "--password-stdin", stdin="Another-pass-1\n")
    assert server.api().log_in(name, "Another-pass-1").user_id == made["id"]
    assert admin.json("users", "list", "--search", name, "--role", "viewer")["total"] == 0


def test_account_is_deleted_with_what_was_said_of_its_things(
    admin: Terminal, user: Api, other: Api
):
    kb_id = user.create_kb()
    assert admin("users", "delete", user.name)[0] == 2
    code, said = admin("users", "delete", user.name, "--yes")
    assert code == 1
    assert "knowledge_bases: 1" in said
    assert user.get(f"/knowledge-bases/{kb_id}")["id"] == kb_id
    answer = admin.json("users", "delete", user.name, "--transfer-to", other.name, "--yes")
    assert answer["transferred"] == {"knowledge_bases": 1, "documents": 0}
    assert other.get(f"/knowledge-bases/{kb_id}")["can_write"] is True
    code, said = admin("users", "delete", user.name, "--yes")
    assert (code, said.split(".")[0]) == (5, f"There is no account {user.name}")
    code, said = admin("users", "delete", other.name, "--erase", "--yes")
    assert code == 0
    assert "Erased: 1 knowledge bases" in said


def test_roles_are_listed_and_an_unknown_one_names_them(admin: Terminal, someone: Api):
    assert [role["name"] for role in admin.json("roles", "list")["items"]][:4] == [
        "admin", "developer", "user", "viewer"
    ]  # fmt: skip
    code, said = admin("roles", "list")
    assert (code, said.splitlines()[0]) == (0, "Role\tShown as\tPermissions\tId")
    code, said = admin("users", "set-role", someone.name, "boss")
    assert code == 5
    assert "admin, developer, user, viewer" in said


def test_server_objects_to_losing_its_last_administrator(admin: Terminal, server: Server):
    code, said = admin("users", "disable", server.settings.admin_username)
    assert (code, said.strip()) == (1, ErrorCode.LAST_ADMINISTRATOR.message)
    assert server.api().log_in(server.settings.admin_username, ADMIN_PASSWORD)


def test_settings_are_listed_changed_and_put_back(admin: Terminal):
    before = {one["key"]: one for one in admin.json("config", "list")["items"]}
    assert before["search_top_k"]["source"] == "default"
    changed = admin.json("config", "set", "search_top_k", "7")
    assert (changed["value"], changed["source"]) == (7, "stored")
    code, said = admin("config", "list", "--lang", "zh")
    assert code == 0
    assert "search_top_k\t7\t在线设置\t" in said
    for key, value in (("search_top_k", "many"), ("search_top_k", "100000"), ("no_such", "1")):
        code, said = admin("config", "set", key, value)
        assert code != 0, said
    again = admin.json("config", "reset", "search_top_k")
    assert again["value"] == before["search_top_k"]["value"]


def test_audit_log_is_shown_and_written_to_a_file(admin: Terminal, tmp_path: Path):
    name = unique("audited")
    created = admin.json(
        "users", "create", name, "--email", f"{name}@example.com", "--password-stdin",
        stdin=PASSWORD,
    )  # fmt: skip
    (act,) = admin.json("audit", "--action", "user.created", "--search", name)["items"]
    assert (act["actor_name"], act["object_id"]) == ("admin", created["id"])
    code, said = admin("audit", "--limit", "1", "--lang", "en")
    assert code == 0
    assert "The newest 1 of" in said
    file = tmp_path / "audit.csv"
    assert admin("audit", "--action", "user.created", "--search", name, "--csv", str(file))[0] == 0
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 2
    assert name in lines[1]
    assert admin("audit", "--csv", str(file))[0] != 0
