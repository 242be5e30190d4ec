"""The agents' search: the same one as the test page, bound to what the caller may see."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.citations import Passage, Retrieved
from agents.runs.admission import still_admitted
from agents.runs.passages import passage_of
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.text.visible import visible
from kb_service.documents.visibility import Person
from kb_service.models import KnowledgeBase
from kb_service.retrieval import retrieval_log
from kb_service.retrieval.results import ContextPart, FoundPassage, SearchResult
from kb_service.retrieval.service import Searcher
from kb_service.retrieval.unsearched import Unsearched


@dataclass(frozen=True)
class Recorder:
    """Keeps the retrievals of one run.

    Args:
        database: where.
        user_id: whose run it is.
        run_key: of the run.
    """

    database: Database
    user_id: str
    run_key: str

    async def record(self, result: SearchResult) -> str:
        """Keep a retrieval and give the id by which it can be looked at and replayed.

        Raises:
            DatabaseUnavailable: it could not be kept.
        """
        async with unit_of_work(self.database) as work:
            record = await retrieval_log.save(work, self.user_id, result, run_id=self.run_key)
        return record.id


class KnowledgeBaseRetriever:
    """Searches the knowledge bases of one run.

    Args:
        searcher: the product's search.
        knowledge_bases: those that the caller passed the gate for.
        recorder: keeps what was asked and found.
    """

    def __init__(
        self, searcher: Searcher, knowledge_bases: Sequence[KnowledgeBase], recorder: Recorder
    ) -> None:
        self._searcher = searcher
        self._knowledge_bases = knowledge_bases
        self._recorder = recorder

    async def retrieve(self, query: str, *, top_k: int) -> Retrieved:
        """The best passages, best first, the id of this retrieval, and what it went on without.

        Raises:
            KnowledgeBaseNotFound: the run's owner may search none of them any more.
            EmptyQuery: nothing to search for.
            QueryTooLong: more characters than the limit.
            VectorIndexUnavailable: the index did not answer.
            EngineUnavailable: the encoder did not answer.
            EmbeddingModelNotServed: none can be searched: the model is not there any more.
            EmbeddingModelUnusable: none can be searched: the engine could not load the model.
            EmbeddingsUnavailable: none can be searched: the endpoint gave no usable answer.
            DatabaseUnavailable: the database did not answer.
        """
        recorder, rows = self._recorder, self._knowledge_bases
        rows = await still_admitted(recorder.database, recorder.user_id, rows)
        request = self._searcher.resolve(rows, query, top_k=top_k)
        result = await self._searcher.search(Person(recorder.user_id), rows, request)
        id_ = await self._recorder.record(result)
        passages = tuple(_passage(found, id_) for found in result.passages)
        missed = tuple(one.message for one in result.warnings if isinstance(one, Unsearched))
        return Retrieved(passages, id_, missed)


def _passage(found: FoundPassage, retrieval_id: str) -> Passage:
    return replace(
        passage_of(found.chunk, found.document_name, score=found.hit.score),
        before=_joined(found.before),
        after=_joined(found.after),
        retrieval_id=retrieval_id,
    )


def _joined(parts: Sequence[ContextPart]) -> str:
    return "\n".join(visible(part.content).strip() for part in parts)
