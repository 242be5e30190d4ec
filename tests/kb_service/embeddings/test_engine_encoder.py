"""The engine's encoder client with a slow model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from core.errors.server import EngineUnavailable
from kb_service.embeddings import engine_encoder
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.engine_encoder import EngineEncoder, pack_vectors
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import EngineRequest, EngineResponse, pack_frame, read_frame

pytestmark = pytest.mark.anyio
PASSAGE = "A passage of some length. " * 80


class SlowEngine:
    """Takes so many seconds for each text, and keeps how many came at a time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers: dict[int, asyncio.Task[None]] = {}
        try:
            while True:
                request = await read_frame(reader, EngineRequest)
                if request.op == "embed":
                    answers[request.id] = asyncio.create_task(self._answer(request, writer))
                else:
                    answers.pop(request.id).cancel()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, request: EngineRequest, writer: asyncio.StreamWriter) -> None:
        count = len(request.body["texts"])
        self.sizes.append(count)
        await asyncio.sleep(self.seconds * count)
        vectors = pack_vectors(np.ones((count, DEFAULT.dimension), dtype=np.float32))
        writer.write(pack_frame(EngineResponse(id=request.id, ok=True, body=vectors.model_dump())))
        await writer.drain()


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncIterator[tuple[SlowEngine, EngineEncoder]]:
    engine = SlowEngine(0.0)
    async with await asyncio.start_unix_server(engine.serve, tmp_path / "s"):
        client = EngineClient(tmp_path / "s")
        yield engine, EngineEncoder(client, DEFAULT)
        await client.close()


async def test_passages_of_a_slow_model_are_embedded_however_long_a_batch_takes(
    slow: tuple[SlowEngine, EngineEncoder], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine_encoder, "INGEST_SECONDS", 0.6)
    monkeypatch.setattr(engine_encoder, "_REQUEST_SECONDS", 0.1)
    engine, encoder = slow
    engine.seconds = 0.02
    vectors = await encoder.embed_passages([PASSAGE] * 64)
    assert vectors.shape == (64, DEFAULT.dimension)
    assert max(engine.sizes[1:]) <= 6


async def test_batch_that_came_to_no_end_in_time_is_smaller_at_the_next_try(
    slow: tuple[SlowEngine, EngineEncoder], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine_encoder, "INGEST_SECONDS", 0.6)
    monkeypatch.setattr(engine_encoder, "_REQUEST_SECONDS", 0.1)
    engine, encoder = slow
    engine.seconds = 0.05
    with pytest.raises(EngineUnavailable):
        await encoder.embed_passages([PASSAGE] * 64)
    assert (await encoder.embed_passages([PASSAGE] * 20)).shape[0] == 20
    # And larger again, once it is fast.
    engine.seconds = 0.0
    await encoder.embed_passages([PASSAGE] * 600)
    assert max(engine.sizes[-3:]) > 64
