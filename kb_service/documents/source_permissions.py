"""Restriction of documents to those whom their source admits."""

from pydantic import JsonValue
from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound
from kb_service import questions
from kb_service.document_names import DocumentsByName, lock_names, numbered_names
from kb_service.documents import source_readers
from kb_service.documents.actions import get_documents_for_update
from kb_service.documents.permissions import mark_narrowed, require_room
from kb_service.documents.source_readers import Levels
from kb_service.models import Document, KnowledgeSourceItem
from kb_service.visibility import SYSTEM_VIEWER


async def restrict_to_levels(
    work: UnitOfWork, knowledge_base_id: str, document_id: str, levels: Levels, *, source_id: str, is_new: bool = False
) -> Document:
    """Let a document be read by those who are in each list, or by all whom nothing else keeps out where there is none.

    Together with what its owner says of it here: neither opens what the other one closes. A document that is opened and
    whose name is taken gets a number.

    Args:
        levels: replace those before.
        is_new: it was made in this transaction: refused where there is no room for another restricted document. One
            that is there already is restricted in any case.

    Raises:
        DocumentNotFound: it is gone.
        InvalidRequest: there is no room for it.
    """
    session = work.session
    # The rows are loaded anew below.
    await session.flush()
    lock = await lock_names(session, knowledge_base_id)
    rows = await get_documents_for_update(session, SYSTEM_VIEWER, knowledge_base_id, [document_id])
    if not rows:
        raise DocumentNotFound
    document = rows[0]
    if levels and is_new:
        await require_room(session, knowledge_base_id)
    await source_readers.replace_levels(session, document, levels)
    if levels and not document.restricted:
        document.restricted = document.only_by_source = True
        await questions.restrict_questions(session, document)
        await mark_narrowed(work, knowledge_base_id)
    elif not levels and document.only_by_source:
        present = DocumentsByName(session, SYSTEM_VIEWER, lock)
        await _take_free_name(session, present, document)
        document.restricted = document.only_by_source = False
    document.updated_at = await database_now(session)
    session.add(document)
    action = AuditAction.DOCUMENT_RESTRICTED if document.restricted else AuditAction.DOCUMENT_OPENED
    details: dict[str, JsonValue] = {"knowledge_source_id": source_id, "lists": len(levels)}
    audit(session, action, AuditTarget(Document.SHARE_KIND, document.id), details=details)
    await session.flush()
    return document


async def has_next_readers(session: AsyncSession, document_id: str) -> bool:
    """Whether lists wait for the text of a document that searches do not see yet."""
    query = select(KnowledgeSourceItem.key_hash).where(*_is_waiting(document_id))
    return (await session.exec(query)).first() is not None


async def settle_readers(work: UnitOfWork, document_id: str) -> None:
    """Let a document be read by whom its present text admits, where lists of an earlier one still count.

    Does nothing while searches see the earlier text.

    Raises:
        DocumentNotFound: it is gone.
    """
    session = work.session
    document = await session.get(Document, document_id)
    if document is None:
        raise DocumentNotFound
    # A sync that changes lists holds this lock, too.
    await lock_names(session, document.knowledge_base_id)
    await session.refresh(document)
    item = (await session.exec(select(KnowledgeSourceItem).where(*_is_waiting(document_id)))).first()
    if item is None or item.next_readers is None or shows_earlier_text(document):
        return
    item.readers, item.next_readers = item.next_readers, None
    session.add(item)
    await restrict_to_levels(
        work, document.knowledge_base_id, document_id, item.readers or [], source_id=item.source_id
    )


def shows_earlier_text(document: Document) -> bool:
    """Whether searches see the text of a file that was replaced since."""
    return bool(document.superseded_keys)


def _is_waiting(document_id: str) -> tuple[ColumnElement[bool], ...]:
    item = KnowledgeSourceItem
    return col(item.document_id) == document_id, col(item.next_readers).is_not(None), col(item.is_owner).is_(True)


async def _take_free_name(session: AsyncSession, present: DocumentsByName, document: Document) -> None:
    """Number the name of a document that is about to be opened, if an open document has it."""

    async def is_taken(name: str) -> bool:
        return any(not row.restricted for row in await present.get(name))

    before = document.name
    if not await is_taken(before):
        return
    for name in numbered_names(before):
        if not await is_taken(name):
            document.name = name
            await questions.rename_document(session, document, before)
            return
