"""Documents that only those read whom their source admits: pages of Confluence, and resources of LlamaIndex's readers."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from cli.main import build
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.settings import get_settings
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.http.mcp_client import MODES, call_tool, connect
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.knowledge.source_audience import Readers, names_for, sees, settle, verified
from tests.fixtures.product.server import Server
from tests.fixtures.wikis.confluence_server import ConfluenceServer
from tests.fixtures.wikis.rest_server import serving

SECRET = "The okapi sleeps at midnight in cave seven."
PAGE, CHILD, OPEN = "ZOO › The okapi.html", "ZOO › The cave.html", "ZOO › The zebra.html"
READER = "tests.fixtures.knowledge.llama_index_readers.RosterReader"


both_editions = pytest.mark.parametrize("confluence", ["cloud", "data_center"], indirect=True)


@pytest.fixture
def confluence(embedded: Server, request: pytest.FixtureRequest) -> Iterator[ConfluenceServer]:
    """A page for few (500), a page below it (501), and a page for all (502)."""
    service = ConfluenceServer(is_cloud=getattr(request, "param", "cloud") == "cloud")
    with serving(service), allowed_targets(embedded, service.port):
        service.add("The okapi", f"<p>{SECRET}</p>")
        service.add("The cave", "<p>Cave seven has okapi bones.</p>", parent="500")
        service.add("The zebra", "<p>The zebra sleeps at noon.</p>")
        yield service


async def asked(server: Server, person: Api, source: Source) -> set[str]:
    """The documents that the agent's answer to somebody draws on."""
    async with connect(server, person, MODES[0]) as client:
        question = {"question": "When does the okapi sleep in its cave?", "knowledge_base_ids": [source.kb_id]}
        return {citation["document_id"] for citation in (await call_tool(client, "ask", **question))["citations"]}


@pytest.fixture
def readers(embedded: Server, confluence: ConfluenceServer) -> Readers:
    return Readers(embedded, confluence)


@both_editions
def test_restricted_page_and_those_below_it_are_for_those_whom_it_admits(embedded: Server, readers: Readers):
    confluence, ann, bob = readers.confluence, readers.ann, readers.bob
    confluence.limit_view("500", readers.ann_email, "somebody-else@example.com")
    source = readers.add_source()
    assert source.wait()["counts"] == {"created": 3, "restricted": 2}
    settle(source)
    page, child, zebra = (source.documents()[name] for name in (PAGE, CHILD, OPEN))
    assert [sees(ann, source, row) for row in (page, child)] == [True, True]
    assert [sees(bob, source, row) for row in (page, child)] == [False, False]
    assert {OPEN} == names_for(bob, source)
    chunk = ann.get(f"/knowledge-bases/{source.kb_id}/documents/{page['id']}/chunks")["items"][0]["id"]
    assert bob.request("GET", f"/knowledge-bases/{source.kb_id}/chunks/{chunk}").status_code == 404
    # What answers are made of is looked for in the asker's name.
    assert anyio.run(asked, embedded, ann, source) & {page["id"], child["id"]}
    assert anyio.run(asked, embedded, bob, source) <= {zebra["id"]}
    access = readers.owner.get(f"/knowledge-bases/{source.kb_id}/documents/{page['id']}/access")
    assert (access["restricted"], access["by_hand"], access["items"]) == (True, False, [])
    assert readers.ann_email in access["source_readers"][0]
    assert zebra["restricted"] is False

    # Both pages must admit one, however the list is ordered; only the permissions change, and nothing is read again.
    revisions = {name: row["revision"] for name, row in source.documents().items()}
    confluence.limit_view("501", readers.bob_email)
    assert source.sync(preview=True)["examples"] == {"restricted": [CHILD]}
    assert sees(ann, source, child)
    assert source.sync()["counts"] == {"unchanged": 3, "restricted": 1}
    assert [sees(person, source, child) for person in (ann, bob, readers.owner)] == [False, False, True]

    confluence.limit_view("500")
    confluence.limit_view("501")
    assert source.sync()["counts"] == {"unchanged": 3, "opened": 2}
    assert [sees(bob, source, row) for row in (page, child)] == [True, True]
    assert {name: row["revision"] for name, row in source.documents().items()} == revisions
    assert source.sync()["counts"] == {"unchanged": 3}


def test_only_a_verified_address_and_mapped_groups_count(embedded: Server, readers: Readers):
    confluence, late = readers.confluence, embedded.person()
    confluence.limit_view("500", f"{late.name}@example.com", groups=("keepers",))
    people = {late.name: [f"{late.name.upper()}@example.com"]}
    source = readers.add_source(people=people, groups={"others": ["everyone"]})
    source.wait()
    settle(source)
    page = source.documents()[PAGE]
    shares = [{"username": person.name, "access": "read"} for person in (readers.ann, readers.bob, late)]
    readers.owner.put(f"/knowledge-bases/{source.kb_id}/shares", {"shares": shares})
    # Anybody may have registered with the address of somebody else.
    assert not sees(late, source, page)
    verified(embedded, late)
    assert sees(late, source, page)
    source.update(groups={"keepers": [readers.bob_email, "role:nobody-has-it"]})
    assert source.sync()["counts"] == {"unchanged": 3, "restricted": 2}
    assert [sees(person, source, page) for person in (readers.ann, readers.bob, late)] == [False, True, True]
    source.update(groups={"keepers": ["everyone"]})
    assert source.sync()["counts"] == {"unchanged": 3, "opened": 2}
    assert sees(readers.ann, source, page)
    path = f"/knowledge-bases/{source.kb_id}/sources"
    body = source.body | {"name": "other", "settings": source.body["settings"] | {"groups": {"keepers": ["Bob"]}}}
    assert readers.owner.refused(InvalidRequest, "POST", path, json=body)["field"] == "settings.groups.keepers.0"


@both_editions
def test_what_cannot_be_read_is_for_the_owner_alone(readers: Readers):
    confluence = readers.confluence
    confluence.secretive = {"500"}
    source = readers.add_source()
    sync = source.wait()
    assert (sync["counts"], sync["failure"]["reason"]) == ({"created": 3, "restricted": 2}, "permissions_unread")
    settle(source)
    page = source.documents()[PAGE]
    assert [sees(person, source, page) for person in (readers.ann, readers.bob, readers.owner)] == [False, False, True]
    confluence.secretive = set()
    assert source.sync()["counts"] == {"unchanged": 3, "opened": 2}
    assert sees(readers.bob, source, page)


def test_lists_by_hand_and_of_the_source_count_together(
    embedded: Server, readers: Readers, monkeypatch: pytest.MonkeyPatch
):
    confluence, source_of = readers.confluence, readers.add_source
    confluence.limit_view("500", readers.ann_email, readers.bob_email)
    source = source_of()
    source.wait()
    settle(source)
    page = source.documents()[PAGE]
    path = f"/knowledge-bases/{source.kb_id}/documents/{page['id']}/access"
    assert readers.owner.refused(Conflict, "DELETE", path)["field"] == "source"
    monkeypatch.setenv("AGENTEX_URL", str(embedded.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", readers.owner.access_token)
    get_settings.cache_clear()
    shown = CliRunner().invoke(build(), ["kb", "access", source.kb_id, PAGE, "--lang", "en"])
    assert f"admits only: {min(readers.ann_email, readers.bob_email)}, " in shown.stdout, shown.output
    # Nobody is named here, so nobody can be taken from a list.
    remove = ["kb", "access", source.kb_id, PAGE, "--remove", "--user", readers.bob.name]
    assert CliRunner().invoke(build(), remove).exit_code == 1
    readers.owner.put(path, {"readers": [{"user_id": readers.ann.user_id}]})
    assert [sees(person, source, page) for person in (readers.ann, readers.bob)] == [True, False]
    confluence.limit_view("500", readers.bob_email)
    source.sync()
    assert [sees(person, source, page) for person in (readers.ann, readers.bob)] == [False, False]
    # What was closed by hand is not opened by the source, nor the other way round.
    confluence.limit_view("500")
    source.sync()
    assert [sees(person, source, page) for person in (readers.ann, readers.bob)] == [True, False]
    confluence.limit_view("500", readers.ann_email)
    source.sync()
    readers.owner.delete(path)
    assert [sees(person, source, page) for person in (readers.ann, readers.bob)] == [True, False]
    source.update(permissions="ignore")
    assert source.sync()["counts"] == {"unchanged": 3, "opened": 2}
    assert sees(readers.bob, source, page)
    source.update(permissions="keep")
    source.sync()
    # A source that is gone says nothing any more: its owner may open what it closed.
    readers.owner.delete(source.path)
    assert not sees(readers.bob, source, page)
    readers.owner.delete(path)
    assert sees(readers.bob, source, page)


def test_text_of_a_restricted_page_is_not_shown_when_the_next_one_is_open(embedded: Server, readers: Readers):
    confluence = readers.confluence
    confluence.limit_view("500", readers.ann_email)
    source = readers.add_source()
    source.wait()
    settle(source)
    page = source.documents()[PAGE]
    readers.owner.post(f"/knowledge-bases/{source.kb_id}/pause")
    confluence.limit_view("500")
    confluence.change("500", body="<p>The okapi sleeps well in its cave.</p>")
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 2, "opened": 1}
    # Searches still find the earlier text.
    readers.bob.refused(DocumentNotFound, "GET", f"/knowledge-bases/{source.kb_id}/documents/{page['id']}")
    readers.owner.post(f"/knowledge-bases/{source.kb_id}/resume")
    settle(source)
    # As soon as they find the new one, it is open.
    eventually(lambda: PAGE in names_for(readers.bob, source), seconds=30, what="the page is open")
    assert sees(readers.bob, source, page)
    assert source.sync()["counts"] == {"unchanged": 3}


def test_permissions_of_resources_are_kept(embedded: Server, tmp_path: Path):
    admin, ann, bob = embedded.admin(), embedded.person(), embedded.person()
    table = {
        "mine.md": {"allowed_user_emails": [verified(embedded, ann)], "allowed_user_ids": [None, "17"]},
        "ours.md": {"allowed_siteGroup_display_names": ["Keepers"]},
        "all.md": {"everyone": True},
        "odd.md": {"acl": ["somebody"]},
        "broken.md": "raise",
    }
    roster = tmp_path / "roster.json"
    roster.write_text(json.dumps(table))
    settings = {
        "reader": READER,
        "arguments": {"roster": str(roster)},
        "groups": {"Keepers": [verified(embedded, bob)]},
    }
    source = Source(admin, admin.create_kb(), "llama_index", settings)
    sync = source.wait()
    assert sync["counts"] == {"created": 5, "restricted": 4}, sync
    shares = [{"username": person.name, "access": "read"} for person in (ann, bob)]
    admin.put(f"/knowledge-bases/{source.kb_id}/shares", {"shares": shares})
    assert names_for(ann, source) == {"mine.md", "all.md"}
    assert names_for(bob, source) == {"ours.md", "all.md"}
    roster.write_text(json.dumps(table | {"mine.md": {"public": True}}))
    assert source.sync()["counts"] == {"unchanged": 5, "opened": 1}
    assert "mine.md" in names_for(bob, source)
