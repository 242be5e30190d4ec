"""The engine as a process of its own, over its socket."""

import asyncio
import signal
import socket
import stat
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ConfigDict

from core.errors.requests import InvalidRequest
from core.errors.server import EngineUnavailable, VectorIndexUnavailable
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.factory import open_encoder
from kb_service.engine.connections import listening_socket
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import MAX_FRAME_BYTES, EmptyBody, EngineHealth
from kb_service.vector_index.bm25 import encode_document, encode_query
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import ChunkPoint, HybridHits, HybridQuery, point_id
from tests.fixtures.product.engine_processes import AT_ONCE, running_engine, until, until_ready
from tests.fixtures.product.processes import wait_until

pytestmark = pytest.mark.anyio


async def until_busy(client: EngineClient) -> EngineHealth:
    return await until(client, lambda health: health.waiting > 0, pause=AT_ONCE)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with running_engine(tmp_path_factory.mktemp("engine")) as running:
        yield running


@pytest.fixture
async def client(engine):
    client = EngineClient(engine.settings.effective_engine_socket)
    await until_ready(client)
    yield client
    await client.close()


async def test_health_names_model_backend_and_points_when_ready(engine, client):
    health = await client.health()
    assert (health.model, health.dimension, health.pid) == (
        DEFAULT.name,
        384,
        engine.process.pid,
    )
    assert f"{health.backend}-{health.dtype}" in {
        "openvino-bf16",
        "onnxruntime-int8",
        "onnxruntime-fp32",
    }
    assert isinstance(health.points, int)


async def test_engine_never_loads_torch_when_the_model_is_converted(engine, client):
    await client.health()
    maps = engine.maps
    assert "libopenvino" in maps or "onnxruntime" in maps
    assert "libtorch" not in maps


async def test_socket_is_private_when_listening(engine, client):
    path = engine.settings.effective_engine_socket
    await client.health()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_health_says_starting_when_the_encoder_still_loads(tmp_path):
    with running_engine(tmp_path / "data") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        states: list[str] = []
        await until(
            client,
            lambda health: states.append(health.state) or states[-1] == "ready",
            pause=AT_ONCE,
        )
        await client.close()
        assert states[0] == "starting"
        assert running.stop() == 0


async def test_request_waits_for_the_encoder_when_the_engine_is_starting(tmp_path):
    with running_engine(tmp_path / "data") as running:
        path = running.settings.effective_engine_socket
        # Python itself takes a while to come up on a busy machine; only then the engine listens.
        await asyncio.to_thread(wait_until, path.exists, seconds=60)
        client = EngineClient(path)
        vectors = await open_encoder(client).embed_queries(["early"])
        await client.close()
    assert vectors.shape == (1, 384)


async def test_embedding_over_the_wire_keeps_order_when_many_tasks_ask(client):
    encoder = open_encoder(client)
    texts = [f"number {i} " * (1 + i % 7) for i in range(24)]
    together = await encoder.embed_passages(texts)
    apart = await asyncio.gather(*(encoder.embed_passages([text]) for text in texts))
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    # Batches of another shape round differently in bf16, by about 1e-5.
    assert ((together * np.concatenate(apart)).sum(1) > 0.999).all()
    assert (await encoder.embed_queries([])).shape == (0, 384)


async def test_search_with_text_is_the_search_with_its_vector(engine, client):
    index = EngineVectorIndex(client, DEFAULT.name, DEFAULT.dimension)
    encoder = open_encoder(client)
    texts = ["The ferry crosses at noon.", "Bread needs yeast.", "渡轮中午出发。"]
    terms = [encode_document(text) for text in texts]
    await index.upsert(
        [
            ChunkPoint(point_id("d", 1, n), "ferry", "d", 1, n, vector, sparse)
            for n, (vector, sparse) in enumerate(zip(await encoder.embed_passages(texts), terms, strict=True))
        ]
    )
    text = "When does the ferry leave?"
    question = HybridQuery(text, encode_query(text), ["ferry"], 10)
    answered = await index.search(question)
    (vector,) = await encoder.embed_queries([text])
    legs = await index.query(kb_ids=["ferry"], dense=vector, sparse=encode_query(text), depth=10)
    assert answered.legs == legs
    assert next(hit.id for hit in legs.dense) == point_id("d", 1, 0)
    assert np.array_equal(answered.dense, vector)
    assert 0 < answered.encoding_seconds < 60
    assert (await index.search(replace(question, kb_ids=["elsewhere"]))).legs == HybridHits()


async def test_question_overtakes_passages_when_both_wait(client):
    encoder = open_encoder(client)
    passages = asyncio.create_task(encoder.embed_passages(["some words about things " * 30] * 256))
    await until_busy(client)
    await encoder.embed_queries(["who goes first"])
    assert not passages.done()
    assert (await passages).shape == (256, 384)


async def test_cancelled_request_leaves_the_queue_when_its_caller_is_gone(client):
    encoder = open_encoder(client)
    passages = asyncio.create_task(encoder.embed_passages(["words and more words " * 1000] * 128))
    await until_busy(client)
    passages.cancel()
    with pytest.raises(asyncio.CancelledError):
        await passages
    started = time.monotonic()
    await until(client, lambda health: health.waiting == 0)
    # The whole job takes half a minute on an idle machine, one step of it some 25 ms.
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("op", "body"),
    [("embed", {}), ("explode", {}), ("embed", {"model": "x", "role": "query", "texts": ["a"]})],
)
async def test_bad_request_is_refused_when_the_frame_is_good(client, op, body):
    class Anything(EmptyBody):
        model_config = ConfigDict(extra="allow", strict=True)

    with pytest.raises(InvalidRequest):
        await client.call(op, Anything(**body), EmptyBody, timeout_seconds=5)
    assert (await client.health()).state == "ready"


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">I", MAX_FRAME_BYTES + 1),
        struct.pack(">I", 4) + b"\xc1abc",
        struct.pack(">I", 1) + b"\x80",
        struct.pack(">I", 0),
        struct.pack(">I", 4000) + b"\x91" * 4000,
    ],
)
async def test_connection_is_closed_when_the_frame_is_malformed(engine, client, frame):
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(10)
        raw.connect(str(engine.settings.effective_engine_socket))
        raw.sendall(frame)
        assert await asyncio.to_thread(raw.recv, 1) == b""
    assert (await client.health()).state == "ready"


async def test_second_engine_is_refused_when_one_owns_the_socket(engine, client):
    before = await client.health()
    with running_engine(engine.settings.data_dir) as second:
        assert second.process.wait(20) == 1
        assert "another engine owns this socket" in second.log
    assert (await client.health()).pid == before.pid


async def test_second_engine_is_refused_when_only_the_data_folder_is_shared(engine, client, tmp_path):
    elsewhere = tmp_path / "other.sock"
    with running_engine(engine.settings.data_dir, AGENTEX_ENGINE_SOCKET=str(elsewhere)) as second:
        assert second.process.wait(20) == 1
        assert "another process has it open" in second.log
    assert not elsewhere.exists()


async def test_client_finds_the_engine_again_when_it_was_killed_and_restarted(tmp_path):
    with running_engine(tmp_path / "data") as first:
        client = EngineClient(first.settings.effective_engine_socket)
        await until_ready(client)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        # The dead engine left its socket file behind.
        assert first.settings.effective_engine_socket.exists()
    with running_engine(tmp_path / "data") as second:
        assert (await open_encoder(client).embed_queries(["again"])).shape == (1, 384)
        assert (await client.health()).pid == second.process.pid
    await client.close()


async def test_accepted_work_is_finished_when_the_engine_is_told_to_stop(tmp_path):
    with running_engine(tmp_path / "data") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        await until_ready(client)
        passages = asyncio.create_task(open_encoder(client).embed_passages(["words and more words " * 30] * 64))
        await until_busy(client)
        running.process.terminate()
        assert (await passages).shape == (64, 384)
        assert await asyncio.to_thread(running.process.wait, 20) == 0
        assert not running.settings.effective_engine_socket.exists()
        await client.close()


async def test_vector_operations_are_refused_when_a_server_keeps_the_vectors(tmp_path):
    with running_engine(tmp_path / "data", AGENTEX_QDRANT_URL="http://127.0.0.1:1") as running:
        client = EngineClient(running.settings.effective_engine_socket)
        health = await until_ready(client)
        with pytest.raises(VectorIndexUnavailable):
            await EngineVectorIndex(client, DEFAULT.name, DEFAULT.dimension).count()
        await client.close()
    assert health.points is None
    assert not (running.settings.data_dir / "vectors").exists()


def test_leftover_socket_is_replaced_when_nobody_listens_on_it(tmp_path):
    path = tmp_path / "run" / "engine.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listening_socket(path):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(path))
        with pytest.raises(EngineUnavailable), listening_socket(path):
            pass
    assert not path.exists()


def test_socket_of_a_stranger_is_left_alone_when_he_answers(tmp_path):
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(path))
        stranger.listen()
        with pytest.raises(EngineUnavailable), listening_socket(path):
            pass
        assert path.exists()
