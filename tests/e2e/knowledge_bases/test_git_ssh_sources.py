"""Knowledge bases that are kept in step with Git repositories over SSH, read with deploy keys."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.git_server import NAME, GitServer, git_server
from tests.fixtures.servers.ssh_server import SshServer, ssh_server

ANIMALS = ("otter", "heron", "badger")


@pytest.fixture
def git(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as git:
        for animal in ANIMALS:
            (git.work / f"{animal}.md").write_text(f"# {animal}\n\nOf it.\n")
        git.commit()
        yield git


@pytest.fixture
def ssh(git: GitServer) -> Iterator[SshServer]:
    with ssh_server(git.root / NAME) as server:
        yield server


@pytest.fixture
def person(embedded: Server, ssh: SshServer) -> Iterator[Api]:
    with allowed_targets(embedded, ssh.port):
        yield embedded.person()


def make_source(person: Api, ssh: SshServer, **settings: Any) -> Source:
    place = {"url": ssh.url, "known_hosts": ssh.known_hosts, **settings}
    return Source(person, person.create_kb(), "git", place, credentials={"private_key": ssh.private_key})


def test_knowledge_base_equals_the_branch_after_each_commit(person: Api, git: GitServer, ssh: SshServer):
    source = make_source(person, ssh)
    assert source.wait()["counts"] == {"created": 3}, source.wait()
    assert set(source.contents()) == {f"{animal}.md" for animal in ANIMALS}
    assert source.sync()["counts"] == {"unchanged": 3}

    (git.work / "otter.md").write_text("# otter\n\nIt eats eels now.\n")
    (git.work / "badger.md").unlink()
    git.commit()
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 1, "deleted": 1}
    assert source.contents() == {path.name: path.read_text() for path in git.work.glob("*.md")}
    assert set(ssh.protocols) == {"version=2"}
    # A server that does not speak the second version of the protocol.
    config = ssh.folder / "config"
    config.write_text(config.read_text().replace("AcceptEnv GIT_PROTOCOL", ""))
    ssh.stop()
    ssh.start()
    (git.work / "lynx.md").write_text("# lynx\n")
    git.commit()
    assert source.sync()["counts"] == {"created": 1, "unchanged": 2}
    assert ssh.protocols[-1] == ""


def test_key_is_found_by_the_servers_name_and_the_path_may_have_any_signs(person: Api, git: GitServer, ssh: SshServer):
    name = "otter's notes!.git"
    (git.root / name).symlink_to(git.root / NAME)
    url = ssh.url.replace("127.0.0.1", "localhost").replace(NAME, quote(name))
    source = make_source(person, ssh, url=url, known_hosts=ssh.known_hosts.replace("127.0.0.1", "localhost"))
    assert source.wait()["counts"] == {"created": 3}, source.wait()


def test_failures_say_what_to_do_and_delete_nothing(embedded: Server, person: Api, ssh: SshServer):
    first_key, host_line = ssh.private_key, ssh.known_hosts
    source = make_source(person, ssh, known_hosts="")
    failures = [source.wait()["failure"]]
    assert failures[0]["reason"] == "unknown_host_key"
    assert ssh.fingerprint in failures[0]["message"]
    assert failures[0]["next_action"].endswith(host_line)
    assert failures[0]["next_action_zh"].endswith(host_line)
    source.update(known_hosts=f"# comment\nexample.org ssh-ed25519 AAAA\n{host_line}\n")
    assert source.sync()["counts"] == {"created": 3}

    def reason(**settings: Any) -> str:
        before = dict(source.body["settings"])
        source.update(**settings)
        sync = source.sync()
        source.body["settings"] = before
        assert sync["status"] == "failed", sync
        failures.append(sync["failure"])
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]["reason"]

    assert reason(url=ssh.url.replace("manuals", "manual")) == "no_access"
    assert reason(url=ssh.url.replace("ssh://", "ssh://nobody-")) == "no_access"
    assert reason(branch="master") == "no_branch"
    # Revoked, and given anew.
    ssh.make_key("key")
    ssh.accept_key()
    assert reason() == "no_access"
    assert "deploy key" in failures[-1]["next_action"]
    source.body["credentials"] = {"private_key": ssh.private_key}
    source.update()
    assert source.sync()["counts"] == {"unchanged": 3}
    source.body["credentials"] = {"password": "no key"}
    assert reason() == "no_credentials"
    source.body["credentials"] = {"private_key": ssh.private_key}

    # Another server in its place, and none.
    ssh.stop()
    ssh.make_key("host_key")
    ssh.start()
    assert reason() == "host_key_changed"
    assert ssh.fingerprint in failures[-1]["message"]
    assert failures[-1]["next_action"].endswith(ssh.known_hosts)
    assert "Accepted" not in ssh.log.rpartition("Server listening")[2]
    ssh.stop()
    assert reason() == "no_answer"
    assert len(source.contents()) == 3

    everything = json.dumps(failures) + json.dumps(person.get(source.path))
    everything += repr(embedded.sql("SELECT * FROM knowledge_source WHERE id = :id", id=source.row["id"]))
    everything += "".join(path.read_text(errors="replace") for path in embedded.log_files)
    for key in (first_key, ssh.private_key):
        assert not [line for line in key.splitlines()[1:-1] if line in everything]


def test_private_key_is_on_no_disk_and_goes_with_the_worker(embedded: Server, tmp_path: Path, git: GitServer):
    with ssh_server(git.root / NAME) as ssh, socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with allowed_targets(embedded, port):
            person = embedded.person()
            source = make_source(person, ssh, url=f"ssh://git@127.0.0.1:{port}/manuals.git")
            connection, _ = silent.accept()
            program = find_ssh(port)
            words = " ".join(program.cmdline())
            assert "-F none" in words
            assert "IdentityAgent=none" in words
            key = ssh.private_key.splitlines()[1]
            assert key not in words + " ".join(f"{k}={v}" for k, v in program.environ().items())
            (path,) = [part for part in program.cmdline() if part.startswith("/proc/") and "-i " + part in words]
            # The file is there for accounts like ours only, and has no name on any disk.
            assert key in Path(path).read_text()
            assert is_in_memory(path)
            assert os.stat(path).st_mode & 0o777 == 0o600
            files = [file for file in embedded.settings.data_dir.rglob("*") if file.is_file()]
            assert not [file for file in files if key.encode() in file.read_bytes()]

            # A sync that is cancelled ends the program.
            person.post(f"{source.path}/syncs/{source.row['last_sync']['id']}/cancel")
            eventually(lambda: not program.is_running(), what="the program ends")
            eventually(lambda: not is_in_memory(path), what="the key's memory is freed")
            connection.close()
            assert source.wait()["status"] == "cancelled"

            # As does a worker that is killed, although the server says nothing.
            sync = person.post(f"{source.path}/syncs", {})
            connection, _ = silent.accept()
            program = find_ssh(port)
            embedded.kill("worker")
            # Sooner than it would give up by itself.
            eventually(lambda: not program.is_running(), seconds=10, what="the program ends with its worker")
            person.post(f"{source.path}/syncs/{sync['id']}/cancel")
            connection.close()


def is_in_memory(path: str) -> bool:
    try:
        return os.readlink(path).startswith("/memfd:")
    except FileNotFoundError:
        return False


def find_ssh(port: int) -> psutil.Process:
    """The program that is connected to a port."""

    def is_it(process: psutil.Process) -> bool:
        try:
            return process.name() == "ssh" and str(port) in process.cmdline()
        except psutil.Error:
            return False

    (program,) = filter(is_it, psutil.process_iter())
    return program


def test_addresses_and_keys_are_checked(person: Api, ssh: SshServer):
    path = f"/knowledge-bases/{person.create_kb()}/sources"

    def refused(error: type[Any], credentials: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
        body = {
            "name": "wrong",
            "connector": "git",
            "settings": {"url": ssh.url, **settings},
            "credentials": credentials,
        }
        details = person.refused(error, "POST", path, json=body)
        assert ssh.private_key.splitlines()[1] not in json.dumps(details)
        return details

    for url in ("ssh://git:secret@example.org/a.git", "ssh://example.org", "ssh://-oProxy=x@h/a"):
        assert refused(InvalidRequest, url=url)["field"] == "settings.url"
    for url in (
        "ssh://git@127.0.0.1:9999/a.git",
        "git@127.0.0.1:a.git",
        "git@localhost:a.git",
        "git@[::1]:a.git",
        "git@example.org:",
    ):
        refused(UrlNotAllowed, url=url)
    # Mail and the like are reached by clients of their own only.
    refused(UrlNotAllowed, url="ssh://git@1.1.1.1:25/a.git")
    sealed = {"private_key": ssh.make_key("other", "passphrase")}
    details = refused(InvalidRequest, sealed)
    assert details["field"] == "credentials.private_key"
    assert "passphrase" in details["error"]
    assert "密码短语" in details["error_zh"]
    assert "ssh-keygen" in refused(InvalidRequest, {"private_key": "ssh-ed25519 AAAA"})["error"]
    both = {"private_key": ssh.private_key, "password": "token"}
    assert refused(InvalidRequest, both)["field"] == "credentials"
    assert refused(InvalidRequest, {"username": "otter"})["field"] == "credentials"
