"""Restore of a backup into an empty installation, of whichever database, object store and vector index."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from kb_service.backup.create import BackupFile, BackupPoints, read_files, read_points
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest
from kb_service.backup.points import MalformedPoints, PointStores, points_from_bytes
from kb_service.backup.progress import BackupStep, OnProgress, silent
from kb_service.backup.repository import BackupRepository
from kb_service.backup.sql_rows import first_row_in, import_tables
from kb_service.documents.upload import begin_revision
from kb_service.models import Document
from kb_service.object_storage.protocol import ObjectStore


@dataclass(frozen=True)
class RestoreTarget:
    """An empty installation.

    Args:
        points: by embedding model, of all models that are served here.
        dimensions: the lengths of their vectors.
        revisions: the migrations that this software knows, oldest first.
        migrate: brings the database to a revision, and ``head`` to the newest.
    """

    database: Database
    files: ObjectStore
    points: PointStores
    dimensions: Mapping[str, int]
    revisions: Sequence[str]
    migrate: Callable[[Database, str], Awaitable[None]]


def require_readable(manifest: BackupManifest, revisions: Sequence[str], models: Mapping[str, int]) -> None:
    """Refuse a backup of tables or embedding models that are not known here."""
    if manifest.schema_revision not in revisions:
        raise BackupError(BackupFault.NEWER_SCHEMA, product=manifest.product, revision=manifest.schema_revision)
    if missing := [model for model in manifest.models if model not in models]:
        raise BackupError(BackupFault.MODEL_NOT_SERVED, models=", ".join(missing))


async def require_empty_database(database: Database) -> None:
    """Refuse a database with rows, naming a table that has some."""
    table = await first_row_in(database)
    if table is not None:
        raise BackupError(BackupFault.DATABASE_NOT_EMPTY, table=table)


async def require_empty_points(points: PointStores) -> None:
    """Refuse a vector index with points, naming the model."""
    for model, store in points.items():
        if count := await store.count():
            raise BackupError(BackupFault.VECTORS_NOT_EMPTY, model=model, count=count)


async def require_empty_files(files: ObjectStore) -> None:
    """Refuse an object store with files."""
    if keys := await files.keys():
        raise BackupError(BackupFault.FILES_NOT_EMPTY, count=len(keys))


class BackupRestorer:
    """Restores one backup; rows come last, in one transaction, so that a broken-off restore shows nothing."""

    def __init__(
        self,
        repository: BackupRepository,
        manifest: BackupManifest,
        target: RestoreTarget,
        on_progress: OnProgress = silent,
    ) -> None:
        self._repository = repository
        self._manifest = manifest
        self._target = target
        self._on_progress = on_progress

    async def restore(self) -> None:
        """Write everything; may be repeated after it broke off.

        Raises:
            BackupError: a blob is missing or damaged, or the database refuses a row.
            AgentexError: the database, the object store or the vector index can't be reached, or is full.
        """
        await self._write_files()
        await self._write_points()
        await self._target.migrate(self._target.database, self._manifest.schema_revision)
        await self._write_rows()
        await self._target.migrate(self._target.database, "head")
        await self._requeue()

    async def _write_files(self) -> None:
        present = set(await self._target.files.keys())
        total = self._manifest.counts.files
        entries = await asyncio.to_thread(lambda: list(read_files(self._repository, self._manifest)))
        for done, entry in enumerate(entries, start=1):
            # A file under its key is whole: a store writes all of it or nothing.
            if entry.storage_key not in present:
                await self._target.files.write(entry.storage_key, self._blocks(entry))
            self._on_progress(BackupStep.FILES, done, total)

    async def _blocks(self, entry: BackupFile) -> AsyncIterator[bytes]:
        blocks = self._repository.read(entry.blob)
        while (block := await asyncio.to_thread(next, blocks, None)) is not None:
            yield block

    async def _write_points(self) -> None:
        entries = await asyncio.to_thread(lambda: list(read_points(self._repository, self._manifest)))
        for done, entry in enumerate(entries, start=1):
            await self._write_revision(entry, await asyncio.to_thread(self._content, entry))
            self._on_progress(BackupStep.VECTORS, done, len(entries))

    def _content(self, entry: BackupPoints) -> bytes:
        return b"".join(self._repository.read(entry.blob))

    async def _write_revision(self, entry: BackupPoints, content: bytes) -> None:
        store = self._target.points[entry.model]
        try:
            for points in points_from_bytes(content, self._target.dimensions[entry.model]):
                await store.upsert(points)
        except MalformedPoints as error:
            raise BackupError(BackupFault.BLOB_DAMAGED, blob=entry.blob.id) from error

    async def _write_rows(self) -> None:
        written = 0

        def count(rows: int) -> None:
            nonlocal written
            written += rows
            self._on_progress(BackupStep.ROWS, written, self._manifest.counts.rows)

        manifest = self._manifest
        await import_tables(self._target.database, self._repository, manifest.tables, manifest.counters, count)

    async def _requeue(self) -> None:
        """Have the documents indexed again whose points the backup does not have."""
        for document_id in self._manifest.unindexed:
            async with unit_of_work(self._target.database) as work:
                document = await work.session.get(Document, document_id)
                if document is not None:
                    begin_revision(work, document)
                    document.updated_at = utc_now()
