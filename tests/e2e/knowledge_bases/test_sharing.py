"""Knowledge bases that are shared with people and with roles."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from cli.command import Options, open_client, open_output
from cli.commands.kb.share import ShareListRecord, _changed, change
from cli.main import build
from core.errors.auth import KnowledgeBaseNotFound, OwnerOnly, ReadOnly
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.settings import get_settings
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server, one_shape

TEXT = "# Zebra\n\nThe secret zebra sleeps at noon."
FILE = {"files": {"file": ("b.md", b"# Lion\n\nThe lion sleeps at night.", "text/markdown")}}


@pytest.fixture
def third(server: Server) -> Api:
    return server.person()


@pytest.fixture
def base(user: Api) -> tuple[str, str]:
    """A knowledge base of the user's with one document; the ids of both."""
    kb_id = user.create_kb()
    return kb_id, user.ingest(kb_id, "a.md", TEXT)


def share(owner: Api, kb_id: str, *shares: dict[str, Any]) -> list[dict[str, Any]]:
    body = {"shares": list(shares)}
    return owner.put(f"/knowledge-bases/{kb_id}/shares", body)["items"]


def list_bases(caller: Api) -> dict[str, dict[str, Any]]:
    items = caller.get("/knowledge-bases", page_size=100)["items"]
    return {item["id"]: item for item in items}


def ask_agent(caller: Api, kb_id: str) -> str:
    props = {"agent_type": "agentic_rag", "knowledge_base_ids": [kb_id]}
    question = {"id": "1", "role": "user", "content": "When does the zebra sleep?"}
    body = {"thread_id": str(uuid4()), "messages": [question], "forwarded_props": props}
    return caller.request("POST", "/agent/run", json=body).text


def test_reader_finds_reads_and_asks_but_changes_nothing(user: Api, other: Api, third: Api, base: tuple[str, str]):
    kb_id, doc_id = base
    path = f"/knowledge-bases/{kb_id}"
    (one,) = share(user, kb_id, {"username": other.name})
    assert one["user"] == {"id": other.user_id, "username": other.name}
    assert (one["role"], one["access"]) == (None, "read")
    shown = list_bases(other)[kb_id]
    assert (shown["access"], shown["can_write"]) == ("read", False)
    assert other.get(path)["access"] == "read"
    assert other.search(kb_id, "zebra")[0]["document_id"] == doc_id
    assert other.post("/search", {"query": "zebra"})["results"]
    for url in (f"{path}/documents/{doc_id}/content", f"{path}/export"):
        assert other.request("GET", url).status_code == 200
    assert "noon" in ask_agent(other, kb_id)
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("PUT", path, {"json": {"name": "mine now"}}),
        ("POST", f"{path}/documents", FILE),
        ("DELETE", f"{path}/documents/{doc_id}", {}),
        ("DELETE", path, {}),
        ("GET", f"{path}/shares", {}),
        ("PUT", f"{path}/shares", {"json": {"shares": []}}),
    )
    for method, url, options in requests:
        assert other.refused(ReadOnly, method, url, **options) == {}
    assert kb_id not in list_bases(third)
    assert "noon" not in ask_agent(third, kb_id)


def test_writer_changes_what_is_inside_and_decides_nothing_about_it(
    user: Api, other: Api, third: Api, base: tuple[str, str]
):
    kb_id, doc_id = base
    path = f"/knowledge-bases/{kb_id}"
    share(user, kb_id, {"user_id": other.user_id, "access": "write"})
    assert other.get(path)["access"] == "write"
    own = other.ingest(kb_id, "b.md", "# Lion\n\nThe lion sleeps at night.")
    assert user.search(kb_id, "lion")[0]["document_id"] == own
    # Sent back as it was read, what only the owner may change is no change.
    changed = other.put(path, {"description": "Animals", "is_public": False})
    assert changed["description"] == "Animals"
    other.delete(f"{path}/documents/{doc_id}")
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("PUT", path, {"json": {"is_public": True}}),
        ("DELETE", path, {}),
        ("GET", f"{path}/shares", {}),
        ("PUT", f"{path}/shares", {"json": {"shares": [{"username": third.name}]}}),
    )
    for method, url, options in requests:
        assert other.refused(OwnerOnly, method, url, **options) == {}
    assert kb_id not in list_bases(third)


def test_shares_that_are_taken_back_leave_nothing(user: Api, other: Api, base: tuple[str, str]):
    kb_id, doc_id = base
    path = f"/knowledge-bases/{kb_id}"
    share(user, kb_id, {"username": other.name, "access": "write"})
    assert "noon" in ask_agent(other, kb_id)
    assert share(user, kb_id) == []
    missing = KnowledgeBaseNotFound
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("GET", path, {}),
        ("GET", f"{path}/documents/{doc_id}", {}),
        ("GET", f"{path}/documents/{doc_id}/content", {}),
        ("GET", f"{path}/export", {}),
        ("GET", f"{path}/progress/stream", {}),
        ("POST", f"{path}/search", {"json": {"query": "zebra"}}),
        ("POST", f"{path}/documents", FILE),
        ("PUT", f"{path}/shares", {"json": {"shares": []}}),
    )
    for method, url, options in requests:
        assert other.refused(missing, method, url, **options) == {}
    assert kb_id not in list_bases(other)
    found = other.post("/search", {"query": "secret zebra noon", "top_k": 100})["results"]
    assert kb_id not in {hit["knowledge_base_id"] for hit in found}
    assert "noon" not in ask_agent(other, kb_id)


def test_role_that_a_knowledge_base_is_shared_with_counts_while_one_has_it(
    server: Server, user: Api, other: Api, base: tuple[str, str]
):
    kb_id, _ = base
    roles = {row["name"]: row["id"] for row in server.sql("SELECT id, name FROM role")}
    (one,) = share(user, kb_id, {"role": "developer", "access": "write"})
    assert (one["user"], one["role"]["name"]) == (None, "developer")
    assert kb_id not in list_bases(other)
    change = 'UPDATE "user" SET role_id = :role WHERE id = :id'
    server.sql(change, role=roles["developer"], id=other.user_id)
    assert list_bases(other)[kb_id]["access"] == "write"
    # What is shared with a person and with their role is open as far as the wider of both.
    share(user, kb_id, {"role": "developer", "access": "write"}, {"username": other.name})
    assert other.get(f"/knowledge-bases/{kb_id}")["access"] == "write"
    server.sql(change, role=roles["user"], id=other.user_id)
    assert other.get(f"/knowledge-bases/{kb_id}")["access"] == "read"


@one_shape
@pytest.mark.parametrize(
    "shares",
    [
        [{"username": "nobody-of-this-name"}],
        [{"user_id": str(uuid4())}],
        [{"role": "nothing"}],
        [{}],
        [{"username": "a", "role": "viewer"}],
        [{"role": "viewer", "access": "owner"}],
        [{"role": "viewer"}, {"role": "viewer", "access": "write"}],
        [{"role": "viewer", "owner_id": "x"}],
        [{"user_id": f"{number}"} for number in range(201)],
    ],
)
def test_shares_that_can_not_be_are_refused_as_a_whole(user: Api, other: Api, shares: list[dict[str, Any]]):
    kb_id = user.create_kb()
    share(user, kb_id, {"username": other.name})
    body = {"shares": [{"role": "developer"}, *shares]}
    path = f"/knowledge-bases/{kb_id}/shares"
    user.refused(InvalidRequest, "PUT", path, json=body)
    own = {"shares": [{"user_id": user.user_id}]}
    user.refused(InvalidRequest, "PUT", path, json=own)
    (one,) = user.get(path)["items"]
    assert one["user"]["username"] == other.name


def test_two_who_share_at_the_same_moment_leave_one_of_both_lists(server: Server, user: Api, other: Api, third: Api):
    kb_id = user.create_kb()
    people = [{"username": other.name}, {"username": third.name, "access": "write"}]
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(share, user, kb_id, *people) for _ in range(8)]
        answers = [one.result() for one in tries]
    assert {len(answer) for answer in answers} == {2}
    query = "SELECT object_id FROM audit_entry WHERE action = :a AND object_id = :id"
    noted = server.sql(query, a="knowledge_base.shared", id=kb_id)
    assert len(noted) == 1


def test_with_whom_it_is_shared_is_noted_whatever_they_are_called(server: Server, user: Api, other: Api):
    kb_id, name = user.create_kb(), unique("password")
    other.put("/users/me", {"username": name})
    share(user, kb_id, {"username": name})
    share(user, kb_id)
    query = "SELECT details FROM audit_entry WHERE action = :a AND object_id = :id"
    for action in ("knowledge_base.shared", "knowledge_base.unshared"):
        (row,) = server.sql(query, a=action, id=kb_id)
        assert f'"who": "user {name}", "access": "read"' in str(row["details"]).replace("'", '"')


def test_change_of_a_list_that_somebody_changed_is_refused(user: Api, other: Api, third: Api):
    path = f"/knowledge-bases/{user.create_kb()}/shares"
    read = user.get(path)
    first = {"shares": [{"username": other.name}], "version": read["version"]}
    now = user.put(path, first)
    assert now["version"] != read["version"]
    details = user.refused(Conflict, "PUT", path, json=first)
    assert (details["field"], details["version"]) == ("version", now["version"])
    access = {"shares": [{"username": other.name, "access": "write"}], "version": now["version"]}
    assert user.put(path, access)["version"] not in (now["version"], read["version"])
    # Who names no version replaces whatever is there.
    back = user.put(path, {"shares": []})
    assert (back["items"], back["version"]) == ([], read["version"])


def test_deleted_knowledge_base_is_shared_with_nobody(server: Server, user: Api, other: Api):
    kb_id = user.create_kb()
    share(user, kb_id, {"username": other.name})
    user.delete(f"/knowledge-bases/{kb_id}")
    assert kb_id not in list_bases(other)
    assert server.sql("SELECT id FROM share WHERE resource_id = :id", id=kb_id) == []


def test_account_that_is_deleted_leaves_no_share_and_its_heir_needs_none(
    server: Server, user: Api, other: Api, third: Api
):
    kb_id, theirs = user.create_kb(), other.create_kb()
    share(user, kb_id, {"username": other.name}, {"username": third.name})
    share(other, theirs, {"username": user.name})
    query = {"transfer_to": other.user_id}
    done = server.admin().request("DELETE", f"/admin/users/{user.user_id}", params=query)
    assert done.status_code == 200, done.text
    (left,) = other.get(f"/knowledge-bases/{kb_id}/shares")["items"]
    assert left["user"]["username"] == third.name
    assert share(other, kb_id, {"username": third.name}) == [left]
    assert other.get(f"/knowledge-bases/{theirs}/shares")["items"] == []
    gone = {"shares": [{"user_id": user.user_id}]}
    path = f"/knowledge-bases/{theirs}/shares"
    other.refused(InvalidRequest, "PUT", path, json=gone)


@one_shape
@pytest.mark.anyio
async def test_terminal_keeps_what_others_shared_since_it_looked(
    server: Server, user: Api, other: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", user.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()
    path = f"/api/v1/knowledge-bases/{user.create_kb()}/shares"
    options = Options(json_only=True, language=None, url=None)
    async with open_client(options, open_output(options)) as client:
        looked = client.read(ShareListRecord, await client.call("GET", path))
        for subject in (("role", "developer"), ("username", other.name)):
            # Both go by the same look.
            wanted = partial(_changed, chosen=[subject], access="read")
            left = await change(client, path, looked, wanted)
    assert {one.subject()[1] for one in left.items} == {"developer", other.name}


@one_shape
def test_terminal_shares_shows_and_takes_back(
    server: Server, user: Api, other: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", user.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()
    user.create_kb(name="Animals")

    def share_command(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(build(), ["kb", "share", "animals", *arguments])
        assert done.exit_code == code, done.output
        return done.stdout

    assert "shared with nobody" in share_command("--lang", "en")
    share_command("--user", other.name.upper(), "--role", "developer")
    said = share_command("--role", "developer", "--write", "--lang", "zh")
    assert said.splitlines()[1:] == [f"{other.name}\t只读", "角色“开发者”的所有人\t读写"]
    share_command("--user", "nobody-of-this-name", code=2)
    left = json.loads(share_command("--user", other.name, "--remove", "--json"))
    assert [one["role"]["name"] for one in left["items"]] == ["developer"]
