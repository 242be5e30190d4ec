"""Files of Git repositories whose contents are in Git LFS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server
from tests.fixtures.servers.git_server import NAME, GitServer, git_server
from tests.fixtures.servers.lfs_server import LfsServer, lfs_server
from tests.fixtures.servers.ssh_server import ssh_server

PASSWORD = "token-of-the-repository"


@pytest.fixture
def git(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as git:
        git.user = ("git", PASSWORD)
        yield git


@pytest.fixture
def lfs(git: GitServer) -> Iterator[LfsServer]:
    with lfs_server() as lfs:
        git.lfs = lfs.answer
        yield lfs


@pytest.fixture
def person(embedded: Server, git: GitServer, lfs: LfsServer) -> Iterator[Api]:
    with allowed_targets(embedded, git.port, lfs.port):
        yield embedded.person()


def make_source(person: Api, git: GitServer) -> Source:
    return Source(person, person.create_kb(), "git", {"url": git.url}, credentials={"password": PASSWORD})


def commit(git: GitServer, **files: str) -> None:
    for name, text in files.items():
        (git.work / f"{name}.md").write_text(text)
    # Could name any server.
    (git.work / ".lfsconfig").write_text("[lfs]\n\turl = http://127.0.0.1:1/\n")
    git.commit()


def test_contents_are_read_and_each_credential_goes_to_its_own_host(
    embedded: Server, person: Api, git: GitServer, lfs: LfsServer
):
    first = "# otter\n\nIt eats crayfish.\n"
    commit(git, otter=lfs.add(first.encode()), heron="# heron\n")
    source = make_source(person, git)
    assert source.wait()["counts"] == {"created": 2}, source.failures()
    assert source.contents() == {"otter.md": first, "heron.md": "# heron\n"}
    (headers,) = lfs.headers
    assert headers["Authorization"] == "Bearer of-the-storage"
    assert headers["Host"] == f"127.0.0.1:{lfs.port}"
    assert PASSWORD not in str(lfs.headers)
    assert source.sync()["counts"] == {"unchanged": 2}
    assert len(lfs.asked) == 1

    second = "# otter\n\nIt eats eels now.\n"
    commit(git, otter=lfs.add(second.encode()))
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 1}
    assert source.contents()["otter.md"] == second

    # A link without headers: the password is for the repository's own server, and for no other.
    third = "# otter\n\nIt eats crabs now.\n"
    commit(git, otter=lfs.add(third.encode()))
    lfs.place = f"http://127.0.0.1:{lfs.port}/storage"
    assert source.sync()["counts"] == {"failed": 1, "unchanged": 1}
    assert source.failures() == {"otter.md": "lfs_no_access"}
    assert "Authorization" not in lfs.headers[-1]
    lfs.place = f"{git.url}/info/lfs/objects"
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 1}
    assert source.contents()["otter.md"] == third


def test_what_can_not_be_read_fails_alone_and_keeps_its_document(
    embedded: Server, person: Api, git: GitServer, lfs: LfsServer
):
    old = "# otter\n\nAn old text.\n"
    commit(git, otter=lfs.add(old.encode()))
    source = make_source(person, git)
    assert source.wait()["counts"] == {"created": 1}
    content = b"# otter\n\nA new text.\n"
    pointer = lfs.add(content)
    commit(git, otter=pointer)

    def reason() -> str:
        sync = source.sync()
        assert sync["counts"] == {"failed": 1}, sync
        assert source.contents() == {"otter.md": old}
        assert "canary" not in str(sync)
        return source.failures()["otter.md"]

    oid = next(oid for oid, value in lfs.objects.items() if value == content)
    for error, expected in ((404, "lfs_gone"), (410, "lfs_gone"), (500, "lfs_unavailable")):
        lfs.error = error
        assert reason() == expected
    lfs.error = 0
    for status, expected in ((403, "lfs_no_access"), (404, "lfs_gone"), (503, "lfs_unavailable")):
        lfs.status = status
        assert reason() == expected
    lfs.status = 200
    for damaged in (content[:-1], content[:-1] + b"x", content + b"x"):
        lfs.objects[oid] = damaged
        assert reason() == "lfs_damaged"
    lfs.objects[oid] = content
    git.lfs = None
    assert reason() == "lfs_unavailable"
    git.lfs = lfs.answer
    # An address that may not be connected to, straight and by a redirect; the headers stay with the first one.
    with allowed_targets(embedded, git.port):
        assert reason() == "lfs_not_allowed"
    with lfs_server() as other:
        lfs.redirect = f"http://127.0.0.1:{other.port}/{oid}"
        with allowed_targets(embedded, git.port, lfs.port):
            assert reason() == "lfs_not_allowed"
        with allowed_targets(embedded, git.port, lfs.port, other.port):
            assert reason() == "lfs_no_access"
        assert "Authorization" not in other.headers[0]
    lfs.redirect = ""
    with allowed_targets(embedded, git.port, lfs.port):
        # Nothing is asked for what would be too large.
        asked = len(lfs.asked)
        commit(git, otter=pointer.replace(f"size {len(content)}", f"size {MAX_UPLOAD_BYTES + 1}"))
        assert reason() == "too_large"
        assert len(lfs.asked) == asked
        commit(git, otter=pointer)
        assert source.sync()["counts"] == {"updated": 1}
        assert source.contents() == {"otter.md": content.decode()}


def test_server_over_ssh_says_where_the_contents_are(embedded: Server, person: Api, git: GitServer, lfs: LfsServer):
    text = "# otter\n\nIt eats crayfish.\n"
    commit(git, otter=lfs.add(text.encode()))
    with ssh_server(git.root / NAME) as ssh, allowed_targets(embedded, git.port, lfs.port, ssh.port):
        settings = {"url": ssh.url, "known_hosts": ssh.known_hosts}
        source = Source(person, person.create_kb(), "git", settings, credentials={"private_key": ssh.private_key})
        # This server has no LFS.
        assert source.wait()["counts"] == {"failed": 1}
        assert source.failures() == {"otter.md": "lfs_unavailable"}
        git.authorizations.clear()
        ssh.answer_lfs({"href": f"{git.url}/info/lfs", "header": {"Authorization": basic()}, "expires_in": 600})
        assert source.sync()["counts"] == {"created": 1}
    assert source.contents() == {"otter.md": text}
    assert git.authorizations == [basic()]


def basic() -> str:
    return "Basic Z2l0OnRva2VuLW9mLXRoZS1yZXBvc2l0b3J5"
