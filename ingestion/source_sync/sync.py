"""One pass over a knowledge source that makes its knowledge base equal to it."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from core.auth.principal import Action, Principal
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import DocumentNotFound
from core.errors.base import AgentexError
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import EmptyFile, UnsupportedFileType
from core.logging import get_logger
from core.settings import Settings
from ingestion.connectors.base import (
    ConnectorWithNotice,
    ItemGone,
    ItemUnreadable,
    ReadFailure,
    SourceConnector,
    SourceItem,
)
from ingestion.context import WorkerContext
from ingestion.source_sync import items
from ingestion.source_sync.contents import StoredItem, merge_metadata, metadata_of, stored_item
from ingestion.source_sync.item_lookup import ItemLookup, ItemSummary
from ingestion.source_sync.item_marks import ItemMarks
from ingestion.source_sync.items import StoredRow, key_hash
from ingestion.source_sync.permissions import (
    GroupNotice,
    ItemReaders,
    PermissionMap,
    ReaderChange,
    TextState,
    apply_change,
    reader_change,
    text_state,
)
from ingestion.source_sync.tally import Outcome, SyncTally
from kb_service.documents import update as document_update
from kb_service.documents.actions import ActionName, apply_action_to_many
from kb_service.documents.update import DocumentUpdate
from kb_service.documents.upload import OnConflict, Upload, UploadOutcome, UploadResult, apply_uploads
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_sources import syncs
from kb_service.models import Document, KnowledgeSource, KnowledgeSourceItem, KnowledgeSourceSync, SyncStatus
from kb_service.work_queue.job_leases import JobLease

log = get_logger(__name__)

_BATCH = 200
# So many documents may go at once without a question.
_FEW = 2
_NOTHING_TO_READ = (EmptyFile, UnsupportedFileType)
_OUTCOMES: Mapping[UploadOutcome, Outcome] = {
    UploadOutcome.CREATED: "created",
    UploadOutcome.REPLACED: "updated",
    UploadOutcome.RETRIED: "updated",
    UploadOutcome.UNCHANGED: "unchanged",
}


class SyncLost(Exception):
    """The lease was lost, the sync cancelled, or its source deleted."""


@dataclass(frozen=True)
class SyncTask:
    """A leased sync and what it needs.

    Args:
        owner: of the knowledge base, for whom it acts.
        settings: current ones.
        permissions: how those of the source become readers.
    """

    row: KnowledgeSourceSync
    lease: JobLease
    source: KnowledgeSource
    lookup: ItemLookup
    owner: Principal
    settings: Settings
    connector: SourceConnector
    permissions: PermissionMap = field(default_factory=PermissionMap)


class SourceSync:
    """Carries out a sync: reads what is new or has changed, follows renames, deletes what is gone.

    Every item is written in one transaction together with its document, the counts and the lease, so that nothing is
    done twice however often the worker is killed.
    """

    def __init__(self, context: WorkerContext, task: SyncTask) -> None:
        self._context = context
        self._task = task
        self._tally = SyncTally(task.row.counts, task.row.examples)
        self._marks = ItemMarks()
        self._met: set[str] = set()
        self._groups = GroupNotice(task.permissions)

    async def run(self) -> None:
        """Run to the end; the sync's row then says what became of it."""
        may_be_renamed = await self._may_be_renamed()
        new: list[SourceItem] = []
        async with aclosing(self._task.connector.items()) as listing:
            async for item in listing:
                self._groups.note(item)
                await self._process(item, new if may_be_renamed else None)
        await self._write_marks()
        # Only now it is known what is gone, and so what may have been renamed.
        for item in new:
            await self._read(item, None)
        await self._end()

    async def _may_be_renamed(self) -> bool:
        """Whether something that the source does not list any more could go on under another key."""
        if not self._task.connector.LISTS_EVERYTHING:
            return False
        async with self._context.database.reading() as session:
            # What an earlier try of this sync has met is not gone: a first sync that goes on reads each item once.
            return await items.count(session, self._task.source.id, but_seen_in=self._task.row.id) > 0

    async def renew(self) -> bool:
        """Renew the lease; False if it was lost."""
        async with unit_of_work(self._context.database) as work:
            return await syncs.renew(work, self._task.lease, seconds=self._context.settings.lease_seconds)

    async def _process(self, item: SourceItem, new: list[SourceItem] | None) -> None:
        hash_ = key_hash(item.key)
        summary = await self._task.lookup.find(item.key)
        # It is listed twice, or an earlier try of this sync has done it.
        if hash_ in self._met or (summary is not None and summary.is_seen):
            return
        self._met.add(hash_)
        if item.failure is not None:
            await self._note_failure(item, item.failure, summary)
        elif summary is None or not summary.has_document:
            if new is None:
                await self._read(item, None)
            else:
                new.append(_without_content(item))
        elif summary.fingerprint != item.fingerprint:
            await self._read(item, await self._task.lookup.find_row(item.key))
        else:
            await self._keep(item, summary)
        if len(self._marks) >= _BATCH:
            await self._write_marks()

    async def _note_failure(self, item: SourceItem, failure: ReadFailure, summary: ItemSummary | None) -> None:
        if summary is None:
            await self._write_failure(item, failure, None)
        elif summary.has_failed_with(failure) and not self._summary_change(item, summary, TextState.UNREAD).is_change:
            self._tally.add("failed", item.name)
            self._marks.add_failed(key_hash(item.key))
        else:
            await self._write_failure(item, failure, await self._task.lookup.find_row(item.key))

    async def _keep(self, item: SourceItem, summary: ItemSummary) -> None:
        self._tally.add("unchanged", item.name)
        is_other = dict(item.state) != summary.known_item.state
        self._marks.add_unchanged(key_hash(item.key), item.state if is_other else None)
        text = TextState.COMING if summary.is_behind else TextState.SHOWN
        if self._summary_change(item, summary, text).is_change:
            row, document = await self._task.lookup.find_row(item.key) or (None, None)
            if row is not None and document is not None:
                await self._change_readers(item, row, document)

    def _summary_change(self, item: SourceItem, summary: ItemSummary, text: TextState) -> ReaderChange:
        before = ItemReaders(summary.levels, summary.next_levels)
        if not summary.is_owner:
            return ReaderChange(before, before)
        return reader_change(self._task.permissions, item, before, text)

    def _reader_change(
        self,
        item: SourceItem,
        row: KnowledgeSourceItem | None,
        text: TextState,
    ) -> ReaderChange:
        before = ItemReaders(row.readers, row.next_readers) if row is not None else ItemReaders()
        if row is not None and not row.is_owner:
            # Somebody's own document.
            return ReaderChange(before, before)
        return reader_change(self._task.permissions, item, before, text)

    async def _adopt_readers(
        self, work: UnitOfWork, item: SourceItem, change: ReaderChange, document: Document, *, is_new: bool = False
    ) -> Document:
        """Give a document the readers that its item has now, and count it."""
        document = await apply_change(work, change, document, self._task.source.id, is_new=is_new)
        if change.outcome is not None:
            self._tally.add(change.outcome, item.name)
        return document

    async def _change_readers(self, item: SourceItem, row: KnowledgeSourceItem, document: Document) -> None:
        async with unit_of_work(self._context.database) as work:
            current = await work.session.get(KnowledgeSourceItem, (row.source_id, row.key_hash))
            if current is not None:
                change = self._reader_change(item, row, text_state(document))
                with suppress(DocumentNotFound):
                    await self._adopt_readers(work, item, change, document)
                current.readers, current.next_readers = change.after.levels, change.after.waiting
                work.session.add(current)
            await self._guard(work)

    async def _write_marks(self) -> None:
        async with unit_of_work(self._context.database) as work:
            await self._guard(work)

    async def _read(self, item: SourceItem, stored: StoredRow | None) -> None:
        """Make an item's contents a document, or the next revision of one."""
        context, task = self._context, self._task
        try:
            async with stored_item(context, task.settings, task.connector, item) as content:
                outcome = await self._register(item, content, stored)
        except ItemGone:
            return
        except ItemUnreadable as error:
            await self._write_failure(item, error.failure, stored)
            return
        except _NOTHING_TO_READ:
            # A document that was made of it goes with what is gone.
            self._tally.add("skipped", item.name)
            return
        except AgentexError as error:
            if error.status >= AgentexError.status:
                raise
            await self._write_failure(item, refusal(error), stored)
            return
        log.debug("source_sync.item", sync_id=task.row.id, outcome=outcome)

    async def _register(self, item: SourceItem, content: StoredItem, stored: StoredRow | None) -> Outcome:
        task = self._task
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            moved = None
            if stored is None and task.connector.LISTS_EVERYTHING:
                moved = await items.find_moved(work.session, task.source.id, task.row.id, content.file.sha256)
            if moved is not None:
                await self._rename(work, item, content, *moved)
                spare_keys: Sequence[str] = (content.file.storage_key,)
                outcome: Outcome = "renamed"
            else:
                result = await self._upload(work, item, content, stored)
                spare_keys = result.spare_keys
                outcome = _OUTCOMES[result.outcome]
                document = stored[1] if stored else None
                if outcome == "unchanged" and document is not None and document.name != result.document.name:
                    outcome = "renamed"
            self._tally.add(outcome, item.name)
            await self._guard(work)
        for key in spare_keys:
            with suppress(AgentexError, OSError):
                await self._context.store.delete(key)
        return outcome

    async def _upload(
        self, work: UnitOfWork, item: SourceItem, content: StoredItem, stored: StoredRow | None
    ) -> UploadResult:
        """Make or replace the item's document.

        A document that somebody uploaded is never replaced, nor deleted with the item; the same bytes under the same
        name are not uploaded a second time.
        """
        task = self._task
        base = await knowledge_bases.get(work.session, task.owner, task.source.knowledge_base_id, Action.WRITE)
        row, document = stored or (None, None)
        if row is not None and document is not None and row.is_owner:
            upload = Upload(document.name, content.file, content.file_type, OnConflict.REPLACE)
        else:
            upload = Upload(content.name, content.file, content.file_type, OnConflict.KEEP_BOTH)
        quota = task.settings.user_quota_bytes
        (result,) = await apply_uploads(work, task.owner, base, [upload], quota_bytes=quota)
        if isinstance(result, AgentexError):
            raise result
        is_owner = bool(row and row.is_owner and document and document.id == result.document.id)
        current = result.document
        if result.outcome is UploadOutcome.CREATED:
            is_owner, current.attributes = True, metadata_of(item.attributes)
        elif is_owner and row is not None:
            current = await self._adopt_name(work, item, content.name, row, current)
        is_new = result.outcome is UploadOutcome.CREATED
        change = ReaderChange(ItemReaders(), ItemReaders())
        if is_owner:
            change = self._reader_change(item, None if is_new else row, text_state(current))
        current = await self._adopt_readers(work, item, change, current, is_new=is_new)
        await self._write(work, item, change.after, document=current, is_owner=is_owner)
        return result

    async def _rename(
        self, work: UnitOfWork, item: SourceItem, content: StoredItem, row: KnowledgeSourceItem, document: Document
    ) -> None:
        document = await self._adopt_name(work, item, content.name, row, document)
        current = await work.session.get(KnowledgeSourceItem, (row.source_id, row.key_hash))
        if current is not None:
            await work.session.delete(current)
        change = self._reader_change(item, row, text_state(document))
        document = await self._adopt_readers(work, item, change, document)
        await self._write(work, item, change.after, document=document)

    async def _adopt_name(
        self, work: UnitOfWork, item: SourceItem, name: str, row: KnowledgeSourceItem, document: Document
    ) -> Document:
        """Let a document follow its item's name and metadata; a name that somebody gave it here stays."""
        attributes = merge_metadata(document.attributes, item.attributes)
        changes: list[DocumentUpdate] = []
        if document.name == row.name and document.name != name:
            changes.append(DocumentUpdate(name=name))
        if attributes != document.attributes:
            changes.append(DocumentUpdate(attributes=attributes))
        for change in changes:
            with suppress(DocumentNameTaken):
                document = await document_update.update(
                    work, self._task.owner, self._task.source.knowledge_base_id, document.id, change
                )
        return document

    async def _write_failure(self, item: SourceItem, failure: ReadFailure, stored: StoredRow | None) -> None:
        """Note why an item's document stays as it is; who is no longer to read the item no longer reads that, either."""
        self._tally.add("failed", item.name)
        row, document = stored or (None, None)
        async with unit_of_work(self._context.database) as work:
            readers = ItemReaders(row.readers, row.next_readers) if row is not None else ItemReaders()
            if row is not None and document is not None:
                change = self._reader_change(item, row, TextState.UNREAD)
                with suppress(DocumentNotFound):
                    await self._adopt_readers(work, item, change, document)
                readers = change.after
            await self._write(work, item, readers, failure=failure)
            await self._guard(work)

    async def _write(
        self,
        work: UnitOfWork,
        item: SourceItem,
        readers: ItemReaders,
        *,
        document: Document | None = None,
        is_owner: bool = True,
        failure: ReadFailure | None = None,
    ) -> None:
        """Write the item's row: with its document, or with the reason why that stays as it is."""
        key = (self._task.source.id, key_hash(item.key))
        row = await work.session.get(KnowledgeSourceItem, key)
        if row is None:
            row = KnowledgeSourceItem(source_id=key[0], key_hash=key[1], key=item.key, name=item.name, seen_in="")
        if document is not None:
            row.document_id, row.is_owner, row.name = document.id, is_owner, document.name
            row.fingerprint, row.state = item.fingerprint, dict(item.state)
        row.failure = failure.words if failure else None
        row.readers, row.next_readers = readers.levels, readers.waiting
        row.seen_in, row.updated_at = self._task.row.id, await database_now(work.session)
        work.session.add(row)
        await work.session.flush()

    async def _guard(self, work: UnitOfWork) -> None:
        """Renew the lease in a transaction that writes, as its last step; raises ``SyncLost``, which undoes it.

        What is counted is written with it, and so are the unchanged items that are counted.
        """
        await self._marks.write(work.session, self._task.source.id, self._task.row.id)
        seconds = self._context.settings.lease_seconds
        if not await syncs.renew(work, self._task.lease, seconds=seconds, **self._tally.values):
            raise SyncLost

    async def _end(self) -> None:
        task = self._task
        if not task.connector.LISTS_EVERYTHING:
            await self._forget_failures()
            await self._write_end(SyncStatus.COMPLETED)
            return
        async with self._context.database.reading() as session:
            gone = await items.count(session, task.source.id, but_seen_in=task.row.id)
            total = await items.count(session, task.source.id)
            first = await items.gone(session, task.source.id, task.row.id, _BATCH)
        if gone > _FEW and gone * 3 > total and not task.row.deletions_allowed:
            self._tally.reset("deleted")
            self._tally.add_many("deleted", [row.name for row, document in first if document is not None], gone)
            await self._write_end(SyncStatus.CONFIRM)
            return
        self._tally.reset("deleted")
        while await self._delete_batch():
            pass
        await self._write_end(SyncStatus.COMPLETED)

    async def _forget_failures(self) -> None:
        async with unit_of_work(self._context.database) as work:
            await items.forget_failures(work.session, self._task.source.id, self._task.row.id)
            await self._guard(work)

    async def _delete_batch(self) -> bool:
        """Delete some of what is gone; False if nothing was left."""
        task = self._task
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            gone = await items.gone(work.session, task.source.id, task.row.id, _BATCH)
            owned = [document.id for row, document in gone if document is not None and row.is_owner]
            await apply_action_to_many(work, task.owner, ActionName.DELETE, task.source.knowledge_base_id, owned)
            for row, document in gone:
                if document is not None:
                    self._tally.add("deleted", row.name)
                await work.session.delete(row)
            await self._guard(work)
        return len(gone) > 0

    async def _write_end(self, status: SyncStatus) -> None:
        connector = self._task.connector
        values = self._tally.values | {"failure": notice_words(connector, self._groups)}
        async with unit_of_work(self._context.database) as work:
            if not await syncs.end(work, self._task.lease, status, is_cut=connector.is_cut, **values):
                raise SyncLost
        log.info("source_sync.ended", sync_id=self._task.row.id, status=status.value)


def notice_words(connector: SourceConnector, groups: GroupNotice) -> dict[str, str] | None:
    """What there is to say of a listing that came to its end: by its connector, and of groups without members."""
    notices = [connector.notice if isinstance(connector, ConnectorWithNotice) else None, groups.failure]
    words = [notice.words for notice in notices if notice is not None]
    if not words:
        return None
    both = {
        name: ("；" if name.endswith("_zh") else "; ").join(part[name] for part in words if part[name])
        for name in words[0]
    }
    return both | {"reason": words[0]["reason"]}


def refusal(error: AgentexError) -> ReadFailure:
    """Why an upload of an item is refused, in the words of the API."""
    details = error.details
    text, text_zh = details.get("error"), details.get("error_zh")
    return ReadFailure(
        error.wire_name.lower(),
        f"{error.message}: {text}" if isinstance(text, str) else error.message,
        f"{error.message_zh}：{text_zh}" if isinstance(text_zh, str) else error.message_zh,
        "Change it in the source, or exclude it",
        "请在来源中修改，或将其排除",
    )


def _without_content(item: SourceItem) -> SourceItem:
    """The item without its bytes, which are read once more: a listing may be large."""
    return replace(item, content=None)
