"""Knowledge bases that are kept in step with Git repositories, and the credentials of sources."""

import json
import os
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server
from tests.fixtures.servers.git_server import GitServer, git_server

ANIMALS = ("otter", "heron", "badger", "lynx", "stoat", "owl")
LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def write(git: GitServer, path: str, text: str) -> None:
    file = git.work / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def git(tmp_path: Path) -> Iterator[GitServer]:
    """A repository with a file for each animal."""
    with git_server(tmp_path) as git:
        for animal in ANIMALS:
            write(
                git, f"{'notes/' if animal in {'lynx', 'stoat', 'owl'} else ''}{animal}.md", f"# {animal}\n\nOf it.\n"
            )
        git.commit()
        yield git


@pytest.fixture
def person(embedded: Server, git: GitServer) -> Iterator[Api]:
    """Somebody who may connect to the Git server."""
    with allowed_targets(embedded, git.port):
        yield embedded.person()


def make_source(owner: Api, git: GitServer, credentials: dict[str, str] | None = None, **settings: Any) -> Source:
    fields = {"credentials": credentials} if credentials else {}
    return Source(owner, owner.create_kb(), "git", {"url": git.url, **settings}, **fields)


def put(source: Source, **fields: Any) -> dict[str, Any]:
    body = {name: value for name, value in source.body.items() if name != "credentials"}
    return source.owner.put(source.path, body | fields)


def expected_of(git: GitServer) -> dict[str, str]:
    files = (path for path in git.work.rglob("[!.]*.md") if path.is_file())
    return {" › ".join(path.relative_to(git.work).parts): path.read_text() for path in files}


def test_knowledge_base_equals_the_branch_after_each_commit(person: Api, git: GitServer):
    source = make_source(person, git)
    assert source.wait()["counts"] == {"created": 6}, source.wait()
    assert source.contents() == expected_of(git)
    first = source.documents()
    assert first["notes › owl.md"]["metadata"] == {"path": "notes/owl.md"}

    sent = git.sent
    assert source.sync()["counts"] == {"unchanged": 6}
    # The list of branches, and no file.
    assert git.sent - sent < 1000
    assert {name: row["revision"] for name, row in source.documents().items()} == dict.fromkeys(first, 1)

    write(git, "otter.md", "# otter\n\nIt eats eels now.\n")
    git.commit()
    (git.work / "notes" / "owl.md").rename(git.work / "eagle owl.md")
    (git.work / "badger.md").unlink()
    write(git, "new/marten.md", "# marten\n\nIt eats berries.\n")
    git.commit()
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 3, "renamed": 1, "deleted": 1, "created": 1}
    assert source.contents() == expected_of(git)
    after = source.documents()
    # A renamed document is the same one, and nothing of it was embedded again.
    assert after["eagle owl.md"]["id"] == first["notes › owl.md"]["id"]
    assert after["eagle owl.md"]["revision"] == 1
    assert after["otter.md"]["revision"] == 2


def test_only_files_of_the_repository_are_read(person: Api, git: GitServer, tmp_path: Path):
    (tmp_path / "private.md").write_text("Nobody may read this.")
    (git.work / "link.md").symlink_to(tmp_path / "private.md")
    (git.work / os.fsdecode(b"\xff.md")).write_text("A name that is no text.")
    write(git, ".github/secret.md", "Hidden.")
    write(git, "program.exe", "MZ")
    write(git, "large.md", LFS_POINTER)
    write(git, "huge.txt", "".join(random.choices("abcdefgh", k=MAX_UPLOAD_BYTES + 1)))
    head = git.git("rev-parse", "HEAD").strip()
    git.git("update-index", "--add", "--cacheinfo", f"160000,{head},module.md")
    git.commit()
    source = make_source(person, git)
    assert source.wait()["counts"] == {"created": 6, "failed": 2}
    assert source.failures() == {"large.md": "lfs_pointer", "huge.txt": "too_large"}
    assert len(source.contents()) == 6


def test_branch_folder_and_patterns_choose_files(person: Api, git: GitServer):
    git.git("switch", "--quiet", "--create", "drafts")
    write(git, "notes/mink.md", "# mink\n")
    git.commit()
    source = make_source(person, git, branch="drafts", folder="/notes/", exclude=["*/owl.md"])
    source.wait()
    assert set(source.contents()) == {"notes › lynx.md", "notes › stoat.md", "notes › mink.md"}

    source.update(branch="master")
    failure = source.sync()["failure"]
    assert failure["reason"] == "no_branch"
    assert "drafts, main" in failure["next_action"]
    assert "drafts, main" in failure["next_action_zh"]
    source.update(branch="main", folder="nowhere")
    assert source.sync()["failure"]["reason"] == "no_folder"
    assert len(source.contents()) == 3


def test_repository_that_is_away_deletes_nothing(embedded: Server, person: Api, git: GitServer):
    source = make_source(person, git)
    source.wait()
    git.status = 503
    assert source.sync()["failure"]["reason"] == "no_answer"
    git.status = 404
    assert source.sync()["failure"]["reason"] == "no_access"
    git.status, url = 0, git.url
    source.update(url=url.replace("manuals.git", ""))
    assert source.sync()["failure"]["reason"] in {"no_access", "not_git"}
    assert len(source.contents()) == 6

    # What was fetched may get lost or damaged.
    source.update(url=url)
    cache = embedded.settings.data_dir / "cache" / "sources" / source.row["id"]
    assert source.sync()["counts"] == {"unchanged": 6}
    for pack in cache.rglob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"damaged")
    write(git, "otter.md", "# otter\n\nChanged.\n")
    git.commit()
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 5}
    assert source.contents() == expected_of(git)

    person.delete(source.path)
    eventually(lambda: not cache.exists(), what="the cache is deleted")


def test_repository_beyond_the_limit_is_refused(person: Api, git: GitServer):
    for number in range(3):
        (git.work / f"{number}.txt").write_bytes(random.randbytes(MAX_UPLOAD_BYTES - 1000))
    git.commit()
    source = make_source(person, git)
    failure = source.wait()["failure"]
    assert failure["reason"] == "too_large"
    assert "AGENTEX_MAX_SOURCE_CACHE_BYTES" in failure["next_action"]


def test_redirects_lead_neither_past_the_guard_nor_with_credentials(
    embedded: Server, person: Api, git: GitServer, tmp_path: Path
):
    (tmp_path / "other").mkdir()
    with git_server(tmp_path / "other") as other:
        write(other, "mole.md", "# mole\n")
        other.commit()
        git.redirect = f"http://127.0.0.1:{other.port}"
        source = make_source(person, git, {"password": "not-for-others"})
        assert source.wait()["failure"]["reason"] == "not_allowed"
        assert other.authorizations == []

        with allowed_targets(embedded, git.port, other.port):
            assert source.sync()["counts"] == {"created": 1}
    assert set(other.authorizations) == {""}
    assert all(git.authorizations)


@pytest.mark.parametrize("shape", ["embedded", "external"])
def test_credentials_are_kept_sealed_and_never_come_back(servers: Any, shape: str, git: GitServer):
    server: Server = servers(shape)
    token, second = unique("token-"), unique("token-")
    git.user = ("otter", token)
    with allowed_targets(server, git.port):
        person = server.person()
        source = make_source(person, git)
        failure = source.wait()["failure"]
        assert failure["reason"] == "no_access"
        assert "token" in failure["next_action"]
        assert source.row["credentials_set"] == []

        answers = [put(source, credentials={"username": "otter", "password": token})]
        assert answers[0]["credentials_set"] == ["password", "username"]
        answers += [source.sync(), person.get(source.path), source.sync(preview=True)]
        assert answers[1]["counts"] == {"created": 6}
        # They stay where nothing is said about them, and go nowhere else.
        answers.append(put(source, settings={"url": git.url, "folder": "notes"}))
        assert answers[-1]["credentials_set"] == ["password", "username"]
        elsewhere = source.body | {"settings": {"url": git.url.replace("127.0.0.1", "1.1.1.1")}}
        answers.append(person.refused(InvalidRequest, "PUT", source.path, json=elsewhere))
        assert answers[-1]["field"] == "credentials"
        put(source)
        assert source.sync()["counts"] == {"unchanged": 6}

        # Revoked.
        git.user = ("otter", second)
        answers.append(source.sync())
        assert answers[-1]["failure"]["reason"] == "no_access"
        answers.append(put(source, credentials={"username": "otter", "password": second}))
        assert source.sync()["counts"] == {"unchanged": 6}
        assert put(source, credentials=None)["credentials_set"] == []
        assert source.sync()["failure"]["reason"] == "no_access"
        assert len(source.contents()) == 6

        put(source, credentials={"username": "otter", "password": second})
        (row,) = server.sql("SELECT * FROM knowledge_source WHERE id = :id", id=source.row["id"])
    everything = json.dumps(answers) + repr(row) + json.dumps(server.admin().get("/system/audit", page_size=100))
    everything += "".join(path.read_text(errors="replace") for path in server.log_files)
    assert token not in everything
    assert second not in everything


def test_lost_key_is_named(embedded: Server, person: Api, git: GitServer):
    source = make_source(person, git, {"password": "sealed-with-another-key"})
    source.wait()
    sealed = json.dumps({"target": f"http://127.0.0.1:{git.port}", "values": {"password": "gAAAAABother"}})
    embedded.sql(
        "UPDATE knowledge_source SET sealed_credentials = :sealed WHERE id = :id", sealed=sealed, id=source.row["id"]
    )
    failure = source.sync()["failure"]
    assert failure["reason"] == "key_lost"
    assert "Give the credentials" in failure["next_action"]
    assert len(source.contents()) == 6


def test_heir_does_not_get_the_credentials(embedded: Server, person: Api, git: GitServer):
    source = make_source(person, git, {"password": "of-a-person-who-leaves"})
    assert source.row["credentials_set"] == ["password"]
    source.wait()
    heir = embedded.person()
    path = f"/admin/users/{person.user_id}"
    assert embedded.admin().request("DELETE", path, params={"transfer_to": heir.user_id}).status_code == 200
    assert heir.get(source.path)["credentials_set"] == []


def test_wrong_settings_and_credentials_are_refused_by_name(person: Api, git: GitServer):
    path = f"/knowledge-bases/{person.create_kb()}/sources"
    secret = "never-to-be-echoed"

    def refused(error: type = InvalidRequest, connector: str = "git", **fields: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": connector, "settings": {"url": git.url}, **fields}
        details = person.refused(error, "POST", path, json=body)
        assert secret not in json.dumps(details)
        return details

    details = refused(settings={"url": git.url.replace("//", f"//otter:{secret}@")})
    assert details["field"] == "settings.url"
    assert "credentials" in details["error"]
    assert "credentials" in details["error_zh"]
    refused(UrlNotAllowed, settings={"url": "ftp://example.org/manuals.git"})
    assert refused(settings={"url": f"{git.url}?x=1"})["field"] == "settings.url"
    assert refused(settings={"url": git.url, "branch": "a..b c"})["field"] == "settings.branch"
    assert refused(credentials={"token": secret})["field"].startswith("credentials.")
    assert refused(credentials={"password": [secret]})["field"] == "credentials.password"
    assert refused(credentials={"password": secret, "username": f"a:{secret}"})["field"] == "credentials.username"
    assert refused(credentials=secret)["field"] == "credentials"
    web = {"connector": "web", "settings": {"url": "https://1.1.1.1/"}}
    assert refused(credentials={"password": secret}, **web)["field"] == "credentials"
    assert person.get(path) == []

    schemas = {row["name"]: row["credentials_schema"] for row in person.get("/knowledge-connectors")}
    assert schemas["web"] is schemas["folder"] is None
    assert set(schemas["git"]["properties"]) == {"username", "password", "private_key"}


def test_cancelled_sync_leaves_the_worker_free(person: Api, git: GitServer):
    git.hangs = True
    try:
        source = make_source(person, git)
        # More often than a worker has room for syncs.
        for number in range(1, 4):
            sync = person.get(source.path)["last_sync"]
            eventually(lambda number=number: git.waiting >= number, what="a request hangs")
            person.post(f"{source.path}/syncs/{sync['id']}/cancel")
            if number < 3:
                person.post(f"{source.path}/syncs", {})
    finally:
        git.hangs = False
    assert source.sync()["counts"] == {"created": 6}


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_commits_on_two_thousand_files(embedded: Server, person: Api, git: GitServer):
    """Whatever happens in a repository, and to the worker, the knowledge base equals it after each sync."""
    chance = random.Random(7)
    for number in range(2000):
        write(git, f"part {number % 23}/page {number}.md", f"# Page {number}\n\nWords {chance.random()}.\n")
    git.commit()
    source = make_source(person, git)
    eventually(lambda: len(source.documents()) > 20, what="some documents", pause=0.01)
    embedded.kill("worker")
    assert source.wait(seconds=1200)["counts"] == {"created": 2006}
    for step in range(200):
        change_some(git, chance, step)
        if step % 10 == 9:
            row = person.post(f"{source.path}/syncs", {})
            if step % 50 == 49:
                embedded.kill("worker")
            assert source.wait(row["id"], seconds=600)["status"] == "completed"
            assert digests_of(embedded, source) == expected_digests(git)


def change_some(git: GitServer, chance: random.Random, step: int) -> None:
    files = sorted(path for path in git.work.rglob("[!.]*.md") if path.is_file())
    changed, gone, moved = chance.sample(files, 3)
    changed.write_text(f"# Changed\n\nIn step {step}: {chance.random()}.\n")
    gone.unlink()
    moved.rename(moved.with_name(f"moved {step}.md"))
    write(git, f"new/{step}.md", f"# New\n\nIn step {step}: {chance.random()}.\n")
    git.commit()


def digests_of(server: Server, source: Source) -> dict[str, str]:
    query = "SELECT name, sha256 FROM document WHERE knowledge_base_id = :id AND deleted_at IS NULL"
    return {row["name"]: row["sha256"] for row in server.sql(query, id=source.kb_id)}


def expected_digests(git: GitServer) -> dict[str, str]:
    return {name: sha256(text.encode()).hexdigest() for name, text in expected_of(git).items()}
