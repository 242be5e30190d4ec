"""Reading in the documents of one run's knowledge bases, behind the gate that searches pass."""

from collections.abc import Sequence

from agents.citations import DocumentSpan
from agents.runs.admission import still_admitted
from agents.runs.passages import passage_of
from core.db.database import Database
from kb_service.documents import chunks
from kb_service.documents.chunks import Shelf
from kb_service.documents.visibility import Person
from kb_service.models import KnowledgeBase


class KnowledgeBaseReader:
    """Reads what searches of the same knowledge bases may show.

    Args:
        database: where documents and chunks are.
        knowledge_bases: those that the caller passed the gate for.
        user_id: the caller.
    """

    def __init__(
        self, database: Database, knowledge_bases: Sequence[KnowledgeBase], user_id: str
    ) -> None:
        self._database = database
        self._knowledge_bases = knowledge_bases
        self._user_id = user_id

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        """A part of a document, by its id or its name.

        Raises:
            KnowledgeBaseNotFound: the caller may read none of them any more.
            DocumentNotFound: no searchable document of these knowledge bases.
            DatabaseUnavailable: the database did not answer.
        """
        rows = await still_admitted(self._database, self._user_id, self._knowledge_bases)
        shelf = Shelf([row.id for row in rows], Person(self._user_id))
        async with self._database.reading() as session:
            span = await chunks.read_span(session, shelf, document, start=start, end=end)
        passages = tuple(passage_of(chunk, span.document.name) for chunk in span.chunks)
        return DocumentSpan(span.document.name, passages, span.length, tuple(span.namesakes))
