"""Explanations of a search over HTTP: explain, defaults, and "why not this passage?"."""

import pytest

from core.errors.auth import ChunkNotFound, DocumentNotFound, KnowledgeBaseNotFound
from core.errors.requests import InvalidRequest
from kb_service.embeddings.catalog import MINILM
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import one_shape

CATS = "# Cats\n\nA cat sleeps most of the day and hunts at dusk.\n"
DOGS = "# Dogs\n\nA dog guards the house while the cat sleeps on the roof.\n"
TRAINS = "# Trains\n\nThe last train leaves the harbour at midnight.\n"
TEXTS = {"cats.md": CATS, "dogs.md": DOGS, "trains.md": TRAINS}


@pytest.fixture
def kb(user: Api) -> str:
    kb_id = user.create_kb()
    ids = [user.upload(kb_id, name, text) for name, text in TEXTS.items()]
    for document_id in ids:
        assert user.wait(kb_id, document_id)["status"] == "completed"
    return kb_id


def find_passage(user: Api, kb: str, name: str) -> dict:
    hits = user.search(kb, "cat dog train", top_k=10)
    return next(hit for hit in hits if hit["document_name"] == name)


def why(user: Api, kb: str, **body: object) -> dict:
    return user.post(f"/knowledge-bases/{kb}/search/why", {"query": "cat sleeps", **body})


@one_shape
def test_explained_answer_shows_weights_times_and_what_was_dropped(user: Api, kb: str):
    body = {"query": "cat sleeps", "top_k": 1, "explain": True}
    data = user.post(f"/knowledge-bases/{kb}/search", body)
    best, explain = data["results"][0], data["explain"]
    weights, legs = explain["weights"], best["legs"]
    assert best["score"] == pytest.approx(legs["final"] / weights["highest"], abs=1e-4)
    parts = sum(weights[name] for name in ("sparse", "dense", "window", "phrase"))
    assert weights["highest"] == pytest.approx(parts)
    assert all(explain["timings"][part] > 0 for part in ("encode_ms", "index_ms", "database_ms"))
    assert sum(explain["timings"].values()) <= data["took_ms"] + 0.01
    assert {one["reason"]["code"] for one in explain["dropped"]} == {"top_k"}
    assert len(explain["dropped"]) == 2
    reason = explain["dropped"][0]["reason"]
    assert reason["message"] != reason["message_zh"]
    assert explain["dropped"][0]["score"] >= explain["dropped"][1]["score"]


def test_answer_names_its_request_which_gives_the_same_answer(user: Api, kb: str):
    body = {"query": " cat sleeps ", "top_k": 2, "filters": {"name": "*.md"}, "neighbours": 1}
    first = user.post(f"/knowledge-bases/{kb}/search", body)
    again = user.post("/search", first["request"])
    assert again["results"] == first["results"]
    assert again["request"] == first["request"]


def test_knowledge_base_sets_what_a_search_leaves_open(user: Api, kb: str):
    assert user.get(f"/knowledge-bases/{kb}")["retrieval"]["top_k"] is None
    user.put(f"/knowledge-bases/{kb}", {"retrieval": {"top_k": 1, "score_threshold": 0.0}})
    assert len(user.search(kb, "cat dog train")) == 1
    assert len(user.search(kb, "cat dog train", top_k=3)) == 3
    user.put(f"/knowledge-bases/{kb}", {"retrieval": {"score_threshold": 1}})
    assert user.search(kb, "harbour of dogs") == []
    assert user.get(f"/knowledge-bases/{kb}")["retrieval"]["score_threshold"] == 1
    user.put(f"/knowledge-bases/{kb}", {"retrieval": {"top_k": None, "score_threshold": None}})
    assert len(user.search(kb, "cat dog train")) == 3
    created = user.post("/knowledge-bases", {"name": unique(), "retrieval": {"neighbours": 2}})
    assert created["retrieval"]["neighbours"] == 2


def test_search_defaults_that_are_left_out_stay(user: Api):
    kb = user.create_kb(retrieval={"top_k": 3, "score_threshold": 0.2, "rerank": None})

    def change(**retrieval: object) -> dict[str, object]:
        answer = user.put(f"/knowledge-bases/{kb}", {"retrieval": retrieval})
        return {name: value for name, value in answer["retrieval"].items() if value is not None}

    both = {"top_k": 3, "score_threshold": 0.2}
    assert change(neighbours=1) == {**both, "neighbours": 1}
    assert change() == {**both, "neighbours": 1}
    assert change(top_k=None, neighbours=0) == {"score_threshold": 0.2, "neighbours": 0}
    assert user.put(f"/knowledge-bases/{kb}", {"retrieval": None})["retrieval"]["neighbours"] == 0


@one_shape
@pytest.mark.parametrize(
    "change",
    [
        {"score_threshold": 1.1},
        {"score_threshold": -0.1},
        {"neighbours": 6},
        {"expand": "all"},
        {"reranker": "nonsense"},
        {"dense_weight": 3},
        {"unknown": 1},
        {"filters": {"metadata": {"": 1}}},
        {"filters": {"metadata": {"a": {}}}},
        {"filters": {"metadata": {"a": []}}},
        {"filters": {"metadata": {"a": {"b": 1}}}},
        {"filters": {"metadata": {"a": "nul\x00"}}},
        {"filters": {"name": "\x00"}},
        {"filters": {"created": {"since": "yesterday"}}},
        {"filters": {"where": "1=1"}},
    ],
)
def test_options_out_of_range_are_refused(someone: Api, change: dict):
    path = f"/knowledge-bases/{someone.create_kb()}"
    body = {"query": "cat", **change}
    someone.refused(InvalidRequest, "POST", f"{path}/search", json=body)
    someone.refused(InvalidRequest, "PUT", path, json={"retrieval": change})


@one_shape
def test_why_tells_the_first_reason(user: Api, kb: str):
    cats, dogs = find_passage(user, kb, "cats.md"), find_passage(user, kb, "dogs.md")
    trains = find_passage(user, kb, "trains.md")
    shown = why(user, kb, chunk_id=cats["chunk_id"])
    assert (shown["reason"]["code"], shown["place"]) == ("shown", 1)
    assert shown["sparse"]["rank"] == 1
    behind = why(user, kb, chunk_id=dogs["chunk_id"], top_k=1)
    assert (behind["reason"]["code"], behind["place"]) == ("top_k", 2)
    assert behind["score"] < behind["lowest_score_shown"]
    low = why(user, kb, chunk_id=trains["chunk_id"], score_threshold=shown["score"])
    assert low["reason"]["code"] == "threshold"
    kept_out = why(user, kb, chunk_id=trains["chunk_id"], filters={"name": "cats*"})
    assert kept_out["reason"]["code"] == "filter"
    assert kept_out["reason"]["message_zh"] == "该文档不符合筛选条件"
    user.put(f"/knowledge-bases/{kb}", {"enabled": False})
    assert why(user, kb, chunk_id=cats["chunk_id"])["reason"]["code"] == "knowledge_base_disabled"


@one_shape
def test_why_says_that_an_encoder_could_not_read_the_question(user: Api):
    kb = user.create_kb(embedding_model=MINILM.name)
    for name, text in TEXTS.items():
        user.ingest(kb, name, text)
    trains = find_passage(user, kb, "trains.md")
    unread = why(user, kb, chunk_id=trains["chunk_id"], query="猫在哪里 cat sleeps")
    assert unread["reason"]["code"] == "no_match"
    assert unread["dense_used"] is False


@one_shape
def test_why_finds_a_passage_by_its_words(user: Api, kb: str):
    cats = find_passage(user, kb, "cats.md")
    words = {"document_id": cats["document_id"], "text": "most  of THE day"}
    assert why(user, kb, **words)["passage"]["chunk_id"] == cats["chunk_id"]
    absent = why(user, kb, document_id=cats["document_id"], text="elephants")
    assert (absent["reason"]["code"], absent["passage"]) == ("text_not_found", None)


@one_shape
def test_why_knows_the_exact_place_of_a_passage_far_behind(user: Api):
    kb = user.create_kb(splitter="markdown_sections")
    many = "\n\n".join(f"## Cat {n}\n\nThe cat number {n} sleeps." for n in range(130))
    user.ingest(kb, "many.md", many)
    user.ingest(kb, "far.md", "Granite is a rock that is quarried in the north.")
    data = why(user, kb, document_id=user.search(kb, "granite")[0]["document_id"], text="granite")
    assert data["reason"]["code"] == "beyond_depth"
    assert (data["dense"]["rank"], data["sparse"], data["place"]) == (131, None, None)


def test_why_says_nothing_of_foreign_passages(user: Api, kb: str, other: Api):
    cats = find_passage(user, kb, "cats.md")
    own = other.create_kb()
    path = f"/knowledge-bases/{own}/search/why"
    body = {"query": "cat", "chunk_id": cats["chunk_id"]}
    other.refused(ChunkNotFound, "POST", path, json=body)
    body = {"query": "cat", "document_id": cats["document_id"], "text": "cat"}
    other.refused(DocumentNotFound, "POST", path, json=body)
    path = f"/knowledge-bases/{kb}/search/why"
    other.refused(KnowledgeBaseNotFound, "POST", path, json=body)
    user.refused(InvalidRequest, "POST", path, json={"query": "cat"})
    user.refused(ChunkNotFound, "POST", path, json={"query": "x", "chunk_id": "no"})
