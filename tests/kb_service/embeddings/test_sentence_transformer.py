"""sentence-transformers models in the engine, beside the built-in one."""

import json
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import numpy as np
import pytest

from core.errors.server import EmbeddingModelUnusable
from core.settings import Settings
from kb_service.embedding_spaces import EmbeddingSpaces, open_spaces
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.catalog import DEFAULT, MINILM
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.protocol import ChunkPoint, SparseVector
from tests.fixtures.product.engine_processes import RunningEngine, running_engine, until_ready

WEIGHTS = BUILT_IN_MODELS[MINILM.name].weights.parent

# Each starts several processes, which takes long where many tests share a machine.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]


def entry(name: str, path: object, dimension: int = 384) -> dict:
    return {
        "name": name,
        "kind": "sentence_transformers",
        "path": str(path),
        "dimension": dimension,
        "languages": ["en"],
        "window_tokens": 256,
    }


def elsewhere(name: str, dimension: int) -> dict:
    """A model for which the engine keeps the index alone."""
    endpoint = {"kind": "endpoint", "base_url": "http://127.0.0.1:9/v1"}
    return {"name": name, "dimension": dimension, "languages": ["en"], **endpoint}


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Iterator[tuple[RunningEngine, Settings]]:
    empty, broken = (tmp_path_factory.mktemp(name) for name in ("no-model", "broken-model"))
    (broken / "config.json").write_text("{}")
    models = json.dumps(
        [
            entry("same-weights", f"~/{WEIGHTS.name}"),
            entry("wide", WEIGHTS, 768),
            entry("broken", broken),
            entry("empty", empty),
        ]
    )
    folder = tmp_path_factory.mktemp("engine")
    with (
        pytest.MonkeyPatch.context() as patch,
        running_engine(folder, AGENTEX_EMBEDDING_MODELS=models, HOME=str(WEIGHTS.parent)) as running,
    ):
        patch.setenv("HOME", str(WEIGHTS.parent))
        yield running, Settings(_env_file=None, data_dir=folder, embedding_models=models)


@pytest.fixture
async def client(engine) -> AsyncIterator[EngineClient]:
    client = EngineClient(engine[0].settings.effective_engine_socket)
    await until_ready(client)
    yield client
    await client.close()


@pytest.fixture
async def spaces(engine, client) -> AsyncIterator[EmbeddingSpaces]:
    spaces = open_spaces(engine[1], client)
    yield spaces
    await spaces.close()


async def test_same_weights_give_the_same_vectors_through_torch(spaces):
    ours, theirs = spaces.of(MINILM.name).encoder, spaces.of("same-weights").encoder
    texts = ["The river floods every spring.", "我们在图书馆学习计算机科学。", "a", "zebra " * 90]
    cosines = (await ours.embed_passages(texts) * await theirs.embed_passages(texts)).sum(1)
    assert cosines.min() > 0.995
    assert cosines[0] > 0.998
    cosines = (await ours.embed_queries(texts) * await theirs.embed_queries(texts)).sum(1)
    assert cosines.min() > 0.995
    assert (await theirs.embed_queries([])).shape == (0, 384)


async def test_text_beyond_the_window_counts_whole_in_a_passage(spaces):
    encoder = spaces.of("same-weights").encoder
    start = "The harbour froze in January. " * 60
    (one, other) = await encoder.embed_passages([start, start + "Volcanoes erupt. " * 60])
    assert float(one @ other) < 0.95
    (one, other) = await encoder.embed_queries([start, start + "Volcanoes erupt. " * 60])
    assert float(one @ other) > 0.999


async def test_question_waits_for_few_long_passages_of_a_document():
    with warnings.catch_warnings():
        # transformers warns about its own renamed arguments while it is imported.
        warnings.simplefilter("ignore")
        from kb_service.embeddings.sentence_transformer import TorchEncoder

    model = replace(MINILM, name=str(WEIGHTS))
    encoder = TorchEncoder(model, bf16=False, threads=0, downloads=False)
    long, short = "A sentence of a long passage. " * 60, "A short one."
    steps = list(encoder.encode_in_steps([long] * 8, whole=True))
    assert len(steps) >= 4
    assert len(list(encoder.encode_in_steps([short] * 8, whole=True))) == 1


async def test_each_model_has_an_index_of_its_own(spaces, client):
    point = ChunkPoint(
        id="00000000-0000-0000-0000-000000000001",
        kb_id="kb",
        document_id="d",
        revision=1,
        index=0,
        dense=np.ones(384, dtype=np.float32),
        sparse=SparseVector((1,), (1.0,)),
    )
    await spaces.of("same-weights").index.upsert([point])
    assert await spaces.of("same-weights").index.count() == 1
    assert await spaces.of(DEFAULT.name).index.count() == 0
    listed = {index.model: index for index in (await client.health()).indexes}
    assert listed["same-weights"].vectors_by in {"torch-bf16", "torch-fp32"}
    assert listed[DEFAULT.name].vectors_by is None


async def test_model_that_cannot_run_harms_no_other_and_says_why(spaces, client):
    health = await client.health()
    assert health.state == "ready"
    problems = {encoder.model: encoder.problem for encoder in health.encoders}
    assert problems[DEFAULT.name] is None
    assert problems["same-weights"] is None
    assert problems["wide"] == "wide makes 384 numbers, the settings say 768"
    for name in ("broken", "empty"):
        assert problems[name].startswith(f"{name} can't be loaded from ")
    # Torch is not asked about a folder that holds none.
    assert problems["empty"].endswith("no model lies there")
    for name in ("wide", "broken", "empty"):
        with pytest.raises(EmbeddingModelUnusable) as caught:
            await spaces.of(name).encoder.embed_queries(["a"])
        assert caught.value.details["model"] == name
        assert caught.value.details["reason"] == problems[name]
        assert "AGENTEX_EMBEDDING_MODELS" in str(caught.value.details["next_action"])
        assert "AGENTEX_EMBEDDING_MODELS" in str(caught.value.details["next_action_zh"])


async def test_index_of_another_length_is_refused_and_the_others_go_on(tmp_path):
    for dimension in (384, 768):
        # Whatever makes its vectors, the index is the engine's; torch would take most of the time.
        models = json.dumps([elsewhere("changed", dimension)])
        settings = Settings(_env_file=None, data_dir=tmp_path / "data", embedding_models=models)
        with running_engine(tmp_path / "data", AGENTEX_EMBEDDING_MODELS=models) as running:
            client = EngineClient(running.settings.effective_engine_socket)
            await until_ready(client)
            spaces = open_spaces(settings, client)
            if dimension == 384:
                assert await spaces.of("changed").index.count() == 0
            else:
                with pytest.raises(EmbeddingModelUnusable) as caught:
                    await spaces.of("changed").index.count()
                assert "was indexed with 384 numbers" in str(caught.value.details["reason"])
                assert await spaces.default.index.count() == 0
                assert await spaces.count() == 0
                await spaces.delete_documents(["gone"])
                await spaces.delete_knowledge_base("gone")
            await spaces.close()
            await client.close()
            assert running.stop() == 0
