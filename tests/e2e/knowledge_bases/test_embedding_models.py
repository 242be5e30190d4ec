"""Knowledge bases with another embedding model, behind an endpoint."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.errors.server import EmbeddingModelUnusable, EmbeddingsUnavailable, InvalidVector
from kb_service.embeddings.catalog import DEFAULT
from tests.fixtures.http.client import Api, eventually, unique
from tests.fixtures.product.cli_commands import Command, commands_of
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import ask
from tests.fixtures.servers.embedding_server import KEY, EmbeddingServer

ZEBRA = "# Zebras\n\nA zebra sleeps standing up at noon."
LION = "# Lions\n\nA lion sleeps twenty hours a day."
Switch = Callable[[bool], None]


@pytest.fixture
def user(llm_product: Server) -> Api:
    """Somebody where two more models are configured, one of them wrongly."""
    return llm_product.person()


def test_documents_are_indexed_and_found_through_the_endpoint(user: Api, embedding_endpoint: EmbeddingServer):
    kb_id = user.create_kb(embedding_model="words")
    user.ingest(kb_id, "zebra.md", ZEBRA)
    asked = len(embedding_endpoint.bodies)
    (found,) = user.search(kb_id, "when does a zebra sleep")
    assert "at noon" in found["content"]
    assert embedding_endpoint.bodies[asked]["input"] == ["when does a zebra sleep"]
    assert set(embedding_endpoint.keys) == {f"Bearer {KEY}"}
    assert user.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == "words"
    # Both models in one search.
    other = user.create_kb()
    user.ingest(other, "lion.md", LION)
    both = {"query": "who sleeps", "knowledge_base_ids": [kb_id, other]}
    results = user.post("/search", both)["results"]
    assert {result["document_name"] for result in results} == {"zebra.md", "lion.md"}


def test_vectors_of_another_length_fail_the_document_and_are_never_indexed(user: Api, llm_product: Server):
    kb_id = user.create_kb(embedding_model="wrong")
    document_id = user.upload(kb_id, "zebra.md", ZEBRA)
    document = user.wait(kb_id, document_id)
    assert document["status"] == "failed"
    assert document["failure"]["reason"] == "embedding_model_misfit"
    assert llm_product.is_ready()
    user.refused(
        InvalidVector,
        "POST",
        f"/knowledge-bases/{kb_id}/search",
        json={"query": "zebra"},
    )


def test_model_that_nobody_serves_is_still_replaced(user: Api):
    data = user.post("/knowledge-bases", {"name": "x", "embedding_model": "bge-m3"})
    assert data["embedding_model"] == DEFAULT.name


@pytest.fixture
def away(embedding_endpoint: EmbeddingServer) -> Iterator[Switch]:
    """Takes the endpoint away, and brings it back."""

    def switch(is_away: bool) -> None:
        embedding_endpoint.away = is_away

    yield switch
    switch(False)


@pytest.fixture
def both(user: Api) -> tuple[str, str]:
    """A knowledge base behind the endpoint, with a shown name, and one of the built-in model."""
    remote = user.create_kb(name=unique("Savanna"), embedding_model="words")
    user.ingest(remote, "zebra.md", ZEBRA)
    local = user.create_kb()
    user.ingest(local, "lion.md", LION)
    return remote, local


@pytest.fixture
def agentex(llm_product: Server, user: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """``agentex search`` of the user's."""
    with commands_of("search", llm_product, user, tmp_path, monkeypatch) as command:
        yield command


def check_lion_and_warning(user: Api, answer: dict, remote: str) -> None:
    assert {hit["document_name"] for hit in answer["results"]} == {"lion.md"}
    (warning,) = answer["warnings"]
    assert warning["code"] == "embedding_endpoint_unavailable"
    name = user.get(f"/knowledge-bases/{remote}")["name"]
    for words in (warning["message"], warning["message_zh"]):
        assert name in words
        assert "words" in words


def test_search_goes_on_without_the_knowledge_base_whose_endpoint_is_away(
    user: Api, both: tuple[str, str], away: Switch, agentex: Command
):
    remote, local = both
    away(True)
    for body in ({}, {"filters": {"name": "*.md"}}, {"knowledge_base_ids": [remote, local]}):
        check_lion_and_warning(user, user.post("/search", {"query": "who sleeps", **body}), remote)
    said = agentex("who sleeps")
    assert said.exit_code == 0
    assert "lion.md" in said.stdout
    assert "The endpoint of the embedding model words gave no usable answer" in said.stdout
    assert "嵌入模型 words 的接口" in agentex("who sleeps", "--lang", "zh").stdout
    # An outage is no empty answer.
    wanted = {"query": "who sleeps"}
    for path, body in (
        (f"/knowledge-bases/{remote}/search", wanted),
        ("/search", {**wanted, "knowledge_base_ids": [remote]}),
    ):
        user.refused(EmbeddingsUnavailable, "POST", path, json=body)
    away(False)
    answer = user.post("/search", wanted)
    assert {hit["document_name"] for hit in answer["results"]} == {"lion.md", "zebra.md"}
    assert answer["warnings"] == []


def test_chat_and_its_replay_go_on_without_it(user: Api, both: tuple[str, str], away: Switch):
    remote, _ = both
    wishes = {"forwarded_props": {"knowledge_base_ids": list(both)}}
    events = ask(user, "Who sleeps? #rag", **wishes)
    retrieval_id = tool_result(events)["retrieval_id"]
    assert "not_searched" not in tool_result(events)
    away(True)
    result = tool_result(ask(user, "Who sleeps? #rag", **wishes))
    assert {passage["document"] for passage in result["passages"]} == {"lion.md"}
    assert "embedding model words" in result["not_searched"][0]
    replay = user.post(f"/retrievals/{retrieval_id}/replay")
    check_lion_and_warning(user, replay["now"], remote)
    (zebra,) = [one for one in replay["changes"] if one["document_name"] == "zebra.md"]
    assert zebra["reason"]["code"] == "knowledge_base_unsearched"


def tool_result(events: list[dict]) -> dict:
    return json.loads(next(e for e in events if e["type"] == "TOOL_CALL_RESULT")["content"])


def test_document_that_waits_for_the_endpoint_says_so(user: Api, away: Switch):
    kb_id = user.create_kb(embedding_model="words")
    away(True)
    document_id = user.upload(kb_id, "zebra.md", ZEBRA)
    path = f"/knowledge-bases/{kb_id}/documents/{document_id}"
    eventually(lambda: user.get(path)["failure"], what="the first try")
    document = user.get(path)
    assert document["status"] in {"pending", "processing"}
    assert document["failure"]["reason"] == "embedding_endpoint_unavailable"
    assert "words" in document["failure"]["message"]
    assert "words" in document["failure"]["message_zh"]
    away(False)
    assert user.wait(kb_id, document_id)["status"] == "completed"


def test_model_that_the_engine_could_not_load_stops_only_its_own_knowledge_bases(
    llm_product: Server, user: Api, agentex: Command
):
    lost = user.create_kb(name=unique("Library"), embedding_model="lost")
    document_id = user.upload(lost, "zebra.md", ZEBRA)
    local = user.create_kb()
    user.ingest(local, "lion.md", LION)
    for body in ({}, {"filters": {"name": "*.md"}}, {"knowledge_base_ids": [lost, local]}):
        answer = user.post("/search", {"query": "who sleeps", **body})
        assert {hit["document_name"] for hit in answer["results"]} == {"lion.md"}
        if "filters" in body:
            continue
        (warning,) = answer["warnings"]
        assert warning["code"] == "embedding_model_not_loaded"
        for words in (warning["message"], warning["message_zh"]):
            assert user.get(f"/knowledge-bases/{lost}")["name"] in words
            assert "lost" in words
    # Alone, it says what is wrong.
    details = user.refused(
        EmbeddingModelUnusable,
        "POST",
        f"/knowledge-bases/{lost}/search",
        json={"query": "who sleeps"},
    )
    assert details["model"] == "lost"
    assert "can't be loaded" in details["reason"]
    said = agentex("who sleeps", "--kb", lost, "--lang", "zh")
    assert said.exit_code == 1
    assert "引擎未能加载该知识库的嵌入模型" in said.output
    assert "请联系管理员" in said.output
    # What waits for it says so, and the server as a whole is ready.
    path = f"/knowledge-bases/{lost}/documents/{document_id}"
    eventually(lambda: user.get(path)["failure"], what="the first try")
    assert user.get(path)["failure"]["reason"] == "embedding_model_not_loaded"
    assert "lost" in user.get(path)["failure"]["message"]
    assert llm_product.is_ready()
    user.delete(f"/knowledge-bases/{lost}")
