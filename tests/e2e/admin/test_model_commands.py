"""``agentex admin models|keys|roles``: from the terminal, against the running product."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from core.errors.auth import InvalidToken
from core.errors.conflicts import RoleBuiltIn, RoleInUse
from core.errors.requests import UrlNotAllowed
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.admin_terminal import Terminal
from tests.fixtures.product.server import Server, one_shape

pytestmark = one_shape
KEY = "sk-of-the-terminal-0815"
# Nobody answers there in the time that a test has.
SILENT = ("--base-url", "https://1.1.1.1/v1", "--options", '{"call_seconds": 0.2, "attempts": 1}')


@pytest.fixture
def model(terminal: Terminal) -> Iterator[dict[str, Any]]:
    """A registered model, which goes at the end."""
    options = ("--provider", "openai", "--model", "gpt-4o", *SILENT, "--key-stdin")
    made = terminal.json("models", "add", unique("GPT"), *options, stdin=f"{KEY}\n")
    yield made
    terminal("models", "delete", made["id"], "--yes")


def test_model_is_added_shown_changed_and_removed(terminal: Terminal, model: dict[str, Any], user: Api):
    name = model["name"]
    assert (model["has_secret"], model["model_id"], model["max_tokens"]) == (True, "gpt-4o", None)
    changes = ("--max-tokens", "4096", "--temperature", "0", "--input-price", "2.5",
               "--role", "developer", "--user", user.name, "--disable")  # fmt: skip
    changed = terminal.json("models", "edit", name.upper(), *changes)
    assert (changed["max_tokens"], changed["temperature"], changed["input_price"]) == (4096, 0, 2.5)
    assert (changed["enabled"], changed["has_secret"]) == (False, True)
    assert changed["user_access"] == [user.user_id]
    code, said = terminal("models", "show", model["id"])
    assert code == 0
    assert "Longest answer: 4096\n" in said
    assert f"People who may use it: {user.user_id}\n" in said
    again = terminal.json("models", "edit", name, "--clear", "max_tokens", "--everybody", "--enable")
    assert (again["max_tokens"], again["user_access"], again["role_access"]) == (None, None, None)
    assert again["temperature"] == 0
    code, said = terminal("models", "list", "--lang", "zh")
    assert f"{name}\topenai\tgpt-4o\t否\t是\t是\t{model['id']}" in said
    assert terminal("models", "delete", name)[0] == 2
    assert terminal("models", "delete", name, "--yes") == (0, f"Removed the model {name}.\n")
    code, said = terminal("models", "show", name)
    assert (code, said.split(".")[0]) == (5, f"There is no registered model {name}")


def test_models_key_comes_from_where_others_can_not_read_it(
    terminal: Terminal, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    name = unique("GPT")
    options = ("--provider", "openai", "--model", "gpt-4o", "--base-url", "https://1.1.1.1/v1")
    code, said = terminal("models", "add", name, *options)
    assert (code, "--key-stdin" in said) == (2, True)
    assert terminal("models", "add", name, *options, "--key", KEY)[0] == 2
    code, said = terminal("models", "add", name, *options, "--key-env", "MY_MODEL_KEY")
    assert (code, "--key-env" in said) == (2, True)
    monkeypatch.setenv("MY_MODEL_KEY", KEY)
    assert terminal.json("models", "edit", model["id"], "--no-key")["has_secret"] is False
    assert terminal.json("models", "edit", model["id"], "--max-tokens", "9")["has_secret"] is False
    changed = terminal("models", "edit", model["id"], "--key-env", "MY_MODEL_KEY", "--json")
    assert json.loads(changed[1])["has_secret"] is True
    assert KEY not in changed[1] + said


def test_model_is_made_the_default_and_tested(terminal: Terminal, model: dict[str, Any], server: Server, user: Api):
    assert terminal("models", "default", model["name"]) == (
        0, f"{model['name']} answers by default now.\n",
    )  # fmt: skip
    (default,) = [one["id"] for one in user.get("/models")["items"] if one["is_default"]]
    assert default == model["id"]
    code, said = terminal("models", "test", model["name"])
    assert code == 1
    assert said.startswith(f"{model['name']}: ")
    assert KEY not in said + server.text
    code, said = terminal("models", "edit", model["name"], "--base-url", "http://169.254.169.254")
    assert (code, UrlNotAllowed.message in said) == (2, True)
    code, said = terminal("models", "edit", model["name"], "--clear", "name")
    assert (code, "--help" in said) == (2, True)


@pytest.mark.parametrize(
    "wishes",
    [
        ("--role", "viewer", "--everybody"),
        ("--user", "admin", "--everybody"),
        ("--base-url", "https://1.1.1.1/v1", "--clear", "base_url"),
        ("--options", "{}", "--clear", "options"),
        ("--no-key", "--key-stdin"),
        ("--key-env", "HOME", "--key-prompt"),
        ("--options", '{"call_seconds": NaN}'),
        ("--options", "[" * 100_000),
    ],
)
def test_wishes_that_contradict_each_other_or_are_none_change_nothing(
    terminal: Terminal, model: dict[str, Any], wishes: tuple[str, ...]
):
    code, said = terminal("models", "edit", model["id"], *wishes, stdin=f"{KEY}\n")
    assert (code, "--" in said) == (2, True)
    shown = terminal.json("models", "show", model["id"])
    assert {**shown, "updated_at": None} == {**model, "updated_at": None}


def test_usage_is_told_by_person(terminal: Terminal, server: Server, user: Api):
    server.sql(
        "INSERT INTO model_usage (day, user_id, model_id, model, runs, prompt_tokens,"
        " completion_tokens, cost) VALUES (:day, :user_id, 'm', 'gpt-4o', 3, 11, 7, 0.5)",
        day=datetime.now(UTC).date().isoformat(),
        user_id=user.user_id,
    )
    spent = terminal.json("models", "usage", "--user", user.name)
    assert [(row["username"], row["runs"]) for row in spent["items"]] == [(user.name, 3)]
    code, said = terminal("models", "usage", "--user", user.name, "--lang", "en")
    assert code == 0
    assert "Day\tUser name\tModel\tRuns\tTokens in\tTokens out\tCost\n" in said  # fmt: skip
    assert f"\t{user.name}\tgpt-4o\t3\t11\t7\t0.5\n" in said
    assert "3 runs, 18 tokens, cost 0.5 (1 of 1 rows shown)" in said
    assert terminal("models", "usage", "--since", "2026-13-01")[0] == 2


def test_key_is_made_listed_and_revoked_for_oneself_and_for_others(terminal: Terminal, server: Server, user: Api):
    name = unique("ci")
    made = terminal("keys", "create", name, "--permission", "kb:view", "--ends", "2099-01-31")
    key = made[1].splitlines()[-1]
    assert server.api(**{"X-API-Key": key}).get("/knowledge-bases")["total"] >= 0
    (listed,) = [one for one in terminal.json("keys", "list")["items"] if one["name"] == name]
    assert (listed["scopes"], listed["expires_at"]) == (["kb:view"], "2099-01-31T00:00:00Z")
    assert key not in str(listed)
    assert terminal("keys", "revoke", name, "--yes") == (0, f"Revoked the API key {name}.\n")
    server.api(**{"X-API-Key": key}).refused(InvalidToken, "GET", "/knowledge-bases")

    theirs = user.post("/users/me/api-keys", {"name": "theirs"})
    code, said = terminal("keys", "list", "--user", user.name)
    assert (code, f"theirs\t{theirs['key'][:3]}" in said) == (0, True)
    assert terminal("keys", "revoke", theirs["id"])[0] == 5
    assert terminal("keys", "revoke", "theirs", "--user", user.name)[0] == 2
    terminal.json("keys", "revoke", "theirs", "--user", user.name, "--yes")
    by_key = server.api(**{"X-API-Key": theirs["key"]})
    by_key.refused(InvalidToken, "GET", "/users/me")
    (act,) = terminal.json("audit", "--action", "api_key.revoked", "--search", theirs["id"])["items"]
    assert (act["actor_name"], act["details"]["username"]) == ("admin", user.name)


def test_role_is_made_changed_and_deleted(terminal: Terminal, user: Api):
    name = unique("auditor").lower()
    made = terminal.json("roles", "create", name, "--permission", "kb:view", "--shown-as", "审计员")
    assert (made["display_name"], made["permissions"]) == ("审计员", ["kb:view"])
    options = ("--permission", "kb:view", "--permission", "session:view")
    assert terminal("roles", "edit", name, *options) == (
        0, f"The role {name} allows now: kb:view, session:view\n",
    )  # fmt: skip
    code, said = terminal("roles", "show", name)
    assert code == 0
    assert "Lacks: kb:write" in said
    terminal.json("users", "set-role", user.name, name)
    code, said = terminal("roles", "delete", name, "--yes")
    assert (code, RoleInUse.message in said) == (1, True)
    terminal.json("users", "set-role", user.name, "user")
    assert terminal("roles", "delete", name, "--yes") == (0, f"Deleted the role {name}.\n")
    code, said = terminal("roles", "edit", "admin", "--permission", "kb:view")
    assert (code, RoleBuiltIn.message in said) == (1, True)
