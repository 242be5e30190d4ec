"""Documents as callers read them: one, or a page of a knowledge base's."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlmodel import and_, col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.pagination import PageRequest, paginate
from core.errors.auth import DocumentNotFound
from kb_service.models import Document, DocumentStatus
from kb_service.visibility import Viewer, visible_to

_OPEN = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value, DocumentStatus.PAUSED.value)
SORT_FIELDS = ("created_at", "updated_at", "name", "file_size", "status")


@dataclass(frozen=True)
class DocumentFilter:
    """Which documents are listed.

    Args:
        status: only those in it; None: in any.
        name: only those of exactly this name.
    """

    status: DocumentStatus | None = None
    name: str | None = None


_ALL = DocumentFilter()


@dataclass(frozen=True)
class DocumentListing:
    """One page of documents and how many there are in all."""

    items: Sequence[Document]
    total: int


async def get(session: AsyncSession, viewer: Viewer, knowledge_base_id: str, document_id: str) -> Document:
    """Load a document of a knowledge base that already passed the gate.

    Raises:
        DocumentNotFound: there is none in this knowledge base, or not for this viewer.
    """
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


def unused_revisions(document: Document) -> list[int]:
    """The revisions so far that neither searches nor a coming cut-over show."""
    used = {document.active_revision, document.shadow_revision}
    return [number for number in range(1, document.revision + 1) if number not in used]


async def last_changed_at(session: AsyncSession, knowledge_base_id: str) -> datetime | None:
    """When a document of a knowledge base changed last; None where there is none."""
    newest = func.max(col(Document.updated_at))
    query = select(newest).where(Document.knowledge_base_id == knowledge_base_id)
    return (await session.exec(query)).one()


async def newest_ids(session: AsyncSession, knowledge_base_id: str, *, limit: int) -> Sequence[str]:
    """The documents of a knowledge base, restricted ones too, what changed last first."""
    query = (
        select(Document.id)
        .where(Document.knowledge_base_id == knowledge_base_id, col(Document.deleted_at).is_(None))
        .order_by(col(Document.updated_at).desc(), col(Document.id).desc())
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def existing_ids(session: AsyncSession, document_ids: Collection[str]) -> frozenset[str]:
    """Those of these documents that are not erased; deleted ones may be among them."""
    query = select(Document.id).where(col(Document.id).in_(document_ids))
    return frozenset((await session.exec(query)).all())


async def changed_since(
    session: AsyncSession, knowledge_base_id: str, since: datetime, *, after_id: str = "", limit: int
) -> Sequence[Document]:
    """The documents of a knowledge base that changed, the deleted ones too, oldest change first.

    Restricted ones are among them: who tells people of them asks ``readers`` first.

    Args:
        session: to read from.
        knowledge_base_id: whose.
        since: changes of that moment and later ones.
        after_id: of that moment itself only documents with a higher id: where the last page ended.
        limit: the most that are read.
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
    """The documents of a knowledge base that are in work or wait, those in work first."""
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


async def storage_keys(session: AsyncSession) -> set[str]:
    """The keys of all files that a document has, those of older revisions too."""
    query = select(col(Document.storage_key), col(Document.superseded_keys))
    keys: set[str] = set()
    for key, superseded in (await session.exec(query)).all():
        keys.update((key, *superseded))
    return keys


async def list_documents(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, page: PageRequest, *, only: DocumentFilter = _ALL
) -> DocumentListing:
    """One page of what somebody reads of a knowledge base, which already passed the gate."""
    conditions = [
        visible_to(viewer),
        col(Document.knowledge_base_id) == knowledge_base_id,
        col(Document.deleted_at).is_(None),
    ]
    if only.status is not None:
        conditions.append(col(Document.status) == only.status.value)
    if only.name is not None:
        conditions.append(col(Document.name) == only.name)
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
