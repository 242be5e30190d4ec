"""Shared resources of a worker's jobs."""

import asyncio
from dataclasses import dataclass, field
from functools import cached_property

from core.clock_skew import ClockSkewMonitor
from core.db.database import Database
from core.redis.jobs import JobQueue
from core.runtime_config.live import LiveSettings
from core.security.vault import Vault, load_secret_key
from core.settings import Settings
from ingestion.parsers.sandbox.client import ParserPool
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.knowledge_sources.credentials import source_vault
from kb_service.object_storage.protocol import ObjectStore


@dataclass(frozen=True)
class WorkerContext:
    """The open connections of a worker process.

    Args:
        settings: at the start of the process; see ``live``.
        wake: set when documents may be waiting.
        clock: monitors the clock that leases are measured by.
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
    # Fewer than the jobs of a worker: long syncs leave room for erasures and transfers.
    syncing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))

    @cached_property
    def source_vault(self) -> Vault:
        """What the credentials of knowledge sources are sealed with."""
        return source_vault(load_secret_key(self.settings))

    @cached_property
    def live(self) -> LiveSettings:
        """The settings with changes made by administrators since."""
        return LiveSettings(self.database, self.settings)
