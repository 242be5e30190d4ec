"""A preview of a sync: what would come, change and go."""

from contextlib import aclosing

from sqlmodel import col, select

from core.db.unit_of_work import unit_of_work
from ingestion.connectors.base import SourceItem
from ingestion.context import WorkerContext
from ingestion.source_sync.item_lookup import ItemSummary
from ingestion.source_sync.items import key_hash
from ingestion.source_sync.permissions import GroupNotice, ItemReaders, TextState, reader_change
from ingestion.source_sync.sync import SyncLost, SyncTask, notice_words
from ingestion.source_sync.tally import SyncTally
from kb_service.knowledge_sources import syncs
from kb_service.models import KnowledgeSourceItem, SyncStatus

_BATCH = 100


class SyncPreview:
    """Compares a source's listing with what is known; a renamed item counts as one that comes and one that goes."""

    def __init__(self, context: WorkerContext, task: SyncTask) -> None:
        self._context = context
        self._task = task
        self._tally = SyncTally({}, {})
        self._groups = GroupNotice(task.permissions)

    async def run(self) -> None:
        """Run to the end; the sync's row then says what would be done."""
        hashes: set[str] = set()
        async with aclosing(self._task.connector.items()) as listing:
            async for item in listing:
                hashes.add(key_hash(item.key))
                self._groups.note(item)
                summary = await self._task.lookup.find(item.key)
                self._count_readers(item, summary)
                if item.failure is not None:
                    self._tally.add("failed", item.name)
                elif summary is None or not summary.has_document:
                    self._tally.add("created", item.name)
                else:
                    is_same = summary.fingerprint == item.fingerprint
                    self._tally.add("unchanged" if is_same else "updated", item.name)
                if len(hashes) % _BATCH == 0 and not await self.renew():
                    raise SyncLost
        if self._task.connector.LISTS_EVERYTHING:
            await self._count_gone(hashes)
        async with unit_of_work(self._context.database) as work:
            connector = self._task.connector
            values = self._tally.values | {"is_cut": connector.is_cut, "failure": notice_words(connector, self._groups)}
            await syncs.end(work, self._task.lease, SyncStatus.COMPLETED, **values)

    def _count_readers(self, item: SourceItem, summary: ItemSummary | None) -> None:
        """Count whose readers would change, besides what else becomes of it."""
        if summary is not None and not (summary.has_document and summary.is_owner):
            return
        before = ItemReaders(summary.levels, summary.next_levels) if summary is not None else ItemReaders()
        text = TextState.COMING if summary is not None and summary.is_behind else TextState.SHOWN
        change = reader_change(self._task.permissions, item, before, text)
        if change.outcome is not None and not (summary is None and item.failure is not None):
            self._tally.add(change.outcome, item.name)

    async def renew(self) -> bool:
        """Renew the lease; False if it was lost."""
        seconds = self._context.settings.lease_seconds
        async with unit_of_work(self._context.database) as work:
            return await syncs.renew(work, self._task.lease, seconds=seconds, **self._tally.values)

    async def _count_gone(self, hashes: set[str]) -> None:
        query = select(KnowledgeSourceItem.key_hash, KnowledgeSourceItem.name).where(
            KnowledgeSourceItem.source_id == self._task.source.id, col(KnowledgeSourceItem.document_id).is_not(None)
        )
        async with self._context.database.reading() as session:
            for hash_, name in (await session.exec(query.order_by(col(KnowledgeSourceItem.name)))).all():
                if hash_ not in hashes:
                    self._tally.add("deleted", name)
