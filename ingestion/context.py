"""What the jobs of one worker share: connections, the parser child, the encoders."""

import asyncio
from dataclasses import dataclass, field
from functools import cached_property

from core.clock_skew import ClockSkewMonitor
from core.db.database import Database
from core.redis.jobs import JobQueue
from core.runtime_config.live import LiveSettings
from core.settings import Settings
from ingestion.parsers.sandbox.pool import ParserPool
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.object_storage.protocol import ObjectStore


@dataclass(frozen=True)
class WorkerContext:
    """The open connections of a worker process.

    ``owner`` names it in leases; ``wake`` is set when documents may be waiting; ``clock`` watches
    the clock that leases are measured by; who erases documents holds ``erasing``. ``settings`` are
    those the process was started with.
    """

    settings: Settings
    owner: str
    database: Database
    queue: JobQueue
    store: ObjectStore
    spaces: EmbeddingSpaces
    parser: ParserPool
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    clock: ClockSkewMonitor = field(default_factory=ClockSkewMonitor)
    erasing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @cached_property
    def live(self) -> LiveSettings:
        """The settings with what administrators changed since."""
        return LiveSettings(self.database, self.settings)
