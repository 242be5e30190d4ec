"""A knowledge base whose vectors come from an endpoint, beside one of the built-in model."""

import json
from collections.abc import Iterator

import pytest

from core.errors import ErrorCode
from tests.fixtures.client import Api
from tests.fixtures.embedding_server import DIMENSION, KEY, EmbeddingServer
from tests.fixtures.server import Server, running_server

ZEBRA = "# Zebras\n\nA zebra sleeps standing up at noon."


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as endpoint:
        yield endpoint


def model(endpoint: EmbeddingServer, name: str, script: str, dimension: int = DIMENSION) -> dict:
    return {
        "name": name,
        "kind": "endpoint",
        "model": script,
        "base_url": endpoint.base_url,
        "api_key": "$EMBEDDING_TEST_KEY",
        "dimension": dimension,
        "languages": ["en"],
    }


@pytest.fixture(scope="module")
def server(endpoint: EmbeddingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    models = [model(endpoint, "words", "good"), model(endpoint, "wrong", "good", DIMENSION * 2)]
    variables = {"AGENTEX_EMBEDDING_MODELS": json.dumps(models)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDDING_TEST_KEY", KEY)
        with running_server(tmp_path_factory.mktemp("models"), variables=variables) as server:
            yield server


@pytest.fixture
def user(server: Server) -> Api:
    return server.person()


def test_documents_are_indexed_and_found_through_the_endpoint(user: Api, endpoint: EmbeddingServer):
    kb_id = user.create_kb(embedding_model="words")
    user.ingest(kb_id, "zebra.md", ZEBRA)
    asked = len(endpoint.bodies)
    (found,) = user.search(kb_id, "when does a zebra sleep")
    assert "at noon" in found["content"]
    assert endpoint.bodies[asked]["input"] == ["when does a zebra sleep"]
    assert set(endpoint.keys) == {f"Bearer {KEY}"}
    assert user.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == "words"
    # Both models in one search.
    other = user.create_kb()
    user.ingest(other, "lion.md", "# Lions\n\nA lion sleeps twenty hours a day.")
    both = {"query": "who sleeps", "knowledge_base_ids": [kb_id, other]}
    results = user.post("/search", both)["results"]
    assert {result["document_name"] for result in results} == {"zebra.md", "lion.md"}


def test_vectors_of_another_length_fail_the_document_and_are_never_indexed(
    user: Api, server: Server
):
    kb_id = user.create_kb(embedding_model="wrong")
    document_id = user.upload(kb_id, "zebra.md", ZEBRA)
    document = user.wait(kb_id, document_id)
    assert document["status"] == "failed"
    assert document["failure"]["reason"] == "embedding_model_misfit"
    assert server.is_ready()
    user.refused(
        ErrorCode.INVALID_VECTOR,
        "POST",
        f"/knowledge-bases/{kb_id}/search",
        json={"query": "zebra"},
    )


def test_model_that_nobody_serves_is_still_replaced(user: Api):
    data = user.post("/knowledge-bases", {"name": "x", "embedding_model": "bge-m3"})
    assert data["embedding_model"] == "all-MiniLM-L6-v2"
