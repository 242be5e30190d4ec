"""Editing a document: its name, its metadata, and its text encoding."""

from dataclasses import dataclass

from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import DocumentNameTaken
from kb_service import questions
from kb_service.document_names import DocumentsByName, NameLock, clean_name, lock_names
from kb_service.documents.actions import get_documents_for_update
from kb_service.documents.metadata import Attributes
from kb_service.documents.upload import begin_revision
from kb_service.models import Document
from kb_service.visibility import Viewer

AUTO_ENCODING = "auto"
"""Detect the encoding from the bytes."""


@dataclass(frozen=True)
class DocumentUpdate:
    """Changes to a document, None for none; ``encoding`` is a codec name or ``AUTO_ENCODING``."""

    name: str | None = None
    attributes: Attributes | None = None
    encoding: str | None = None


async def update(
    work: UnitOfWork, viewer: Viewer, knowledge_base_id: str, document_id: str, changes: DocumentUpdate
) -> Document:
    """Rename a document, replace its metadata or set its encoding.

    A new encoding processes the document again; searches see the old passages until that is done. A new name does not:
    it enters the passages' indexed text with the next revision. Saved questions follow the name.
    """
    lock, name = None, changes.name
    if name is not None:
        name = clean_name(name)
    if name is not None or changes.encoding is not None:
        lock = await lock_names(work.session, knowledge_base_id)
    rows = await get_documents_for_update(work.session, viewer, knowledge_base_id, [document_id])
    if not rows:
        raise DocumentNotFound
    document = rows[0]
    if lock is not None and name is not None and name != document.name:
        present = await DocumentsByName(work.session, viewer, lock).get(name)
        if present:
            raise DocumentNameTaken(field="name", name=name, document_id=present[0].id)
        before, document.name = document.name, name
        await questions.rename_document(work.session, document, before)
    if changes.attributes is not None:
        document.attributes = changes.attributes
    if lock is not None and changes.encoding is not None:
        _set_encoding(work, lock, document, changes.encoding)
    document.updated_at = await database_now(work.session)
    work.session.add(document)
    return document


def _set_encoding(work: UnitOfWork, lock: NameLock, document: Document, encoding: str) -> None:
    chosen = None if encoding == AUTO_ENCODING else encoding
    if chosen != document.chosen_encoding:
        document.chosen_encoding = chosen
        # Goes first, even while a re-index processes old documents.
        document.generation = lock.generation
        begin_revision(work, document)
