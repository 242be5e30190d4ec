"""Restore of a knowledge base's documents into a new one, without embedding them again.

Every id is derived from the transfer's id and the document's key, so an interrupted attempt can be repeated. A
document's row is written first, then its points, then its chunks together with the switch that shows it: a search
finds all of it or nothing.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from anyio import to_thread
from sqlalchemy import delete as delete_from
from sqlalchemy import insert, update
from sqlmodel import col, select

from core.auth.locks import lock_owner
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.requests import InvalidArchive
from ingestion.context import WorkerContext
from kb_service.documents import permissions
from kb_service.documents import quota as document_quota
from kb_service.documents.upload import begin_revision
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.text.tokenizer import pack_terms
from kb_service.transfer.archive_format import (
    RESTORED_FIELDS,
    SHARD_DOCUMENTS,
    SHARD_POINTS,
    ChunkEntry,
    DocumentContent,
    DocumentEntry,
    PointEntry,
)
from kb_service.vector_index.protocol import ChunkPoint, index_scope, point_id, window_id

# Any fixed value works; document ids are derived from it, so that a retry finds the first attempt's.
_NAMESPACE = UUID("0b9f6b5e-8c1d-5a47-9a54-5d5b0f0c7a11")
_REVISION = 1
_CHUNKS_PER_INSERT = 100
_CHUNKS_PER_THREAD_TURN = 200


class TransferLost(Exception):
    """The transfer is another worker's, was cancelled, or its knowledge base was deleted."""


LeaseGuard = Callable[[UnitOfWork], Awaitable[None]]
"""Renews the transfer's lease inside a transaction; raises ``TransferLost``."""


@dataclass(frozen=True)
class TransferDestination:
    """The new knowledge base; ``embeds_anew``: only files are restored, ``source_id``: None for an import of a file."""

    transfer_id: str
    knowledge_base: KnowledgeBase
    embeds_anew: bool
    source_id: str | None
    guard: LeaseGuard

    def document_id(self, key: str) -> str:
        return str(uuid5(_NAMESPACE, f"{self.transfer_id}:{key}"))

    @property
    def mark(self) -> str:
        """The lease owner of documents that this transfer has not restored completely."""
        return f"transfer:{self.transfer_id}"


@dataclass(frozen=True)
class _PendingDocument:
    key: str
    row: Document
    entry: DocumentEntry
    chunks: Sequence[ChunkEntry]
    points: Sequence[PointEntry]


class DocumentRestorer:
    """Stores the files of documents one by one, and writes their rows in batches."""

    def __init__(self, context: WorkerContext, destination: TransferDestination) -> None:
        self._context = context
        self._to = destination
        self._waiting: list[_PendingDocument] = []
        self._size = 0

    async def done_ids(self) -> set[str]:
        query = select(Document.id, Document.status, Document.lease_owner).where(
            Document.knowledge_base_id == self._to.knowledge_base.id
        )
        async with self._context.database.reading() as session:
            rows = (await session.exec(query)).all()
        return {id_ for id_, status, holder in rows if not self._is_held(status, holder)}

    def _is_held(self, status: str, holder: str | None) -> bool:
        return status == DocumentStatus.PAUSED and holder == self._to.mark

    async def add(self, content: DocumentContent) -> None:
        """Store a document's file, and write the batch when it is full; InvalidArchive if it does not match its entry."""
        entry = content.entry
        row = self._row(content)
        await _store(self._context, row.storage_key, content)
        has_index = entry.is_indexed and not self._to.embeds_anew
        points = content.points if has_index else ()
        chunks = content.chunks if has_index else ()
        self._waiting.append(_PendingDocument(content.key, row, entry, chunks, points))
        self._size += len(points)
        if len(self._waiting) >= SHARD_DOCUMENTS or self._size >= SHARD_POINTS:
            await self.flush()

    async def flush(self) -> None:
        """Write the batch: rows, points, chunks and switch, in this order."""
        batch, self._waiting, self._size = self._waiting, [], 0
        if not batch:
            return
        fresh, redone = await self._write_rows(batch)
        pending = [
            document for document in batch if document.row.id in fresh and document.row.status == DocumentStatus.PAUSED
        ]
        await self._write_points(pending, redone)
        chunks = [await _chunk_rows(document) for document in pending]
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            await self._to.guard(work)
            for document, rows in zip(pending, chunks, strict=True):
                if await self._show(work, document):
                    await _insert(work, rows)

    def _row(self, content: DocumentContent) -> Document:
        entry, id_ = content.entry, self._to.document_id(content.key)
        row = Document(
            **entry.model_dump(include=RESTORED_FIELDS),
            id=id_,
            knowledge_base_id=self._to.knowledge_base.id,
            storage_key=str(uuid5(UUID(id_), "original")),
            generation=self._to.knowledge_base.generation,
        )
        if entry.state == "failed":
            row.status, row.failure = DocumentStatus.FAILED.value, entry.failure
        elif entry.state == "cancelled":
            row.status = DocumentStatus.CANCELLED.value
        elif entry.is_indexed and not self._to.embeds_anew:
            # Neither the pipeline nor the sweep touches it.
            row.status, row.lease_owner = DocumentStatus.PAUSED.value, self._to.mark
        return row

    async def _write_rows(self, batch: Sequence[_PendingDocument]) -> tuple[set[str], set[str]]:
        """Write the rows, over incomplete ones of an earlier attempt.

        Returns:
            The ids of all rows written, and of those that existed incomplete. Documents that a person changed
            meanwhile are in neither.
        """
        ids = [document.row.id for document in batch]
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            await self._to.guard(work)
            half_done = (
                col(Document.id).in_(ids),
                col(Document.status) == DocumentStatus.PAUSED.value,
                col(Document.lease_owner) == self._to.mark,
                col(Document.deleted_at).is_(None),
            )
            redone = set((await work.session.exec(select(Document.id).where(*half_done))).all())
            await work.session.exec(delete_from(Document).where(*half_done))
            query = select(Document.id).where(col(Document.id).in_(ids))
            present = set((await work.session.exec(query)).all())
            fresh = [document for document in batch if document.row.id not in present]
            for document in fresh:
                # A copy: the object would be bound to this session and expire with it.
                row = Document(**document.row.model_dump())
                work.session.add(row)
                if row.status == DocumentStatus.PENDING:
                    work.wake_workers()
            await self._restrict(work, fresh, redone)
            await self._check_quota(work)
        return {document.row.id for document in fresh}, redone

    async def _restrict(self, work: UnitOfWork, fresh: Sequence[_PendingDocument], redone: Collection[str]) -> None:
        """Copy the readers of restricted documents on the first write only: their owner may have changed them since."""
        restricted = [document for document in fresh if document.row.restricted]
        if not restricted:
            return
        await permissions.mark_narrowed(work, self._to.knowledge_base.id)
        if self._to.source_id is not None:
            copies = {document.key: document.row.id for document in restricted if document.row.id not in redone}
            await permissions.copy_acl(work, self._to.source_id, self._to.knowledge_base.id, copies)

    async def _check_quota(self, work: UnitOfWork) -> None:
        """Check the quota: a copy's source may have grown since the start."""
        settings = await self._context.live.read(work.session)
        quota, owner_id = settings.user_quota_bytes, self._to.knowledge_base.owner_id
        if quota:
            await lock_owner(work.session, owner_id)
            await document_quota.check_quota(work.session, owner_id, limit_bytes=quota)

    async def _write_points(self, pending: Sequence[_PendingDocument], redone: Collection[str]) -> None:
        knowledge_base = self._to.knowledge_base
        index = self._context.spaces.of(knowledge_base.embedding_model).index
        scope = index_scope(knowledge_base.id, knowledge_base.generation)
        # The source may have changed since an interrupted attempt.
        again = [document.row.id for document in pending if document.row.id in redone]
        if again:
            await index.delete_documents(again)
        points = [_point(document.row.id, scope, point) for document in pending for point in document.points]
        if points:
            await index.upsert(points)

    async def _show(self, work: UnitOfWork, document: _PendingDocument) -> bool:
        """Show a document to searches; False if a person changed it since."""
        entry, now = document.entry, await database_now(work.session)
        statement = (
            update(Document)
            .where(
                col(Document.id) == document.row.id,
                col(Document.status) == DocumentStatus.PAUSED.value,
                col(Document.lease_owner) == self._to.mark,
                col(Document.deleted_at).is_(None),
            )
            .values(
                status=DocumentStatus.COMPLETED.value,
                stage=DocumentStage.DONE.value,
                progress=100,
                active_revision=_REVISION,
                chunk_count=entry.chunk_count,
                **entry.model_dump(include=set(Document.PARSED_FIELDS)),
                lease_owner=None,
                completed_at=now,
                updated_at=now,
            )
        )
        if (await work.session.exec(statement)).rowcount == 0:
            return False
        if entry.state == "changed":
            row = await work.session.get_one(Document, document.row.id)
            row.updated_at = now
            begin_revision(work, row)
        return True


async def _store(context: WorkerContext, key: str, content: DocumentContent) -> None:
    digest, size, limit = hashlib.sha256(), 0, content.entry.file_size

    async def counted() -> AsyncIterator[bytes]:
        nonlocal size
        async for block in content.original:
            size += len(block)
            if size > limit:
                break
            await to_thread.run_sync(digest.update, block)
            yield block
        if (size, digest.hexdigest()) != (limit, content.entry.sha256):
            raise InvalidArchive("the file of a document is not the one that was exported")

    await context.store.write(key, counted())


def _point(document_id: str, scope: str, point: PointEntry) -> ChunkPoint:
    chunk_id = point_id(document_id, _REVISION, point.chunk)
    is_chunk = point.window is None
    return ChunkPoint(
        id=chunk_id if point.window is None else window_id(document_id, _REVISION, point.chunk, point.window),
        kb_id=scope,
        document_id=document_id,
        revision=_REVISION,
        index=point.chunk,
        dense=point.dense,
        sparse=point.sparse,
        chunk_id=None if is_chunk else chunk_id,
    )


async def _chunk_rows(document: _PendingDocument) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for start in range(0, len(document.chunks), _CHUNKS_PER_THREAD_TURN):
        part = document.chunks[start : start + _CHUNKS_PER_THREAD_TURN]
        rows += await to_thread.run_sync(_build_rows, document.row, part)
    return rows


def _build_rows(row: Document, chunks: Sequence[ChunkEntry]) -> list[dict[str, object]]:
    return [
        Chunk(
            id=point_id(row.id, _REVISION, chunk.position),
            document_id=row.id,
            knowledge_base_id=row.knowledge_base_id,
            revision=_REVISION,
            terms=pack_terms(chunk.content),
            **chunk.model_dump(exclude={"document"}),
        ).model_dump()
        for chunk in chunks
    ]


async def _insert(work: UnitOfWork, rows: Sequence[dict[str, object]]) -> None:
    for start in range(0, len(rows), _CHUNKS_PER_INSERT):
        part = rows[start : start + _CHUNKS_PER_INSERT]
        await work.session.exec(insert(Chunk), params=part)
        await asyncio.sleep(0)
