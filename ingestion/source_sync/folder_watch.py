"""The watch over folders whose sources ask for it."""

import time
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col, select

from core.db.now import database_now
from core.db.unit_of_work import unit_of_work
from core.errors.requests import InvalidRequest
from core.logging import get_logger
from core.runtime_config.outbound import OutboundPolicy
from ingestion.connectors import parse_settings
from ingestion.connectors.base import ConnectorEnvironment, KnownItem, SourceUnavailable
from ingestion.connectors.folder import FolderConnector, FolderSettings
from ingestion.context import WorkerContext
from ingestion.parsers.choice import format_support
from kb_service.knowledge_sources import syncs
from kb_service.models import KnowledgeBase, KnowledgeSource

log = get_logger(__name__)

LOOK_SECONDS = 5.0
# The part of a core that looking may take: a fiftieth.
_PAUSE_PER_LOOK = 49
# A folder that never rests is read all the same.
_MOST_LOOKS = 12


@dataclass
class _Watched:
    """What the last looks at a folder saw; ``changed_at`` is None once a sync has begun after the change."""

    digest: str = ""
    changed_at: datetime | None = None
    looks: int = 0


class FolderWatch:
    """Begins the sync of a folder that has changed, as soon as it is at rest.

    It compares listings, because the notices of a file system do not come from network shares, and following them
    leads through links out of the folder. What changed while no worker was running is noticed at its start. Each
    worker watches; a change that another one's sync has read since is left alone.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._folders: dict[str, _Watched] = {}
        self._next = 0.0

    async def look(self) -> None:
        """Look at all watched folders once; does nothing while the last look was too short ago for its length."""
        begun = time.monotonic()
        if begun < self._next:
            return
        sources = await self._sources()
        self._folders = {source_id: self._folders.get(source_id, _Watched()) for source_id in sources}
        if not sources:
            return
        live = await self._context.live.now()
        environment = ConnectorEnvironment(
            guard=OutboundPolicy(self._context.live).guards.everybody,
            folders=live.source_folders,
            hidden_folder=live.data_dir,
            max_bytes=live.max_upload_bytes,
            find_known=_find_none,
            support=format_support(live),
        )
        for source_id, settings in sources.items():
            await self._look_at(source_id, FolderConnector(settings, environment))
        end = time.monotonic()
        self._next = end + _PAUSE_PER_LOOK * (end - begun)

    async def _sources(self) -> dict[str, FolderSettings]:
        query = (
            select(KnowledgeSource)
            .join(KnowledgeBase, col(KnowledgeBase.id) == col(KnowledgeSource.knowledge_base_id))
            .where(col(KnowledgeSource.connector) == FolderConnector.NAME, col(KnowledgeBase.deleted_at).is_(None))
        )
        async with self._context.database.reading() as session:
            rows = (await session.exec(query)).all()
        parsed = {row.id: _folder_settings(row) for row in rows}
        return {source_id: settings for source_id, settings in parsed.items() if settings and settings.watch}

    async def _look_at(self, source_id: str, connector: FolderConnector) -> None:
        watched = self._folders[source_id]
        try:
            digest = await connector.digest()
        except SourceUnavailable:
            # The next sync by the schedule says so; a folder that comes back has changed.
            return
        has_changed = digest != watched.digest
        watched.digest = digest
        async with self._context.database.reading() as session:
            now = await database_now(session)
        if has_changed:
            watched.changed_at = now
        if watched.changed_at is None:
            return
        watched.looks += 1
        if has_changed and watched.looks < _MOST_LOOKS:
            return
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            if await syncs.request_after(work, source_id, watched.changed_at):
                watched.changed_at, watched.looks = None, 0


def _folder_settings(row: KnowledgeSource) -> FolderSettings | None:
    try:
        settings = parse_settings(FolderConnector, row.settings)
    except InvalidRequest:
        return None
    return settings if isinstance(settings, FolderSettings) else None


async def _find_none(_key: str) -> KnownItem | None:
    return None
