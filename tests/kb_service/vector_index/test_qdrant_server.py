"""A Qdrant server that accepts connections and never answers."""

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest

from core.errors.server import VectorIndexUnavailable
from core.settings import Settings
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.factory import open_vector_index

pytestmark = pytest.mark.anyio


async def test_question_to_a_silent_server_is_an_error_soon(tmp_path: Path):
    """Never an empty answer; whether the collection was there before or not."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        settings = Settings(_env_file=None, data_dir=tmp_path, qdrant_url=f"http://127.0.0.1:{port}")
        engine = EngineClient(tmp_path / "nobody")
        index = open_vector_index(settings, engine, model="m", dimension=4)
        started = time.monotonic()
        with pytest.raises(VectorIndexUnavailable):
            await index.query(kb_ids=["kb"], dense=np.ones(4, dtype=np.float32), sparse=None, depth=5)
        # The machine may be busy.
        assert time.monotonic() - started < 5
        await index.close()
