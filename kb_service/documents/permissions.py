"""Restricting documents to some readers of their knowledge base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import Share
from core.auth.principal import Action, Principal
from core.auth.sharing import (
    ShareEntry,
    ShareSpec,
    access_by_subject,
    delete_shares,
    list_shares,
    replace_shares,
    share_list_version,
)
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import Conflict, DocumentNameTaken
from core.errors.requests import InvalidRequest
from kb_service import questions
from kb_service.documents import queries as document_queries
from kb_service.documents import source_readers
from kb_service.documents.actions import get_documents_for_update
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import get_for_update
from kb_service.models import Document, KnowledgeBase

MOST_RESTRICTED = 10_000
"""Restricted documents of one knowledge base: searches must exclude the hidden ones by id (docs/decisions/0120)."""
_OPEN = "open"
_CHANGED = {
    "field": "version",
    "error": "Who reads the document was changed since it was read: read it again",
    "error_zh": "该文档的读者名单已被修改：请重新读取",
}


_BY_SOURCE = {
    "field": "source",
    "error": "Its source restricts the document: change that in the source, or let the source ignore permissions",
    "error_zh": "该文档由其来源限制：请在来源中修改权限，或将来源的 permissions 设为 ignore",
}


@dataclass(frozen=True)
class DocumentAcl:
    """Who can read a document; readers count only if they can read the knowledge base.

    Args:
        restricted: for whatever reason.
        readers: besides the owner, where it is restricted ``by_hand``.
        source_levels: lists of its source, in each of which a reader must be, too; None where that restricts nothing.
    """

    restricted: bool
    readers: Sequence[ShareEntry] = ()
    by_hand: bool = False
    source_levels: Sequence[Sequence[str]] | None = None

    @property
    def version(self) -> str:
        return share_list_version(self.readers) if self.by_hand else _OPEN


@dataclass(frozen=True)
class DocumentAclUpdate:
    """New readers of a document besides the owner; ``version`` is of the list that the caller saw."""

    readers: Sequence[ShareSpec]
    version: str | None = None


@dataclass
class _RestrictedDocument:
    """A restricted document as a shareable resource, owned by its knowledge base's owner."""

    SHARE_KIND: ClassVar[str] = Document.SHARE_KIND
    id: str
    owner_id: str
    is_public: bool = False


async def get_acl(session: AsyncSession, principal: Principal, knowledge_base_id: str, document_id: str) -> DocumentAcl:
    """Who can read a document; only for the owner of its knowledge base."""
    base = await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    document = await document_queries.get(session, principal, base.id, document_id)
    return await _load_acl(session, document, _RestrictedDocument(document.id, base.owner_id))


async def restrict(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, document_id: str, acl: DocumentAclUpdate
) -> DocumentAcl:
    """Restrict a document to these readers of its knowledge base; the owner can always read it.

    Whom its source keeps out stays out.
    """
    session = work.session
    base, document = await _get_for_update(work, principal, knowledge_base_id, document_id)
    resource = _RestrictedDocument(document.id, base.owner_id)
    present = await _load_acl(session, document, resource)
    if acl.version not in (None, version := present.version):
        raise Conflict(**_CHANGED, version=version)
    if not present.restricted:
        await require_room(session, base.id)
    await replace_shares(work, resource, acl.readers, field="readers")
    document.only_by_source = False
    if not present.restricted:
        document.restricted = True
        await questions.restrict_questions(session, document)
        await mark_narrowed(work, base.id)
    now = await _load_acl(session, document, resource)
    if present.version != now.version:
        await _touch(work, document)
        target = AuditTarget(Document.SHARE_KIND, document.id)
        # A list: as a key, a name that looks like a secret's would be redacted.
        audit(session, AuditAction.DOCUMENT_RESTRICTED, target, details={"readers": [*access_by_subject(now.readers)]})
    return now


async def _load_acl(session: AsyncSession, document: Document, resource: _RestrictedDocument) -> DocumentAcl:
    if not document.restricted:
        return DocumentAcl(restricted=False)
    by_hand = not document.only_by_source
    readers = await list_shares(session, resource) if by_hand else ()
    return DocumentAcl(True, readers, by_hand, await source_readers.list_levels(session, document))


async def mark_narrowed(work: UnitOfWork, knowledge_base_id: str) -> None:
    """Mark a knowledge base so that searches check readers per document; this is never undone."""
    statement = update(KnowledgeBase).where(col(KnowledgeBase.id) == knowledge_base_id)
    await work.session.exec(statement.values(narrowed=True))


async def copy_acl(work: UnitOfWork, source_id: str, target_id: str, copies: Mapping[str, str]) -> None:
    """Give restricted documents in a copy the readers of the originals; ``copies`` maps original to new ids.

    Only if both knowledge bases have the same owner: readers of a document need not know who else reads it, so in
    another owner's copy it is theirs alone.
    """
    session = work.session
    owners = select(KnowledgeBase.owner_id).where(col(KnowledgeBase.id).in_([source_id, target_id]))
    if len({*(await session.exec(owners)).all()}) != 1:
        return
    query = select(Share).where(col(Share.kind) == Document.SHARE_KIND, col(Share.resource_id).in_(copies))
    for share in (await session.exec(query)).all():
        facts = share.model_dump(exclude={"id", "resource_id", "created_at"})
        session.add(Share(**facts, resource_id=copies[share.resource_id]))


async def unrestrict(work: UnitOfWork, principal: Principal, knowledge_base_id: str, document_id: str) -> None:
    """Open a document to everybody who reads the knowledge base; does nothing if it is open.

    Raises:
        Conflict: only its source restricts it.
    """
    _, document = await _get_for_update(work, principal, knowledge_base_id, document_id)
    if not document.restricted:
        return
    if document.source_levels and await source_readers.is_kept_by_source(work.session, document.id):
        await _open_here(work, document)
        return
    query = select(Document.id).where(
        col(Document.knowledge_base_id) == document.knowledge_base_id,
        col(Document.name) == document.name,
        col(Document.deleted_at).is_(None),
        col(Document.restricted).is_(False),
    )
    namesake_id = (await work.session.exec(query)).first()
    if namesake_id is not None:
        raise DocumentNameTaken(field="name", name=document.name, document_id=namesake_id)
    document.restricted = document.only_by_source = False
    # Those of a source that is gone.
    await source_readers.delete_levels(work.session, document)
    await _touch(work, document)
    await delete_shares(work, Document.SHARE_KIND, [document.id])
    audit(work.session, AuditAction.DOCUMENT_OPENED, AuditTarget(Document.SHARE_KIND, document.id))


async def _open_here(work: UnitOfWork, document: Document) -> None:
    """Take away the restriction by hand; that of the source stays."""
    if document.only_by_source:
        raise Conflict(**_BY_SOURCE)
    document.only_by_source = True
    await _touch(work, document)
    await delete_shares(work, Document.SHARE_KIND, [document.id])
    audit(work.session, AuditAction.DOCUMENT_RESTRICTED, AuditTarget(Document.SHARE_KIND, document.id))


async def _get_for_update(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, document_id: str
) -> tuple[KnowledgeBase, Document]:
    session = work.session
    # Uploads and renames take the same lock: what a name means depends on it.
    base = await get_for_update(session, principal, knowledge_base_id, Action.MANAGE)
    rows = await get_documents_for_update(session, principal, base.id, [document_id])
    if not rows:
        raise DocumentNotFound
    return base, rows[0]


async def require_room(session: AsyncSession, knowledge_base_id: str) -> None:
    """Refuse another restricted document beyond ``MOST_RESTRICTED``: InvalidRequest."""
    query = (
        select(func.count())
        .select_from(Document)
        .where(
            col(Document.knowledge_base_id) == knowledge_base_id,
            col(Document.restricted).is_(True),
            col(Document.deleted_at).is_(None),
        )
    )
    if (await session.exec(query)).one() >= MOST_RESTRICTED:
        error = f"Restrict at most {MOST_RESTRICTED:,} documents of a knowledge base: put them into another"
        raise InvalidRequest("doc_id", error)


async def _touch(work: UnitOfWork, document: Document) -> None:
    # Notifies progress feeds.
    document.updated_at = await database_now(work.session)
    work.session.add(document)
