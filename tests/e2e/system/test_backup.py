"""Backups of the running product: made under load, checked, and restored into empty installations."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.errors.conflicts import BackupFolderUnset, BackupJobRunning, BackupUnusable, Conflict
from kb_service.backup.repository import create_repository, open_repository
from kb_service.backup.row_format import read_rows
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server, environment_of, running_server
from tests.fixtures.runs.agent_runs import ask, text_of
from tests.fixtures.servers.external_services import Postgres
from tests.fixtures.servers.git_server import GitServer, git_server
from tests.fixtures.skills.skill_texts import REPORT

PASSPHRASE = "five-words-of-no-sense"
TOKEN = "token-of-the-private-repository"
QUESTIONS = ("Where is the key of the seed room?", "pump frost", "温室 天窗", "trellis")
DOCUMENTS = {
    "handbook.md": "# Pumps\n\nIn frost the pump is emptied.\n\n# Seed room\n\nThe key hangs behind the clock.\n",
    "notes.txt": "The trellis came from Ulm in spring, and was painted green.\n" * 20,
    "温室手册.md": "# 天窗\n\n三号温室的天窗在夏天保持打开。\n",
}


@dataclass
class BackedUp:
    """A server that was backed up twice while documents were uploaded.

    Attributes:
        environment: of the backup commands.
        facts: answers of the server from before the backups.
        acknowledged: documents that were uploaded before the second backup began.
        second: what the second backup said of itself.
        source: a knowledge source whose repository is open to its credentials only.
    """

    server: Server
    person: Api
    git: GitServer
    source: Source
    repository: Path
    environment: Mapping[str, str]
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    first: dict[str, Any] = field(default_factory=dict[str, Any])
    second: dict[str, Any] = field(default_factory=dict[str, Any])

    def restore(self, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, "AGENTEX_DATA_DIR": str(folder / "data"), **variables}
        return backup(environment, "restore", self.repository)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "cli.main", "backup", *map(str, words)]


def backup(environment: Mapping[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), env=environment, capture_output=True, text=True, timeout=300, check=False)


def answer(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def facts_of(person: Api, kb: str) -> dict[str, Any]:
    """What a person sees of their things, with every score."""
    base = f"/knowledge-bases/{kb}"
    documents = person.get(f"{base}/documents", page_size=100, sort="name")["items"]
    return {
        "hits": [person.search(kb, question, top_k=10) for question in QUESTIONS],
        "documents": documents,
        "contents": [person.request("GET", f"{base}/documents/{row['id']}/content").text for row in documents],
        "sessions": person.get("/sessions")["items"],
        "skills": [row["slug"] for row in person.get("/skills", mine=True)["items"]],
    }


@contextmanager
def uploads(person: Api, kb: str) -> Generator[dict[str, str]]:
    """Upload, replace and delete documents one after the other; what is acknowledged, by name."""
    acknowledged: dict[str, str] = {}
    stopped = threading.Event()

    def work() -> None:
        number = 0
        while not stopped.wait(0.2):
            number += 1
            name = f"load-{number}.txt"
            acknowledged[name] = person.upload(kb, name, f"Crate {number} holds {number * 7} lamps.\n" * 30)
            # Replaced while it may be in a worker's hands.
            if number % 5 == 0:
                person.put_file(kb, name, f"Crate {number} is empty.\n", on_conflict="replace")
            if number % 7 == 0:
                person.delete(f"/knowledge-bases/{kb}/documents/{acknowledged.pop(name)}")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield acknowledged
    finally:
        stopped.set()
        thread.join(60)


@pytest.fixture(scope="module")
def private_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with git_server(tmp_path_factory.mktemp("git")) as git:
        git.user = ("otter", TOKEN)
        (git.work / "otter.md").write_text("# Otters\n\nThey eat crayfish.\n")
        git.commit()
        yield git


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory, private_git: GitServer) -> Iterator[BackedUp]:
    folder = tmp_path_factory.mktemp("source")
    # The console's backups under the same passphrase as the command's.
    variables = {"AGENTEX_BACKUP_PASSPHRASE": PASSPHRASE}
    with running_server(folder, variables=variables) as server, allowed_targets(server, private_git.port):
        person = server.person()
        environment = server.environment
        credentials = {"username": "otter", "password": TOKEN}
        source = Source(person, person.create_kb(), "git", {"url": private_git.url}, credentials=credentials)
        assert source.wait()["counts"] == {"created": 1}
        state = BackedUp(server, person, private_git, source, folder / "backups", environment)
        kb = person.create_kb()
        ids = {name: person.ingest(kb, name, text) for name, text in DOCUMENTS.items()}
        (chunk,) = person.get(f"/knowledge-bases/{kb}/documents/{ids['温室手册.md']}/chunks")["items"]
        person.put(f"/knowledge-bases/{kb}/chunks/{chunk['id']}", {"version": 1, "content": "天窗在冬天关闭。"})
        person.post("/skills", {"content": REPORT})
        assert text_of(ask(person, "Where is the key of the seed room?", knowledge_base_ids=[kb]))
        busy = person.create_kb()
        state.facts = {"kb": kb, "busy": busy, **facts_of(person, kb)}
        with uploads(person, busy) as acknowledged:
            eventually(lambda: len(acknowledged) > 10, what="uploads")
            state.first = answer(backup(environment, "create", state.repository, "--json"))
            before = dict(acknowledged)
            state.second = answer(backup(environment, "create", state.repository, "--json"))
        # Those that were not deleted meanwhile.
        state.acknowledged = {name: id_ for name, id_ in before.items() if name in acknowledged}
        yield state


def test_backup_under_load_is_whole_and_the_next_adds_only_what_is_new(backed_up: BackedUp):
    report = answer(backup(backed_up.environment, "verify", backed_up.repository, "--json"))
    assert (report["ok"], report["backups"]) == (True, 2)
    assert (backed_up.first["encrypted"], backed_up.first["holds_secret_key"]) == (True, True)
    assert backed_up.second["documents"] >= len(DOCUMENTS) + len(backed_up.acknowledged)
    busy = f"/knowledge-bases/{backed_up.facts['busy']}/documents"
    unfinished = {"pending", "processing"}
    eventually(
        lambda: unfinished.isdisjoint(row["status"] for row in backed_up.person.get(busy, page_size=100)["items"])
    )
    settled = answer(backup(backed_up.environment, "create", backed_up.repository, "--json"))
    backed_up.person.ingest(backed_up.facts["busy"], "last.txt", "A last crate.\n")
    after = answer(backup(backed_up.environment, "create", backed_up.repository, "--json"))
    assert after["documents"] == settled["documents"] + 1
    assert after["added_bytes"] < backed_up.first["added_bytes"] / 2
    modes = {path.stat().st_mode & 0o077 for path in (backed_up.repository, *backed_up.repository.rglob("*"))}
    assert modes == {0}


def test_encrypted_backup_shows_nothing_and_opens_to_its_passphrase_only(backed_up: BackedUp):
    content = b"".join(path.read_bytes() for path in backed_up.repository.rglob("*") if path.is_file())
    key = (backed_up.server.settings.data_dir / "secret-key").read_bytes().strip()
    for secret in (key, b"trellis", PASSPHRASE.encode(), backed_up.person.user_id.encode()):
        assert secret not in content
    wrong = backup(
        {**backed_up.environment, "AGENTEX_BACKUP_PASSPHRASE": "another-passphrase"}, "verify", backed_up.repository
    )
    assert (wrong.returncode, "not the one of these backups" in wrong.stderr) == (1, True)


def check_restored(backed_up: BackedUp, server: Server) -> None:
    """Everything that was acknowledged before the backup is there, with the same hits and scores."""
    person = Api(server.http, dict(backed_up.person.headers))
    facts, busy = backed_up.facts, backed_up.facts["busy"]
    for name, document_id in backed_up.acknowledged.items():
        assert person.wait(busy, document_id)["status"] == "completed", name
    before = {key: value for key, value in facts.items() if key not in {"kb", "busy"}}
    assert facts_of(person, facts["kb"]) == before
    assert person.search(busy, "crate of lamps")
    # Keys that sealed secrets are opened with, and new work on top of the old.
    assert server.http.get("/.well-known/jwks.json").json()["keys"]
    new = person.ingest(facts["kb"], "new.txt", "A wheelbarrow stands by the gate.\n")
    assert person.search(facts["kb"], "wheelbarrow")[0]["document_id"] == new


def check_source(backed_up: BackedUp, server: Server) -> None:
    """The next sync of a restored source brings what is new, with the credentials that the backup had sealed."""
    source = copy(backed_up.source)
    source.owner = Api(server.http, dict(backed_up.person.headers))
    name = unique("heron") + ".md"
    before = len(source.contents())
    (backed_up.git.work / name).write_text("# Herons\n\nThey eat frogs.\n")
    backed_up.git.commit()
    assert source.sync()["counts"] == {
        "created": len(list(backed_up.git.work.glob("*.md"))) - before,
        "unchanged": before,
    }
    assert source.contents()[name] == "# Herons\n\nThey eat frogs.\n"


def test_restored_folder_has_the_same_documents_hits_and_scores(backed_up: BackedUp, tmp_path: Path):
    run = backed_up.restore(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    again = backed_up.restore(tmp_path)
    assert (again.returncode, "is not empty (agentex.db" in again.stderr) == (1, True)
    with running_server(tmp_path, variables={"AGENTEX_BACKUP_FOLDER": ""}) as server:
        check_restored(backed_up, server)
        check_source(backed_up, server)
        for method in ("GET", "POST"):
            server.admin().refused(BackupFolderUnset, method, "/admin/backups")


def test_sqlite_is_restored_into_postgresql(backed_up: BackedUp, tmp_path: Path, find_postgres: Callable[[], Postgres]):
    postgres = find_postgres()
    variables = {"AGENTEX_DATABASE_URL": postgres.create()}
    run = backed_up.restore(tmp_path, **variables)
    assert run.returncode == 0, run.stdout + run.stderr
    refused = backed_up.restore(tmp_path / "other", **variables)
    assert (refused.returncode, "database is not empty (table" in refused.stderr) == (1, True)
    with running_server(tmp_path, variables=variables) as server:
        check_restored(backed_up, server)
        check_source(backed_up, server)
    postgres.drop(variables["AGENTEX_DATABASE_URL"])


@contextmanager
def killed_when(
    words: Sequence[object], environment: Mapping[str, str], condition: Callable[[], bool]
) -> Generator[None]:
    process = subprocess.Popen(command(*words), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: process.poll() is not None or condition(), pause=0.001)
        os.kill(process.pid, signal.SIGKILL)
        yield
    finally:
        process.wait()


def test_killed_backup_is_none_and_the_next_is_whole(backed_up: BackedUp, tmp_path: Path):
    repository = tmp_path / "killed"
    environment = backed_up.environment
    with killed_when(["create", repository], environment, lambda: any(repository.glob("blobs/*/*"))):
        pass
    assert any(repository.glob("blobs/*/*"))
    verdict = backup(environment, "verify", repository)
    assert (verdict.returncode, "No backup in" in verdict.stderr) == (1, True)
    answer(backup(environment, "create", repository, "--json"))
    assert answer(backup(environment, "verify", repository, "--json"))["ok"]
    assert not any((repository / "incoming").iterdir())


def test_killed_restore_is_refused_by_serve_and_goes_on_when_repeated(backed_up: BackedUp, tmp_path: Path):
    data = tmp_path / "data"
    environment = {**backed_up.environment, "AGENTEX_DATA_DIR": str(data)}
    words = ["restore", backed_up.repository]
    with killed_when(words, environment, lambda: any(data.glob("files/??/*"))):
        pass
    assert (data / "restore-unfinished").exists()
    start = subprocess.run(
        [sys.executable, "-m", "cli.main", "serve"],
        env=environment_of(tmp_path, {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (start.returncode, "broke off" in start.stdout + start.stderr) == (1, True)
    assert backed_up.restore(tmp_path).returncode == 0
    assert not (data / "restore-unfinished").exists()


def test_plain_backup_says_that_the_key_is_missing_and_how_to_restore(backed_up: BackedUp, tmp_path: Path):
    environment = {k: v for k, v in backed_up.environment.items() if k != "AGENTEX_BACKUP_PASSPHRASE"}
    made = backup(environment, "create", tmp_path / unique("plain"))
    assert (made.returncode, "does NOT hold the secret key" in " ".join(made.stdout.split())) == (0, True)
    (repository,) = tmp_path.iterdir()
    environment["AGENTEX_DATA_DIR"] = str(tmp_path / "data")
    refused = backup(environment, "restore", repository)
    assert (refused.returncode, "does not hold the secret key" in refused.stderr) == (1, True)
    (tmp_path / "data").mkdir()
    # Sealed under the installation's key: neither the backup nor a refusal shows the credentials of a source.
    (tmp_path / "data" / "secret-key").write_text("another-secret-key-that-is-as-long-as-keys-are")
    other = backup(environment, "restore", repository)
    assert (other.returncode, "is not the one that the backup's database needs" in other.stderr) == (1, True)
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"secret-key"}
    assert TOKEN not in other.stdout + other.stderr
    opened = open_repository(repository, None)
    sources = repr(list(read_rows(opened, opened.manifest().tables["knowledge_source"])))
    assert (backed_up.source.row["id"] in sources, TOKEN in sources) == (True, False)
    key = (backed_up.server.settings.data_dir / "secret-key").read_bytes()
    (tmp_path / "data" / "secret-key").write_bytes(key)
    assert backup(environment, "restore", repository).returncode == 0


def wait_for_job(admin: Api, job: dict[str, Any]) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        row = admin.get(f"/admin/backups/jobs/{job['id']}")
        return row if row["status"] not in {"pending", "running"} else None

    return eventually(ended, seconds=120, what=f"the end of {job['kind']}")


def test_administrator_makes_checks_and_removes_backups(backed_up: BackedUp):
    server = backed_up.server
    admin, folder = server.admin(), server.settings.backup_folder
    assert folder
    first = admin.get("/admin/backups")
    assert first == {"folder": str(folder), "encrypted": True, "items": [], "total": 0}
    # One at a time, and a cancelled one is none.
    with server.frozen("worker"):
        waiting = admin.post("/admin/backups")
        admin.refused(BackupJobRunning, "POST", "/admin/backups")
        assert admin.post(f"/admin/backups/jobs/{waiting['id']}/cancel")["status"] == "cancelled"
        admin.refused(Conflict, "POST", f"/admin/backups/jobs/{waiting['id']}/cancel")
    assert admin.get("/admin/backups")["items"] == []

    job = wait_for_job(admin, admin.post("/admin/backups"))
    assert (job["status"], job["failure"]) == ("completed", None)
    (row,) = admin.get("/admin/backups")["items"]
    assert row["id"] == job["result"]["backup_id"]
    assert (row["damaged"], row["holds_secret_key"], row["verified_at"], row["findings"]) == (False, True, None, None)
    assert row["documents"] >= len(DOCUMENTS)
    assert row["stored_bytes"] >= row["added_bytes"] > 0
    path = f"/admin/backups/{row['id']}"
    assert wait_for_job(admin, admin.post(f"{path}/verify"))["result"]["findings"] == 0
    (row,) = admin.get("/admin/backups")["items"]
    assert (row["verified_at"] is not None, row["findings"]) == (True, 0)
    # The command sees the same, with the same passphrase.
    assert answer(backup(backed_up.environment, "list", folder, "--json"))["items"][0]["findings"] == 0

    blob = max((folder / "blobs").glob("*/*"), key=lambda path: path.stat().st_size)
    blob.write_bytes(blob.read_bytes()[:-1])
    result = wait_for_job(admin, admin.post(f"{path}/verify"))["result"]
    assert (result["findings"], blob.name in result["examples"][0]["message_zh"]) == (1, True)
    assert admin.get("/admin/backups")["items"][0]["findings"] == 1

    assert wait_for_job(admin, admin.request("DELETE", path).json()["data"])["result"]["freed_bytes"] > 0
    assert admin.get("/admin/backups")["items"] == []
    assert not list((folder / "blobs").glob("*/*"))
    for method, url in (("POST", f"{path}/verify"), ("DELETE", path), ("POST", "/admin/backups/..%2Fx/verify")):
        assert admin.request(method, url).status_code == 404
    entries = admin.get("/system/audit", q="backup.", page_size=100)["items"]
    assert {entry["action"] for entry in entries} == {
        "backup.requested",
        "backup.check_requested",
        "backup.removal_requested",
        "backup.cancelled",
    }
    assert {entry["actor_name"] for entry in entries} == {admin.name}
    said = json.dumps([entries, admin.get("/admin/backups/jobs")]) + server.text
    assert PASSPHRASE not in said


def test_backup_goes_on_in_the_next_worker_when_its_worker_is_killed(backed_up: BackedUp):
    server = backed_up.server
    admin = server.admin()
    job = admin.post("/admin/backups")
    eventually(lambda: admin.get(f"/admin/backups/jobs/{job['id']}")["status"] != "pending", pause=0.01)
    server.kill("worker")
    assert wait_for_job(admin, job)["status"] == "completed"
    (row,) = admin.get("/admin/backups")["items"]
    assert answer(backup(backed_up.environment, "verify", server.settings.backup_folder, "--json"))["ok"]
    wait_for_job(admin, admin.request("DELETE", f"/admin/backups/{row['id']}").json()["data"])


def test_folder_of_another_passphrase_is_named_and_nothing_in_it_changes(backed_up: BackedUp):
    folder, admin = backed_up.server.settings.backup_folder, backed_up.server.admin()
    assert folder
    aside = folder.with_name("aside")
    # The tests before this one may have made it.
    if folder.exists():
        folder.rename(aside)
    try:
        create_repository(folder, None)
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        details = admin.refused(BackupUnusable, "GET", "/admin/backups")
        assert (details["fault"], "are not encrypted" in details["error"]) == ("not_encrypted", True)
        failure = wait_for_job(admin, admin.post("/admin/backups"))["failure"]
        assert (failure["reason"], "未加密" in failure["message_zh"]) == ("not_encrypted", True)
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    finally:
        shutil.rmtree(folder)
        if aside.exists():
            aside.rename(folder)
