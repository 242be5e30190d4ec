"""Editing a document: its name, its metadata, its text encoding and its parser."""

from dataclasses import dataclass

from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound
from core.errors.conflicts import DocumentNameTaken
from kb_service import questions
from kb_service.document_names import DocumentsByName, clean_name, lock_names
from kb_service.documents.actions import get_documents_for_update
from kb_service.documents.metadata import Attributes
from kb_service.documents.upload import begin_revision
from kb_service.models import Document
from kb_service.visibility import Viewer

AUTO_ENCODING = "auto"
"""Detect the encoding from the bytes."""


@dataclass(frozen=True)
class DocumentUpdate:
    """Changes to a document, None for none.

    ``encoding`` is a codec name or ``AUTO_ENCODING``, ``parser`` a checked choice.
    """

    name: str | None = None
    attributes: Attributes | None = None
    encoding: str | None = None
    parser: "ParserChange | None" = None

    @property
    def is_processed_again(self) -> bool:
        return self.encoding is not None or self.parser is not None


@dataclass(frozen=True)
class ParserChange:
    """Another parser for a document; None for that of its knowledge base."""

    parser: str | None
    strategy: str | None


async def update(
    work: UnitOfWork, viewer: Viewer, knowledge_base_id: str, document_id: str, changes: DocumentUpdate
) -> Document:
    """Rename a document, replace its metadata or set its encoding or parser.

    A new encoding or parser processes the document again; searches see the old passages until that is done. A new name does not:
    it enters the passages' indexed text with the next revision. Saved questions follow the name.
    """
    lock, name = None, changes.name
    if name is not None:
        name = clean_name(name)
    if name is not None or changes.is_processed_again:
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
    if lock is not None and _set_reading(document, changes):
        # Goes first, even while a re-index processes old documents.
        document.generation = lock.generation
        begin_revision(work, document)
    document.updated_at = await database_now(work.session)
    work.session.add(document)
    return document


def _set_reading(document: Document, changes: DocumentUpdate) -> bool:
    """Set how a document is read; whether that is another way than before."""
    before = (document.chosen_encoding, document.chosen_parser, document.chosen_strategy)
    if changes.encoding is not None:
        document.chosen_encoding = None if changes.encoding == AUTO_ENCODING else changes.encoding
    if changes.parser is not None:
        document.chosen_parser, document.chosen_strategy = changes.parser.parser, changes.parser.strategy
    return before != (document.chosen_encoding, document.chosen_parser, document.chosen_strategy)
