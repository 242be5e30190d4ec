"""``agentex kb source`` against the running product."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from core.settings import get_settings
from tests.cli.conftest import Agentex, run_here
from tests.fixtures.http.client import Api, unique
from tests.fixtures.knowledge.knowledge_sources import allowed_targets
from tests.fixtures.product.processes import free_port
from tests.fixtures.product.server import Server
from tests.fixtures.servers.git_server import git_server


@pytest.fixture
def admin(embedded: Server) -> Api:
    return embedded.admin()


@pytest.fixture
def agentex(embedded: Server, admin: Api, person: Path, monkeypatch: pytest.MonkeyPatch) -> Agentex:
    """Runs a command against the running product as its administrator."""
    monkeypatch.setenv("AGENTEX_URL", str(embedded.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", admin.headers["Authorization"].removeprefix("Bearer "))
    get_settings.cache_clear()
    return run_here


@pytest.fixture
def folder(embedded: Server) -> Path:
    path = embedded.settings.source_folders[0] / unique("manuals")
    path.mkdir(parents=True)
    for animal in ("otter", "heron", "badger", "lynx"):
        (path / f"{animal}.md").write_text(f"# {animal}\n\nAll about the {animal}.\n")
    return path


def test_bucket_is_named_by_an_address_of_its_own(agentex: Agentex, admin: Api, embedded: Server):
    kb_id, port = admin.create_kb(), free_port()
    settings = json.dumps({"endpoint": f"http://127.0.0.1:{port}"})
    with allowed_targets(embedded, port):
        said = agentex("kb", "source", "add", kb_id, "s3://animals/notes/", "--include", "*.md", "--settings", settings)
    # Nobody listens there: the source is made, and its first sync fails.
    assert said.code != 0
    assert "does not answer" in said.out
    assert "Synchronized" not in said.out
    (row,) = agentex("kb", "source", "list", kb_id, "--json").json["items"]
    assert (row["name"], row["connector"]) == ("animals/notes", "s3")
    assert {"bucket": "animals", "prefix": "notes/", "include": ["*.md"]}.items() <= row["settings"].items()
    listed = agentex("kb", "source", "list", kb_id).out
    assert "animals" in listed
    assert "nothing" not in listed


def test_database_and_reader_are_named_by_places_of_their_own(agentex: Agentex, admin: Api, embedded: Server):
    kb_id, port = admin.create_kb(), free_port()
    settings = json.dumps({"query": "SELECT 1 AS id", "key_columns": ["id"]})
    with allowed_targets(embedded, port):
        said = agentex("kb", "source", "add", kb_id, f"postgresql://127.0.0.1:{port}/zoo", "--settings", settings)
        second = agentex("kb", "source", "add", kb_id, f"mariadb://127.0.0.1:{port}/pond", "--settings", settings)
    assert "has no credentials" in said.out
    assert "has no credentials" in second.out
    rows = agentex("kb", "source", "list", kb_id, "--json").json["items"]
    names = {f"127.0.0.1:{port}/zoo": "sql", f"127.0.0.1:{port}/pond": "sql"}
    assert {row["name"]: row["connector"] for row in rows} == names
    # No reader that this server allows.
    said = agentex("kb", "source", "add", kb_id, "llama_index:os.system")
    assert "AGENTEX_LLAMA_INDEX_READERS" in said.out + said.err


def test_mailbox_and_nextcloud_are_known_by_their_addresses(agentex: Agentex, admin: Api, embedded: Server):
    kb_id, port = admin.create_kb(), free_port()
    mailbox, cloud = f"127.0.0.1:{port}/Pro%20jects", f"http://127.0.0.1:{port}/cloud/remote.php/dav/files/otter/"
    with allowed_targets(embedded, port):
        said = agentex("kb", "source", "add", kb_id, f"imaps://{mailbox}", "--settings", '{"attachments": true}')
        assert "agentex kb source credentials" in said.out
        agentex("kb", "source", "add", kb_id, f"imap://{mailbox}", "--name", "second", "--no-wait")
        agentex("kb", "source", "add", kb_id, cloud, "--no-wait")
        assert agentex("kb", "source", "add", kb_id, "imaps://127.0.0.1:993x/").code != 0
    rows = agentex("kb", "source", "list", kb_id, "--json").json["items"]
    assert {row["connector"] for row in rows} == {"imap", "webdav"}
    first, second = (row["settings"] for row in rows if row["connector"] == "imap")
    assert {"host": "127.0.0.1", "port": port, "security": "tls", "attachments": True}.items() <= first.items()
    assert (first["include"], second["security"]) == (["Pro jects"], "starttls")
    assert "127.0.0.1" in agentex("kb", "source", "list", kb_id).out


def test_source_is_added_synchronized_and_deleted(agentex: Agentex, admin: Api, folder: Path):
    kb_id = admin.create_kb()
    said = agentex("kb", "source", "add", kb_id, str(folder), "--every", "5", "--exclude", "lynx*")
    assert said.code == 0, said.err
    assert "3 new" in said.out

    (folder / "otter.md").write_text("changed")
    (folder / "wrong.pdf").write_text("no PDF")
    preview = agentex("kb", "source", "sync", kb_id, folder.name, "--preview")
    assert "A sync would give: 1 new, 1 changed, 2 unchanged" in preview.out
    assert "changed: otter.md" in preview.out
    said = agentex("kb", "source", "sync", kb_id, folder.name)
    assert "1 changed, 1 failed, 2 unchanged" in said.out
    assert "wrong.pdf" in agentex("kb", "source", "failures", kb_id, folder.name).out

    for path in folder.glob("*.md"):
        path.unlink()
    said = agentex("kb", "source", "sync", kb_id, folder.name, "--lang", "zh")
    assert "--allow-deletions" in said.out
    listed = agentex("kb", "source", "list", kb_id, "--json").json["items"]
    assert listed[0]["documents"] == 3
    assert listed[0]["last_sync"]["status"] == "confirm"
    said = agentex("kb", "source", "sync", kb_id, folder.name, "--allow-deletions")
    assert "3 gone" in said.out

    assert "Those it has" in agentex("kb", "source", "sync", kb_id, "another").err
    assert agentex("kb", "source", "delete", kb_id, folder.name, "--yes").code == 0
    assert agentex("kb", "source", "list", kb_id, "--json").json["total"] == 0


def test_git_repository_is_added_and_gets_another_token(
    agentex: Agentex, admin: Api, embedded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kb_id = admin.create_kb()
    file = tmp_path / "credentials.json"
    with git_server(tmp_path) as git, allowed_targets(embedded, git.port):
        (git.work / "otter.md").write_text("# otter\n")
        git.commit()
        git.user = ("git", "first-token")
        file.write_text('{"password": "first-token"}')
        said = agentex("kb", "source", "add", kb_id, git.url, "--name", "manuals", "--credentials-file", str(file))
        assert said.code == 0, said.err
        assert "1 new" in said.out

        git.user = ("git", "second-token")
        said = agentex("kb", "source", "sync", kb_id, "manuals")
        assert said.code != 0
        assert "token" in said.out + said.err
        command = ("kb", "source", "credentials", kb_id, "manuals")
        said = agentex(*command, "--credentials-file", "-", stdin='{"password": "second-token"}')
        assert said.code == 0, said.err
        assert "1 unchanged" in agentex("kb", "source", "sync", kb_id, "manuals").out
        monkeypatch.setattr("cli.ui.prompts.need_terminal", lambda *_: None)
        asked = agentex(*command, "--ask-credentials", stdin="git\nsecond-token\n\n")
        assert asked.code == 0, asked.err
        assert "1 unchanged" in agentex("kb", "source", "sync", kb_id, "manuals").out
        listed = agentex("kb", "source", "list", kb_id, "--json")
        assert listed.json["items"][0]["credentials_set"] == ["password", "username"]

        assert "--ask-credentials" in agentex(*command).err
        file.write_text("third-token")
        wrong = agentex(*command, "--credentials-file", str(file))
        assert wrong.code == 2
        assert agentex(*command, "--clear").code == 0
        assert agentex("kb", "source", "sync", kb_id, "manuals").code != 0
    assert "token" not in asked.out + listed.out + wrong.out
    assert "third-token" not in wrong.err


def test_repository_over_ssh_gets_a_key_that_is_pasted_in_lines(
    agentex: Agentex, admin: Api, embedded: Server, monkeypatch: pytest.MonkeyPatch
):
    key = (
        ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    )
    kb_id, port = admin.create_kb(), free_port()
    monkeypatch.setattr("cli.ui.prompts.need_terminal", lambda *_: None)
    url = f"ssh://git@127.0.0.1:{port}/manuals"
    with allowed_targets(embedded, port):
        said = agentex("kb", "source", "add", kb_id, url, "--ask-credentials", "--no-wait", stdin=f"\n\n{key}")
    assert said.code == 0, said.err
    assert key.splitlines()[1] not in said.out + said.err
    (row,) = agentex("kb", "source", "list", kb_id, "--json").json["items"]
    assert (row["connector"], row["credentials_set"]) == ("git", ["private_key"])
    # What git takes as an address is no folder of the server.
    said = agentex("kb", "source", "add", kb_id, f"git@127.0.0.1:{port}/manuals", "--no-wait")
    assert "AGENTEX_ALLOWED_PRIVATE_TARGETS" in said.err + said.out


def test_refusals_name_the_next_step(agentex: Agentex, admin: Api):
    kb_id = admin.create_kb()
    said = agentex("kb", "source", "add", kb_id, "/etc")
    assert said.code != 0
    assert "AGENTEX_SOURCE_FOLDERS" in said.err
    said = agentex("kb", "source", "add", kb_id, "http://127.0.0.1:9/")
    assert "AGENTEX_ALLOWED_PRIVATE_TARGETS" in said.err + said.out
    assert agentex("kb", "source", "add", kb_id, "https://example.org", "--settings", "[]").code == 2
