"""Puts the documents of another knowledge base into a new one, as they are: nothing is embedded.

Every id follows from the transfer's and the document's key, so a try that was cut off anywhere is
done again over itself. A document's row comes first, then its points, then its chunks together
with the flip that shows it: a search finds all of it or nothing.
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
    SHARD_DOCUMENTS,
    SHARD_POINTS,
    ChunkEntry,
    DocumentContent,
    DocumentEntry,
    PointEntry,
)
from kb_service.vector_index.protocol import ChunkPoint, index_scope, point_id, window_id

# Any fixed value works; document ids are derived from it, so that a second try finds the first's.
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
    """Where documents are put.

    Args:
        transfer_id: ids are derived from it.
        knowledge_base: the new one.
        embeds_anew: only the files are taken over, and the ordinary pipeline indexes them.
        source_id: the knowledge base that is copied, None for a file; keys are its documents' ids.
        guard: fences every transaction.
    """

    transfer_id: str
    knowledge_base: KnowledgeBase
    embeds_anew: bool
    source_id: str | None
    guard: LeaseGuard

    def document_id(self, key: str) -> str:
        """The id that the document of a source's key gets."""
        return str(uuid5(_NAMESPACE, f"{self.transfer_id}:{key}"))

    @property
    def mark(self) -> str:
        """Names this transfer as the holder of a document that is not whole yet."""
        return f"transfer:{self.transfer_id}"


@dataclass(frozen=True)
class _PendingDocument:
    """A document whose file is stored."""

    key: str
    row: Document
    entry: DocumentEntry
    chunks: Sequence[ChunkEntry]
    points: Sequence[PointEntry]


class DocumentRestorer:
    """Takes documents up one by one and writes them some at a time.

    Args:
        context: the worker's connections.
        destination: where to.
    """

    def __init__(self, context: WorkerContext, destination: TransferDestination) -> None:
        self._context = context
        self._to = destination
        self._waiting: list[_PendingDocument] = []
        self._size = 0

    async def done_ids(self) -> set[str]:
        """The ids of documents that an earlier try brought in whole."""
        query = select(Document.id, Document.status, Document.lease_owner).where(
            Document.knowledge_base_id == self._to.knowledge_base.id
        )
        async with self._context.database.reading() as session:
            rows = (await session.exec(query)).all()
        return {id_ for id_, status, holder in rows if not self._is_held(status, holder)}

    def _is_held(self, status: str, holder: str | None) -> bool:
        return status == DocumentStatus.PAUSED and holder == self._to.mark

    async def take(self, content: DocumentContent) -> None:
        """Store a document's file, and write what waits when it has become enough.

        Raises:
            InvalidArchive: the file is not the one that the entry describes.
            TransferLost: the work is to end.
        """
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
        """Write what waits: rows, points, chunks and flip, in this order."""
        batch, self._waiting, self._size = self._waiting, [], 0
        if not batch:
            return
        fresh, redone = await self._write_rows(batch)
        held = [
            one for one in batch if one.row.id in fresh and one.row.status == DocumentStatus.PAUSED
        ]
        await self._write_points(held, redone)
        chunks = [await _chunk_rows(one) for one in held]
        async with unit_of_work(self._context.database, self._context.queue.push) as work:
            await self._to.guard(work)
            for one, rows in zip(held, chunks, strict=True):
                if await self._show(work, one):
                    await _insert(work, rows)

    def _row(self, content: DocumentContent) -> Document:
        entry, id_ = content.entry, self._to.document_id(content.key)
        row = Document(
            id=id_,
            knowledge_base_id=self._to.knowledge_base.id,
            name=entry.name,
            file_type=entry.file_type,
            media_type=entry.media_type,
            file_size=entry.file_size,
            sha256=entry.sha256,
            storage_key=str(uuid5(UUID(id_), "original")),
            attributes=entry.attributes,
            restricted=entry.restricted,
            chosen_encoding=entry.chosen_encoding,
            generation=self._to.knowledge_base.generation,
        )
        if entry.state == "failed":
            row.status, row.failure = DocumentStatus.FAILED.value, entry.failure
        elif entry.state == "cancelled":
            row.status = DocumentStatus.CANCELLED.value
        elif entry.is_indexed and not self._to.embeds_anew:
            # Not for the pipeline, and no sweep takes its points for lost.
            row.status, row.lease_owner = DocumentStatus.PAUSED.value, self._to.mark
        return row

    async def _write_rows(self, batch: Sequence[_PendingDocument]) -> tuple[set[str], set[str]]:
        """Write the rows, over those that an earlier try left half done.

        Returns:
            The ids of all rows written, and of those that were there half done. What a person
            has taken out of this transfer's hands meanwhile is in neither.
        """
        ids = [one.row.id for one in batch]
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
            fresh = [one for one in batch if one.row.id not in present]
            for one in fresh:
                # A copy: the object would belong to this session, and be empty after its end.
                row = Document(**one.row.model_dump())
                work.session.add(row)
                if row.status == DocumentStatus.PENDING:
                    work.wake_workers()
            await self._restrict(work, fresh, redone)
            await self._check_quota(work)
        return {one.row.id for one in fresh}, redone

    async def _restrict(
        self, work: UnitOfWork, fresh: Sequence[_PendingDocument], redone: Collection[str]
    ) -> None:
        """Say who reads the restricted ones of new documents, as they come into being.

        Later their owner may have said something else, be it that a try was cut off since.
        """
        restricted = [one for one in fresh if one.row.restricted]
        if not restricted:
            return
        await permissions.mark_narrowed(work, self._to.knowledge_base.id)
        if self._to.source_id is not None:
            copies = {one.key: one.row.id for one in restricted if one.row.id not in redone}
            await permissions.copy_acl(work, self._to.source_id, self._to.knowledge_base.id, copies)

    async def _check_quota(self, work: UnitOfWork) -> None:
        """A copy's source may have grown since its size was promised."""
        settings = await self._context.live.read(work.session)
        quota, owner_id = settings.user_quota_bytes, self._to.knowledge_base.owner_id
        if quota:
            await lock_owner(work.session, owner_id)
            await document_quota.check_quota(work.session, owner_id, limit_bytes=quota)

    async def _write_points(
        self, held: Sequence[_PendingDocument], redone: Collection[str]
    ) -> None:
        knowledge_base = self._to.knowledge_base
        index = self._context.spaces.of(knowledge_base.embedding_model).index
        scope = index_scope(knowledge_base.id, knowledge_base.generation)
        # A copy's source may have had other chunks when an earlier try was cut off.
        again = [one.row.id for one in held if one.row.id in redone]
        if again:
            await index.delete_documents(again)
        points = [_point(one.row.id, scope, point) for one in held for point in one.points]
        if points:
            await index.upsert(points)

    async def _show(self, work: UnitOfWork, one: _PendingDocument) -> bool:
        """Let searches see a document; False where a person did something else with it."""
        entry, now = one.entry, await database_now(work.session)
        statement = (
            update(Document)
            .where(
                col(Document.id) == one.row.id,
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
                encoding=entry.encoding,
                pages=entry.pages,
                warnings=list(entry.warnings),
                lease_owner=None,
                completed_at=now,
                updated_at=now,
            )
        )
        if (await work.session.exec(statement)).rowcount == 0:
            return False
        if entry.state == "changed":
            row = await work.session.get_one(Document, one.row.id)
            row.updated_at = now
            begin_revision(work, row)
        return True


async def _store(context: WorkerContext, key: str, content: DocumentContent) -> None:
    """Write a document's file under a key, and see that it is the one the entry describes."""
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
        id=chunk_id
        if point.window is None
        else window_id(document_id, _REVISION, point.chunk, point.window),
        kb_id=scope,
        document_id=document_id,
        revision=_REVISION,
        index=point.chunk,
        dense=point.dense,
        sparse=point.sparse,
        chunk_id=None if is_chunk else chunk_id,
    )


async def _chunk_rows(one: _PendingDocument) -> list[dict[str, object]]:
    """The chunks' rows; tokens for the rerank are made anew."""
    rows: list[dict[str, object]] = []
    for start in range(0, len(one.chunks), _CHUNKS_PER_THREAD_TURN):
        part = one.chunks[start : start + _CHUNKS_PER_THREAD_TURN]
        rows += await to_thread.run_sync(_build_rows, one.row, part)
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
