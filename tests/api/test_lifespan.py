"""The end of the API process: all connections are closed, whatever one of them does."""

import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from anyio import to_thread
from redis.asyncio import Redis

from agents.runs.service import RunService
from api.lifespan import open_context
from core.auth.signing_keys import PURPOSE, ensure_signing_key
from core.db.database import Database, open_database
from core.db.unit_of_work import unit_of_work
from core.security.vault import Vault, load_secret_key
from core.settings import Settings
from ingestion.preview import SplitPreviewer
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.engine_client.client import EngineClient
from migrations.apply import migrate

pytestmark = pytest.mark.anyio
# In the order of their ends.
PARTS = (
    ("runs", RunService, "drain"),
    ("previews", SplitPreviewer, "close"),
    ("spaces", EmbeddingSpaces, "close"),
    ("engine", EngineClient, "close"),
    ("redis", Redis, "aclose"),
    ("database", Database, "close"),
)


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncGenerator[Settings]:
    settings = Settings(_env_file=None, data_dir=tmp_path)
    database = open_database(settings)
    await migrate(database)
    async with unit_of_work(database) as work:
        await ensure_signing_key(work.session, Vault(load_secret_key(settings), PURPOSE))
    await database.close()
    yield settings
    # On a busy machine a session may be cut off, whose thread then still ends its last statement for this loop.
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            await to_thread.run_sync(thread.join, 10)


def watch(patch: pytest.MonkeyPatch, failing: str) -> list[str]:
    """Note which parts are closed, each really; one fails after that."""
    closed: list[str] = []
    for name, kind, method in PARTS:

        async def close(part: object, *arguments: object, inner=getattr(kind, method), name=name) -> None:
            closed.append(name)
            await inner(part, *arguments)
            if name == failing:
                raise OSError(name)

        patch.setattr(kind, method, close)
    return closed


@pytest.mark.parametrize("failing", [name for name, _, _ in PARTS])
async def test_part_that_fails_to_close_keeps_no_other_one_open(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, failing: str
):
    closed = watch(monkeypatch, failing)
    with pytest.raises(OSError, match=failing):
        async with open_context(settings):
            pass
    assert closed == [name for name, _, _ in PARTS]
