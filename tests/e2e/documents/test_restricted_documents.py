"""Documents that not all who read a knowledge base read: each door, asked by three people."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from cli.command import Options, open_client, open_output
from cli.commands.kb.access import _DocumentAccess, _with
from cli.commands.kb.share import change
from cli.main import build
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, OwnerOnly, ReadOnly
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.settings import get_settings
from tests.e2e.knowledge_bases.test_progress import streaming
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.restricted_document import NAME, SECRET, Narrowed, narrowed
from tests.fixtures.product.server import Server, one_shape

REINDEX = {"chunk_size": 100, "cutover": "manual"}


@pytest.fixture
def zoo(server: Server, user: Api, other: Api) -> Narrowed:
    return narrowed(user, other, server.person())


@pytest.fixture
def workshop(server: Server, user: Api, other: Api) -> Narrowed:
    """The same, where both others may write."""
    return narrowed(user, other, server.person(), "write")


def chunk_of(zoo: Narrowed) -> str:
    return zoo.owner.get(f"{zoo.secret}/chunks")["items"][0]["id"]


def doors(zoo: Narrowed, document_id: str, chunk_id: str) -> Iterator[tuple[str, str, Any]]:
    """What may be asked of a document, readers' questions first."""
    path = f"{zoo.path}/documents/{document_id}"
    chunk = f"{zoo.path}/chunks/{chunk_id}"
    words = {"query": "okapi", "document_id": document_id, "text": "midnight"}
    yield "GET", path, {}
    yield "GET", f"{path}/content", {}
    yield "GET", f"{path}/chunks", {}
    yield "GET", chunk, {}
    yield "POST", f"{zoo.path}/search/why", {"json": {"query": "okapi", "chunk_id": chunk_id}}
    yield "POST", f"{zoo.path}/search/why", {"json": words}
    yield "POST", f"{zoo.path}/split-preview", {"params": {"document_id": document_id}}
    yield "PUT", chunk, {"json": {"version": 1, "content": "The okapi is mine."}}
    yield "DELETE", chunk, {}
    yield "PUT", path, {"json": {"name": "mine.md"}}
    for action in ("pause", "resume", "cancel", "retry"):
        yield "POST", f"{path}/{action}", {}
    yield "DELETE", path, {}


def test_hidden_document_and_absent_one_are_alike_at_every_door(workshop: Narrowed):
    zoo, chunk_id = workshop, chunk_of(workshop)
    here = doors(zoo, zoo.secret_id, chunk_id)
    nowhere = doors(zoo, str(uuid4()), str(uuid4()))
    for (method, url, options), (_, absent_url, absent_options) in zip(here, nowhere, strict=True):
        hidden = zoo.left_out.request(method, url, **options)
        absent = zoo.left_out.request(method, absent_url, **absent_options)
        assert hidden.status_code == 404, f"{method} {url}: {hidden.text}"
        assert hidden.content == absent.content, url
        answer = zoo.listed.request(method, url, **options)
        assert answer.status_code in {200, 409}, f"{method} {url}: {answer.text}"
    bulk = {"action": "delete", "document_ids": [zoo.open_id, zoo.secret_id, "nobody"]}
    items = zoo.left_out.post(f"{zoo.path}/documents/bulk", bulk)["items"]
    assert [one["outcome"] for one in items] == ["done", "not_found", "not_found"]


def test_lists_and_counts_are_of_what_one_reads(zoo: Narrowed):
    for caller, names in (
        (zoo.owner, {"open.md", NAME}),
        (zoo.listed, {"open.md", NAME}),
        (zoo.left_out, {"open.md"}),
    ):
        listing = caller.get(f"{zoo.path}/documents")
        assert {one["name"] for one in listing["items"]} == names
        assert listing["total"] == len(names)
        assert caller.get(zoo.path)["document_count"] == len(names)
        bases = caller.get("/knowledge-bases", page_size=100)["items"]
        counts = {one["id"]: one["document_count"] for one in bases}
        assert counts[zoo.kb_id] == len(names)
        progress = caller.get(f"{zoo.path}/progress")
        assert progress["counts"] == {"completed": len(names)}
    shown = {one["name"]: one["restricted"] for one in zoo.owner.get(f"{zoo.path}/documents")["items"]}
    assert shown == {"open.md": False, NAME: True}


def test_search_finds_what_one_reads_as_if_nothing_else_were_there(zoo: Narrowed, user: Api, other: Api):
    alone = user.create_kb()
    user.ingest(
        alone,
        "open.md",
        zoo.owner.request("GET", f"{zoo.path}/documents/{zoo.open_id}/content").text,
    )
    bodies: list[dict[str, Any]] = [
        {"query": "okapi sleeps in cave seven", "top_k": 1},
        {"query": "okapi sleeps", "dense_weight": 0},
        {"query": "okapi sleeps", "rerank": False},
        {"query": "okapi sleeps", "filters": {"name": "*.md"}},
        {"query": "okapi sleeps", "filters": {"document_ids": [zoo.secret_id, zoo.open_id]}},
    ]
    for body in bodies:
        for caller in (zoo.owner, zoo.listed):
            assert caller.search(zoo.kb_id, **body)[0]["document_id"] == zoo.secret_id, body
        found = zoo.left_out.search(zoo.kb_id, **body)
        assert [one["document_id"] for one in found] == [zoo.open_id], body
        if "document_ids" not in body.get("filters", {}):
            expected = user.search(alone, **body)
            assert [one["score"] for one in found] == [one["score"] for one in expected], body
    only = {"query": "okapi", "filters": {"document_ids": [zoo.secret_id]}, "explain": True}
    for path in (f"{zoo.path}/search", "/search"):
        answer = zoo.left_out.post(path, {**only, "top_k": 100})
        assert zoo.secret_id not in json.dumps({**answer, "request": None})
        assert "midnight" not in json.dumps(answer)


def test_progress_stream_tells_nothing_of_what_is_hidden(workshop: Narrowed):
    zoo = workshop
    path = f"{zoo.path}/progress/stream"
    with streaming(zoo.left_out, path) as blind, streaming(zoo.listed, path) as seeing:
        for stream in (blind, seeing):
            eventually(lambda: stream.named("snapshot"))  # noqa: B023 - called within the round
        assert blind.named("snapshot")[0]["progress"]["total"] == 1
        zoo.owner.put(zoo.secret, {"metadata": {"mark": "first"}})
        zoo.owner.put(f"{zoo.path}/documents/{zoo.open_id}", {"metadata": {"mark": "last"}})
        for stream in (blind, seeing):
            eventually(lambda: any(one["id"] == zoo.open_id for one in stream.named("document")))  # noqa: B023
        eventually(lambda: any(one["id"] == zoo.secret_id for one in seeing.named("document")))
        # Who is taken off the list is told once that it is gone for them.
        zoo.restrict()
        eventually(lambda: seeing.named("removed") == [{"id": zoo.secret_id}])
        zoo.owner.delete(zoo.secret)
        zoo.owner.put(f"{zoo.path}/documents/{zoo.open_id}", {"metadata": {"mark": "end"}})
        for stream in (blind, seeing):
            eventually(lambda: stream.named("document")[-1]["metadata"] == {"mark": "end"})  # noqa: B023
        assert seeing.named("removed") == [{"id": zoo.secret_id}]
        assert zoo.secret_id not in json.dumps(blind.events)
        assert NAME not in json.dumps(blind.events)


def test_only_the_owner_says_who_reads_a_document(workshop: Narrowed):
    zoo, body = workshop, {"readers": list[str]()}
    absent = f"{zoo.path}/documents/{uuid4()}/access"
    for path in (f"{zoo.secret}/access", absent):
        for caller in (zoo.listed, zoo.left_out):
            for method, options in (("GET", {}), ("PUT", {"json": body}), ("DELETE", {})):
                caller.refused(OwnerOnly, method, path, **options)
    zoo.share("read")
    zoo.listed.refused(ReadOnly, "GET", f"{zoo.secret}/access")
    zoo.owner.refused(DocumentNotFound, "PUT", absent, json=body)
    told = zoo.owner.get(f"{zoo.secret}/access")
    assert told["restricted"] is True
    assert [one["user"]["username"] for one in told["items"]] == [zoo.listed.name]
    opened = zoo.owner.get(f"{zoo.path}/documents/{zoo.open_id}/access")
    assert (opened["restricted"], opened["items"], opened["total"]) == (False, [], 0)
    # Who does not read the knowledge base reads no document of it, whatever list they are on.
    zoo.owner.put(f"{zoo.path}/shares", {"shares": []})
    zoo.listed.refused(KnowledgeBaseNotFound, "GET", zoo.secret)


@pytest.mark.parametrize(
    "readers",
    [
        [{"username": "nobody-of-this-name"}],
        [{"role": "nothing"}],
        [{}],
        [{"username": "a", "role": "viewer"}],
        [{"role": "viewer"}, {"role": "viewer"}],
        [{"role": "viewer", "access": "write"}],
    ],
)
@one_shape
def test_readers_that_can_not_be_are_refused_as_a_whole(user: Api, other: Api, readers: list[dict[str, Any]]):
    kb_id = user.create_kb()
    document_id = user.upload(kb_id, "a.md", SECRET)
    path = f"/knowledge-bases/{kb_id}/documents/{document_id}/access"
    user.refused(InvalidRequest, "PUT", path, json={"readers": readers})
    own = {"readers": [{"user_id": user.user_id}]}
    details = user.refused(InvalidRequest, "PUT", path, json=own)
    assert details["field"] == "readers.0"
    assert user.get(path)["restricted"] is False


def test_role_on_the_list_counts_while_one_has_it(server: Server, zoo: Narrowed):
    zoo.owner.put(f"{zoo.secret}/access", {"readers": [{"role": "developer"}]})
    zoo.listed.refused(DocumentNotFound, "GET", zoo.secret)
    change = 'UPDATE "user" SET role_id = (SELECT id FROM role WHERE name = :role) WHERE id = :id'
    server.sql(change, role="developer", id=zoo.left_out.user_id)
    assert zoo.left_out.get(zoo.secret)["name"] == NAME
    assert len(zoo.left_out.search(zoo.kb_id, "okapi midnight")) == 2
    server.sql(change, role="user", id=zoo.left_out.user_id)
    zoo.left_out.refused(DocumentNotFound, "GET", zoo.secret)
    assert len(zoo.left_out.search(zoo.kb_id, "okapi midnight")) == 1


def test_document_is_for_all_again_when_it_is_opened(server: Server, zoo: Narrowed):
    zoo.owner.delete(f"{zoo.secret}/access")
    assert zoo.left_out.get(zoo.secret)["restricted"] is False
    assert len(zoo.left_out.search(zoo.kb_id, "okapi midnight")) == 2
    assert zoo.owner.get(f"{zoo.secret}/access")["restricted"] is False
    kept = "SELECT id FROM share WHERE kind = 'document' AND resource_id = :id"
    assert server.sql(kept, id=zoo.secret_id) == []
    zoo.owner.delete(f"{zoo.secret}/access")
    noted = "SELECT action FROM audit_entry WHERE object_id = :id ORDER BY created_at"
    acts = [one["action"] for one in server.sql(noted, id=zoo.secret_id)]
    assert acts == ["document.restricted", "document.opened"]


def test_deleted_documents_leave_no_list(server: Server, zoo: Narrowed):
    count = "SELECT id FROM share WHERE kind = 'document' AND resource_id = :id"
    assert len(server.sql(count, id=zoo.secret_id)) == 1
    zoo.owner.delete(zoo.secret)
    assert server.sql(count, id=zoo.secret_id) == []
    second = zoo.owner.upload(zoo.kb_id, "b.md", SECRET)
    body = {"readers": [{"user_id": zoo.listed.user_id}]}
    zoo.owner.put(f"{zoo.path}/documents/{second}/access", body)
    zoo.owner.delete(zoo.path)
    assert server.sql(count, id=second) == []


def test_two_who_restrict_at_the_same_moment_leave_one_of_both_lists(zoo: Narrowed):
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(zoo.restrict, zoo.listed, zoo.left_out) for _ in range(8)]
        assert {one.result()["total"] for one in tries} == {2}
    assert zoo.owner.get(f"{zoo.secret}/access")["total"] == 2


def test_change_of_readers_that_somebody_changed_is_refused(zoo: Narrowed):
    path = f"{zoo.path}/documents/{zoo.open_id}/access"
    by_all = zoo.owner.get(path)
    body = {"readers": [{"user_id": zoo.listed.user_id}], "version": by_all["version"]}
    now = zoo.owner.put(path, body)
    details = zoo.owner.refused(Conflict, "PUT", path, json=body)
    assert (details["field"], details["version"]) == ("version", now["version"])
    assert zoo.owner.get(path) == now
    nobody = zoo.owner.put(path, {"readers": [], "version": now["version"]})
    assert len({one["version"] for one in (by_all, now, nobody)}) == 3
    zoo.owner.delete(path)
    assert zoo.owner.get(path)["version"] == by_all["version"]


def test_two_who_add_a_reader_at_the_same_moment_are_told_apart(zoo: Narrowed):
    path = f"{zoo.secret}/access"
    version = zoo.owner.get(path)["version"]

    def add(reader: dict[str, str]) -> int:
        readers = [{"user_id": zoo.listed.user_id}, reader]
        body = {"readers": readers, "version": version}
        return zoo.owner.request("PUT", path, json=body).status_code

    with ThreadPoolExecutor(2) as pool:
        both = [{"user_id": zoo.left_out.user_id}, {"role": "developer"}]
        assert sorted(pool.map(add, both)) == [200, 409]
    assert zoo.owner.get(path)["total"] == 2


def test_heir_of_the_knowledge_base_reads_all_of_it(server: Server, zoo: Narrowed):
    query = {"transfer_to": zoo.listed.user_id}
    done = server.admin().request("DELETE", f"/admin/users/{zoo.owner.user_id}", params=query)
    assert done.status_code == 200, done.text
    left = zoo.listed.get(f"{zoo.secret}/access")
    assert (left["restricted"], left["items"]) == (True, [])
    zoo.left_out.refused(DocumentNotFound, "GET", zoo.secret)


def test_reindex_names_only_what_one_reads(workshop: Narrowed):
    zoo = workshop
    zoo.owner.post(f"{zoo.path}/reindex", REINDEX)
    eventually(lambda: zoo.owner.get(f"{zoo.path}/reindex")["state"] == "ready")
    totals = [
        caller.get(f"{zoo.path}/reindex")["documents"]["total"] for caller in (zoo.owner, zoo.listed, zoo.left_out)
    ]
    assert totals == [2, 2, 1]
    zoo.owner.post(f"{zoo.path}/reindex/cutover", {})
    assert len(zoo.left_out.search(zoo.kb_id, "okapi midnight")) == 1
    assert len(zoo.listed.search(zoo.kb_id, "okapi midnight")) == 2


@one_shape
def test_terminal_shows_and_changes_who_reads(
    server: Server, zoo: Narrowed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", zoo.owner.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()

    def command(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(build(), ["kb", "access", zoo.kb_id, *arguments])
        assert done.exit_code == code, done.output
        return done.stdout

    assert command(NAME, "--lang", "en").splitlines()[1:] == [zoo.listed.name]
    command(NAME, "--role", "developer", "--user", zoo.left_out.name)
    left = json.loads(command(NAME, "--remove", "--user", zoo.listed.name.upper(), "--json"))
    assert left["total"] == 2
    assert "only the owner" in command(zoo.secret_id, "--nobody", "--lang", "en")
    assert "都可以阅读" in command(NAME, "--everybody", "--lang", "zh")
    # Who is taken from nobody's list is no reason to keep it from everybody.
    refused = CliRunner().invoke(build(), ["kb", "access", zoo.kb_id, NAME, "--remove", "--user", "a", "--lang", "en"])
    assert refused.exit_code == 1
    assert "nobody to remove" in refused.stderr
    assert zoo.owner.get(f"{zoo.secret}/access")["restricted"] is False
    command(NAME, "--user", zoo.listed.name)
    last = command(NAME, "--remove", "--user", zoo.listed.name, "--lang", "en")
    assert "only the owner" in last
    command("nothing.md", code=5)
    assert "okapi" not in command(str(uuid4()), code=5)
    command(NAME, "--nobody", "--everybody", code=2)


@one_shape
@pytest.mark.anyio
async def test_readers_from_the_terminal_are_added_to_what_is_there_by_now(
    server: Server, zoo: Narrowed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", zoo.owner.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()
    path = f"/api/v1{zoo.secret}/access"
    options = Options(json_only=True, language=None, url=None)
    async with open_client(options, open_output(options)) as client:
        looked = client.read(_DocumentAccess, await client.call("GET", path))
        for subject in (("role", "developer"), ("username", zoo.left_out.name)):
            # Both go by the same look.
            left = await change(client, path, looked, partial(_with, chosen=[subject]))
    names = {one.subject()[1] for one in left.items}
    assert names == {zoo.listed.name, "developer", zoo.left_out.name}
