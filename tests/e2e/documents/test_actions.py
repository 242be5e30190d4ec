"""Pausing, resuming, cancelling, retrying and deleting documents, one and many, over HTTP."""

from typing import Any

import pytest

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.leftover_data import check_consistent
from tests.fixtures.product.server import Server, one_shape

SHORT = "# Note\n\nThe zebra sleeps at noon.\n"
LONG = "\n\n".join(f"## Part {n}\n\n" + f"Sentence number {n} of a long text. " * 6 for n in range(200))
BROKEN = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog"


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb(chunk_size=64, chunk_overlap=0)


def act(user: Api, kb: str, document_id: str, action: str) -> dict[str, Any]:
    return user.post(f"/knowledge-bases/{kb}/documents/{document_id}/{action}")


def bulk(user: Api, kb: str, action: str, **which: Any) -> dict[str, Any]:
    return user.post(f"/knowledge-bases/{kb}/documents/bulk", {"action": action, **which})


def at_work(user: Api, kb: str, document_id: str) -> None:
    def embedding() -> bool:
        return user.document(kb, document_id)["stage"] in {"embedding", "done"}

    eventually(embedding, seconds=60, pause=0.01)


def test_paused_knowledge_base_takes_uploads_and_processes_none_until_resumed(user: Api, kb: str):
    assert user.post(f"/knowledge-bases/{kb}/pause") == {"id": kb, "paused": True}
    first, second = user.upload(kb, "1.md", SHORT), user.upload(kb, "2.md", SHORT + "2")
    row = user.document(kb, second)
    assert (row["status"], row["ahead"], row["searchable"]) == ("pending", 1, False)
    assert row["waiting"]["reason"] == "knowledge_base_paused"
    assert all(row["waiting"].values())
    progress = user.get(f"/knowledge-bases/{kb}/progress")
    assert (progress["counts"], progress["paused"]) == ({"pending": 2}, True)
    assert user.search(kb, "zebra") == []
    assert user.post(f"/knowledge-bases/{kb}/resume") == {"id": kb, "paused": False}
    for document_id in (first, second):
        row = user.wait(kb, document_id)
        assert (row["status"], row["searchable"], row["waiting"]) == ("completed", True, None)
        assert row["attempt"] == 1


def test_paused_document_rests_and_goes_on_when_resumed(user: Api, kb: str, server: Server):
    document_id = user.upload(kb, "long.md", LONG)
    at_work(user, kb, document_id)
    row = act(user, kb, document_id, "pause")
    assert (row["status"], row["waiting"]["reason"]) == ("paused", "paused")
    assert act(user, kb, document_id, "pause")["status"] == "paused"
    query = "SELECT lease_owner FROM document WHERE id = :id"
    eventually(lambda: server.sql(query, id=document_id)[0]["lease_owner"] is None, what="is given up")
    assert user.document(kb, document_id)["status"] == "paused"
    assert act(user, kb, document_id, "resume")["status"] == "pending"
    row = user.wait(kb, document_id, seconds=120)
    assert (row["status"], row["attempt"]) == ("completed", 1)
    check_consistent(server, kb)


def test_cancelled_first_upload_leaves_nothing_searchable(user: Api, kb: str, server: Server):
    document_id = user.upload(kb, "long.md", LONG)
    at_work(user, kb, document_id)
    row = act(user, kb, document_id, "cancel")
    assert (row["status"], row["searchable"]) == ("cancelled", False)
    assert (row["waiting"]["reason"], row["failure"]) == ("cancelled", None)
    assert all(row["waiting"].values())
    assert user.search(kb, "sentence") == []
    eventually(lambda: server.points(document_id=document_id) == 0, what="no point is left")
    assert act(user, kb, document_id, "cancel")["status"] == "cancelled"
    again = act(user, kb, document_id, "retry")
    assert (again["status"], again["revision"]) == ("pending", 2)
    assert again["waiting"]["reason"] == "queued"
    assert user.wait(kb, document_id, seconds=120)["status"] == "completed"
    check_consistent(server, kb)


def test_cancelled_replacement_keeps_what_was_searchable(user: Api, kb: str, server: Server):
    document_id = user.ingest(kb, "a.md", SHORT)
    user.put_file(kb, "a.md", LONG)
    at_work(user, kb, document_id)
    row = act(user, kb, document_id, "cancel")
    assert (row["status"], row["searchable"], row["active_revision"]) == ("cancelled", True, 1)
    assert "zebra" in user.search(kb, "zebra sleeps")[0]["content"]
    eventually(
        lambda: server.points(document_id=document_id) == row["chunk_count"],
        what="the points of the new revision go",
    )
    check_consistent(server, kb)


@pytest.mark.parametrize(
    ("action", "status"), [("pause", "completed"), ("cancel", "completed"), ("retry", "completed")]
)
def test_what_a_status_does_not_allow_is_refused(user: Api, kb: str, action: str, status: str):
    document_id = user.ingest(kb, "a.md", SHORT)
    path = f"/knowledge-bases/{kb}/documents/{document_id}/{action}"
    details = user.refused(Conflict, "POST", path)
    assert details["field"] == "status"
    assert details["error"].startswith("Only a ")
    assert details["error_zh"].startswith("只有")
    assert user.document(kb, document_id)["status"] == status


def test_many_at_once_says_for_each_what_happened(user: Api, kb: str):
    good = user.ingest(kb, "good.md", SHORT)
    bad = user.upload(kb, "bad.pdf", BROKEN)
    assert user.wait(kb, bad)["status"] == "failed"
    stranger = user.ingest(user.create_kb(), "other.md", SHORT)
    answer = bulk(user, kb, "retry", document_ids=[good, bad, stranger, "nobody"])
    outcomes = {item["document_id"]: item["outcome"] for item in answer["items"]}
    assert outcomes == {
        good: "refused",
        bad: "done",
        stranger: "not_found",
        "nobody": "not_found",
    }
    assert answer["counts"] == {"done": 1, "refused": 1, "not_found": 2}
    words = {item["document_id"]: (item["error"], item["error_zh"]) for item in answer["items"]}
    assert words.pop(good) == (
        "Only a failed or cancelled document can be retried",
        "只有失败或已取消的文档可以重试",
    )
    assert set(words.values()) == {(None, None)}
    assert user.wait(kb, bad)["revision"] == 2


def test_many_of_a_status_are_found_by_the_server(user: Api, kb: str, server: Server):
    user.post(f"/knowledge-bases/{kb}/pause")
    ids = {user.upload(kb, f"{n}.md", SHORT) for n in range(5)}
    kept = user.put_file(kb, "kept.md", SHORT)["id"]
    act(user, kb, kept, "pause")
    answer = bulk(user, kb, "cancel", status="pending")
    assert {item["document_id"] for item in answer["items"]} == ids
    assert (answer["counts"], answer["more"]) == ({"done": 5}, False)
    assert bulk(user, kb, "delete", status="cancelled")["counts"] == {"done": 5}
    rows = user.get(f"/knowledge-bases/{kb}/documents")["items"]
    assert [row["id"] for row in rows] == [kept]
    eventually(lambda: server.count("document", knowledge_base_id=kb) == 1, seconds=60)


@one_shape
@pytest.mark.parametrize(
    "body",
    [
        {"action": "explode", "document_ids": ["a"]},
        {"action": "delete"},
        {"action": "delete", "document_ids": []},
        {"action": "delete", "document_ids": ["a"], "status": "failed"},
        {"action": "delete", "document_ids": ["a"] * 1001},
        {"action": "delete", "status": "lost"},
        {"action": "delete", "document_ids": ["a"], "owner_id": "me"},
    ],
)
def test_bulk_request_that_makes_no_sense_is_refused(someone: Api, body: dict[str, Any]):
    kb = someone.create_kb()
    path = f"/knowledge-bases/{kb}/documents/bulk"
    someone.refused(InvalidRequest, "POST", path, json=body)


def test_others_can_neither_see_nor_act(user: Api, kb: str, other: Api):
    document_id = user.ingest(kb, "a.md", SHORT)
    base = f"/knowledge-bases/{kb}"
    for action in ("pause", "resume", "cancel", "retry"):
        path = f"{base}/documents/{document_id}/{action}"
        other.refused(KnowledgeBaseNotFound, "POST", path)
    body = {"action": "delete", "document_ids": [document_id]}
    missing = KnowledgeBaseNotFound
    other.refused(missing, "POST", f"{base}/documents/bulk", json=body)
    for path in ("/pause", "/resume"):
        other.refused(missing, "POST", base + path)
    for path in ("/progress", "/progress/stream"):
        other.refused(missing, "GET", base + path)
    assert user.document(kb, document_id)["status"] == "completed"
