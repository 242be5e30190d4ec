"""The agents' search: the same as on the test page, limited to what the caller may see."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.citations import DocumentSpan, Passage, RetrievedPassages
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound
from core.text.sanitize import strip_hidden
from kb_service.documents import chunks
from kb_service.documents.chunks import ReadScope
from kb_service.knowledge_bases import sharing
from kb_service.models import Chunk, KnowledgeBase
from kb_service.retrieval import retrieval_log
from kb_service.retrieval.results import ContextPart, FoundChunk, FoundPassage, SearchResult, UnsearchedWarning
from kb_service.retrieval.service import Searcher
from kb_service.visibility import UserViewer


@dataclass(frozen=True)
class RetrievalRecorder:
    """Stores the retrievals of one run."""

    database: Database
    user_id: str
    run_key: str

    async def record(self, result: SearchResult) -> str:
        """Store a retrieval and return the id for inspecting and replaying it."""
        async with unit_of_work(self.database) as work:
            record = await retrieval_log.save(work, self.user_id, result, run_id=self.run_key)
        return record.id


class KnowledgeBaseRetriever:
    """Searches the knowledge bases of one run, already checked for the caller."""

    def __init__(
        self, searcher: Searcher, knowledge_bases: Sequence[KnowledgeBase], recorder: RetrievalRecorder
    ) -> None:
        self._searcher = searcher
        self._knowledge_bases = knowledge_bases
        self._recorder = recorder

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        recorder, rows = self._recorder, self._knowledge_bases
        rows = await recheck_access(recorder.database, recorder.user_id, rows)
        request = self._searcher.resolve(rows, query, top_k=top_k)
        result = await self._searcher.search(UserViewer(recorder.user_id), rows, request)
        id_ = await self._recorder.record(result)
        passages = tuple(_passage(passage, id_) for passage in result.passages)
        missed = tuple(warning.message for warning in result.warnings if isinstance(warning, UnsearchedWarning))
        return RetrievedPassages(passages, id_, missed)


def _passage(passage: FoundPassage, retrieval_id: str) -> Passage:
    return replace(
        to_passage(passage.chunk, passage.document_name, score=passage.hit.score),
        before=_joined(passage.before),
        after=_joined(passage.after),
        retrieval_id=retrieval_id,
    )


def _joined(parts: Sequence[ContextPart]) -> str:
    return "\n".join(strip_hidden(part.content).strip() for part in parts)


def to_passage(chunk: Chunk | FoundChunk, document_name: str, *, score: float = 0.0) -> Passage:
    """The chunk as a passage, without hidden characters; ``score`` is 0 if nothing was searched."""
    return Passage(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        document_name=document_name,
        knowledge_base_id=chunk.knowledge_base_id,
        revision=chunk.revision,
        content=strip_hidden(chunk.content),
        heading_path=tuple(map(strip_hidden, chunk.heading_path)),
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        score=score,
    )


class KnowledgeBaseReader:
    """Reads documents of the knowledge bases of one run, already checked for the caller."""

    def __init__(self, database: Database, knowledge_bases: Sequence[KnowledgeBase], user_id: str) -> None:
        self._database = database
        self._knowledge_bases = knowledge_bases
        self._user_id = user_id

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        """A part of a document, by its id or its name."""
        rows = await recheck_access(self._database, self._user_id, self._knowledge_bases)
        scope = ReadScope([row.id for row in rows], UserViewer(self._user_id))
        async with self._database.reading() as session:
            span = await chunks.read_span(session, scope, document, start=start, end=end)
        passages = tuple(to_passage(chunk, span.document.name) for chunk in span.chunks)
        return DocumentSpan(span.document.name, passages, span.length, tuple(span.namesakes))


async def recheck_access(database: Database, owner_id: str, rows: Sequence[KnowledgeBase]) -> Sequence[KnowledgeBase]:
    """Current rows of a run's knowledge bases that its owner may still search."""
    async with database.reading() as session:
        owner = await principal_for_user(session, owner_id)
        owner.require(Permission.KB_VIEW)
        present = await sharing.reload_visible(session, owner, [row.id for row in rows])
    if not present:
        raise KnowledgeBaseNotFound
    return present
