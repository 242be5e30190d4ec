"""Reader of a local knowledge base for exports and copies."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from anyio import AsyncFile, open_file, to_thread
from sqlalchemy import case, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import SettingsChanged
from core.types.text_boxes import TextBox
from kb_service import questions
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.models import Chunk, Document, DocumentStatus, KnowledgeBase
from kb_service.object_storage.protocol import ObjectStore
from kb_service.questions import QuestionDraft
from kb_service.transfer.archive_format import (
    DOCUMENT_FIELDS,
    MAX_TIES,
    MAX_WINDOWS,
    ChunkEntry,
    DocumentContent,
    DocumentEntry,
    DocumentState,
    Extent,
    KnowledgeBaseSettings,
    PointEntry,
    QuestionEntry,
)
from kb_service.vector_index.protocol import ChunkPoint, SparseVector, window_id
from kb_service.visibility import Viewer, knowledge_base_visible_to, visible_to

_BLOCK = 2**20
# Loading more rows at a time would block the event loop.
_CHUNKS_PER_QUERY = 100
# A document that changes while it is read is read again.
_TRIES = 20
_PAUSE_SECONDS = 0.25


@dataclass(frozen=True)
class SourceStores:
    """Where a knowledge base is stored: rows, files and points."""

    database: Database
    files: ObjectStore
    spaces: EmbeddingSpaces


@dataclass(frozen=True)
class _DocumentSnapshot:
    """A document's row, and how often its chunks were edited."""

    document: Document
    edits: tuple[object, ...]

    @property
    def marks(self) -> tuple[object, ...]:
        """Equal while nothing that is exported has changed."""
        row = self.document
        is_new = bool(row.superseded_keys)
        return (row.active_revision, row.storage_key, is_new, row.restricted, self.edits)


class KnowledgeBaseSource:
    """A consistent view of a knowledge base: every document whole, in one state that it really had.

    Covers the documents that exist at the start and that the viewer can read. One that is replaced meanwhile comes with
    its old or its new content, never a mix; one that is deleted meanwhile is left out. Reading fails after a cut-over,
    or when the viewer loses access.
    """

    def __init__(self, stores: SourceStores, viewer: Viewer, knowledge_base: KnowledgeBase) -> None:
        self._stores = stores
        self._viewer = viewer
        self._knowledge_base = knowledge_base
        self._numbers: dict[str, int] = {}

    @property
    def settings(self) -> KnowledgeBaseSettings:
        row = self._knowledge_base
        return KnowledgeBaseSettings(
            name=row.name,
            description=row.description,
            embedding_model=row.embedding_model,
            splitter=row.splitter,
            chunk_size=row.chunk_size,
            chunk_overlap=row.chunk_overlap,
            retrieval=row.retrieval,
            parser=row.parser,
            strategy=row.strategy,
        )

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        return self._stores.spaces.of(self._knowledge_base.embedding_model).model.dimension

    async def extent(self) -> Extent:
        query = select(func.count(), func.coalesce(func.sum(Document.file_size), 0)).where(
            col(Document.knowledge_base_id) == self._knowledge_base.id,
            col(Document.deleted_at).is_(None),
            visible_to(self._viewer),
        )
        async with self._stores.database.reading() as session:
            documents, size = (await session.exec(query)).one()
        return Extent(documents, int(size))

    async def drafts(self) -> list[QuestionDraft]:
        """The saved questions, tied to documents by their keys."""
        async with self._stores.database.reading() as session:
            rows = await questions.list_all(session, self._viewer, await self._present(session))
        return [QuestionDraft(row.text, row.expected, row.restricted_to) for row in rows]

    async def questions(self) -> list[QuestionEntry]:
        """The saved questions as archive entries, one for each expected passage.

        A question about a restricted document is only exported with it (if it was among the ``contents`` read before):
        otherwise nothing would say who may read its words.
        """
        entries: list[QuestionEntry] = []
        for draft in await self.drafts():
            numbers = [self._numbers[key] for key in draft.restricted_to if key in self._numbers]
            if len(draft.restricted_to) == len(numbers) <= MAX_TIES:
                entries += [
                    QuestionEntry(question=draft.text, restricted_to=sorted(numbers), **passage)
                    for passage in draft.expected
                ]
        return entries

    async def contents(self, is_wanted: Callable[[str], bool] = lambda _key: True) -> AsyncGenerator[DocumentContent]:
        """The wanted documents in the order of their names; the key is the document's id.

        Raises:
            KnowledgeBaseNotFound: it was deleted meanwhile, or the viewer lost access.
            SettingsChanged: a re-index took effect meanwhile.
        """
        for number, document_id in enumerate(await self._document_ids(), start=1):
            if is_wanted(document_id):
                async with self._opened(number, document_id) as content:
                    if content is not None:
                        self._numbers[document_id] = number
                        yield content

    async def _document_ids(self) -> Sequence[str]:
        query = select(Document.id, Document.name).where(
            col(Document.knowledge_base_id) == self._knowledge_base.id,
            col(Document.deleted_at).is_(None),
            visible_to(self._viewer),
        )
        async with self._stores.database.reading() as session:
            rows = (await session.exec(query)).all()
        # Sorted here, because databases sort names differently.
        return [id_ for id_, _ in sorted(rows, key=lambda row: row[1])]

    @asynccontextmanager
    async def _opened(self, number: int, document_id: str) -> AsyncGenerator[DocumentContent | None]:
        for turn in range(_TRIES):
            async with AsyncExitStack() as stack:
                state = await self._state(document_id)
                if state is None:
                    yield None
                    return
                content = await self._read(number, state.document, stack)
                # Open files stay readable, whatever happens to the document.
                if content is not None and await self._is_still(state):
                    yield content
                    return
            await asyncio.sleep(_PAUSE_SECONDS * min(turn, 4))
        raise SettingsChanged(document=document_id)

    async def _read(self, number: int, row: Document, stack: AsyncExitStack) -> DocumentContent | None:
        chunks = await self._chunks(row)
        points = await self._points(row, chunks)
        try:
            path = await stack.enter_async_context(self._stores.files.local_copy(row.storage_key))
            file = await stack.enter_async_context(await open_file(path, "rb"))
        except FileNotFoundError:
            return None
        entries = [_chunk_entry(number, chunk) for chunk in chunks]
        entry = _document_entry(number, row, len(chunks))
        return DocumentContent(row.id, entry, _blocks(file), entries, points)

    async def _state(self, document_id: str) -> _DocumentSnapshot | None:
        async with self._stores.database.reading() as session:
            present = await self._present(session)
            if present.generation != self._knowledge_base.generation:
                raise SettingsChanged
            # The viewer may have lost access since the start.
            query = select(Document).where(
                Document.id == document_id, col(Document.deleted_at).is_(None), visible_to(self._viewer)
            )
            row = (await session.exec(query)).first()
            if row is None:
                return None
            return _DocumentSnapshot(row, await _edits(session, row))

    async def _present(self, session: AsyncSession) -> KnowledgeBase:
        """Reload the knowledge base and check that the viewer still has access."""
        query = select(KnowledgeBase).where(
            KnowledgeBase.id == self._knowledge_base.id,
            col(KnowledgeBase.deleted_at).is_(None),
            knowledge_base_visible_to(self._viewer),
        )
        present = (await session.exec(query)).first()
        if present is None:
            raise KnowledgeBaseNotFound
        return present

    async def _is_still(self, before: _DocumentSnapshot) -> bool:
        now = await self._state(before.document.id)
        return now is not None and now.marks == before.marks

    async def _chunks(self, row: Document) -> list[Chunk]:
        chunks: list[Chunk] = []
        while row.active_revision is not None:
            query = (
                select(Chunk)
                .where(
                    col(Chunk.document_id) == row.id,
                    col(Chunk.revision) == row.active_revision,
                    col(Chunk.position) > (chunks[-1].position if chunks else -1),
                )
                .order_by(col(Chunk.position))
                .limit(_CHUNKS_PER_QUERY)
            )
            async with self._stores.database.reading() as session:
                page = (await session.exec(query)).all()
            chunks += page
            if len(page) < _CHUNKS_PER_QUERY:
                break
        return chunks

    async def _points(self, row: Document, chunks: Sequence[Chunk]) -> list[PointEntry]:
        if row.active_revision is None:
            return []
        space = self._stores.spaces.of(self._knowledge_base.embedding_model)
        points = await space.index.points(row.id, row.active_revision)
        return await to_thread.run_sync(_point_entries, row, chunks, points)


async def _edits(session: AsyncSession, row: Document) -> tuple[object, ...]:
    """A value that changes with every edit of a chunk."""
    query = select(
        func.count(),
        func.coalesce(func.sum(Chunk.version), 0),
        func.coalesce(func.sum(case((col(Chunk.enabled).is_(True), 1), else_=0)), 0),
    ).where(Chunk.document_id == row.id, Chunk.revision == row.active_revision)
    return tuple((await session.exec(query)).one())


def _document_entry(number: int, row: Document, chunk_count: int) -> DocumentEntry:
    return DocumentEntry(
        **row.model_dump(include=DOCUMENT_FIELDS),
        number=number,
        state=_archive_state(row),
        chunk_count=chunk_count,
        failure=row.failure if row.status == DocumentStatus.FAILED else None,
    )


def _archive_state(row: Document) -> DocumentState:
    if row.active_revision is not None:
        return "changed" if row.superseded_keys else "indexed"
    ends: dict[str, DocumentState] = {
        DocumentStatus.FAILED.value: "failed",
        DocumentStatus.CANCELLED.value: "cancelled",
    }
    return ends.get(row.status, "waiting")


def _chunk_entry(number: int, chunk: Chunk) -> ChunkEntry:
    return ChunkEntry(
        document=number,
        position=chunk.position,
        content=chunk.content,
        heading_path=chunk.heading_path,
        page=chunk.page,
        later_pages=[(offset, page) for offset, page in chunk.later_pages] if chunk.later_pages else None,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        token_count=chunk.token_count,
        enabled=chunk.enabled,
        version=chunk.version,
        boxes=list(map(TextBox._make, chunk.boxes)) if chunk.boxes else None,
    )


def _point_entries(row: Document, chunks: Sequence[Chunk], points: Sequence[ChunkPoint]) -> list[PointEntry]:
    places = {chunk.id: place for place, chunk in enumerate(chunks)}
    windows: dict[str, set[str]] = defaultdict(set)
    for point in points:
        if point.chunk_id is not None:
            windows[point.chunk_id].add(point.id)
    numbers = {
        id_: number
        for chunk_id, ids in windows.items()
        if chunk_id in places
        for id_, number in _window_numbers(row, chunks[places[chunk_id]], ids).items()
    }
    entries = [
        PointEntry(places[chunk_id], numbers.get(point.id), point.dense, _in_order(point.sparse))
        for point in points
        if (chunk_id := point.chunk_id or point.id) in places
    ]
    return sorted(entries, key=lambda entry: (entry.chunk, -1 if entry.window is None else entry.window))


def _window_numbers(row: Document, chunk: Chunk, ids: set[str]) -> dict[str, int]:
    """The window number of each point id: ids are hashes of the numbers."""
    numbers: dict[str, int] = {}
    for number in range(MAX_WINDOWS):
        id_ = window_id(row.id, chunk.revision, chunk.position, number)
        if id_ in ids:
            numbers[id_] = number
        if len(numbers) == len(ids):
            break
    return numbers


def _in_order(sparse: SparseVector) -> SparseVector:
    pairs = sorted(zip(sparse.indices, sparse.values, strict=True))
    return SparseVector(tuple(i for i, _ in pairs), tuple(v for _, v in pairs))


async def _blocks(file: AsyncFile[bytes]) -> AsyncIterator[bytes]:
    while block := await file.read(_BLOCK):
        yield block
