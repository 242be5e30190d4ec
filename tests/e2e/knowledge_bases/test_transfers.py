"""Export, import and copy of knowledge bases over HTTP."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from cli.main import build
from core.errors.auth import KnowledgeBaseNotFound, TransferNotFound
from core.errors.conflicts import Conflict, KnowledgeBaseNameTaken
from core.errors.requests import InvalidArchive
from core.settings import get_settings
from tests.fixtures.http.client import Api, check_success, eventually, unique
from tests.fixtures.knowledge.kb_transfers import pack, replace_part, unpack
from tests.fixtures.product.leftover_data import NO_LEFTOVERS, check_consistent, count_leftovers
from tests.fixtures.product.server import Server

ENDED = {"completed", "failed", "cancelled"}
TEXTS = {
    f"{name}.md": f"# {name}\n\nThe {name} sleeps at noon and hunts by the river.\n\n"
    f"## Food\n\nIt eats {food}.\n\n## 食物\n\n它吃{chinese}。\n"
    for name, food, chinese in (
        ("otter", "crayfish and eels", "小龙虾和鳗鱼"),
        ("heron", "frogs and mice", "青蛙和老鼠"),
        ("badger", "worms and roots", "蚯蚓和树根"),
    )
}
QUERIES = ("What does the heron eat?", "谁吃蚯蚓？", "river")


def export(user: Api, kb_id: str) -> bytes:
    response = user.request("GET", f"/knowledge-bases/{kb_id}/export")
    assert response.status_code == 200, response.text
    return response.content


def send(user: Api, content: bytes, **fields: str) -> httpx.Response:
    files = {"file": ("docs.akb", content, "application/octet-stream")}
    return user.request("POST", "/knowledge-bases/import", files=files, data=fields)


def wait(user: Api, transfer: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        row = user.get(f"/transfers/{transfer['id']}")
        return row if row["status"] in ENDED else None

    return eventually(ended, seconds=seconds, what="transfer ends")


def search_all(user: Api, kb_id: str) -> list[list[tuple[str, str, float]]]:
    """What the queries find, in its order."""
    return [
        [(hit["document_name"], hit["content"], hit["score"]) for hit in hits]
        for hits in (user.search(kb_id, query, top_k=50) for query in QUERIES)
    ]


@pytest.fixture
def kb(user: Api) -> str:
    kb_id = user.create_kb(description="Animals", chunk_size=64, chunk_overlap=8)
    for name, text in TEXTS.items():
        user.ingest(kb_id, name, text)
    question = {"question": "Who eats eels?", "expected": [{"document": "otter.md"}]}
    user.post(f"/knowledge-bases/{kb_id}/questions", question)
    return kb_id


def test_export_and_import_give_the_same_knowledge_base(server: Server, user: Api, kb: str):
    content = export(user, kb)
    transfer = wait(user, check_success(send(user, content, name="Animals 2")))
    assert (transfer["status"], transfer["progress"], transfer["kind"]) == (
        "completed",
        100,
        "import",
    )
    copy = transfer["knowledge_base_id"]
    row = user.get(f"/knowledge-bases/{copy}")
    assert (row["name"], row["description"], row["chunk_size"]) == ("Animals 2", "Animals", 64)
    assert (row["is_public"], row["enabled"], row["document_count"]) == (False, True, 3)
    assert search_all(user, copy) == search_all(user, kb)
    check_consistent(server, copy)
    again, first = unpack(export(user, copy)), unpack(content)
    manifests = [json.loads(parts.pop("manifest.json")) for parts in (first, again)]
    assert first == again
    for manifest in manifests:
        manifest["knowledge_base"].pop("name")
    assert manifests[0] == manifests[1]
    # The measurement that came with it works at once.
    assert user.post(f"/knowledge-bases/{copy}/evaluations")["metrics"]["recall_5"] == 1


def test_export_is_a_download_with_the_knowledge_bases_name(user: Api):
    kb_id = user.create_kb(name='产品 "手册" 1')
    response = user.request("GET", f"/knowledge-bases/{kb_id}/export")
    assert "filename*=UTF-8''%E4%BA%A7" in response.headers["content-disposition"]
    assert '""' not in response.headers["content-disposition"]
    assert response.headers["content-type"] == "application/vnd.agentex.knowledge-base+zip"
    transfer = wait(user, check_success(send(user, response.content, name="empty")))
    assert transfer["status"] == "completed"


def test_name_that_is_taken_is_refused_before_anything_is_made(server: Server, user: Api, kb: str):
    content, files = export(user, kb), server.files
    response = send(user, content)
    assert response.json()["code"] == KnowledgeBaseNameTaken.code
    assert server.count("transfer", owner_id=user.user_id) == 0
    assert server.files == files


def test_file_that_is_no_knowledge_base_leaves_nothing(server: Server, user: Api, kb: str):
    content, files = export(user, kb), server.files
    cut = content[: len(content) // 2]
    for bad in (
        b"PK",
        cut,
        pack({"../evil": b"x"}),
        replace_part(content, "manifest.json", lambda _: b"{}"),
    ):
        response = send(user, bad, name="bad")
        assert response.json()["code"] == InvalidArchive.code
        assert response.json()["details"]["error"]
    assert send(user, b"").status_code == 400
    assert server.count("knowledge_base", owner_id=user.user_id) == 1
    assert server.files == files


def test_damage_found_on_the_way_ends_with_a_reason_and_leaves_nothing(server: Server, user: Api, kb: str):
    nan = b"\x00\x00\xc0\x7f"
    bad = replace_part(export(user, kb), "shards/000000/dense.npy", lambda array: array[:-4] + nan)
    transfer = check_success(send(user, bad, name="bad"))
    ended = wait(user, transfer)
    assert ended["status"] == "failed"
    assert ended["failure"]["reason"] == "invalid_archive"
    assert ended["failure"]["message_zh"]
    target = transfer["knowledge_base_id"]
    user.refused(KnowledgeBaseNotFound, "GET", f"/knowledge-bases/{target}")
    eventually(lambda: count_leftovers(server, target) == NO_LEFTOVERS, what="all erased")


@pytest.mark.parametrize("rows", [0, 65])
def test_import_goes_on_after_its_worker_was_killed(embedded: Server, rows: int):
    user = embedded.person()
    kb_id = user.create_kb()
    user.ingest(kb_id, "otter.md", "# Otter\n\nThe otter eats eels.")
    content, before = _wide(export(user, kb_id)), embedded.stored
    transfer = check_success(send(user, content, name="wide"))
    target = transfer["knowledge_base_id"]
    eventually(lambda: embedded.count("document", knowledge_base_id=target) >= rows, what="begun", pause=0)
    embedded.kill("worker")
    ended = wait(user, transfer, seconds=120)
    assert ended["status"] == "completed"
    check_consistent(embedded, target)
    assert user.get(f"/knowledge-bases/{target}")["document_count"] == 200
    assert embedded.points(kb_id=target) == 200
    # The archive itself is gone; what is left is one file per document.
    eventually(lambda: len(embedded.stored - before) == 200, what="one file per document")


def _wide(content: bytes) -> bytes:
    """The file of two hundred documents made of the file of one."""
    parts = unpack(content)
    manifest = json.loads(parts.pop("manifest.json"))
    original, questions = parts.pop("originals/000001"), parts.pop("questions.jsonl")
    (document,) = parts.pop("shards/000000/documents.jsonl").splitlines()
    (chunk,) = parts.pop("shards/000000/chunks.jsonl").splitlines()
    points = parts.pop("shards/000000/points.npy")
    made: dict[str, bytes] = {}
    for number in range(1, 201):
        shard = f"shards/{number - 1:06}"
        entry = {**json.loads(document), "number": number, "name": f"{number:03}.md"}
        made[f"originals/{number:06}"] = original
        made[f"{shard}/documents.jsonl"] = json.dumps(entry).encode() + b"\n"
        made[f"{shard}/chunks.jsonl"] = json.dumps({**json.loads(chunk), "document": number}).encode() + b"\n"
        made[f"{shard}/points.npy"] = points[:-20] + number.to_bytes(4, "little") + points[-16:]
        for name in ("dense", "sparse_indices", "sparse_values"):
            made[f"{shard}/{name}.npy"] = parts[f"shards/000000/{name}.npy"]
    counts = manifest["counts"]
    for name in ("documents", "chunks", "points", "original_bytes"):
        counts[name] *= 200
    counts["shards"] = 200
    made |= {"questions.jsonl": questions, "manifest.json": json.dumps(manifest).encode()}
    return pack(made)


def test_copy_of_the_longest_name_has_room_for_saying_so(user: Api):
    name = unique("n").ljust(200, "文")
    kb_id = user.create_kb(name=name)
    # Without a body all is as it is by default.
    transfer = wait(user, user.post(f"/knowledge-bases/{kb_id}/copy"))
    assert transfer["status"] == "completed"
    copied = user.get(f"/knowledge-bases/{transfer['knowledge_base_id']}")["name"]
    assert copied == f"{name[:193]} (copy)"


def test_copy_is_private_and_its_own(server: Server, user: Api, other: Api, kb: str):
    user.put(f"/knowledge-bases/{kb}", {"is_public": True})
    transfer = wait(other, other.post(f"/knowledge-bases/{kb}/copy", {"name": "mine"}))
    assert (transfer["status"], transfer["kind"]) == ("completed", "copy")
    copy = transfer["knowledge_base_id"]
    assert search_all(other, copy) == search_all(user, kb)
    assert other.get(f"/knowledge-bases/{copy}")["is_public"] is False
    user.refused(KnowledgeBaseNotFound, "GET", f"/knowledge-bases/{copy}")
    user.delete(f"/knowledge-bases/{kb}")
    eventually(lambda: count_leftovers(server, kb) == NO_LEFTOVERS, what="source erased")
    assert all(search_all(other, copy))
    check_consistent(server, copy)


def test_what_is_not_the_callers_cannot_be_moved_or_watched(user: Api, other: Api, kb: str):
    missing = KnowledgeBaseNotFound
    other.refused(missing, "GET", f"/knowledge-bases/{kb}/export")
    other.refused(missing, "POST", f"/knowledge-bases/{kb}/copy", json={})
    transfer = user.post(f"/knowledge-bases/{kb}/copy", {})
    for method, path in (("GET", ""), ("POST", "/cancel")):
        where = f"/transfers/{transfer['id']}{path}"
        other.refused(TransferNotFound, method, where)
    assert wait(user, transfer)["status"] == "completed"
    assert [row["id"] for row in user.get("/transfers")["items"]] == [transfer["id"]]
    assert other.get("/transfers")["items"] == []
    user.refused(Conflict, "POST", f"/transfers/{transfer['id']}/cancel")


@pytest.fixture
def _own_settings() -> Iterator[None]:
    yield
    get_settings.cache_clear()


@pytest.mark.usefixtures("_own_settings")
def test_terminal_exports_imports_copies_and_measures(
    embedded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    user = embedded.person()
    kb_id = user.create_kb(name="Animals")
    for name, text in TEXTS.items():
        user.ingest(kb_id, name, text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTEX_URL", str(embedded.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", user.access_token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def agentex(*arguments: str, code: int = 0) -> Result:
        get_settings.cache_clear()
        done = CliRunner().invoke(build(), arguments)
        assert done.exit_code == code, done.output
        return done

    exported = json.loads(agentex("kb", "export", "Animals", "animals.akb", "--json").stdout)
    content = (tmp_path / "animals.akb").read_bytes()
    assert exported["sha256"] == hashlib.sha256(content).hexdigest()
    assert exported["size"] == len(content)
    assert agentex("kb", "export", "Animals", "animals.akb", code=2).stderr
    assert agentex("kb", "export", "Animals", "animals.akb", "--force").stdout
    assert [path.name for path in tmp_path.glob("*.akb*")] == ["animals.akb"]
    imported = agentex("kb", "import", "animals.akb", "--name", "Animals 2")
    assert "Animals 2" in imported.stdout
    assert exported["sha256"] in imported.stderr
    assert json.loads(agentex("kb", "copy", "Animals 2", "--json").stdout)["status"] == "completed"
    names = {row["name"] for row in user.get("/knowledge-bases")["items"]}
    assert names == {"Animals", "Animals 2", "Animals 2 (copy)"}

    agentex("eval", "Animals 2", code=1)
    questions = tmp_path / "questions.csv"
    questions.write_text("question,document,text\nWho eats eels?,otter.md,crayfish and eels\n谁吃蚯蚓？,badger.md,\n")
    first = agentex("eval", "Animals 2", "--questions", "questions.csv", "--min-recall", "0.9")
    assert "Recall at 5\t1.000" in first.stdout
    questions.write_text("question,document\nWho eats stones?,golem.md\n")
    low = agentex(*("eval", "Animals 2", "--questions", "questions.csv", "--min-recall", "0.9"), code=1)
    assert "0.667" in low.stderr
    assert "Who eats stones?" in low.stdout
    compared = json.loads(agentex("eval", "Animals 2", "--compare", "--json").stdout)
    assert compared["metrics"]["recall_5"] == pytest.approx(2 / 3)
    assert (compared["comparison"]["better"], compared["comparison"]["worse"]) == ([], [])
