"""Files of ten gigabytes in sources: named, not read, and nothing of them is left."""

from collections.abc import Iterator
from itertools import repeat

import pytest

from tests.e2e.knowledge_bases.test_bucket_sources import listing
from tests.fixtures.http.client import unique
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server
from tests.fixtures.product.worker_bounds import worker_bounds
from tests.fixtures.servers.dav_server import Answer, ScriptedDav, multistatus, scripted_dav

VAST = 10 * 2**30
_BLOCK = bytes(2**20)
# What stands in the buffers of a connection when it is closed.
_UNREAD = 16 * 2**20


@pytest.fixture
def dav(embedded: Server) -> Iterator[ScriptedDav]:
    """A server that the product may connect to."""
    with scripted_dav() as dav, allowed_targets(embedded, dav.port):
        yield dav


def vast(*, is_declared: bool) -> Answer:
    """An answer of ten gigabytes, which says so or not."""
    headers = {"Content-Type": "text/plain", **({"Content-Length": str(VAST)} if is_declared else {})}
    return 200, headers, repeat(_BLOCK, VAST // len(_BLOCK))


def check_sync(source: Source, dav: ScriptedDav, failed: dict[str, str], contents: set[str]) -> None:
    """The vast files are named in the history, the rest is there, and no more was read than an upload may have."""
    assert source.wait()["status"] == "completed"
    (sync,) = source.owner.get(f"{source.path}/syncs")["items"]
    assert sync["counts"] == {"created": len(contents), "failed": len(failed)}, sync
    assert source.failures() == failed
    assert len(sync["examples"]["failed"]) == len(failed)
    assert set(source.contents()) == contents
    assert all(number <= MAX_UPLOAD_BYTES + _UNREAD for number in dav.sent.values()), dav.sent


def test_vast_file_in_a_folder(embedded: Server):
    admin = embedded.admin()
    folder = embedded.settings.source_folders[0] / unique("folder")
    folder.mkdir(parents=True)
    (folder / "otter.md").write_text("The otter eats crayfish.")
    with (folder / "vast.txt").open("wb") as file:
        file.truncate(VAST)
    with worker_bounds(embedded):
        source = Source(admin, admin.create_kb(), "folder", {"path": str(folder)})
        check_sync(source, ScriptedDav(), {"vast.txt": "too_large"}, {"otter.md"})


def test_vast_files_on_a_dav_server(embedded: Server, dav: ScriptedDav):
    files = {
        "/dav/declared.txt": vast(is_declared=True),
        "/dav/endless.txt": vast(is_declared=False),
        "/dav/otter.md": (200, {}, "The otter eats crayfish."),
    }
    dav.answer = lambda method, path: multistatus("/dav/", *files) if method == "PROPFIND" else files[path]
    owner = embedded.person()
    with worker_bounds(embedded):
        source = Source(owner, owner.create_kb(), "webdav", {"url": f"{dav.origin}/dav/"})
        check_sync(source, dav, {"declared.txt": "too_large", "endless.txt": "too_large"}, {"otter.md"})


def test_vast_files_of_a_web_site(embedded: Server, dav: ScriptedDav):
    urls = {name: f"{dav.origin}/docs/{name}.txt" for name in ("declared", "endless")}
    page = "<html><body><h1>The otter</h1><p>It eats crayfish.</p>{}</body></html>"
    links = "".join(f'<a href="{url}">more</a>' for url in urls.values())
    answers = {
        "/docs/": (200, {"Content-Type": "text/html"}, page.format(links)),
        "/docs/declared.txt": vast(is_declared=True),
        "/docs/endless.txt": vast(is_declared=False),
    }
    dav.answer = lambda _, path: answers.get(path, (404, {}, ""))
    owner = embedded.person()
    with worker_bounds(embedded):
        source = Source(owner, owner.create_kb(), "web", {"url": f"{dav.origin}/docs/"})
        check_sync(source, dav, dict.fromkeys(urls.values(), "too_large"), {"127.0.0.1 › docs › index.html"})


def test_vast_objects_in_a_bucket(embedded: Server, dav: ScriptedDav):
    answers = {
        "/animals/otter.md": (200, {}, "The otter eats crayfish."),
        # Two of them are listed as if they were small.
        "/animals/declared.txt": vast(is_declared=True),
        "/animals/endless.txt": vast(is_declared=False),
    }
    page = listing(("listed.txt", VAST), ("declared.txt", 1), ("endless.txt", 1), ("otter.md", 24))
    dav.answer = lambda _, path: answers.get(path, (200, {"Content-Type": "application/xml"}, page))
    owner = embedded.person()
    with worker_bounds(embedded):
        source = Source(owner, owner.create_kb(), "s3", {"endpoint": dav.origin, "bucket": "animals"})
        failed = dict.fromkeys(("listed.txt", "declared.txt", "endless.txt"), "too_large")
        check_sync(source, dav, failed, {"otter.md"})
    assert not dav.sent["/animals/listed.txt"]
