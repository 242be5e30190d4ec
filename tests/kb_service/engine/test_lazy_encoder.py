"""The built-in model that is no default: loaded at its first use, or at the start where it has vectors."""

import asyncio

import numpy as np
import pytest

from kb_service.embeddings.catalog import BUILT_IN, DEFAULT, MINILM
from kb_service.embeddings.factory import open_encoder
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.bm25 import encode_document, encode_query
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import ChunkPoint, HybridQuery, point_id
from tests.fixtures.product.engine_processes import running_engine, until_ready

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(len(BUILT_IN) == 1, reason="there is no other built-in model"),
]
TEXTS = ["The ferry crosses at noon.", "Bread needs yeast.", "Tomatoes need water."]


async def loaded_models(client: EngineClient) -> set[str]:
    health = await client.health()
    assert [entry.problem for entry in health.encoders] == [None] * len(health.encoders)
    return {entry.model for entry in health.encoders}


async def test_other_model_is_loaded_at_its_first_use_and_at_the_start_once_it_has_vectors(tmp_path):
    question = HybridQuery("When does the ferry leave?", encode_query("When does the ferry leave?"), ["ferry"], 10)
    with running_engine(tmp_path / "data") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        await until_ready(client)
        assert await loaded_models(client) == {DEFAULT.name}
        index = EngineVectorIndex(client, MINILM.name, MINILM.dimension)
        # Looking into an empty index is no use of its model.
        assert await index.count() == 0
        assert await loaded_models(client) == {DEFAULT.name}
        # Many at once at its first use, beside those of the loaded one.
        encoder, default = open_encoder(client, MINILM), open_encoder(client)
        vectors, *queries = await asyncio.gather(
            encoder.embed_passages(TEXTS), *(one.embed_queries([text]) for text in TEXTS for one in (encoder, default))
        )
        assert await loaded_models(client) == {DEFAULT.name, MINILM.name}
        assert {query.shape for query in queries} == {(1, 384)}
        # Each answered with its own model.
        assert all(
            float((mine @ other.T).item()) < 0.9 for mine, other in zip(queries[::2], queries[1::2], strict=True)
        )
        points = [
            ChunkPoint(point_id("d", 1, number), "ferry", "d", 1, number, vector, encode_document(text))
            for number, (text, vector) in enumerate(zip(TEXTS, vectors, strict=True))
        ]
        await index.upsert(points)
        answered = await index.search(question)
        assert answered.legs.dense[0].id == point_id("d", 1, 0)
        await client.close()
        assert running.stop() == 0
    with running_engine(tmp_path / "data") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        await until_ready(client)
        assert await loaded_models(client) == {DEFAULT.name, MINILM.name}
        again = await EngineVectorIndex(client, MINILM.name, MINILM.dimension).search(question)
        assert [hit.id for hit in again.legs.dense] == [hit.id for hit in answered.legs.dense]
        assert np.allclose(again.dense, answered.dense, atol=1e-5)
        await client.close()


async def test_first_use_by_a_search_answers_it(tmp_path):
    with running_engine(tmp_path / "data") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        await until_ready(client)
        index = EngineVectorIndex(client, MINILM.name, MINILM.dimension)
        answered = await index.search(HybridQuery("anything", encode_query("anything"), ["nothing"], 10))
        assert len(answered.legs.dense) == len(answered.legs.sparse) == 0
        assert await loaded_models(client) == {DEFAULT.name, MINILM.name}
        await client.close()
