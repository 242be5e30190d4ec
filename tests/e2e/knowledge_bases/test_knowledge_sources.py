"""Knowledge bases that are kept in step with folders and web sites."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import KnowledgeSourceNotFound, OwnerOnly, PermissionDenied
from core.errors.conflicts import Conflict, KnowledgeSourceNameTaken
from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import SHAPES, Server, one_shape
from tests.fixtures.servers.web_site import WebSite, web_site

ANIMALS = {"otter": "crayfish", "heron": "frogs", "badger": "worms", "lynx": "hares", "stoat": "voles", "owl": "mice"}


@pytest.fixture
def admin(server: Server) -> Api:
    return server.admin()


@pytest.fixture
def folder(server: Server) -> Path:
    """A folder that the operator allows, with a file for each animal."""
    path = server.settings.source_folders[0] / unique("folder")
    (path / "notes").mkdir(parents=True)
    for animal, food in ANIMALS.items():
        place = path if animal in {"otter", "heron", "badger"} else path / "notes"
        (place / f"{animal}.md").write_text(f"# {animal}\n\nThe {animal} eats {food}.\n")
    return path


@pytest.fixture
def site(server: Server) -> Iterator[WebSite]:
    """A site of three pages and a text, which the product may connect to."""
    with web_site() as site, allowed_targets(server, site.port):
        site.link("/docs/", "Home", "otter.html", "/docs/heron", "notes.txt", "/outside.html", "https://example.org/")
        site.link("/docs/otter.html", "The otter", "heron#food", "mailto:someone@example.org")
        site.link("/docs/heron", "The heron", "otter.html")
        site.pages["/docs/notes.txt"] = "The badger eats worms."
        site.link("/outside.html", "Elsewhere")
        yield site


def make_folder_source(admin: Api, folder: Path, **settings: Any) -> Source:
    kb_id = admin.create_kb()
    return Source(admin, kb_id, "folder", {"path": str(folder), **settings})


def expected_of(folder: Path) -> dict[str, str]:
    """What the knowledge base should hold."""
    files = (path for path in folder.rglob("[!.]*.md") if path.is_file())
    return {" › ".join(path.relative_to(folder).parts): path.read_text() for path in files}


def test_folder_is_read_and_found(admin: Api, folder: Path):
    (folder / ".hidden.md").write_text("secret")
    (folder / "program.exe").write_bytes(b"MZ\x00")
    source = make_folder_source(admin, folder)
    sync = source.wait()
    assert sync["status"] == "completed"
    assert sync["counts"] == {"created": 6}
    assert min(sync["examples"]["created"]) == "badger.md"
    assert source.contents() == expected_of(folder)
    assert admin.get(source.path)["documents"] == 6

    documents = source.documents()
    admin.wait(source.kb_id, documents["notes › owl.md"]["id"])
    assert admin.search(source.kb_id, "What does the owl eat?")[0]["document_name"] == "notes › owl.md"
    assert documents["notes › owl.md"]["metadata"] == {"path": "notes/owl.md"}


def test_knowledge_base_equals_the_folder_after_each_change(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    first = source.documents()

    assert source.sync()["counts"] == {"unchanged": 6}
    assert {name: row["revision"] for name, row in source.documents().items()} == dict.fromkeys(first, 1)

    (folder / "otter.md").write_text("# otter\n\nThe otter eats eels now.\n")
    os.utime(folder / "heron.md")
    (folder / "notes" / "owl.md").rename(folder / "eagle owl.md")
    (folder / "badger.md").unlink()
    (folder / "marten.md").write_text("# marten\n\nThe marten eats berries.\n")
    sync = source.sync()
    assert sync["counts"] == {"updated": 1, "unchanged": 3, "renamed": 1, "deleted": 1, "created": 1}
    assert sync["examples"]["deleted"] == ["badger.md"]
    assert source.contents() == expected_of(folder)
    after = source.documents()
    # A renamed document is the same one, and nothing of it was embedded again.
    assert after["eagle owl.md"]["id"] == first["notes › owl.md"]["id"]
    assert after["eagle owl.md"]["metadata"] == {"path": "eagle owl.md"}
    assert after["heron.md"]["revision"] == after["eagle owl.md"]["revision"] == 1
    assert after["otter.md"]["id"] == first["otter.md"]["id"]
    assert after["otter.md"]["revision"] == 2


def test_deletions_of_many_wait_for_a_person(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    for name in ("otter.md", "heron.md", "notes/owl.md"):
        (folder / name).unlink()
    sync = source.sync()
    assert sync["status"] == "confirm"
    assert sync["counts"]["deleted"] == 3
    assert sorted(sync["examples"]["deleted"]) == ["heron.md", "notes › owl.md", "otter.md"]
    assert len(source.contents()) == 6

    # A preview leaves the question standing.
    admin.refused(Conflict, "POST", f"{source.path}/syncs", json={"preview": True})

    # What came back meanwhile stays.
    (folder / "otter.md").write_text("# otter\n\nBack again.\n")
    admin.post(f"{source.path}/syncs/{sync['id']}/confirm")
    assert source.wait(sync["id"])["status"] == "completed"
    assert set(source.contents()) == {"badger.md", "otter.md", "notes › lynx.md", "notes › stoat.md"}
    admin.refused(Conflict, "POST", f"{source.path}/syncs/{sync['id']}/confirm")


def test_question_is_taken_back_when_the_files_are_there_again(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    place = folder.with_name(f"{folder.name}-unmounted")
    folder.rename(place)
    folder.mkdir()
    assert source.sync()["status"] == "confirm"
    folder.rmdir()
    place.rename(folder)
    assert source.sync()["counts"] == {"unchanged": 6}
    assert len(source.contents()) == 6


def test_source_that_is_away_deletes_nothing(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    folder.rename(folder.with_name(f"{folder.name}-away"))
    sync = source.sync()
    assert sync["status"] == "failed"
    assert sync["failure"]["reason"] == "unreadable"
    assert len(source.contents()) == 6


def test_preview_changes_nothing(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    before = source.contents()
    (folder / "marten.md").write_text("new")
    (folder / "otter.md").write_text("changed")
    (folder / "heron.md").unlink()
    preview = source.sync(preview=True)
    assert preview["is_preview"]
    assert preview["counts"] == {"created": 1, "updated": 1, "deleted": 1, "unchanged": 4}
    assert preview["examples"] == {"created": ["marten.md"], "updated": ["otter.md"], "deleted": ["heron.md"]}
    assert source.contents() == before


def test_patterns_choose_files(admin: Api, folder: Path):
    source = make_folder_source(admin, folder, include=["notes/*", "otter.md"], exclude=["*/owl.md"])
    source.wait()
    assert set(source.contents()) == {"otter.md", "notes › lynx.md", "notes › stoat.md"}


def test_file_that_cannot_be_read_fails_alone(admin: Api, folder: Path):
    (folder / "broken.pdf").write_text("no PDF")
    (folder / "huge.txt").write_bytes(b"a" * (3 * 2**20))
    source = make_folder_source(admin, folder)
    sync = source.wait()
    assert sync["status"] == "completed"
    assert sync["counts"] == {"created": 6, "failed": 2}
    assert source.failures() == {"broken.pdf": "file_type_mismatch", "huge.txt": "too_large"}

    (folder / "huge.txt").write_text("small now")
    assert source.sync()["counts"] == {"created": 1, "failed": 1, "unchanged": 6}
    assert source.failures() == {"broken.pdf": "file_type_mismatch"}


def test_links_out_of_the_folder_are_not_followed(admin: Api, folder: Path, tmp_path: Path):
    (tmp_path / "private.md").write_text("Nobody may read this.")
    (folder / "link.md").symlink_to(tmp_path / "private.md")
    (folder / "door").symlink_to(tmp_path)
    source = make_folder_source(admin, folder)
    source.wait()
    assert len(source.contents()) == 6

    # Not even when a folder becomes a link between two syncs.
    (folder / "notes").rename(tmp_path / "notes")
    (folder / "notes").symlink_to(tmp_path / "notes")
    assert source.sync()["status"] == "confirm"


@one_shape
def test_only_allowed_folders_are_read(admin: Api, server: Server, folder: Path):
    kb_id = admin.create_kb()
    path = f"/knowledge-bases/{kb_id}/sources"

    def refused(place: Path | str) -> dict[str, Any]:
        body = {"name": "away", "connector": "folder", "settings": {"path": str(place)}}
        return admin.refused(InvalidRequest, "POST", path, json=body)

    assert "AGENTEX_SOURCE_FOLDERS" in refused("/etc")["error"]
    assert refused(folder / ".." / ".." / ".." / "data")["field"] == "settings.path"
    assert refused(folder / "nowhere")["field"] == "settings.path"
    (folder / "up").symlink_to(server.settings.data_dir)
    assert refused(folder / "up")["field"] == "settings.path"
    assert admin.get(path) == []


@one_shape
def test_folders_are_for_administrators(server: Server, admin: Api, folder: Path):
    person = server.person()
    kb_id = person.create_kb()
    body = {"name": "mine", "connector": "folder", "settings": {"path": str(folder)}}
    person.refused(PermissionDenied, "POST", f"/knowledge-bases/{kb_id}/sources", json=body)
    names = {row["name"]: row["administrators_only"] for row in admin.get("/knowledge-connectors")}
    services = ("github_issues", "confluence", "feishu", "notion")
    of_everybody = ("web", "rss", "git", "s3", "webdav", "imap", "sql", *services)
    of_server = ("folder", "sqlite", "llama_index")
    assert names == dict.fromkeys(of_everybody, False) | dict.fromkeys(of_server, True)


def test_sources_are_the_owners_alone(server: Server, admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    reader = server.person()
    shares = {"shares": [{"username": reader.name, "access": "write"}]}
    admin.put(f"/knowledge-bases/{source.kb_id}/shares", shares)
    reader.refused(OwnerOnly, "GET", f"/knowledge-bases/{source.kb_id}/sources")
    reader.refused(OwnerOnly, "POST", f"{source.path}/syncs")
    other_kb = admin.create_kb()
    admin.refused(KnowledgeSourceNotFound, "GET", f"/knowledge-bases/{other_kb}/sources/{source.row['id']}")
    admin.refused(KnowledgeSourceNameTaken, "POST", f"/knowledge-bases/{source.kb_id}/sources", json=source.body)


def test_deleted_source_leaves_or_takes_its_documents(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    admin.delete(source.path)
    assert len(source.contents()) == 6
    assert admin.get(f"/knowledge-bases/{source.kb_id}/sources") == []

    other = make_folder_source(admin, folder)
    # One's own document of the same name and contents is not the source's to delete.
    admin.ingest(other.kb_id, "mine.md", "My own words.")
    other.wait()
    answer = admin.request("DELETE", other.path, params={"documents": True})
    assert answer.json()["data"] == {"deleted_documents": 6}
    assert set(other.contents()) == {"mine.md"}


def test_acts_on_a_source_are_noted_without_its_place(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    source.update(include=["*.md"])
    admin.delete(f"{source.path}?documents=true")
    noted = admin.get("/system/audit", object_id=source.row["id"], page_size=100)["items"]
    assert [(row["action"], row["object_type"]) for row in reversed(noted)] == [
        ("knowledge_source.created", "knowledge_source"),
        ("knowledge_source.changed", "knowledge_source"),
        ("knowledge_source.deleted", "knowledge_source"),
    ]
    assert noted[0]["details"] == {"connector": "folder", "knowledge_base_id": source.kb_id, "documents": 6}
    assert str(folder) not in str(noted)


def test_uploads_of_people_are_neither_replaced_nor_deleted(admin: Api, folder: Path):
    kb_id = admin.create_kb()
    admin.ingest(kb_id, "otter.md", "My otter.")
    admin.ingest(kb_id, "heron.md", (folder / "heron.md").read_text())
    source = Source(admin, kb_id, "folder", {"path": str(folder)})
    source.wait()
    assert source.contents()["otter.md"] == "My otter."
    assert source.contents()["otter (2).md"] == (folder / "otter.md").read_text()

    (folder / "heron.md").write_text("# heron\n\nAnother text.\n")
    source.sync()
    (folder / "otter.md").unlink()
    source.sync()
    names = set(source.contents())
    assert {"otter.md", "heron.md", "heron (2).md"} <= names
    assert "otter (2).md" not in names


def test_document_deleted_here_comes_again(admin: Api, folder: Path):
    source = make_folder_source(admin, folder)
    source.wait()
    admin.delete(f"/knowledge-bases/{source.kb_id}/documents/{source.documents()['otter.md']['id']}")
    assert source.sync()["counts"] == {"created": 1, "unchanged": 5}
    assert source.contents() == expected_of(folder)


def test_site_is_read_along_its_links(server: Server, user: Api, site: WebSite):
    source = Source(user, user.create_kb(), "web", {"url": site.url("/docs/")})
    sync = source.wait()
    assert sync["status"] == "completed", sync
    # Neither what lies above the start, nor other sites.
    names = {f"127.0.0.1 › docs › {name}" for name in ("index.html", "otter.html", "heron.html", "notes.txt")}
    assert set(source.contents()) == names
    otter = source.documents()["127.0.0.1 › docs › otter.html"]
    assert otter["metadata"] == {"url": site.url("/docs/otter.html")}

    sent, connections = dict(site.sent), site.connections
    assert source.sync()["counts"] == {"unchanged": 4}
    # Unchanged pages are not even sent, and share a connection, as TLS makes each of them dear; the first is for robots.txt.
    assert dict(site.sent) == sent
    assert site.connections - connections <= 2

    site.link("/docs/heron", "The heron", "otter.html", "stoat.html")
    site.link("/docs/stoat.html", "The stoat")
    del site.pages["/docs/notes.txt"]
    assert source.sync()["counts"] == {"unchanged": 2, "updated": 1, "created": 1, "deleted": 1}
    assert "The stoat" in source.contents()["127.0.0.1 › docs › stoat.html"]


def test_sitemap_and_single_page(user: Api, site: WebSite):
    pages = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/docs/heron", "/outside.html"))
    site.pages["/pages.xml"] = f'<?xml version="1.0"?><urlset>{pages}</urlset>'
    site.pages["/sitemap.xml"] = f"<sitemapindex><sitemap><loc>{site.url('/pages.xml')}</loc></sitemap></sitemapindex>"
    source = Source(user, user.create_kb(), "web", {"url": site.url("/sitemap.xml"), "mode": "sitemap"})
    source.wait()
    assert set(source.contents()) == {"127.0.0.1 › docs › heron.html", "127.0.0.1 › outside.html"}

    single = Source(user, user.create_kb(), "web", {"url": site.url("/docs/"), "mode": "page"})
    single.wait()
    assert set(single.contents()) == {"127.0.0.1 › docs › index.html"}


@one_shape
def test_address_without_a_sitemap_is_named(user: Api, site: WebSite):
    site.pages["/broken.txt"] = "no sitemap"
    for path in ("/docs/", "/broken.txt"):
        source = Source(user, user.create_kb(), "web", {"url": site.url(path), "mode": "sitemap"})
        assert source.wait()["failure"]["reason"] == "no_sitemap"


@one_shape
def test_robots_are_heard(user: Api, site: WebSite):
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /docs/otter.html\n"
    source = Source(user, user.create_kb(), "web", {"url": site.url("/docs/")})
    source.wait()
    assert "127.0.0.1 › docs › otter.html" not in source.contents()
    assert site.sent["/docs/otter.html"] == 0

    site.pages["/robots.txt"] = "User-agent: Agentex\nDisallow: /\n"
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "robots")
    site.statuses["/robots.txt"] = 503, "600"
    assert source.sync()["failure"]["reason"] == "busy"
    assert len(source.contents()) == 3


@one_shape
def test_page_that_fails_for_a_while_stays_and_so_do_those_behind_it(user: Api, site: WebSite):
    site.link("/docs/otter.html", "The otter", "cub.html")
    site.link("/docs/cub.html", "The cub")
    source = Source(user, user.create_kb(), "web", {"url": site.url("/docs/")})
    source.wait()
    site.statuses["/docs/otter.html"] = 500, "1"
    sync = source.sync()
    assert sync["counts"] == {"unchanged": 4, "failed": 1}
    assert source.failures() == {site.url("/docs/otter.html"): "refused"}
    assert len(source.contents()) == 5

    # The site as a whole away: nothing is deleted.
    site.statuses["/docs/"] = 500, "1"
    assert source.sync()["status"] == "failed"
    assert len(source.contents()) == 5


@one_shape
def test_busy_site_is_asked_again_after_the_pause_it_wants(user: Api, site: WebSite):
    site.statuses["/docs/otter.html"] = 429, "1"

    def calm_down() -> bool:
        return site.statuses.pop("/docs/otter.html", None) is not None

    source = Source(user, user.create_kb(), "web", {"url": site.url("/docs/")})
    eventually(lambda: site.sent["/docs/"], what="the crawl begins")
    calm_down()
    assert source.wait()["counts"]["created"] == 4


@one_shape
def test_endless_site_is_bounded(user: Api, site: WebSite):
    site.is_endless = True
    settings = {"url": site.url("/endless/"), "max_pages": 7, "max_depth": 20}
    source = Source(user, user.create_kb(), "web", settings)
    sync = source.wait()
    assert sync["counts"] == {"created": 7}
    assert sync["is_cut"]

    source.update(max_pages=100, max_depth=8)
    source.sync()
    assert len(source.contents()) == 9


@one_shape
def test_no_way_leads_to_private_addresses(server: Server, user: Api, site: WebSite):
    with web_site() as inside:
        inside.link("/", "Inside")
        body = {"name": "inside", "connector": "web", "settings": {"url": inside.url()}}
        path = f"/knowledge-bases/{user.create_kb()}/sources"
        user.refused(UrlNotAllowed, "POST", path, json=body)
        body["settings"] = {"url": f"http://somebody:secret@127.0.0.1:{site.port}/"}
        user.refused(UrlNotAllowed, "POST", path, json=body)

        site.redirects["/docs/otter.html"] = inside.url()
        source = Source(user, user.create_kb(), "web", {"url": site.url("/docs/")})
        assert source.wait()["counts"] == {"created": 3}
        assert not inside.sent

        site.redirects["/docs/"] = inside.url()
        assert source.sync()["failure"]["reason"] == "elsewhere"
        assert not inside.sent


@one_shape
def test_settings_are_checked(user: Api):
    path = f"/knowledge-bases/{user.create_kb()}/sources"

    def field(connector: str, **settings: Any) -> str:
        body = {"name": "wrong", "connector": connector, "settings": settings}
        return user.refused(InvalidRequest, "POST", path, json=body)["field"]

    assert field("gopher") == "connector"
    assert field("web") == "settings.url"
    assert field("web", url="https://example.org", depth=3) == "settings.depth"
    assert field("web", url="https://example.org", max_pages=10**6) == "settings.max_pages"
    assert field("web", url="https://example.org", exclude=["*"]) == "settings.exclude"


def test_sync_is_cancelled_and_there_is_never_a_second_one(user: Api, site: WebSite):
    site.is_endless = True
    site.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 1\n"
    source = Source(user, user.create_kb(), "web", {"url": site.url("/endless/")})
    user.refused(Conflict, "POST", f"{source.path}/syncs")
    sync = source.row["last_sync"]
    eventually(lambda: source.contents(), what="a first page")
    assert user.post(f"{source.path}/syncs/{sync['id']}/cancel")["status"] == "cancelled"
    user.refused(Conflict, "POST", f"{source.path}/syncs/{sync['id']}/cancel")
    site.is_endless = False
    site.pages["/robots.txt"] = ""
    assert source.sync()["status"] == "failed"


def test_schedule_begins_syncs(server: Server, admin: Api, folder: Path):
    kb_id = admin.create_kb()
    source = Source(admin, kb_id, "folder", {"path": str(folder)}, sync_every_minutes=5)
    first = source.wait()
    (folder / "marten.md").write_text("# marten\n\nThe marten eats berries.\n")
    # As if five minutes had passed.
    server.sql("UPDATE knowledge_source SET due_at = created_at WHERE id = :id", id=source.row["id"])
    eventually(lambda: admin.get(source.path)["last_sync"]["id"] != first["id"], what="the next sync")
    source.wait()
    assert source.contents() == expected_of(folder)
    assert admin.get(source.path)["due_at"] > first["created_at"]


@one_shape
def test_watched_folder_is_read_when_it_changes_and_no_oftener(server: Server, admin: Api, folder: Path):
    source = make_folder_source(admin, folder, watch=True)

    def await_equal(what: str) -> None:
        eventually(lambda: source.contents() == expected_of(folder), seconds=90, what=what)

    def syncs() -> int:
        return admin.get(f"{source.path}/syncs")["total"]

    await_equal("the folder is read")
    (folder / "notes" / "raven.md").write_text("# raven\n\nThe raven eats anything.\n")
    (folder / "otter.md").write_text("# otter\n\nThe otter eats fish.\n")
    await_equal("a new and a changed file are read")
    # A look that came in the middle of the changes is followed by another sync.
    time.sleep(8)
    number = syncs()
    time.sleep(6)
    assert syncs() == number
    server.kill("worker")
    (folder / "heron.md").rename(folder / "egret.md")
    await_equal("what changed while no worker ran is read")
    source.update(watch=False)
    time.sleep(8)
    number = syncs()
    (folder / "stoat.md").write_text("# stoat\n\nThe stoat eats eggs.\n")
    time.sleep(6)
    assert syncs() == number


@pytest.mark.parametrize("server", SHAPES, indirect=True)
def test_killed_worker_does_nothing_twice(server: Server, admin: Api, folder: Path):
    for number in range(60):
        (folder / f"page {number:02}.md").write_text(f"# {number}\n\nPage {number}.\n")
    source = make_folder_source(admin, folder)
    eventually(lambda: len(source.contents()) > 10, what="some documents", pause=0.01)
    server.kill("worker")
    sync = source.wait()
    assert sync["counts"] == {"created": 66}
    assert source.contents() == expected_of(folder)
    assert len(source.documents()) == 66
