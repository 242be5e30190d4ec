"""Knowledge bases that are kept in step with folders on WebDAV servers."""

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server
from tests.fixtures.servers.dav_server import (
    PASSWORD,
    USERNAME,
    Answer,
    DavServer,
    ScriptedDav,
    dav_server,
    multistatus,
    scripted_dav,
)

ACCOUNT = {"username": USERNAME, "password": PASSWORD}
NOTES = {
    "otter.md": "The otter eats crayfish.",
    "notes › heron.md": "The heron eats frogs.",
    "notes › deep › 说明 a+b%2F#1 & c.md": "The badger eats worms.",
}


@pytest.fixture
def dav(embedded: Server, tmp_path: Path) -> Iterator[DavServer]:
    """A folder with notes on three animals, which the product may read."""
    with dav_server(tmp_path) as dav, allowed_targets(embedded, dav.port):
        for name, text in NOTES.items():
            dav.write(name.replace(" › ", "/"), text)
        yield dav


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


def make_source(writer: Api, dav: DavServer, credentials: dict[str, str] | None = ACCOUNT, **settings: Any) -> Source:
    place = {"url": dav.url, **settings}
    return Source(writer, writer.create_kb(), "webdav", place, credentials=credentials)


def expected_of(dav: DavServer) -> dict[str, str]:
    paths = (path.relative_to(dav.folder) for path in dav.folder.rglob("*.md"))
    shown = (path for path in paths if not any(part.startswith(".") for part in path.parts))
    return {" › ".join(path.parts): (dav.folder / path).read_text() for path in shown}


def test_knowledge_base_equals_the_folder_after_each_change(writer: Api, dav: DavServer):
    dav.write("program.exe", b"MZ\x00")
    dav.write(".trash/secret.md", "Hidden.")
    dav.write("notes/.secret.md", "Hidden, too.")
    source = make_source(writer, dav)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 3}), sync
    assert source.contents() == NOTES
    first = source.documents()
    assert first["notes › heron.md"]["metadata"] == {"path": "notes/heron.md"}
    assert not any("secret" in path for path in dav.sent)

    dav.sent.clear()
    assert source.sync()["counts"] == {"unchanged": 3}
    assert dav.sent == []

    # Of another size: the tags of this server know whole seconds.
    dav.write("otter.md", "The otter eats eels and crabs.")
    dav.write("new/marten.md", "The marten eats berries.")
    (dav.folder / "notes" / "heron.md").rename(dav.folder / "grey heron.md")
    rmtree(dav.folder / "notes" / "deep")
    assert source.sync()["counts"] == {"updated": 1, "created": 1, "renamed": 1, "deleted": 1}
    assert source.contents() == expected_of(dav)
    after = source.documents()
    # A renamed document is the same one, and nothing of it was embedded again.
    assert after["grey heron.md"]["id"] == first["notes › heron.md"]["id"]
    assert (after["otter.md"]["revision"], after["grey heron.md"]["revision"]) == (2, 1)

    source.update(exclude=["new/*"], include=["*heron*", "new/*"])
    dav.asked.clear()
    preview = source.sync(preview=True)
    assert preview["counts"] == {"unchanged": 1, "deleted": 2}
    # The folder that is left out is not listed: only the topmost one and the one that is empty now.
    assert dav.asked == {"PROPFIND": 2}


def test_source_that_is_away_deletes_nothing(writer: Api, dav: DavServer):
    source = make_source(writer, dav)
    source.wait()

    def failure() -> dict[str, Any]:
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert PASSWORD not in str(sync)
        assert sync["failure"]["next_action"]
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]

    dav.status = (503, "0")
    dav.asked.clear()
    assert failure()["reason"] == "busy"
    assert dav.asked["PROPFIND"] == 3
    # A longer pause than a sync waits for.
    dav.status = (429, "3600")
    dav.asked.clear()
    assert failure()["reason"] == "busy"
    assert dav.asked["PROPFIND"] == 1
    dav.status = (403, "")
    assert failure()["reason"] == "access_denied"
    dav.status = (405, "")
    assert failure()["reason"] == "not_webdav"
    dav.status = (500, "")
    assert failure()["reason"] == "refused"
    dav.status = None
    source.update(url=f"{dav.url}nowhere/")
    assert failure()["reason"] == "no_folder"
    source.update(url=f"{dav.url}otter.md")
    assert failure()["reason"] == "not_a_folder"
    source.update(url=dav.url)

    # Revoked.
    dav.account["password"] = "another"
    assert failure()["reason"] == "wrong_credentials"
    source.body["credentials"] = ACCOUNT | {"password": "another"}
    source.update()
    assert source.sync()["counts"] == {"unchanged": 3}
    source.body["credentials"] = None
    source.update()
    assert failure()["reason"] == "no_credentials"
    assert source.contents() == NOTES


def test_server_that_takes_digests_only_gets_them(embedded: Server, writer: Api, tmp_path: Path):
    with dav_server(tmp_path, digest=True) as dav, allowed_targets(embedded, dav.port):
        dav.write("notes/otter.md", "The otter eats crayfish.")
        source = make_source(writer, dav, ACCOUNT | {"password": "wrong"})
        assert source.wait()["failure"]["reason"] == "wrong_credentials"
        source.body["credentials"] = {"username": USERNAME, "password": "plain word"}
        dav.account["password"] = "plain word"
        source.update()
        assert source.sync()["counts"] == {"created": 1}


def test_redirects_stay_on_the_server(embedded: Server, writer: Api, dav: DavServer):
    with scripted_dav() as other, allowed_targets(embedded, dav.port, other.port):
        other.answer = lambda _, path: multistatus(path, f"{path}stolen.md")
        dav.redirects = {"/old/": "/files/notes/"}
        source = make_source(writer, dav, url=dav.url.replace("files", "old"))
        assert source.wait()["counts"] == {"created": 2}
        assert set(source.contents()) == {"heron.md", "deep › 说明 a+b%2F#1 & c.md"}
        dav.redirects = {"/old/": f"{other.origin}/files/"}
        failure = source.sync()["failure"]
        assert failure["reason"] == "elsewhere"
        assert other.origin in failure["message"]
        dav.redirects = {"/old/": "/old/"}
        assert source.sync()["failure"]["reason"] == "too_many_redirects"
        assert other.authorizations == []


def test_files_that_cannot_be_read_fail_alone(embedded: Server, writer: Api):
    listing = multistatus(
        "/dav/",
        "/dav/good.md",
        "/dav/small.txt",
        "/dav/gone.md",
        "/dav/denied.md",
        "/dav/locked.md",
        "/dav/..%2F..%2Fsecret.md",
        "/dav/bell%07.md",
        "/dav/a%5Cb.md",
        "/dav/line%0Afolder/",
        # Away before it is listed.
        "/dav/away/",
        "/dav/not escaped?#1.md",
    )
    vast = multistatus("/dav/sub/vast.txt", properties="<d:getcontentlength>99999999999</d:getcontentlength>")
    files = {
        "/dav/good.md": (200, {}, "Good"),
        # Longer than any upload.
        "/dav/small.txt": (200, {}, "a" * (MAX_UPLOAD_BYTES + 1)),
        "/dav/denied.md": (403, {}, ""),
        # As Nextcloud answers while somebody writes it.
        "/dav/locked.md": (423, {}, "<s:exception>OCA\\DAV\\Connector\\Sabre\\Exception\\FileLocked</s:exception>"),
        "/dav/not%20escaped%3F%231.md": (200, {}, "Not escaped"),
    }

    def answer(method: str, path: str) -> Answer:
        if method == "PROPFIND":
            return {"/dav/": listing, "/dav/sub/": vast}.get(path, (404, {}, ""))
        return files.get(path, (404, {}, ""))

    with scripted_dav() as dav, allowed_targets(embedded, dav.port):
        listing = (207, {}, listing[2].replace("/dav/good.md", f"{dav.origin}/dav/good.md"))
        folder = multistatus("/dav/sub/")[2].partition('DAV:">')[2]
        listing = (207, {}, listing[2].replace("</d:multistatus>", "") + folder)
        dav.answer = answer
        source = Source(writer, writer.create_kb(), "webdav", {"url": f"{dav.origin}/dav"})
        sync = source.wait()
        assert sync["counts"] == {"created": 2, "failed": 8}, sync
        assert source.contents() == {"good.md": "Good", "not escaped?#1.md": "Not escaped"}
        assert source.failures() == {
            "small.txt": "too_large",
            "denied.md": "access_denied",
            "locked.md": "locked",
            "..�..�secret.md": "unusable_name",
            "bell�.md": "unusable_name",
            "a�b.md": "unusable_name",
            "line�folder": "unusable_name",
            "sub/vast.txt": "too_large",
        }
        # Neither a tag nor a time: the contents tell whether it has changed.
        dav.answer = lambda method, path: (
            multistatus("/dav/", "/dav/good.md", "/dav/not%20escaped%3F%231.md", properties="")
            if method == "PROPFIND"
            else files[path]
        )
        assert source.sync()["counts"] == {"unchanged": 2}
        files["/dav/good.md"] = (200, {}, "Better")
        assert source.sync()["counts"] == {"unchanged": 1, "updated": 1}


def test_file_without_a_tag_is_read_again_when_its_time_or_its_size_is_another(embedded: Server, writer: Api):
    with scripted_dav() as dav, allowed_targets(embedded, dav.port):
        reads: list[str] = []

        def serve(text: str, second: int) -> None:
            time = f"<d:getlastmodified>Sat, 28 Nov 2026 10:00:0{second} GMT</d:getlastmodified>"
            size = f"<d:getcontentlength>{len(text)}</d:getcontentlength>"
            listing = multistatus("/dav/", "/dav/otter.md", properties=time + size)

            def answer(method: str, path: str) -> Answer:
                if method == "PROPFIND":
                    return listing
                reads.append(path)
                return 200, {}, text

            dav.answer = answer

        serve("Crayfish", 0)
        source = Source(writer, writer.create_kb(), "webdav", {"url": f"{dav.origin}/dav/"})
        assert source.wait()["counts"] == {"created": 1}
        assert source.sync()["counts"] == {"unchanged": 1}
        assert reads == ["/dav/otter.md"]
        serve("Crabs", 0)
        assert source.sync()["counts"] == {"updated": 1}
        serve("Frogs", 1)
        assert source.sync()["counts"] == {"updated": 1}
        assert source.contents() == {"otter.md": "Frogs"}


def test_files_of_another_account_are_no_empty_folder(embedded: Server, writer: Api):
    """As Nextcloud 24 answers for the address of anybody but the account that asks."""
    with scripted_dav() as dav, allowed_targets(embedded, dav.port):
        home = "/remote.php/dav/files/heron/"
        status, headers, listing = multistatus(home)
        dav.answer = lambda *_: (status, headers, listing)
        source = Source(writer, writer.create_kb(), "webdav", {"url": f"{dav.origin}{home}"})
        assert source.wait()["failure"]["reason"] == "other_account"
        # One's own folder has a tag, also when nothing is in it.
        own = listing.replace("</d:resourcetype>", "</d:resourcetype><d:getetag>1</d:getetag>")
        dav.answer = lambda *_: (status, headers, own)
        assert source.sync()["status"] == "completed"


def test_listings_that_lie_are_refused_whole(embedded: Server, writer: Api):
    with scripted_dav() as dav, allowed_targets(embedded, dav.port):
        good = multistatus("/dav/", "/dav/otter.md")
        dav.answer = lambda method, _: good if method == "PROPFIND" else (200, {}, "The otter")
        source = Source(writer, writer.create_kb(), "webdav", {"url": f"{dav.origin}/dav/"})
        assert source.wait()["counts"] == {"created": 1}
        reasons = {name: _reason(source, dav, *answers) for name, answers in _lies(dav).items()}
        assert reasons == {
            "other host": "wrong_listing",
            "other port": "wrong_listing",
            "above": "wrong_listing",
            "beside": "wrong_listing",
            "dots": "wrong_listing",
            "dots escaped": "wrong_listing",
            "everything below": "wrong_listing",
            "no address": "wrong_listing",
            "in itself": "too_deep",
            "without end": "too_many_folders",
            "a page": "not_webdav",
            "another status": "not_webdav",
            "entities": "not_webdav",
            "broken off": "not_webdav",
            "vast": "too_large_listing",
            "many tags": "too_large_listing",
        }
        assert set(source.contents()) == {"otter.md"}


def _lies(dav: ScriptedDav) -> dict[str, tuple[Answer, ...]]:
    good = multistatus("/dav/", "/dav/otter.md")[2]
    return {
        "other host": (multistatus("/dav/", "http://example.org/dav/otter.md"),),
        "other port": (multistatus("/dav/", f"//127.0.0.1:{dav.port + 1}/dav/otter.md"),),
        "above": (multistatus("/dav/", "/otter.md"),),
        "beside": (multistatus("/dav/", "/davros/otter.md"),),
        "dots": (multistatus("/dav/", "/dav/../otter.md"),),
        "dots escaped": (multistatus("/dav/", "/dav/%2e%2E/"),),
        "everything below": (multistatus("/dav/", "/dav/notes/", "/dav/notes/otter.md"),),
        "no address": (multistatus("/dav/", "otter.md"),),
        "in itself": (multistatus("{path}/", "{path}/again/"),),
        "without end": (multistatus("{path}/", *(f"{{path}}/{number}/" for number in range(500))),),
        "a page": ((200, {}, "<html><body>Log in</body></html>"),),
        "another status": ((200, {}, good),),
        "entities": ((207, {}, good.replace("?>", '?><!DOCTYPE a [<!ENTITY a "ha">]>')),),
        "broken off": ((207, {}, good[:-9]),),
        "many tags": ((207, {}, good.replace("</d:multistatus>", "<a/>" * 800_000 + "</d:multistatus>")),),
        "vast": ((207, {}, good + " " * (16 * 2**20)),),
    }


def _reason(source: Source, dav: ScriptedDav, answer: Answer) -> str:
    dav.answer = lambda _, path: (answer[0], answer[1], answer[2].replace("{path}", path))
    sync = source.sync()
    assert sync["status"] == "failed", sync
    return sync["failure"]["reason"]


def test_wrong_settings_are_refused_by_name(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def field(credentials: dict[str, str] | None = None, **settings: str) -> str:
        body = {"name": "wrong", "connector": "webdav", "settings": settings, "credentials": credentials}
        return writer.refused(InvalidRequest, "POST", path, json=body)["field"]

    details = writer.refused(
        InvalidRequest, "POST", path, json={"name": "wrong", "connector": "webdav", "settings": {}}
    )
    assert details == {"field": "settings.url", "error": "Field required", "error_zh": "缺少该字段"}
    assert field(url="https://otter:secret@example.org/dav/") == "settings.url"
    assert field(url="https://example.org/dav/?x=1") == "settings.url"
    assert field({"username": "otter"}, url="https://1.1.1.1/dav/") == "credentials.password"
    assert field({"username": "a:b", "password": "c"}, url="https://1.1.1.1/dav/") == "credentials.username"
    for url in ("http://127.0.0.1:9/", "http://169.254.169.254/dav/", "ftp://example.org/dav/"):
        body = {"name": "in", "connector": "webdav", "settings": {"url": url}}
        writer.refused(UrlNotAllowed, "POST", path, json=body)
