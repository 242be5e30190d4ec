"""Queries for single documents and lists of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import func
from sqlmodel import and_, col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Action, Principal
from core.db.name_part import contains_ignoring_case
from core.db.pagination import PageRequest, paginate
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound
from kb_service.documents.metadata import Attributes
from kb_service.documents.metadata_filter import MetadataConditions, metadata_clauses
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, DocumentStatus
from kb_service.visibility import Viewer, visible_to

_OPEN = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value, DocumentStatus.PAUSED.value)
SORT_FIELDS = ("created_at", "updated_at", "name", "file_size", "status")


@dataclass(frozen=True)
class DocumentFilter:
    """Filter of a document list; ``name`` is exact, ``name_contains`` ignores case, None matches any."""

    status: DocumentStatus | None = None
    name: str | None = None
    name_contains: str | None = None
    metadata: MetadataConditions = field(default_factory=MetadataConditions)


_ALL = DocumentFilter()


@dataclass(frozen=True)
class DocumentListing:
    """One page of documents, and the total."""

    items: Sequence[Document]
    total: int


async def get(session: AsyncSession, viewer: Viewer, knowledge_base_id: str, document_id: str) -> Document:
    """Load a document of a knowledge base that already passed the gate."""
    query = select(Document).where(
        Document.id == document_id,
        Document.knowledge_base_id == knowledge_base_id,
        col(Document.deleted_at).is_(None),
        visible_to(viewer),
    )
    document = (await session.exec(query)).first()
    if document is None:
        raise DocumentNotFound
    return document


async def find(session: AsyncSession, principal: Principal, document_id: str) -> Document:
    """Load a document of any knowledge base, through the gate.

    Raises ``DocumentNotFound`` also for one whose knowledge base the caller may not see.
    """
    query = select(Document.knowledge_base_id).where(Document.id == document_id)
    knowledge_base_id = (await session.exec(query)).first()
    if knowledge_base_id is None:
        raise DocumentNotFound
    try:
        row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.READ)
    except KnowledgeBaseNotFound:
        raise DocumentNotFound from None
    return await get(session, principal, row.id, document_id)


def unused_revisions(document: Document) -> list[int]:
    """Past revisions that neither searches nor a coming cut-over show."""
    used = {document.active_revision, document.shadow_revision}
    return [number for number in range(1, document.revision + 1) if number not in used]


async def last_changed_at(session: AsyncSession, knowledge_base_id: str) -> datetime | None:
    """When a document of a knowledge base last changed; None if it has none."""
    newest = func.max(col(Document.updated_at))
    query = select(newest).where(Document.knowledge_base_id == knowledge_base_id)
    return (await session.exec(query)).one()


async def newest_ids(session: AsyncSession, knowledge_base_id: str, *, limit: int) -> Sequence[str]:
    """Ids of a knowledge base's documents, restricted ones too, last changed first."""
    query = (
        select(Document.id)
        .where(Document.knowledge_base_id == knowledge_base_id, col(Document.deleted_at).is_(None))
        .order_by(col(Document.updated_at).desc(), col(Document.id).desc())
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def existing_ids(session: AsyncSession, document_ids: Collection[str]) -> frozenset[str]:
    """Those of these ids that are not erased; deleted ones may be among them."""
    query = select(Document.id).where(col(Document.id).in_(document_ids))
    return frozenset((await session.exec(query)).all())


async def changed_since(
    session: AsyncSession, knowledge_base_id: str, since: datetime, *, after_id: str = "", limit: int
) -> Sequence[Document]:
    """Documents that changed, deleted ones too, oldest change first; page on with the last one's id.

    Includes restricted documents: check ``visibility`` before showing them to anybody.
    """
    changed = col(Document.updated_at)
    query = (
        select(Document)
        .where(
            Document.knowledge_base_id == knowledge_base_id,
            or_(changed > since, and_(changed == since, col(Document.id) > after_id)),
        )
        .order_by(col(Document.updated_at), col(Document.id))
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def list_open(session: AsyncSession, viewer: Viewer, knowledge_base_id: str, *, limit: int) -> Sequence[Document]:
    """Documents of a knowledge base that wait or are in progress, the latter first."""
    at_work = col(Document.status) == DocumentStatus.PROCESSING.value
    query = (
        select(Document)
        .where(
            Document.knowledge_base_id == knowledge_base_id,
            col(Document.deleted_at).is_(None),
            col(Document.status).in_(_OPEN),
            visible_to(viewer),
        )
        .order_by(at_work.desc(), col(Document.created_at), col(Document.id))
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def metadata_by_id(session: AsyncSession, document_ids: Collection[str]) -> dict[str, Attributes]:
    """The metadata of documents that the caller is known to read."""
    query = select(Document.id, col(Document.attributes)).where(col(Document.id).in_(document_ids))
    return dict((await session.exec(query)).all())


async def storage_keys(session: AsyncSession) -> set[str]:
    """Storage keys of all documents' files, including older revisions."""
    query = select(col(Document.storage_key), col(Document.superseded_keys))
    keys: set[str] = set()
    for key, superseded in (await session.exec(query)).all():
        keys.update((key, *superseded))
    return keys


async def list_documents(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, page: PageRequest, *, only: DocumentFilter = _ALL
) -> DocumentListing:
    """One page of the documents that the viewer can read; the knowledge base passed the gate."""
    conditions = [
        visible_to(viewer),
        col(Document.knowledge_base_id) == knowledge_base_id,
        col(Document.deleted_at).is_(None),
    ]
    if only.status is not None:
        conditions.append(col(Document.status) == only.status.value)
    if only.name is not None:
        conditions.append(col(Document.name) == only.name)
    if only.name_contains:
        conditions.append(contains_ignoring_case(col(Document.name), only.name_contains))
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    conditions += metadata_clauses(only.metadata, is_sqlite=is_sqlite)
    query = paginate(
        select(Document).where(*conditions),
        page,
        columns={
            "created_at": col(Document.created_at),
            "updated_at": col(Document.updated_at),
            "name": col(Document.name),
            "file_size": col(Document.file_size),
            "status": col(Document.status),
        },
        tie=col(Document.id),
    )
    total = select(func.count()).select_from(Document).where(*conditions)
    return DocumentListing((await session.exec(query)).all(), (await session.exec(total)).one())
