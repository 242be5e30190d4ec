"""Documents (seed 002, sections 9.6 to 9.9), over HTTP."""

import hashlib
import json
from typing import Any

import pytest

from core.errors.auth import DocumentNotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, check_success, conforms, eventually
from tests.fixtures.product.leftover_data import NO_LEFTOVERS, check_consistent, count_leftovers, stored_files
from tests.fixtures.product.server import Server

LISTED = {
    "id": "uuid",
    "name": "产品介绍.md",
    "file_type": "markdown",
    "file_size": 12288,
    "status": "completed",
    "chunk_count": 25,
    "created_at": "2026-01-15T10:00:00Z",
}
UPLOADED = {
    "id": "uuid",
    "name": "新文档.pdf",
    "status": "pending",
    "created_at": "2026-02-03T10:00:00Z",
}
GUIDE = "# 部署\n\n## 硬件\n\n服务器最低配置要求：八核处理器，三十二 GB 内存。\n\n## 网络\n\n开放 8000 端口。\n"
# Long enough to be caught on its way.
LONG = "\n\n".join(f"## Part {n}\n\n" + f"Sentence number {n} of a long text. " * 6 for n in range(200))


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb(chunk_size=64, chunk_overlap=0)


def test_upload_answers_as_documented_before_it_is_processed(user: Api, kb: str, server: Server):
    content = GUIDE.encode()
    data = check_success(user.send_file(kb, "新文档.md", content, "text/markdown"))
    conforms(data, UPLOADED)
    assert (data["name"], data["status"], data["stage"]) == ("新文档.md", "pending", "queued")
    assert (data["file_size"], data["sha256"]) == (
        len(content),
        hashlib.sha256(content).hexdigest(),
    )
    assert len(stored_files(server, kb) & server.files) == 1


def test_completed_document_and_list_answer_as_documented(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "产品介绍.md", GUIDE)
    row = user.document(kb, document_id)
    conforms(row, LISTED)
    assert (row["file_type"], row["stage"], row["progress"]) == ("markdown", "done", 100)
    assert row["failure"] is None
    assert row["completed_at"]
    assert row["chunk_count"] > 0
    page = user.get(f"/knowledge-bases/{kb}/documents")
    conforms(page, {"items": [LISTED], "total": 1, "page": 1, "page_size": 20, "pages": 1})
    assert page["items"] == [row]
    check_consistent(server, kb)


def test_progress_is_seen_stage_by_stage(user: Api, kb: str):
    document_id = user.upload(kb, "long.md", LONG)
    seen: list[tuple[str, str, int]] = []

    def ended() -> bool:
        row = user.document(kb, document_id)
        seen.append((row["status"], row["stage"], row["progress"]))
        return row["status"] in {"completed", "failed"}

    eventually(ended, seconds=90, pause=0.01)
    assert seen[-1] == ("completed", "done", 100)
    order = ["queued", "parsing", "splitting", "embedding", "done"]
    stages = list(dict.fromkeys(stage for _, stage, _ in seen))
    assert stages == [stage for stage in order if stage in stages]
    assert "embedding" in stages
    progress = [percent for _, stage, percent in seen if stage == "embedding"]
    assert progress == sorted(progress)
    assert all(0 <= percent <= 100 for percent in progress)


def test_list_filters_by_status_and_sorts(user: Api, kb: str):
    good = user.ingest(kb, "b.md", GUIDE)
    bad = user.upload(kb, "a.pdf", b"%PDF-1.7\nbroken")
    assert user.wait(kb, bad)["status"] == "failed"

    def listed(**params: Any) -> list[str]:
        path = f"/knowledge-bases/{kb}/documents"
        return [item["id"] for item in user.get(path, **params)["items"]]

    assert listed(status="completed") == [good]
    assert listed(status="failed") == [bad]
    assert listed(status="pending") == []
    assert listed(sort_by="name", sort_order="asc") == [bad, good]
    assert listed(sort_by="file_size") == [good, bad]
    assert listed(name="b.md") == [good]
    assert listed(name="B.md") == listed(name="b.md", status="failed") == []
    assert listed(name_contains="B.M") == [good]
    assert listed(name_contains="%") == listed(name_contains="b.m", status="failed") == []
    assert listed(sort_order="asc") == [good, bad]
    path = f"/knowledge-bases/{kb}/documents"
    user.refused(InvalidRequest, "GET", path, params={"status": "lost"})


def test_deleted_document_is_gone_at_once_and_leaves_nothing(user: Api, kb: str, server: Server):
    kept = user.ingest(kb, "kept.md", "# Kept\n\nThe zebra stays.")
    gone = user.ingest(kb, "gone.md", GUIDE)
    assert user.search(kb, "服务器配置")[0]["document_id"] == gone
    files = stored_files(server, kb)
    path = f"/knowledge-bases/{kb}/documents/{gone}"
    assert user.request("DELETE", path).json() == {"code": 0, "message": "success"}
    assert {hit["document_id"] for hit in user.search(kb, "服务器配置")} <= {kept}
    for method in ("GET", "DELETE"):
        user.refused(DocumentNotFound, method, path)
    user.refused(DocumentNotFound, "POST", f"{path}/retry")
    assert user.get(f"/knowledge-bases/{kb}")["document_count"] == 1
    eventually(lambda: server.count("document", id=gone) == 0, seconds=60, what="the row goes")
    assert server.points(document_id=gone) == 0
    assert server.count("chunk", document_id=gone) == 0
    assert len(files & server.files) == 1
    assert user.document(kb, kept)["status"] == "completed"
    check_consistent(server, kb)


@pytest.mark.parametrize("stage", ["queued", "parsing", "embedding"])
def test_document_deleted_on_its_way_leaves_nothing(user: Api, kb: str, server: Server, stage: str):
    document_id = user.upload(kb, "long.md", LONG)
    files = stored_files(server, kb)
    order = ["queued", "parsing", "splitting", "embedding", "done"]

    def there() -> bool:
        at = user.document(kb, document_id)["stage"]
        return order.index(at) >= order.index(stage)

    eventually(there, pause=0.005, what=stage)
    user.delete(f"/knowledge-bases/{kb}/documents/{document_id}")
    assert user.search(kb, "sentence") == []

    def is_gone() -> bool:
        return server.count("document", id=document_id) == 0

    eventually(is_gone, seconds=60, what="the row goes")
    assert server.points(document_id=document_id) == 0
    assert server.count("chunk", document_id=document_id) == 0
    assert not files & server.files


def test_knowledge_base_deleted_while_documents_are_processed_leaves_nothing(user: Api, kb: str, server: Server):
    for number in range(4):
        user.upload(kb, f"{number}.md", LONG)
    files = stored_files(server, kb)
    rows = f"/knowledge-bases/{kb}/documents"
    eventually(lambda: user.get(rows, status="processing")["items"], pause=0.01)
    user.delete(f"/knowledge-bases/{kb}")
    eventually(lambda: count_leftovers(server, kb, files) == NO_LEFTOVERS, seconds=60, what="nothing is left")


def test_failed_document_says_why_and_can_be_retried(user: Api, kb: str, server: Server):
    document_id = user.upload(kb, "broken.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    row = user.wait(kb, document_id)
    assert (row["status"], row["failure"]["reason"], row["attempt"]) == (
        "failed",
        "corrupt_file",
        1,
    )
    assert set(row["failure"]) == {
        "reason",
        "message",
        "message_zh",
        "next_action",
        "next_action_zh",
    }
    assert all(row["failure"].values())
    path = f"/knowledge-bases/{kb}/documents/{document_id}/retry"
    again = user.post(path)
    assert (again["status"], again["failure"], again["revision"]) == ("pending", None, 2)
    assert user.wait(kb, document_id)["failure"]["reason"] == "corrupt_file"
    assert server.points(document_id=document_id) == 0


def test_completed_document_can_not_be_retried(user: Api, kb: str):
    document_id = user.ingest(kb, "a.md", GUIDE)
    path = f"/knowledge-bases/{kb}/documents/{document_id}/retry"
    assert user.refused(Conflict, "POST", path)["field"] == "status"
    assert user.document(kb, document_id)["status"] == "completed"


def test_document_is_found_only_below_its_own_knowledge_base(user: Api, kb: str):
    document_id = user.upload(kb, "a.md", GUIDE)
    second = user.create_kb()
    path = f"/knowledge-bases/{second}/documents/{document_id}"
    for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/retry")):
        user.refused(DocumentNotFound, method, path + tail)
    assert user.wait(kb, document_id)["status"] == "completed"


def test_documents_are_listed_by_their_metadata(user: Api):
    kb_id = user.create_kb()
    for name, metadata in (
        ("a.txt", {"team": "blue", "year": 2024}),
        ("b.txt", {"team": ["red", "blue"]}),
        ("c.txt", {}),
    ):
        user.put_file(kb_id, name, f"Text of {name}.", metadata=json.dumps(metadata))

    def names(metadata: dict[str, Any]) -> set[str]:
        listing = user.get(f"/knowledge-bases/{kb_id}/documents", metadata=json.dumps(metadata))
        assert listing["total"] == len(listing["items"])
        return {item["name"] for item in listing["items"]}

    assert names({"team": "blue"}) == {"a.txt", "b.txt"}
    assert names({"team": ["red", "green"]}) == {"b.txt"}
    assert names({"team": "blue", "year": {"gte": 2024}}) == {"a.txt"}
    assert names({}) == {"a.txt", "b.txt", "c.txt"}
    for broken in ("{", "[]", '{"team": {"like": "b"}}'):
        user.refused(InvalidRequest, "GET", f"/knowledge-bases/{kb_id}/documents", params={"metadata": broken})
