"""Knowledge bases (seed 002, sections 9.1 to 9.5), over HTTP."""

from typing import Any

import pytest

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import KnowledgeBaseNameTaken
from core.errors.requests import InvalidPagination, InvalidRequest, UnknownEmbeddingModel
from kb_service.embeddings.catalog import BUILT_IN, DEFAULT
from tests.fixtures.http.client import Api, conforms, eventually, unique
from tests.fixtures.product.leftover_data import NO_LEFTOVERS, count_leftovers, stored_files
from tests.fixtures.product.server import Server, one_shape

LISTED = {
    "id": "uuid",
    "name": "产品文档知识库",
    "description": "包含产品相关的所有文档",
    "embedding_model": "text-embedding-3-small",
    "document_count": 15,
    "is_public": False,
    "enabled": True,
    "created_at": "2026-01-10T10:00:00Z",
}
CREATE = {
    "name": "技术文档知识库",
    "description": "技术相关文档",
    "embedding_model": "text-embedding-3-small",
    "chunk_size": 500,
    "chunk_overlap": 50,
    "is_public": False,
}


def test_documented_request_makes_a_knowledge_base_of_the_served_model(user: Api):
    data = user.post("/knowledge-bases", CREATE)
    conforms(data, LISTED)
    for name in ("name", "description", "chunk_size", "chunk_overlap", "is_public"):
        assert data[name] == CREATE[name]
    assert data["embedding_model"] == DEFAULT.name
    assert [notice["code"] for notice in data["notices"]] == ["embedding_model_replaced"]
    assert "text-embedding-3-small" in data["notices"][0]["message"]
    assert (data["document_count"], data["enabled"], data["can_write"]) == (0, True, True)
    assert (data["owner_id"], data["owner_name"]) == (user.user_id, user.name)


def test_list_and_detail_answer_as_documented(user: Api):
    kb_id = user.post("/knowledge-bases", CREATE)["id"]
    user.upload(kb_id, "a.md", "# A\n\ntext")
    page = user.get("/knowledge-bases")
    conforms(page, {"items": [LISTED], "total": 1, "page": 1, "page_size": 20, "pages": 1})
    assert [item["id"] for item in page["items"]] == [kb_id]
    detail = user.get(f"/knowledge-bases/{kb_id}")
    conforms(detail, LISTED)
    assert detail == page["items"][0]
    assert detail["document_count"] == 1


def test_name_alone_is_enough_and_the_model_may_be_named_in_any_way(user: Api):
    data = user.post("/knowledge-bases", {"name": "小库"})
    assert (data["chunk_size"], data["chunk_overlap"], data["notices"]) == (500, 50, [])
    assert data["splitter"] == "heading_recursive"
    for name in ("all-MiniLM-L6-v2", "sentence-transformers/all-minilm-l6-v2"):
        body = {"name": unique(), "embedding_model": name}
        assert user.post("/knowledge-bases", body)["notices"] == []


def test_change_writes_what_it_names_and_nothing_else(user: Api):
    before = user.post("/knowledge-bases", CREATE)
    path = f"/knowledge-bases/{before['id']}"
    change = {"name": "新名称", "is_public": True, "enabled": False, "chunk_size": 200}
    change |= {"splitter": "parent_child"}
    after = user.put(path, change)
    conforms(after, LISTED)
    assert after == user.get(path)
    user.put(path, {"is_public": False})
    kept = set(before) - set(change) - {"updated_at", "notices"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert {name: after[name] for name in change} == change
    assert after["updated_at"] > before["updated_at"]


@one_shape
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " \t"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "nul\x00"}, "name"),
        ({"name": 7}, "name"),
        ({"name": ["a"]}, "name"),
        ({"description": "x" * 10_001}, "description"),
        ({"description": {"a": 1}}, "description"),
        ({"splitter": "by_moon"}, "splitter"),
        ({"splitter": ""}, "splitter"),
        ({"chunk_size": 31}, "chunk_size"),
        ({"chunk_size": 2001}, "chunk_size"),
        ({"chunk_size": 2**70}, "chunk_size"),
        ({"chunk_size": "many"}, "chunk_size"),
        ({"chunk_size": 99.5}, "chunk_size"),
        ({"chunk_overlap": -1}, "chunk_overlap"),
        ({"chunk_overlap": 251}, "chunk_overlap"),
        ({"is_public": "maybe"}, "is_public"),
        ({"enabled": 7}, "enabled"),
        ({"owner_id": "somebody"}, "owner_id"),
        ({"id": "my-id"}, "id"),
        ({"document_count": 9}, "document_count"),
        ({"created_at": "2020-01-01T00:00:00Z"}, "created_at"),
        ({"deleted_at": None}, "deleted_at"),
    ],
)
def test_bad_field_is_named_and_nothing_is_made_or_changed(
    server: Server, someone: Api, change: dict[str, Any], field: str
):
    kb_id = someone.create_kb()
    path = f"/knowledge-bases/{kb_id}"
    before = someone.get(path), server.count("knowledge_base", owner_id=someone.user_id)
    for method, where, body in (
        ("POST", "/knowledge-bases", CREATE | change),
        ("PUT", path, change),
    ):
        details = someone.refused(InvalidRequest, method, where, json=body)
        assert details["field"] == field
    after = someone.get(path), server.count("knowledge_base", owner_id=someone.user_id)
    assert after == before


@one_shape
def test_unknown_model_is_refused_with_the_served_ones(server: Server, user: Api):
    body = {**CREATE, "embedding_model": "text-embeding-3-smal"}
    details = user.refused(UnknownEmbeddingModel, "POST", "/knowledge-bases", json=body)
    assert details == {"field": "embedding_model", "served": [model.name for model in BUILT_IN]}
    assert server.count("knowledge_base", owner_id=user.user_id) == 0


@one_shape
def test_model_can_be_changed_only_to_one_that_is_served(user: Api):
    kb_id = user.create_kb()
    body = {"embedding_model": "bge-m3"}
    path = f"/knowledge-bases/{kb_id}"
    details = user.refused(UnknownEmbeddingModel, "PUT", path, json=body)
    assert details == {"field": "embedding_model", "served": [model.name for model in BUILT_IN]}
    assert user.get(path)["embedding_model"] == DEFAULT.name


def test_name_is_the_owners_own_in_every_spelling(user: Api, other: Api):
    name = unique("Handbuch")
    first = user.create_kb(name=name)
    for same in (name, name.upper(), f"  {name} ", name.replace("H", "Ｈ")):
        code = KnowledgeBaseNameTaken
        assert user.refused(code, "POST", "/knowledge-bases", json={"name": same}) == {"field": "name"}
    other.create_kb(name=name)
    second = user.create_kb()
    path = f"/knowledge-bases/{second}"
    user.refused(KnowledgeBaseNameTaken, "PUT", path, json={"name": name})
    user.delete(f"/knowledge-bases/{first}")
    user.put(path, {"name": name})


def test_pages_sorting_and_totals(user: Api):
    names = ["delta", "alpha", "echo", "bravo", "charlie"]
    for name in names:
        user.create_kb(name=name)

    def listed(**params: Any) -> list[str]:
        return [item["name"] for item in user.get("/knowledge-bases", **params)["items"]]

    assert listed() == names[::-1]
    assert listed(sort_order="asc") == names
    assert listed(sort_by="name", sort_order="asc") == sorted(names)
    assert listed(sort_by="name") == sorted(names)[::-1]
    pages = [
        user.get("/knowledge-bases", page=number, page_size=2, sort_by="name", sort_order="asc")
        for number in (1, 2, 3, 4)
    ]
    assert [[item["name"] for item in page["items"]] for page in pages] == [
        ["alpha", "bravo"],
        ["charlie", "delta"],
        ["echo"],
        [],
    ]
    assert {(page["total"], page["pages"], page["page_size"]) for page in pages} == {(5, 3, 2)}


@one_shape
@pytest.mark.parametrize(
    "params",
    [
        {"page": 0},
        {"page": -1},
        {"page": 2**63},
        {"page": "one"},
        {"page_size": 0},
        {"page_size": -1},
        {"page_size": 101},
        {"page_size": 10**9},
        {"page_size": "9" * 5000},
        {"sort_by": "id;--"},
        {"sort_by": "password_hash"},
        {"sort_by": "name\x00"},
        {"sort_by": ""},
        {"sort_order": "sideways"},
    ],
)
def test_bad_paging_is_refused_on_every_list(someone: Api, params: dict[str, Any]):
    kb_id = someone.create_kb()
    for path in ("/knowledge-bases", f"/knowledge-bases/{kb_id}/documents", "/sessions"):
        details = someone.refused(InvalidPagination, "GET", path, params=params)
        assert details["field"] in params


def test_list_has_ones_own_and_the_public_ones(user: Api, other: Api):
    private, public = user.create_kb(), user.create_kb(is_public=True)
    mine = other.create_kb()
    try:
        seen = {item["id"]: item["can_write"] for item in other.get("/knowledge-bases")["items"]}
        assert seen[mine] is True
        assert seen[public] is False
        assert private not in seen
    finally:
        user.delete(f"/knowledge-bases/{public}")


def test_list_has_those_with_a_document_in_a_state_that_the_caller_reads(user: Api, other: Api):
    def listed(person: Api, *states: str) -> set[str]:
        query = "&".join(f"document_status={state}" for state in states)
        answer = person.request("GET", f"/knowledge-bases?page_size=100&{query}").json()["data"]
        assert answer["total"] >= len(answer["items"])
        return {item["id"] for item in answer["items"]} & {done, waiting, broken}

    done, waiting, broken = user.create_kb(), user.create_kb(), user.create_kb()
    user.ingest(done, "a.md", "# Servers\n\nThe server needs eight cores.")
    user.post(f"/knowledge-bases/{waiting}/pause")
    held = user.upload(waiting, "b.md", "# Lamps\n\nThe lamp burns.")
    failed = user.upload(broken, "c.pdf", b"%PDF-1.7\nnothing of a PDF")
    user.wait(broken, failed)
    assert listed(user) == {done, waiting, broken}
    assert listed(user, "completed") == {done}
    assert listed(user, "pending", "processing") == {waiting}
    assert listed(user, "pending", "failed") == {waiting, broken}
    assert listed(user, "cancelled") == set()

    for kb in (waiting, broken):
        user.put(f"/knowledge-bases/{kb}/shares", {"shares": [{"user_id": other.user_id, "access": "read"}]})
    user.put(f"/knowledge-bases/{broken}/documents/{failed}/access", {"readers": []})
    assert listed(other, "pending", "failed") == {waiting}
    user.delete(f"/knowledge-bases/{waiting}/documents/{held}")
    assert listed(user, "pending") == listed(other, "pending") == set()
    user.refused(InvalidRequest, "GET", "/knowledge-bases?document_status=lost")


def test_deleted_knowledge_base_is_gone_at_once_and_leaves_nothing(server: Server, user: Api):
    kb_id = user.create_kb()
    document_id = user.ingest(kb_id, "a.md", "# Servers\n\nThe server needs eight cores.")
    user.upload(kb_id, "b.md", "# Pending\n\nStill on its way.")
    files = stored_files(server, kb_id)
    assert count_leftovers(server, kb_id, files).points > 0
    assert user.request("DELETE", f"/knowledge-bases/{kb_id}").json() == {
        "code": 0,
        "message": "success",
    }
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/documents"),
        ("GET", f"/documents/{document_id}"),
        ("POST", "/search"),
    ):
        body = {"json": {"query": "cores"}} if path == "/search" else {"json": {}}
        full = f"/knowledge-bases/{kb_id}{path}"
        user.refused(KnowledgeBaseNotFound, method, full, **body)
    assert user.get("/knowledge-bases")["total"] == 0
    assert user.post("/search", {"query": "cores"})["results"] == []
    eventually(lambda: count_leftovers(server, kb_id, files) == NO_LEFTOVERS, seconds=60, what="nothing is left")
