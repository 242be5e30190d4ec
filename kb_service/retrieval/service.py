"""The one search: the test page, the terminal, the agents' tool and replays all call it."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlmodel import col, select

from core.db.database import Database
from core.errors.conflicts import Conflict
from core.errors.requests import EmptyQuery, QueryTooLong
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.failures import MODEL_ERRORS
from kb_service.models import Chunk, KnowledgeBase
from kb_service.retrieval.candidates import IndexChanged
from kb_service.retrieval.filters import Filters
from kb_service.retrieval.pipeline import RetrievalPipeline, SearchDeps, SearchScope
from kb_service.retrieval.positions import PassagePositions, positions
from kb_service.retrieval.request import RetrievalOptions, RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.retrieval.rerankers.protocol import Reranker
from kb_service.retrieval.results import FoundPassage as FoundPassage
from kb_service.retrieval.results import SearchResult as SearchResult
from kb_service.retrieval.token_cache import TermCache
from kb_service.visibility import SYSTEM_VIEWER, Viewer, hidden_document_ids

# A cut-over is one moment: to meet it once in a search is bad luck, five times is a fault.
_TRIES = 5
_WARM_UP_QUERY = "How is a search warmed up? 如何预热搜索"


class Searcher:
    """Searches any set of knowledge bases.

    Args:
        database: holds the chunks' text and which revision is active.
        spaces: embedding spaces by model name.
        max_query_characters: longer queries are refused.
        rerankers: those configured, beside the lexical one, by name.
    """

    def __init__(
        self,
        database: Database,
        spaces: EmbeddingSpaces,
        *,
        max_query_characters: int,
        rerankers: Mapping[str, Reranker] | None = None,
    ) -> None:
        self._means = SearchDeps(database, spaces, dict(rerankers or {}), TermCache())
        self._max_query_characters = max_query_characters

    def resolve(
        self,
        knowledge_bases: Sequence[KnowledgeBase],
        query: str,
        options: RetrievalOptions | None = None,
        *,
        filters: Filters | None = None,
        top_k: int | None = None,
    ) -> RetrievalRequest:
        """A request with every choice made: the caller's, the knowledge bases', the product's.

        Args:
            knowledge_bases: where to search.
            query: a question or keywords.
            options: the caller's choices.
            filters: which documents count.
            top_k: used where neither the caller nor the knowledge bases say how many.
        """
        own = RetrievalOptions(top_k=top_k, reranker=next(iter(self._means.rerankers), None))
        return RetrievalRequest.resolve(
            query, knowledge_bases, options, filters=filters, fallback=own
        )

    async def search(
        self,
        reader: Viewer,
        knowledge_bases: Sequence[KnowledgeBase],
        request: RetrievalRequest,
        *,
        explain: bool = False,
        shadow: bool = False,
    ) -> SearchResult:
        """Search knowledge bases that the caller has passed the gate for.

        Where only some of their embedding models can be used, the others are searched, and a
        warning names those that were not.

        Args:
            reader: who searches: what is not for them is as if it were not there.
            knowledge_bases: where to search, those that the request names; disabled ones give
                nothing.
            request: what to find, and how.
            explain: also tell which candidates were dropped, and why.
            shadow: search what a re-index has made so far instead of what searches see.

        Raises:
            EmptyQuery: nothing but blanks.
            QueryTooLong: more characters than the limit.
            VectorIndexUnavailable: the index did not answer: never an empty result instead.
            EngineUnavailable: the encoder did not answer.
            EmbeddingModelNotServed: none can be searched: the model is not there any more.
            EmbeddingModelUnusable: none can be searched: the engine could not load the model.
            EmbeddingsUnavailable: none can be searched: the endpoint gave no usable answer.
            EmbeddingsRefused: none can be searched: the endpoint does not take the query.
            InvalidVector: none can be searched: the model's vectors are not those of the settings.
        """
        started = time.perf_counter()
        request = request.model_copy(update={"query": self._checked(request.query)})
        rows = knowledge_bases
        flips: set[tuple[str, int]] = set()
        for _ in range(_TRIES):
            alive = [row for row in rows if row.enabled]
            try:
                ground = await self._ground(reader, alive)
                execution = RetrievalPipeline(
                    self._means, ground, request, shadow=shadow, flips=flips
                )
                result = await execution.result(explain=explain)
            except IndexChanged:
                rows = await self._reread(rows)
                continue
            return replace(result, took_ms=(time.perf_counter() - started) * 1000)
        raise Conflict(reason="the knowledge base changes its settings all the time")

    async def positions(
        self,
        reader: Viewer,
        result: SearchResult,
        knowledge_base: KnowledgeBase,
        chunk: Chunk,
        hit: RankedHit | None,
    ) -> PassagePositions:
        """Where a passage stands in each leg of a search of its knowledge base.

        Args:
            reader: who searched.
            result: of that search.
            knowledge_base: the passage's.
            chunk: the passage.
            hit: its places as a candidate, if it was one.

        Raises:
            AgentexError: as ``search`` does.
        """
        ground = await self._ground(reader, [knowledge_base])
        execution = RetrievalPipeline(
            self._means, ground, result.request, shadow=False, flips=set()
        )
        (probe,) = execution.probes
        probe.with_dense = result.dense_weight > 0
        return await positions(probe, chunk, hit)

    async def warm_up(self) -> None:
        """Do all that a search does once, so that no person waits for what is made at first use.

        Raises:
            AgentexError: a part did not answer.
        """
        for model in self._means.spaces:
            nowhere = KnowledgeBase(
                id="",
                owner_id="",
                name="",
                name_key="",
                embedding_model=model,
                chunk_size=0,
                chunk_overlap=0,
            )
            request = self.resolve([nowhere], _WARM_UP_QUERY, RetrievalOptions(neighbours=1))
            # One that is away has nothing to warm up; the next ones have.
            with suppress(*MODEL_ERRORS):
                await self.search(SYSTEM_VIEWER, [nowhere], request, explain=True)

    def _checked(self, query: str) -> str:
        text = query.strip()
        if not text:
            raise EmptyQuery(field="query")
        if len(text) > self._max_query_characters:
            raise QueryTooLong(field="query", max_characters=self._max_query_characters)
        return text

    async def _ground(self, reader: Viewer, rows: Sequence[KnowledgeBase]) -> SearchScope:
        if reader is SYSTEM_VIEWER:
            return SearchScope(rows, is_whole=True)
        if not any(row.narrowed for row in rows):
            return SearchScope(rows)
        async with self._means.database.reading() as session:
            return SearchScope(rows, await hidden_document_ids(session, rows, reader))

    async def _reread(self, rows: Sequence[KnowledgeBase]) -> Sequence[KnowledgeBase]:
        query = select(KnowledgeBase).where(
            col(KnowledgeBase.id).in_([row.id for row in rows]),
            col(KnowledgeBase.deleted_at).is_(None),
        )
        async with self._means.database.reading() as session:
            return (await session.exec(query)).all()
