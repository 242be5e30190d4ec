"""The points of this machine's settings: of a Qdrant server, of a running engine, or in the data folder."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from cli.supervisor.preflight import FolderInUse, lock
from core.errors.server import EngineUnavailable
from core.settings import Settings
from kb_service.backup.points import PointStore, PointStores
from kb_service.embeddings.catalog import served_models
from kb_service.engine_client.client import EngineClient
from kb_service.vector_index.factory import open_vector_index
from kb_service.vector_index.shard_index import ShardIndex

# A supervisor starts a dead engine again within this time.
_PATIENCE_SECONDS = 60
_PAUSE_SECONDS = 0.5


def dimensions(settings: Settings) -> Mapping[str, int]:
    """The lengths of the vectors of all models that the settings serve."""
    return {model.name: model.dimension for model in served_models(settings)}


@asynccontextmanager
async def points_to_read(settings: Settings) -> AsyncGenerator[PointStores]:
    """The points beside a running server, or without one: then it can't start until they are closed.

    Raises:
        EngineUnavailable: a server has the data folder, and its engine does not answer.
    """
    async with AsyncExitStack() as stack:
        engine = EngineClient(settings.effective_engine_socket)
        stack.push_async_callback(engine.close)
        if settings.qdrant_url is None and await _lock_unless_running(settings, engine, stack):
            yield _shards(settings, stack)
        else:
            yield _indexes(settings, engine, stack)


@asynccontextmanager
async def points_to_write(settings: Settings) -> AsyncGenerator[PointStores]:
    """The points of a data folder that this process has locked, or of a Qdrant server; written out at the end."""
    async with AsyncExitStack() as stack:
        engine = EngineClient(settings.effective_engine_socket)
        stack.push_async_callback(engine.close)
        if settings.qdrant_url is None:
            yield _shards(settings, stack)
        else:
            yield _indexes(settings, engine, stack)


async def _lock_unless_running(settings: Settings, engine: EngineClient, stack: AsyncExitStack) -> bool:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        with suppress(EngineUnavailable):
            await engine.health()
            return False
        try:
            stack.callback(os.close, lock(settings.data_dir))
        except FolderInUse as error:
            if time.monotonic() > deadline:
                raise EngineUnavailable(reason="the engine does not answer") from error
        else:
            return True
        await asyncio.sleep(_PAUSE_SECONDS)


def _indexes(settings: Settings, engine: EngineClient, stack: AsyncExitStack) -> PointStores:
    stores: dict[str, PointStore] = {}
    for model, dimension in dimensions(settings).items():
        index = open_vector_index(settings, engine, model=model, dimension=dimension)
        stack.push_async_callback(index.close)
        stores[model] = index
    return stores


def _shards(settings: Settings, stack: AsyncExitStack) -> PointStores:
    stores: dict[str, PointStore] = {}
    for model, dimension in dimensions(settings).items():
        shard = ShardIndex(settings.data_dir / "vectors", model, dimension)
        stack.push_async_callback(shard.close)
        stores[model] = shard
    return stores
