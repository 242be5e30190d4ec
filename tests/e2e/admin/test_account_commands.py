"""``agentex admin``: accounts and roles from the terminal, against the running product."""

from pathlib import Path
from uuid import uuid4

import pytest

from core.errors.auth import AccountDisabled
from core.errors.conflicts import LastAdministrator
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.admin_terminal import Terminal
from tests.fixtures.product.server import ADMIN_PASSWORD, Server, one_shape

pytestmark = one_shape
PASSWORD = "InitialPassword123"


def test_account_is_created_changed_switched_off_and_on(terminal: Terminal, server: Server):
    name = unique("lisi")
    options = ("--email", f"{name}@example.com", "--role", "viewer", "--password-stdin")
    made = terminal.json("users", "create", name, *options, stdin=f"{PASSWORD}\n")
    assert (made["username"], made["role"]["name"]) == (name, "viewer")
    lisi = server.api().log_in(name, PASSWORD)
    for wanted in (made["id"], f"{name}@EXAMPLE.com", name.upper()):
        assert terminal("users", "set-role", wanted, "developer") == (
            0, f"{name} has the role developer now.\n",
        )  # fmt: skip
    assert lisi.get("/users/me")["role"]["name"] == "developer"
    code, said = terminal("users", "disable", name, "--lang", "zh")
    assert (code, said) == (0, f"{name} 已停用：它的登录已结束，密钥被拒绝。\n")
    login = {"username": name, "password": PASSWORD}
    lisi.refused(AccountDisabled, "POST", "/auth/login", json=login)
    _, listed = terminal("users", "list", "--search", name, "--status", "disabled")
    assert listed.splitlines()[1].split("\t")[:4] == [
        name, f"{name}@example.com", "developer", "disabled"
    ]  # fmt: skip
    assert terminal("users", "enable", name) == (0, f"{name} may log in again.\n")
    terminal.json("users", "reset-password", name, "--password-stdin", stdin="Another-pass-1\n")
    assert server.api().log_in(name, "Another-pass-1").user_id == made["id"]
    assert terminal.json("users", "list", "--search", name, "--role", "viewer")["total"] == 0


def test_id_means_its_account_though_another_one_is_called_so(
    terminal: Terminal, server: Server, user: Api, other: Api
):
    # A name of before such names were refused.
    taken = 'UPDATE "user" SET username = :name, username_key = :name WHERE id = :id'
    server.sql(taken, name=user.user_id, id=other.user_id)
    assert terminal("users", "disable", user.user_id)[0] == 0
    states = {one["id"]: one["status"] for one in terminal.json("users", "list", "--search", user.user_id)["items"]}
    assert states == {other.user_id: "active"}
    code, said = terminal("users", "disable", str(uuid4()))
    assert (code, "There is no account" in said) == (5, True)


def test_account_is_deleted_with_what_was_said_of_its_things(terminal: Terminal, user: Api, other: Api):
    kb_id = user.create_kb()
    assert terminal("users", "delete", user.name)[0] == 2
    code, said = terminal("users", "delete", user.name, "--yes")
    assert code == 1
    assert "knowledge_bases: 1" in said
    assert user.get(f"/knowledge-bases/{kb_id}")["id"] == kb_id
    answer = terminal.json("users", "delete", user.name, "--transfer-to", other.name, "--yes")
    assert answer["transferred"] == {"knowledge_bases": 1, "documents": 0, "skills": 0}
    assert other.get(f"/knowledge-bases/{kb_id}")["can_write"] is True
    code, said = terminal("users", "delete", user.name, "--yes")
    assert (code, said.split(".")[0]) == (5, f"There is no account {user.name}")
    code, said = terminal("users", "delete", other.name, "--erase", "--yes")
    assert code == 0
    assert "Erased: 1 knowledge bases" in said


def test_roles_are_listed_and_an_unknown_one_names_them(terminal: Terminal, someone: Api):
    assert [role["name"] for role in terminal.json("roles", "list")["items"]][:4] == [
        "admin", "developer", "user", "viewer"
    ]  # fmt: skip
    code, said = terminal("roles", "list")
    assert (code, said.splitlines()[0]) == (0, "Role\tShown as\tPermissions\tId")
    code, said = terminal("users", "set-role", someone.name, "boss")
    assert code == 5
    assert "admin, developer, user, viewer" in said


def test_server_objects_to_losing_its_last_administrator(terminal: Terminal, server: Server):
    code, said = terminal("users", "disable", server.settings.admin_username)
    assert (code, said.strip()) == (1, LastAdministrator.message)
    assert server.api().log_in(server.settings.admin_username, ADMIN_PASSWORD)


def test_settings_are_listed_changed_and_put_back(terminal: Terminal):
    before = {one["key"]: one for one in terminal.json("config", "list")["items"]}
    assert before["search_top_k"]["source"] == "default"
    changed = terminal.json("config", "set", "search_top_k", "7")
    assert (changed["value"], changed["source"]) == (7, "stored")
    code, said = terminal("config", "list", "--lang", "zh")
    assert code == 0
    assert "search_top_k\t7\t在线设置\t" in said
    for key, value in (("search_top_k", "many"), ("search_top_k", "100000"), ("no_such", "1")):
        code, said = terminal("config", "set", key, value)
        assert code != 0, said
    again = terminal.json("config", "reset", "search_top_k")
    assert again["value"] == before["search_top_k"]["value"]


def test_audit_log_is_shown_and_written_to_a_file(terminal: Terminal, tmp_path: Path):
    name = unique("audited")
    created = terminal.json(
        "users", "create", name, "--email", f"{name}@example.com", "--password-stdin",
        stdin=PASSWORD,
    )  # fmt: skip
    (act,) = terminal.json("audit", "--action", "user.created", "--search", name)["items"]
    assert (act["actor_name"], act["object_id"]) == ("admin", created["id"])
    code, said = terminal("audit", "--limit", "1", "--lang", "en")
    assert code == 0
    assert "The newest 1 of" in said
    file = tmp_path / "audit.csv"
    assert terminal("audit", "--action", "user.created", "--search", name, "--csv", str(file))[0] == 0
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 2
    assert name in lines[1]
    assert terminal("audit", "--csv", str(file))[0] != 0
    for place in (tmp_path / "nowhere" / "a.csv", file / "a.csv", tmp_path / ("x" * 300)):
        code, said = terminal("audit", "--csv", str(place), "--limit", "1")
        assert (code, "can't be written" in said) == (2, True)
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".part"] == []


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "[" * 100_000, '"\\ud800"', "\udcff"])
def test_value_that_is_no_json_is_refused_in_words(terminal: Terminal, value: str):
    code, said = terminal("config", "set", "search_top_k", value)
    assert code == 2, said
    assert said


def test_key_of_another_encoding_is_refused_in_words(terminal: Terminal):
    code, said = terminal("config", "reset", "top\udcff")
    assert (code, "UTF-8" in said) == (2, True)
