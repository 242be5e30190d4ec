"""Making of a backup while the product serves and ingests."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from anyio import create_task_group, to_thread
from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from core.db.database import Database
from core.db.types import utc_now
from core.errors.server import EmbeddingModelUnusable
from kb_service.backup.encryption import secret_key_mark
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.inventory import Inventory, RevisionFacts, RevisionKey, take_inventory
from kb_service.backup.manifest import BackupCounts, BackupManifest, BlobRef, ColumnKind, ColumnSpec, RowStream
from kb_service.backup.points import PointStores, points_to_bytes
from kb_service.backup.progress import BackupStep, OnProgress, silent
from kb_service.backup.repository import BackupRepository
from kb_service.backup.row_format import RowWriter, read_rows
from kb_service.backup.sql_rows import export_table, read_counters
from kb_service.object_storage.protocol import ObjectStore

_T = TypeVar("_T")
# What is done in the folder of backups itself: in a restored installation it would begin again.
_NOT_BACKED_UP = frozenset({"backup_job"})
# Beside a server that serves: more would slow it down, fewer would wait for a distant store.
_AT_ONCE = 4
_BLOCK = 2**20
# After the first pass, only what changed within a moment can be missing.
_ROUNDS = 8
_PAUSE_SECONDS = 0.5

_BLOB_COLUMNS = (
    ColumnSpec(name="blob", kind=ColumnKind.TEXT),
    ColumnSpec(name="size", kind=ColumnKind.INTEGER),
    ColumnSpec(name="stored", kind=ColumnKind.INTEGER),
)
FILE_COLUMNS = (ColumnSpec(name="storage_key", kind=ColumnKind.TEXT), *_BLOB_COLUMNS)
VECTOR_COLUMNS = (
    ColumnSpec(name="document_id", kind=ColumnKind.TEXT),
    ColumnSpec(name="revision", kind=ColumnKind.INTEGER),
    ColumnSpec(name="model", kind=ColumnKind.TEXT),
    ColumnSpec(name="fingerprint", kind=ColumnKind.TEXT),
    ColumnSpec(name="points", kind=ColumnKind.INTEGER),
    *_BLOB_COLUMNS,
)


@dataclass(frozen=True)
class BackupSource:
    """An installation.

    Args:
        tables: of this version of the software.
        schema_revision: the migration that they are of.
        product: the software's version.
        secret_files: files of the data folder to put into the backup, by name.
    """

    database: Database
    files: ObjectStore
    points: PointStores
    tables: MetaData
    schema_revision: str
    product: str
    secret_key: bytes
    secret_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)


@dataclass(frozen=True)
class _StoredPoints:
    facts: RevisionFacts
    points: int
    blob: BlobRef
    is_whole: bool


class BackupCreator:
    """Makes a backup of an installation in a repository that this process writes to.

    Files and points are copied first, without a transaction. Then a snapshot of SQL is opened, and what it refers to
    and is not there yet is copied; where that has just gone, another snapshot is taken. So every row of the backup has
    its file and its points, and the transaction is open for little more than the reading of the rows.
    """

    def __init__(self, source: BackupSource, repository: BackupRepository, on_progress: OnProgress = silent) -> None:
        self._source = source
        self._repository = repository
        self._on_progress = on_progress
        self._files: dict[str, BlobRef] = {}
        self._points: dict[RevisionKey, _StoredPoints] = {}
        self._unserved: set[str] = set()
        self._doubted: set[RevisionKey] = set()
        self._rows = 0
        self._added_before = repository.added_bytes

    async def create(self) -> BackupManifest:
        """Make the backup; only when this returns it exists.

        Raises:
            BackupError: the repository can't be written, or rows and files change faster than they can be read.
            AgentexError: the database, the object store or the vector index can't be reached.
        """
        await asyncio.to_thread(self._reuse_last)
        async with self._source.database.snapshot() as connection:
            inventory = await take_inventory(connection)
        self._forget_incomplete(await self._copy(inventory))
        for _ in range(_ROUNDS):
            self._rows = 0
            async with self._source.database.snapshot() as connection:
                manifest = await self._try(connection)
            if manifest is not None:
                await asyncio.to_thread(self._repository.commit, manifest)
                return manifest
            await asyncio.sleep(_PAUSE_SECONDS)
        raise BackupError(BackupFault.NEVER_QUIET)

    def _reuse_last(self) -> None:
        """What the newest whole backup holds is not read again."""
        repository = self._repository
        try:
            last = repository.manifest()
            for blob in chain(last.secrets.values(), *(stream.blobs for stream in last.streams.values())):
                repository.trust(blob)
            self._files = {key: blob for key, blob in read_files(repository, last) if repository.trust(blob)}
            for entry in read_points(repository, last):
                # Points that were incomplete may be complete by now.
                if repository.trust(entry.blob) and entry.document_id not in last.unindexed:
                    chunks = int(entry.fingerprint.partition(":")[0])
                    facts = RevisionFacts(entry.model, chunks, entry.fingerprint)
                    key = RevisionKey(entry.document_id, entry.revision)
                    self._points[key] = _StoredPoints(facts, entry.points, entry.blob, is_whole=True)
        except BackupError:
            # There is none, or it is damaged: then everything is read.
            self._files, self._points = {}, {}

    async def _try(self, connection: AsyncConnection) -> BackupManifest | None:
        """A backup of the state that a snapshot shows; None if a part of it has gone meanwhile."""
        inventory = await take_inventory(connection)
        fresh = await self._copy(inventory)
        if not inventory.required <= self._files.keys() or self._forget_incomplete(fresh):
            return None
        tables = {
            table.name: await export_table(connection, table, self._repository, self._count_rows)
            for table in self._source.tables.sorted_tables
            if table.name not in _NOT_BACKED_UP
        }
        counters = await read_counters(connection, self._source.tables.sorted_tables)
        if await self._forget_edited(fresh):
            return None
        return await asyncio.to_thread(self._describe, inventory, tables, counters)

    def _forget_incomplete(self, fresh: Collection[RevisionKey]) -> bool:
        """Forget points that were incomplete for the first time: a newer revision may just have replaced them."""
        doubtful = {key for key in fresh if not self._points[key].is_whole and key not in self._doubted}
        self._doubted |= doubtful
        for key in doubtful:
            del self._points[key]
        return bool(doubtful)

    async def _forget_edited(self, fresh: Collection[RevisionKey]) -> bool:
        """Forget points whose chunks were edited since the snapshot: they may be those of the new text."""
        if not fresh:
            return False
        async with self._source.database.snapshot() as connection:
            now = (await take_inventory(connection)).revisions
        edited = {key for key in fresh if key in now and now[key] != self._points[key].facts}
        for key in edited:
            del self._points[key]
        return bool(edited)

    async def _copy(self, inventory: Inventory) -> set[RevisionKey]:
        """Copy what is not there yet; returns the revisions whose points were read now."""
        missing = {
            key: facts
            for key, facts in inventory.revisions.items()
            if key not in self._points or self._points[key].facts != facts
        }
        await self._each(BackupStep.VECTORS, list(missing.items()), self._copy_points)
        keys = sorted((inventory.required | inventory.optional) - self._files.keys())
        await self._each(BackupStep.FILES, keys, self._copy_file)
        return {key for key in missing if key in self._points}

    async def _each(self, step: BackupStep, items: Sequence[_T], act: Callable[[_T], Awaitable[None]]) -> None:
        """Do something with all items, a few at a time; the first failure ends the others."""
        remaining, done = iter(items), 0

        async def work() -> None:
            nonlocal done
            for item in remaining:
                await act(item)
                done += 1
                self._on_progress(step, done, len(items))

        try:
            async with create_task_group() as group:
                for _ in range(min(_AT_ONCE, len(items))):
                    group.start_soon(work)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _copy_file(self, key: str) -> None:
        # One that has gone meanwhile belongs to a row that has, too; if not, another snapshot is taken.
        with suppress(FileNotFoundError):
            async with self._source.files.local_copy(key) as path:
                self._files[key] = await to_thread.run_sync(self._add_file, path)

    def _add_file(self, path: Path) -> BlobRef:
        with path.open("rb") as file:
            return self._repository.add(iter(partial(file.read, _BLOCK), b""))

    async def _copy_points(self, item: tuple[RevisionKey, RevisionFacts]) -> None:
        key, facts = item
        try:
            store = self._source.points[facts.model]
            points = await store.points(key.document_id, key.revision)
        except (KeyError, EmbeddingModelUnusable):
            self._points.pop(key, None)
            self._unserved.add(key.document_id)
            return
        blob = await to_thread.run_sync(self._repository.add, points_to_bytes(facts.model, points))
        covered = {point.chunk_id or point.id for point in points}
        self._points[key] = _StoredPoints(facts, len(points), blob, is_whole=len(covered) >= facts.chunks)

    def _count_rows(self, count: int) -> None:
        self._rows += count
        self._on_progress(BackupStep.ROWS, self._rows, None)

    def _describe(
        self, inventory: Inventory, tables: Mapping[str, RowStream], counters: Mapping[str, int]
    ) -> BackupManifest:
        source, repository = self._source, self._repository
        files = {key: blob for key, blob in self._files.items() if key in inventory.required | inventory.optional}
        points = {key: stored for key, stored in self._points.items() if key in inventory.revisions}
        file_rows = [[key, *_columns(blob)] for key, blob in sorted(files.items())]
        file_list = _write(repository, FILE_COLUMNS, file_rows, 1)
        vector_list = _write(repository, VECTOR_COLUMNS, [_row(*item) for item in sorted(points.items(), key=_key)], 2)
        secret_blobs = {name: repository.add(iter([content])) for name, content in source.secret_files.items()}
        streams = chain.from_iterable(stream.blobs for stream in (*tables.values(), file_list, vector_list))
        blobs = chain(files.values(), (stored.blob for stored in points.values()), secret_blobs.values(), streams)
        moment = utc_now()
        return BackupManifest(
            id=f"{moment:%Y%m%dT%H%M%S}{moment.microsecond // 1000:03d}Z-{secrets.token_hex(3)}",
            repository=repository.id,
            created_at=moment,
            product=source.product,
            schema_revision=source.schema_revision,
            database="sqlite" if source.database.is_sqlite else "postgresql",
            tables=dict(tables),
            counters=dict(counters),
            files=file_list,
            vectors=vector_list,
            models=tuple(sorted({stored.facts.model for stored in points.values()})),
            unindexed=tuple(sorted({key.document_id for key, stored in points.items() if not stored.is_whole})),
            unserved=tuple(sorted(self._unserved)),
            secrets=secret_blobs,
            secret_key_mark=secret_key_mark(source.secret_key),
            counts=BackupCounts(
                documents=inventory.documents,
                files=len(files),
                file_bytes=sum(blob.size for blob in files.values()),
                points=sum(stored.points for stored in points.values()),
                rows=sum(stream.rows for stream in tables.values()),
                stored_bytes=sum({blob.id: blob.stored for blob in blobs}.values()),
                added_bytes=repository.added_bytes - self._added_before,
            ),
        )


def _key(item: tuple[RevisionKey, _StoredPoints]) -> RevisionKey:
    return item[0]


def _row(key: RevisionKey, stored: _StoredPoints) -> list[Any]:
    return [*key, stored.facts.model, stored.facts.fingerprint, stored.points, *_columns(stored.blob)]


def _columns(blob: BlobRef) -> tuple[str, int, int]:
    return blob.id, blob.size, blob.stored


def _write(
    repository: BackupRepository, columns: Sequence[ColumnSpec], rows: Sequence[Sequence[Any]], keys: int
) -> RowStream:
    writer = RowWriter(repository, columns, range(keys))
    writer.add(rows)
    return writer.finish()


class BackupFile(NamedTuple):
    """A stored file of a backup."""

    storage_key: str
    blob: BlobRef


class BackupPoints(NamedTuple):
    """The points of a revision in a backup, ``points`` in number."""

    document_id: str
    revision: int
    model: str
    fingerprint: str
    points: int
    blob: BlobRef


def read_files(repository: BackupRepository, manifest: BackupManifest) -> Iterator[BackupFile]:
    """The files of a backup; BackupError where the list is damaged."""
    for rows in read_rows(repository, manifest.files):
        for key, *blob in rows:
            yield BackupFile(key, _blob(blob))


def read_points(repository: BackupRepository, manifest: BackupManifest) -> Iterator[BackupPoints]:
    """The points of a backup; BackupError where the list is damaged."""
    for rows in read_rows(repository, manifest.vectors):
        for document_id, revision, model, fingerprint, points, *blob in rows:
            yield BackupPoints(document_id, revision, model, fingerprint, points, _blob(blob))


def _blob(values: Sequence[Any]) -> BlobRef:
    blob_id, size, stored = values
    return BlobRef(id=blob_id, size=size, stored=stored)
