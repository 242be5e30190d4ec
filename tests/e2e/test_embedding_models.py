"""A knowledge base whose vectors come from an endpoint, beside one of the built-in model."""

import pytest

from core.errors import ErrorCode
from tests.fixtures.client import Api
from tests.fixtures.embedding_server import KEY, EmbeddingServer
from tests.fixtures.server import Server

ZEBRA = "# Zebras\n\nA zebra sleeps standing up at noon."


@pytest.fixture
def user(modelled: Server) -> Api:
    """Somebody where two more models are configured, one of them wrongly."""
    return modelled.person()


def test_documents_are_indexed_and_found_through_the_endpoint(
    user: Api, embedding_endpoint: EmbeddingServer
):
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
    user.ingest(other, "lion.md", "# Lions\n\nA lion sleeps twenty hours a day.")
    both = {"query": "who sleeps", "knowledge_base_ids": [kb_id, other]}
    results = user.post("/search", both)["results"]
    assert {result["document_name"] for result in results} == {"zebra.md", "lion.md"}


def test_vectors_of_another_length_fail_the_document_and_are_never_indexed(
    user: Api, modelled: Server
):
    kb_id = user.create_kb(embedding_model="wrong")
    document_id = user.upload(kb_id, "zebra.md", ZEBRA)
    document = user.wait(kb_id, document_id)
    assert document["status"] == "failed"
    assert document["failure"]["reason"] == "embedding_model_misfit"
    assert modelled.is_ready()
    user.refused(
        ErrorCode.INVALID_VECTOR,
        "POST",
        f"/knowledge-bases/{kb_id}/search",
        json={"query": "zebra"},
    )


def test_model_that_nobody_serves_is_still_replaced(user: Api):
    data = user.post("/knowledge-bases", {"name": "x", "embedding_model": "bge-m3"})
    assert data["embedding_model"] == "all-MiniLM-L6-v2"
