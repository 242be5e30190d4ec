"""Restricted documents over HTTP: each route, asked by the owner, a reader and somebody else."""

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
from tests.fixtures.knowledge.restricted_document import NAME, SECRET, RestrictedKb, make_restricted_kb
from tests.fixtures.product.server import Server, one_shape

REINDEX = {"chunk_size": 100, "cutover": "manual"}


@pytest.fixture
def restricted_kb(server: Server, user: Api, other: Api) -> RestrictedKb:
    return make_restricted_kb(user, other, server.person())


@pytest.fixture
def writable_kb(server: Server, user: Api, other: Api) -> RestrictedKb:
    """The same, where both others may write."""
    return make_restricted_kb(user, other, server.person(), "write")


def chunk_of(restricted_kb: RestrictedKb) -> str:
    return restricted_kb.owner.get(f"{restricted_kb.secret}/chunks")["items"][0]["id"]


def requests_about(restricted_kb: RestrictedKb, document_id: str, chunk_id: str) -> Iterator[tuple[str, str, Any]]:
    """What may be asked of a document, readers' questions first."""
    path = f"{restricted_kb.path}/documents/{document_id}"
    chunk = f"{restricted_kb.path}/chunks/{chunk_id}"
    words = {"query": "okapi", "document_id": document_id, "text": "midnight"}
    yield "GET", path, {}
    yield "GET", f"{path}/content", {}
    yield "GET", f"{path}/chunks", {}
    yield "GET", chunk, {}
    yield "POST", f"{restricted_kb.path}/search/why", {"json": {"query": "okapi", "chunk_id": chunk_id}}
    yield "POST", f"{restricted_kb.path}/search/why", {"json": words}
    yield "POST", f"{restricted_kb.path}/split-preview", {"params": {"document_id": document_id}}
    yield "PUT", chunk, {"json": {"version": 1, "content": "The okapi is mine."}}
    yield "DELETE", chunk, {}
    yield "PUT", path, {"json": {"name": "mine.md"}}
    for action in ("pause", "resume", "cancel", "retry"):
        yield "POST", f"{path}/{action}", {}
    yield "DELETE", path, {}


def test_hidden_document_and_absent_one_are_alike_at_every_door(writable_kb: RestrictedKb):
    restricted_kb, chunk_id = writable_kb, chunk_of(writable_kb)
    here = requests_about(restricted_kb, restricted_kb.secret_id, chunk_id)
    nowhere = requests_about(restricted_kb, str(uuid4()), str(uuid4()))
    for (method, url, options), (_, absent_url, absent_options) in zip(here, nowhere, strict=True):
        hidden = restricted_kb.left_out.request(method, url, **options)
        absent = restricted_kb.left_out.request(method, absent_url, **absent_options)
        assert hidden.status_code == 404, f"{method} {url}: {hidden.text}"
        assert hidden.content == absent.content, url
        answer = restricted_kb.listed.request(method, url, **options)
        assert answer.status_code in {200, 409}, f"{method} {url}: {answer.text}"
    bulk = {"action": "delete", "document_ids": [restricted_kb.open_id, restricted_kb.secret_id, "nobody"]}
    items = restricted_kb.left_out.post(f"{restricted_kb.path}/documents/bulk", bulk)["items"]
    assert [one["outcome"] for one in items] == ["done", "not_found", "not_found"]


def test_lists_and_counts_are_of_what_one_reads(restricted_kb: RestrictedKb):
    for caller, names in (
        (restricted_kb.owner, {"open.md", NAME}),
        (restricted_kb.listed, {"open.md", NAME}),
        (restricted_kb.left_out, {"open.md"}),
    ):
        listing = caller.get(f"{restricted_kb.path}/documents")
        assert {one["name"] for one in listing["items"]} == names
        assert listing["total"] == len(names)
        assert caller.get(restricted_kb.path)["document_count"] == len(names)
        bases = caller.get("/knowledge-bases", page_size=100)["items"]
        counts = {one["id"]: one["document_count"] for one in bases}
        assert counts[restricted_kb.kb_id] == len(names)
        progress = caller.get(f"{restricted_kb.path}/progress")
        assert progress["counts"] == {"completed": len(names)}
    shown = {
        one["name"]: one["restricted"] for one in restricted_kb.owner.get(f"{restricted_kb.path}/documents")["items"]
    }
    assert shown == {"open.md": False, NAME: True}


def test_search_finds_what_one_reads_as_if_nothing_else_were_there(restricted_kb: RestrictedKb, user: Api, other: Api):
    alone = user.create_kb()
    user.ingest(
        alone,
        "open.md",
        restricted_kb.owner.request("GET", f"{restricted_kb.path}/documents/{restricted_kb.open_id}/content").text,
    )
    bodies: list[dict[str, Any]] = [
        {"query": "okapi sleeps in cave seven", "top_k": 1},
        {"query": "okapi sleeps", "dense_weight": 0},
        {"query": "okapi sleeps", "rerank": False},
        {"query": "okapi sleeps", "filters": {"name": "*.md"}},
        {"query": "okapi sleeps", "filters": {"document_ids": [restricted_kb.secret_id, restricted_kb.open_id]}},
    ]
    for body in bodies:
        for caller in (restricted_kb.owner, restricted_kb.listed):
            assert caller.search(restricted_kb.kb_id, **body)[0]["document_id"] == restricted_kb.secret_id, body
        found = restricted_kb.left_out.search(restricted_kb.kb_id, **body)
        assert [one["document_id"] for one in found] == [restricted_kb.open_id], body
        if "document_ids" not in body.get("filters", {}):
            expected = user.search(alone, **body)
            assert [one["score"] for one in found] == [one["score"] for one in expected], body
    only = {"query": "okapi", "filters": {"document_ids": [restricted_kb.secret_id]}, "explain": True}
    for path in (f"{restricted_kb.path}/search", "/search"):
        answer = restricted_kb.left_out.post(path, {**only, "top_k": 100})
        assert restricted_kb.secret_id not in json.dumps({**answer, "request": None})
        assert "midnight" not in json.dumps(answer)


def test_progress_stream_tells_nothing_of_what_is_hidden(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    path = f"{restricted_kb.path}/progress/stream"
    with streaming(restricted_kb.left_out, path) as blind, streaming(restricted_kb.listed, path) as seeing:
        for stream in (blind, seeing):
            eventually(lambda: stream.named("snapshot"))  # noqa: B023 - called within the round
        assert blind.named("snapshot")[0]["progress"]["total"] == 1
        restricted_kb.owner.put(restricted_kb.secret, {"metadata": {"mark": "first"}})
        restricted_kb.owner.put(
            f"{restricted_kb.path}/documents/{restricted_kb.open_id}", {"metadata": {"mark": "last"}}
        )
        for stream in (blind, seeing):
            eventually(lambda: any(one["id"] == restricted_kb.open_id for one in stream.named("document")))  # noqa: B023
        eventually(lambda: any(one["id"] == restricted_kb.secret_id for one in seeing.named("document")))
        # Who is taken off the list is told once that it is gone for them.
        restricted_kb.restrict()
        eventually(lambda: seeing.named("removed") == [{"id": restricted_kb.secret_id}])
        restricted_kb.owner.delete(restricted_kb.secret)
        restricted_kb.owner.put(
            f"{restricted_kb.path}/documents/{restricted_kb.open_id}", {"metadata": {"mark": "end"}}
        )
        for stream in (blind, seeing):
            eventually(lambda: stream.named("document")[-1]["metadata"] == {"mark": "end"})  # noqa: B023
        assert seeing.named("removed") == [{"id": restricted_kb.secret_id}]
        assert restricted_kb.secret_id not in json.dumps(blind.events)
        assert NAME not in json.dumps(blind.events)


def test_only_the_owner_says_who_reads_a_document(writable_kb: RestrictedKb):
    restricted_kb, body = writable_kb, {"readers": list[str]()}
    absent = f"{restricted_kb.path}/documents/{uuid4()}/access"
    for path in (f"{restricted_kb.secret}/access", absent):
        for caller in (restricted_kb.listed, restricted_kb.left_out):
            for method, options in (("GET", {}), ("PUT", {"json": body}), ("DELETE", {})):
                caller.refused(OwnerOnly, method, path, **options)
    restricted_kb.share("read")
    restricted_kb.listed.refused(ReadOnly, "GET", f"{restricted_kb.secret}/access")
    restricted_kb.owner.refused(DocumentNotFound, "PUT", absent, json=body)
    told = restricted_kb.owner.get(f"{restricted_kb.secret}/access")
    assert told["restricted"] is True
    assert [one["user"]["username"] for one in told["items"]] == [restricted_kb.listed.name]
    opened = restricted_kb.owner.get(f"{restricted_kb.path}/documents/{restricted_kb.open_id}/access")
    assert (opened["restricted"], opened["items"], opened["total"]) == (False, [], 0)
    # Who does not read the knowledge base reads no document of it, whatever list they are on.
    restricted_kb.owner.put(f"{restricted_kb.path}/shares", {"shares": []})
    restricted_kb.listed.refused(KnowledgeBaseNotFound, "GET", restricted_kb.secret)


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


def test_role_on_the_list_counts_while_one_has_it(server: Server, restricted_kb: RestrictedKb):
    restricted_kb.owner.put(f"{restricted_kb.secret}/access", {"readers": [{"role": "developer"}]})
    restricted_kb.listed.refused(DocumentNotFound, "GET", restricted_kb.secret)
    change = 'UPDATE "user" SET role_id = (SELECT id FROM role WHERE name = :role) WHERE id = :id'
    server.sql(change, role="developer", id=restricted_kb.left_out.user_id)
    assert restricted_kb.left_out.get(restricted_kb.secret)["name"] == NAME
    assert len(restricted_kb.left_out.search(restricted_kb.kb_id, "okapi midnight")) == 2
    server.sql(change, role="user", id=restricted_kb.left_out.user_id)
    restricted_kb.left_out.refused(DocumentNotFound, "GET", restricted_kb.secret)
    assert len(restricted_kb.left_out.search(restricted_kb.kb_id, "okapi midnight")) == 1


def test_document_is_for_all_again_when_it_is_opened(server: Server, restricted_kb: RestrictedKb):
    restricted_kb.owner.delete(f"{restricted_kb.secret}/access")
    assert restricted_kb.left_out.get(restricted_kb.secret)["restricted"] is False
    assert len(restricted_kb.left_out.search(restricted_kb.kb_id, "okapi midnight")) == 2
    assert restricted_kb.owner.get(f"{restricted_kb.secret}/access")["restricted"] is False
    kept = "SELECT id FROM share WHERE kind = 'document' AND resource_id = :id"
    assert server.sql(kept, id=restricted_kb.secret_id) == []
    restricted_kb.owner.delete(f"{restricted_kb.secret}/access")
    noted = "SELECT action FROM audit_entry WHERE object_id = :id ORDER BY created_at"
    acts = [one["action"] for one in server.sql(noted, id=restricted_kb.secret_id)]
    assert acts == ["document.restricted", "document.opened"]


def test_deleted_documents_leave_no_list(server: Server, restricted_kb: RestrictedKb):
    count = "SELECT id FROM share WHERE kind = 'document' AND resource_id = :id"
    assert len(server.sql(count, id=restricted_kb.secret_id)) == 1
    restricted_kb.owner.delete(restricted_kb.secret)
    assert server.sql(count, id=restricted_kb.secret_id) == []
    second = restricted_kb.owner.upload(restricted_kb.kb_id, "b.md", SECRET)
    body = {"readers": [{"user_id": restricted_kb.listed.user_id}]}
    restricted_kb.owner.put(f"{restricted_kb.path}/documents/{second}/access", body)
    restricted_kb.owner.delete(restricted_kb.path)
    assert server.sql(count, id=second) == []


def test_two_who_restrict_at_the_same_moment_leave_one_of_both_lists(restricted_kb: RestrictedKb):
    with ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(restricted_kb.restrict, restricted_kb.listed, restricted_kb.left_out) for _ in range(8)]
        assert {one.result()["total"] for one in tries} == {2}
    assert restricted_kb.owner.get(f"{restricted_kb.secret}/access")["total"] == 2


def test_change_of_readers_that_somebody_changed_is_refused(restricted_kb: RestrictedKb):
    path = f"{restricted_kb.path}/documents/{restricted_kb.open_id}/access"
    by_all = restricted_kb.owner.get(path)
    body = {"readers": [{"user_id": restricted_kb.listed.user_id}], "version": by_all["version"]}
    now = restricted_kb.owner.put(path, body)
    details = restricted_kb.owner.refused(Conflict, "PUT", path, json=body)
    assert (details["field"], details["version"]) == ("version", now["version"])
    assert restricted_kb.owner.get(path) == now
    nobody = restricted_kb.owner.put(path, {"readers": [], "version": now["version"]})
    assert len({one["version"] for one in (by_all, now, nobody)}) == 3
    restricted_kb.owner.delete(path)
    assert restricted_kb.owner.get(path)["version"] == by_all["version"]


def test_two_who_add_a_reader_at_the_same_moment_are_told_apart(restricted_kb: RestrictedKb):
    path = f"{restricted_kb.secret}/access"
    version = restricted_kb.owner.get(path)["version"]

    def add(reader: dict[str, str]) -> int:
        readers = [{"user_id": restricted_kb.listed.user_id}, reader]
        body = {"readers": readers, "version": version}
        return restricted_kb.owner.request("PUT", path, json=body).status_code

    with ThreadPoolExecutor(2) as pool:
        both = [{"user_id": restricted_kb.left_out.user_id}, {"role": "developer"}]
        assert sorted(pool.map(add, both)) == [200, 409]
    assert restricted_kb.owner.get(path)["total"] == 2


def test_heir_of_the_knowledge_base_reads_all_of_it(server: Server, restricted_kb: RestrictedKb):
    query = {"transfer_to": restricted_kb.listed.user_id}
    done = server.admin().request("DELETE", f"/admin/users/{restricted_kb.owner.user_id}", params=query)
    assert done.status_code == 200, done.text
    left = restricted_kb.listed.get(f"{restricted_kb.secret}/access")
    assert (left["restricted"], left["items"]) == (True, [])
    restricted_kb.left_out.refused(DocumentNotFound, "GET", restricted_kb.secret)


def test_reindex_names_only_what_one_reads(writable_kb: RestrictedKb):
    restricted_kb = writable_kb
    restricted_kb.owner.post(f"{restricted_kb.path}/reindex", REINDEX)
    eventually(lambda: restricted_kb.owner.get(f"{restricted_kb.path}/reindex")["state"] == "ready")
    totals = [
        caller.get(f"{restricted_kb.path}/reindex")["documents"]["total"]
        for caller in (restricted_kb.owner, restricted_kb.listed, restricted_kb.left_out)
    ]
    assert totals == [2, 2, 1]
    restricted_kb.owner.post(f"{restricted_kb.path}/reindex/cutover", {})
    assert len(restricted_kb.left_out.search(restricted_kb.kb_id, "okapi midnight")) == 1
    assert len(restricted_kb.listed.search(restricted_kb.kb_id, "okapi midnight")) == 2


@one_shape
def test_terminal_shows_and_changes_who_reads(
    server: Server, restricted_kb: RestrictedKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", restricted_kb.owner.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()

    def command(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(build(), ["kb", "access", restricted_kb.kb_id, *arguments])
        assert done.exit_code == code, done.output
        return done.stdout

    assert command(NAME, "--lang", "en").splitlines()[1:] == [restricted_kb.listed.name]
    command(NAME, "--role", "developer", "--user", restricted_kb.left_out.name)
    left = json.loads(command(NAME, "--remove", "--user", restricted_kb.listed.name.upper(), "--json"))
    assert left["total"] == 2
    assert "only the owner" in command(restricted_kb.secret_id, "--nobody", "--lang", "en")
    assert "都可以阅读" in command(NAME, "--everybody", "--lang", "zh")
    # Who is taken from nobody's list is no reason to keep it from everybody.
    refused = CliRunner().invoke(
        build(), ["kb", "access", restricted_kb.kb_id, NAME, "--remove", "--user", "a", "--lang", "en"]
    )
    assert refused.exit_code == 1
    assert "nobody to remove" in refused.stderr
    assert restricted_kb.owner.get(f"{restricted_kb.secret}/access")["restricted"] is False
    command(NAME, "--user", restricted_kb.listed.name)
    last = command(NAME, "--remove", "--user", restricted_kb.listed.name, "--lang", "en")
    assert "only the owner" in last
    command("nothing.md", code=5)
    assert "okapi" not in command(str(uuid4()), code=5)
    command(NAME, "--nobody", "--everybody", code=2)


@one_shape
@pytest.mark.anyio
async def test_readers_from_the_terminal_are_added_to_what_is_there_by_now(
    server: Server, restricted_kb: RestrictedKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENTEX_URL", str(server.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", restricted_kb.owner.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    get_settings.cache_clear()
    path = f"/api/v1{restricted_kb.secret}/access"
    options = Options(json_only=True, language=None, url=None)
    async with open_client(options, open_output(options)) as client:
        looked = client.read(_DocumentAccess, await client.call("GET", path))
        for subject in (("role", "developer"), ("username", restricted_kb.left_out.name)):
            # Both go by the same look.
            left = await change(client, path, looked, partial(_with, chosen=[subject]))
    names = {one.subject()[1] for one in left.items}
    assert names == {restricted_kb.listed.name, "developer", restricted_kb.left_out.name}
