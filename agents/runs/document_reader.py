"""Reading in the documents of one run's knowledge bases, behind the gate that searches pass."""

from collections.abc import Sequence

from agents.citations import DocumentSpan, Passage
from core.database.engine import Database
from kb_service import chunks
from kb_service.models import Chunk, Document, KnowledgeBase


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
        passages = tuple(_passage(span.document, chunk) for chunk in span.chunks)
        return DocumentSpan(span.document.name, passages, span.length, tuple(span.namesakes))


def _passage(document: Document, chunk: Chunk) -> Passage:
    return Passage(
        chunk_id=chunk.id,
        document_id=document.id,
        document_name=document.name,
        knowledge_base_id=document.knowledge_base_id,
        revision=chunk.revision,
        content=chunk.content,
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        score=0.0,
    )
