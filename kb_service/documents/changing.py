"""What a person may change of a document: its name and its metadata."""

from core.database.clock import database_now
from core.database.unit_of_work import UnitOfWork
from core.errors import DocumentNameTaken, DocumentNotFound
from kb_service.documents.actions import locked
from kb_service.documents.attributes import Attributes
from kb_service.documents.intake import find_named, take_turn
from kb_service.documents.names import clean_name
from kb_service.models import Document


async def change(
    work: UnitOfWork,
    knowledge_base_id: str,
    document_id: str,
    *,
    name: str | None = None,
    attributes: Attributes | None = None,
) -> Document:
    """Rename a document or replace its metadata; None leaves one of them as it is.

    The passages are not made anew for a name: it is part of their indexed text from the next
    revision on.

    Raises:
        DocumentNotFound: there is none in this knowledge base.
        DocumentNameTaken: another document has the name.
        InvalidFileName: nothing usable is left of the name.
    """
    if name is not None:
        name = clean_name(name)
        await take_turn(work.session, knowledge_base_id)
    rows = await locked(work.session, knowledge_base_id, [document_id])
    if not rows:
        raise DocumentNotFound
    document = rows[0]
    if name is not None and name != document.name:
        present = await find_named(work.session, knowledge_base_id, name)
        if present is not None:
            raise DocumentNameTaken(field="name", name=name, document_id=present.id)
        document.name = name
    if attributes is not None:
        document.attributes = attributes
    document.updated_at = await database_now(work.session)
    work.session.add(document)
    return document
