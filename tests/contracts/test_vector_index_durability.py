"""An Edge shard across crashes, restarts and a second opener."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qdrant_edge import VectorStorageDatatype

from core.errors.server import VectorIndexUnavailable
from kb_service.embeddings.catalog import DEFAULT
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index import edge_shard
from kb_service.vector_index.engine_index import EngineVectorIndex
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, point_id
from tests.contracts.test_vector_index import direction
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.paths import ROOT
from tests.fixtures.product.engine_processes import running_engine, until_ready

pytestmark = pytest.mark.anyio
DIMENSION = DEFAULT.dimension


def chunks(count: int, document_id: str = "document") -> list[ChunkPoint]:
    return [
        ChunkPoint(
            id=point_id(document_id, 1, number),
            kb_id="kb",
            document_id=document_id,
            revision=1,
            index=number,
            dense=np.eye(DIMENSION, dtype=np.float32)[number % DIMENSION],
            sparse=SparseVector((number % 50,), (1.0,)),
        )
        for number in range(count)
    ]


async def test_acknowledged_points_are_there_when_the_engine_was_killed(tmp_path):
    acknowledged = 0

    async def write_until_killed(index: EngineVectorIndex) -> None:
        nonlocal acknowledged
        for number in range(1000):
            await index.upsert(chunks(50, f"document-{number}"))
            acknowledged += 50
            if acknowledged == 600:
                process.send_signal(signal.SIGKILL)

    with running_engine(tmp_path / "data") as first:
        process = first.process
        client = EngineClient(first.settings.effective_engine_socket)
        index = EngineVectorIndex(client, DEFAULT.name, DIMENSION)
        await until_ready(client)
        writing = asyncio.create_task(write_until_killed(index))
        await asyncio.to_thread(process.wait, 60)
        writing.cancel()
        await asyncio.wait([writing])
    with running_engine(tmp_path / "data"):
        health = await until_ready(client)
        assert await index.count() >= acknowledged >= 600
        assert health.points == await index.count()
        listed = {entry.document_id: entry.count for entry in await index.documents()}
        for number in range(acknowledged // 50):
            assert listed[f"document-{number}"] == 50
        await client.close()


async def test_points_are_there_when_the_shard_is_opened_again(tmp_path):
    for round_number in (1, 2):
        index = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
        await index.ensure_ready()
        await index.upsert(chunks(10, f"document-{round_number}"))
        assert await index.count() == 10 * round_number
        await index.close()


async def test_second_opener_is_refused_when_the_shard_is_open(tmp_path):
    first = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
    second = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
    await first.ensure_ready()
    with pytest.raises(VectorIndexUnavailable) as caught:
        await second.ensure_ready()
    assert caught.value.details == {"reason": "the vector index: another process has it open"}
    await first.close()
    await second.ensure_ready()
    await second.close()


async def test_shard_is_refused_when_it_is_of_another_dimension(tmp_path):
    first = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
    await first.ensure_ready()
    await first.close()
    other = EdgeVectorIndex(tmp_path / "shard", DIMENSION * 2)
    with pytest.raises(VectorIndexUnavailable):
        await other.ensure_ready()
    await other.close()


async def test_shard_of_float32_vectors_is_used_as_it_is(tmp_path, monkeypatch):
    first, second = (replace(point, dense=direction(point.index)) for point in chunks(2))
    with monkeypatch.context() as before:
        before.setattr(edge_shard, "_DATATYPE", VectorStorageDatatype.Float32)
        index = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
        await index.ensure_ready()
        await index.upsert([first])
        await index.close()
    index = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
    await index.ensure_ready()
    await index.upsert([second])
    found = {point.id: point.dense for point in await index.points("document", 1)}
    await index.close()
    # To the last digit: also what is written from now on.
    for point in (first, second):
        np.testing.assert_allclose(found[point.id], point.dense, atol=1e-6)


async def test_call_is_refused_when_the_shard_is_not_open(tmp_path):
    index = EdgeVectorIndex(tmp_path / "shard", DIMENSION)
    with pytest.raises(VectorIndexUnavailable):
        await index.count()
    await index.close()


def test_folder_holds_no_half_made_shard_when_creation_is_killed(tmp_path):
    # Killed between creating the shard and moving it into place.
    code = (
        "import os, signal; from pathlib import Path;"
        "from kb_service.vector_index.edge_shard import Shard;"
        "Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        f"Shard(Path({str(tmp_path)!r}) / 'vectors' / 'shard', {DIMENSION})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    assert not Path(tmp_path / "vectors" / "shard").exists()

    async def open_again() -> int:
        index = EdgeVectorIndex(tmp_path / "vectors" / "shard", DIMENSION)
        await index.ensure_ready()
        await index.upsert(chunks(3))
        found = await index.count()
        await index.close()
        return found

    assert asyncio.run(open_again()) == 3
