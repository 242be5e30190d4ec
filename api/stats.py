"""Cached statistics of the whole system."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy import func, text
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.sessions.service import count_runs, count_sessions
from core.auth.models import User, UserStatus
from core.db.database import Database
from core.errors.base import AgentexError
from core.redis.heartbeats import active_workers
from core.redis.jobs import queue_depth
from core.settings import Settings
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.knowledge_bases.stats import count_documents, count_knowledge_bases

# A scraper asks every 15 seconds or so, a page of the console whenever somebody looks.
_FRESH_SECONDS = 10.0
_PATIENCE_SECONDS = 3.0
_FLOAT_BYTES = 4
T = TypeVar("T")


@dataclass(frozen=True)
class SystemStats:
    """Statistics without deleted rows; None for parts that did not answer.

    ``vector_bytes`` are on disk, for a Qdrant server the raw vectors alone; workers are those with a recent heartbeat.
    """

    users: int
    sessions: int
    knowledge_bases: int
    documents: dict[str, int]
    runs: dict[str, int]
    database: str
    database_bytes: int
    points: int | None
    vector_bytes: int | None
    queue_depth: int | None
    workers: list[str] | None


class SystemStatsCache:
    """Counts on demand, at most every few seconds; ``redis`` has the queue and heartbeats."""

    def __init__(self, settings: Settings, database: Database, redis: Redis, spaces: EmbeddingSpaces) -> None:
        self._settings = settings
        self._database = database
        self._redis = redis
        self._spaces = spaces
        self._lock = asyncio.Lock()
        self._known: tuple[float, SystemStats] | None = None

    async def now(self) -> SystemStats:
        """The figures, at most some seconds old; concurrent callers share one count."""
        async with self._lock:
            if self._known is None or time.monotonic() - self._known[0] > _FRESH_SECONDS:
                figures = await self._count()
                self._known = (time.monotonic(), figures)
            return self._known[1]

    async def _count(self) -> SystemStats:
        # Whatever may take long is asked before a connection of the database is held.
        points = await _ask_part(self._spaces.count)
        vector_bytes = await _ask_part(lambda: self._vector_bytes(points))
        depth = await _ask_part(lambda: queue_depth(self._redis))
        workers = await _ask_part(lambda: active_workers(self._redis))
        async with self._database.reading() as session:
            alive = col(User.status) != UserStatus.DELETED.value
            users = select(func.count()).select_from(User).where(alive)
            return SystemStats(
                users=(await session.exec(users)).one(),
                sessions=await count_sessions(session),
                knowledge_bases=await count_knowledge_bases(session),
                documents=await count_documents(session),
                runs=await count_runs(session),
                database=await self._database_version(session),
                database_bytes=await self._database_bytes(session),
                points=points,
                vector_bytes=vector_bytes,
                queue_depth=depth,
                workers=workers,
            )

    async def _database_version(self, session: AsyncSession) -> str:
        is_sqlite = self._database.is_sqlite
        ask = "SELECT sqlite_version()" if is_sqlite else "SHOW server_version"
        version = (await (await session.connection()).execute(text(ask))).scalar_one()
        return f"{'SQLite' if is_sqlite else 'PostgreSQL'} {version}"

    async def _database_bytes(self, session: AsyncSession) -> int:
        if not self._database.is_sqlite:
            ask = text("SELECT pg_database_size(current_database())")
            return (await (await session.connection()).execute(ask)).scalar_one()
        file = Path(self._database.engine.url.database or "")
        parts = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")]
        return await anyio.to_thread.run_sync(lambda: sum(map(_size, parts)))

    async def _vector_bytes(self, points: int | None) -> int | None:
        if self._settings.qdrant_url is None:
            folder = self._settings.data_dir / "vectors"
            return await anyio.to_thread.run_sync(_folder_size, folder)
        if points is None:
            return None
        # A Qdrant server does not tell what it takes on disk: at least the vectors themselves.
        return points * _FLOAT_BYTES * self._spaces.default.model.dimension


async def _ask_part(ask: Callable[[], Awaitable[T]]) -> T | None:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await ask()
    except (AgentexError, RedisError, OSError, TimeoutError):
        return None


def _folder_size(folder: Path) -> int:
    # ``walk`` passes over a folder that goes meanwhile; ``rglob`` raises.
    files = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return sum(map(_size, files))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        # A file of an index may go at any moment.
        return 0
