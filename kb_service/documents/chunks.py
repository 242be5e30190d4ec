"""Reading and editing the chunks of documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, func, update
from sqlmodel import col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Action, Principal
from core.db.pagination import PageRequest, paginate
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import ChunkNotFound, DocumentNotFound, KnowledgeBaseNotFound
from core.errors.conflicts import Conflict
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.visibility import SYSTEM_VIEWER, Viewer, visible_to

SORT_FIELDS = ("position", "token_count")
_CHANGED = {
    "field": "version",
    "error": "The passage was edited meanwhile: read it again",
    "error_zh": "该段落已被他人修改：请重新读取",
}


@dataclass(frozen=True)
class ChunkListing:
    """One page of chunks, and the total."""

    items: Sequence[Chunk]
    total: int


@dataclass(frozen=True)
class LocatedChunk:
    """A searchable chunk with its document and knowledge base."""

    knowledge_base: KnowledgeBase
    document: Document
    chunk: Chunk


@dataclass(frozen=True)
class DocumentExcerpt:
    """Enabled chunks of a part of a document; ``namesakes`` are ids of others with its name."""

    document: Document
    chunks: Sequence[Chunk]
    length: int
    namesakes: Sequence[str]


async def list_chunks(
    session: AsyncSession, document: Document, page: PageRequest, *, is_changed: bool | None = None
) -> ChunkListing:
    """One page of the active revision's chunks; ``is_changed`` selects edited or disabled ones, or the others."""
    conditions = [col(Chunk.document_id) == document.id, col(Chunk.revision) == (document.active_revision or 0)]
    if is_changed is not None:
        changed = or_(col(Chunk.version) > 1, col(Chunk.enabled).is_(False))
        conditions.append(changed if is_changed else ~changed)
    query = paginate(
        select(Chunk).where(*conditions),
        page,
        columns={"position": col(Chunk.position), "token_count": col(Chunk.token_count)},
        tie=col(Chunk.id),
    )
    total = select(func.count()).select_from(Chunk).where(*conditions)
    return ChunkListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def get(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, chunk_id: str) -> LocatedChunk:
    """Load a chunk that searches see, of a knowledge base that already passed the gate."""
    query = (
        select(Chunk, Document)
        .join(Document, col(Document.id) == col(Chunk.document_id))
        .where(
            Chunk.id == chunk_id,
            col(Document.knowledge_base_id) == knowledge_base.id,
            col(Document.deleted_at).is_(None),
            col(Document.active_revision) == col(Chunk.revision),
            visible_to(viewer),
        )
    )
    row = (await session.exec(query)).first()
    if row is None:
        raise ChunkNotFound
    chunk, document = row
    return LocatedChunk(knowledge_base, document, chunk)


async def find(session: AsyncSession, principal: Principal, chunk_id: str) -> LocatedChunk:
    """Load a chunk that searches see, of any knowledge base, through the gate.

    Raises ``ChunkNotFound`` also for one whose knowledge base the caller may not see.
    """
    query = select(Chunk.knowledge_base_id).where(Chunk.id == chunk_id, col(Chunk.enabled).is_(True))
    knowledge_base_id = (await session.exec(query)).first()
    if knowledge_base_id is None:
        raise ChunkNotFound
    try:
        row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.READ)
    except KnowledgeBaseNotFound:
        raise ChunkNotFound from None
    return await get(session, principal, row, chunk_id)


async def read_around(session: AsyncSession, located: LocatedChunk, neighbours: int) -> DocumentExcerpt:
    """Load a chunk with the enabled ones of up to so many positions before and behind it."""
    document, position = located.document, located.chunk.position
    is_near = col(Chunk.position).between(position - neighbours, position + neighbours)
    return await _span(session, document, is_near)


@dataclass(frozen=True)
class ReadScope:
    """The viewer, and the knowledge bases that passed the gate for them."""

    knowledge_base_ids: Sequence[str]
    viewer: Viewer


async def read_span(
    session: AsyncSession, scope: ReadScope, id_or_name: str, *, start: int, end: int
) -> DocumentExcerpt:
    """Load the part of a document between two character offsets, as searches see it."""
    query = (
        select(Document)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(
            col(Document.knowledge_base_id).in_(scope.knowledge_base_ids),
            or_(col(Document.id) == id_or_name, col(Document.name) == id_or_name),
            col(Document.deleted_at).is_(None),
            col(KnowledgeBase.deleted_at).is_(None),
            col(Document.active_revision).is_not(None),
            visible_to(scope.viewer),
        )
        .order_by((col(Document.id) == id_or_name).desc(), col(Document.id))
    )
    documents = (await session.exec(query)).all()
    if not documents:
        raise DocumentNotFound
    is_touched = and_(col(Chunk.char_start) < end, col(Chunk.char_end) > start)
    return await _span(session, documents[0], is_touched, [other.id for other in documents[1:]])


async def _span(
    session: AsyncSession, document: Document, condition: ColumnElement[bool], namesakes: Sequence[str] = ()
) -> DocumentExcerpt:
    is_active = (col(Chunk.document_id) == document.id, col(Chunk.revision) == document.active_revision)
    query = select(Chunk).where(*is_active, col(Chunk.enabled).is_(True), condition)
    rows = (await session.exec(query.order_by(col(Chunk.position)))).all()
    length = (await session.exec(select(func.max(Chunk.char_end)).where(*is_active))).one()
    return DocumentExcerpt(document, rows, length or 0, namesakes)


def require_version(chunk: Chunk, version: int) -> None:
    """Raise ``Conflict`` with the present version if the chunk was edited since the caller read it."""
    if chunk.version != version:
        raise Conflict(**_CHANGED, version=chunk.version)


async def update_chunk(work: UnitOfWork, located: LocatedChunk, values: dict[str, Any]) -> Chunk:
    """Write fields of a chunk, if it is unchanged since the caller read it and still searchable.

    The row stays locked until the transaction ends, so the rest of the change can be made without another one
    interfering.
    """
    is_active = select(Document.id).where(
        col(Document.id) == located.document.id,
        col(Document.deleted_at).is_(None),
        col(Document.active_revision) == located.chunk.revision,
    )
    statement = (
        update(Chunk)
        .where(col(Chunk.id) == located.chunk.id, col(Chunk.version) == located.chunk.version, is_active.exists())
        .values(**values)
    )
    if (await work.session.exec(statement)).rowcount == 0:
        # The caller has already passed the gate.
        now = await get(work.session, SYSTEM_VIEWER, located.knowledge_base, located.chunk.id)
        require_version(now.chunk, located.chunk.version)
        # Another revision was active for a moment; nothing was written.
        raise Conflict(**_CHANGED, version=now.chunk.version)
    return await work.session.get_one(Chunk, located.chunk.id, populate_existing=True)
