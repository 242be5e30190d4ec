"""Reading in the documents of one run's knowledge bases, behind the gate that searches pass."""

from collections.abc import Sequence

from agents.citations import DocumentSpan
from agents.runs.passages import passage_of
from core.database.engine import Database
from kb_service import chunks
from kb_service.models import KnowledgeBase


class KnowledgeBaseReader:
    """Reads what searches of the same knowledge bases may show.

    Args:
        database: where documents and chunks are.
        knowledge_bases: those that the caller passed the gate for.
    """

    def __init__(self, database: Database, knowledge_bases: Sequence[KnowledgeBase]) -> None:
        self._database = database
        self._ids = [row.id for row in knowledge_bases]

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        """A part of a document, by its id or its name.

        Raises:
            DocumentNotFound: no searchable document of these knowledge bases.
            DatabaseUnavailable: the database did not answer.
        """
        async with self._database.reading() as session:
            span = await chunks.read_span(session, self._ids, document, start=start, end=end)
        passages = tuple(passage_of(chunk, span.document.name) for chunk in span.chunks)
        return DocumentSpan(span.document.name, passages, span.length, tuple(span.namesakes))
