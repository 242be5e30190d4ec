"""Search (seed 002, section 9.10), over HTTP."""

from typing import Any

import pytest

from core.errors.base import AgentexError
from core.errors.requests import EmptyQuery, InvalidRequest, QueryTooLong
from tests.fixtures.http.client import Api, conforms
from tests.fixtures.product.server import one_shape

FOUND = {
    "document_id": "uuid",
    "document_name": "部署文档.md",
    "chunk_id": "uuid",
    "content": "服务器最低配置要求...",
    "score": 0.92,
}
DEPLOY = "# 部署\n\n服务器最低配置要求：八核处理器，三十二 GB 内存，一 TB 磁盘。\n"
CATS = "# Cats\n\nA cat sleeps most of the day and hunts at dusk.\n"
BACKUP = "# Backup\n\nRun pg_dump every night and copy the archive to another site.\n"


@pytest.fixture
def kb(user: Api) -> str:
    kb_id = user.create_kb()
    ids = [
        user.upload(kb_id, name, text)
        for name, text in (("部署文档.md", DEPLOY), ("cats.md", CATS), ("backup.md", BACKUP))
    ]
    for document_id in ids:
        assert user.wait(kb_id, document_id)["status"] == "completed"
    return kb_id


def test_documented_request_finds_the_passage_and_answers_as_documented(user: Api, kb: str):
    body = {"query": "服务器配置要求", "top_k": 5}
    data = user.post(f"/knowledge-bases/{kb}/search", body)
    conforms(data, {"results": [FOUND]})
    best = data["results"][0]
    assert best["document_name"] == "部署文档.md"
    assert "服务器最低配置要求" in best["content"]
    scores = [hit["score"] for hit in data["results"]]
    assert scores == sorted(scores, reverse=True)
    assert best["heading_path"] == ["部署"]


def test_question_or_keyword_finds_its_document(user: Api, kb: str):
    names = {
        "when do felines rest": "cats.md",
        "pg_dump": "backup.md",
        "how to save the database nightly": "backup.md",
        "内存": "部署文档.md",
        "  cat  ": "cats.md",
    }
    assert {query: user.search(kb, query)[0]["document_name"] for query in names} == names


def test_top_k_limits_the_answer(user: Api, kb: str):
    assert len(user.search(kb, "cat server backup", top_k=1)) == 1
    assert len(user.search(kb, "cat server backup", top_k=100)) == 3


def test_explained_search_shows_each_legs_place(user: Api, kb: str):
    hit = user.search(kb, "cat sleeps", explain=True)[0]
    legs = hit["legs"]
    conforms(legs["dense"], {"rank": 1, "score": 0.5, "normalised": 0.5})
    conforms(legs["sparse"], {"rank": 1, "score": 0.5, "normalised": 0.5})
    assert legs["final"] == pytest.approx(legs["fused"] + 0.5 * legs["window"] + 0.25 * legs["phrase"])
    assert "legs" not in user.search(kb, "cat sleeps")[0] or (user.search(kb, "cat sleeps")[0]["legs"] is None)


def test_span_of_a_passage_is_its_place_in_the_text(user: Api, kb: str):
    hit = user.search(kb, "cat sleeps")[0]
    assert hit["revision"] == 1
    assert 0 <= hit["char_start"] < hit["char_end"]
    assert hit["char_end"] - hit["char_start"] >= len("A cat sleeps most of the day")


def test_several_knowledge_bases_are_searched_at_once(user: Api, kb: str):
    second = user.create_kb()
    user.ingest(second, "dogs.md", "# Dogs\n\nA dog guards the house.")
    both = user.post("/search", {"query": "dog cat", "knowledge_base_ids": [kb, second]})
    assert {hit["knowledge_base_id"] for hit in both["results"]} == {kb, second}
    one = user.post("/search", {"query": "dog cat", "knowledge_base_ids": [second, second]})
    assert {hit["knowledge_base_id"] for hit in one["results"]} == {second}
    every = user.post("/search", {"query": "dog"})["results"]
    assert every[0]["document_name"] == "dogs.md"
    assert user.post("/search", {"query": "dog", "knowledge_base_ids": []})["results"] == []


def test_disabled_knowledge_base_gives_nothing_until_it_is_enabled(user: Api, kb: str):
    path = f"/knowledge-bases/{kb}"
    user.put(path, {"enabled": False})
    assert user.search(kb, "cat") == []
    assert user.post("/search", {"query": "cat"})["results"] == []
    user.put(path, {"enabled": True})
    assert user.search(kb, "cat")[0]["document_name"] == "cats.md"


def test_empty_knowledge_base_gives_nothing(user: Api):
    assert user.search(user.create_kb(), "anything at all") == []


@one_shape
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, InvalidRequest),
        ({"query": None}, InvalidRequest),
        ({"query": 7}, InvalidRequest),
        ({"query": "nul\x00"}, InvalidRequest),
        ({"query": ""}, EmptyQuery),
        ({"query": " \n\u3000"}, EmptyQuery),
        ({"query": "x" * 4001}, QueryTooLong),
        ({"query": "字" * 4001}, QueryTooLong),
        ({"query": "x", "top_k": 0}, InvalidRequest),
        ({"query": "x", "top_k": -1}, InvalidRequest),
        ({"query": "x", "top_k": 101}, InvalidRequest),
        ({"query": "x", "top_k": 2**64}, InvalidRequest),
        ({"query": "x", "top_k": "all"}, InvalidRequest),
        ({"query": "x", "owner_id": "a"}, InvalidRequest),
        ({"query": "x", "filter": {"kb_id": "a"}}, InvalidRequest),
    ],
)
def test_bad_search_is_refused(someone: Api, body: dict[str, Any], code: type[AgentexError]):
    kb_id = someone.create_kb()
    someone.refused(code, "POST", f"/knowledge-bases/{kb_id}/search", json=body)
    someone.refused(code, "POST", "/search", json=body)


@one_shape
def test_limit_of_a_query_is_said(user: Api):
    body = {"query": "x" * 5000}
    details = user.refused(QueryTooLong, "POST", "/search", json=body)
    assert details == {"field": "query", "max_characters": 4000}


def test_odd_queries_are_ordinary_searches(user: Api, kb: str):
    for query in (
        *("!?。，", "🙂🙂", "' OR 1=1 --", "%_\\", '{"$gt": 1}', "的"),
        *("a" * 4000, "\u202e abc", "\U0010ffff", "NULL", "\x01\x7f"),
    ):
        assert isinstance(user.search(kb, query), list), query
