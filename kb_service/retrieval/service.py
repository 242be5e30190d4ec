"""The search service of the test page, the terminal, the agents' tool and replays."""

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
from kb_service.models import KnowledgeBase
from kb_service.query_translation.translator import QueryTranslator
from kb_service.retrieval.candidates import SpaceQuery, Stopwatch
from kb_service.retrieval.filters import Filters, filter_condition
from kb_service.retrieval.pipeline import RetrievalPipeline, SearchDeps
from kb_service.retrieval.request import RetrievalOptions, RetrievalRequest
from kb_service.retrieval.rerankers.protocol import Reranker
from kb_service.retrieval.results import FoundPassage as FoundPassage
from kb_service.retrieval.results import SearchResult as SearchResult
from kb_service.retrieval.token_cache import TermCache
from kb_service.retrieval.visibility import DocumentScope
from kb_service.visibility import SYSTEM_VIEWER, Viewer, hidden_document_ids

# A cut-over is momentary: hitting it once per search is bad luck, five times is a bug.
_TRIES = 5
_WARM_UP_QUERY = "How is a search warmed up? 如何预热搜索"


class Searcher:
    """Searches any set of knowledge bases.

    Args:
        database: holds the chunks' text and which revision is active.
        rerankers: those configured besides the lexical one, by name.
        translator: finds passages by words of the other language, too.
    """

    def __init__(
        self,
        database: Database,
        spaces: EmbeddingSpaces,
        *,
        max_query_characters: int,
        rerankers: Mapping[str, Reranker] | None = None,
        translator: QueryTranslator | None = None,
    ) -> None:
        self._deps = SearchDeps(database, spaces, dict(rerankers or {}), TermCache(), translator)
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
        """Resolve every option: the caller's, the knowledge bases', the product's.

        Args:
            top_k: used if neither the caller nor the knowledge bases choose one.
        """
        own = RetrievalOptions(top_k=top_k, reranker=next(iter(self._deps.rerankers), None))
        return RetrievalRequest.resolve(query, knowledge_bases, options, filters=filters, fallback=own)

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

        If only some of their embedding models are usable, the others are left out with a warning.

        Args:
            reader: what is hidden from them is not searched.
            knowledge_bases: those that the request names; disabled ones give nothing.
            explain: also return which candidates were dropped, and why.
            shadow: search what a re-index has built so far instead of what searches see.

        Raises:
            EmptyQuery: nothing but whitespace.
            QueryTooLong: more characters than the limit.
            VectorIndexUnavailable: the index did not answer: never an empty result instead.
            EngineUnavailable: the encoder did not answer.
            AgentexError: one of ``MODEL_ERRORS``: no knowledge base has a usable embedding model.
        """
        started = time.perf_counter()
        request = request.model_copy(update={"query": self._checked(request.query)})
        rows = knowledge_bases
        new_revisions: set[tuple[str, int]] = set()
        for _ in range(_TRIES):
            enabled = [row for row in rows if row.enabled]
            scope = await self._scope(reader, enabled, request.filters)
            scope = replace(scope, is_shadow=shadow, new_revisions=new_revisions)
            pipeline = RetrievalPipeline(self._deps, request, enabled, scope, explain=explain)
            result = await pipeline.run()
            if result is not None:
                return replace(result, took_ms=(time.perf_counter() - started) * 1000)
            rows = await self._reread(rows)
        raise Conflict(reason="the knowledge base changes its settings all the time")

    async def query(self, reader: Viewer, knowledge_base: KnowledgeBase, result: SearchResult) -> SpaceQuery:
        """The query of a finished search, to be repeated in one of its knowledge bases."""
        scope = await self._scope(reader, [knowledge_base], result.request.filters)
        siblings: list[SpaceQuery] = []
        query = SpaceQuery(
            self._deps.spaces.of(knowledge_base.embedding_model),
            result.request,
            scope,
            Stopwatch(),
            sparse=self._deps.sparse_query(result.request.query),
            siblings=siblings,
            with_dense=result.dense_weight > 0,
        )
        siblings.append(query)
        return query

    async def warm_up(self) -> None:
        """Run everything that a search runs, so that no user waits for first-use initialisation."""
        for model in self._deps.spaces:
            nowhere = KnowledgeBase(
                id="", owner_id="", name="", name_key="", embedding_model=model, chunk_size=0, chunk_overlap=0
            )
            request = self.resolve([nowhere], _WARM_UP_QUERY, RetrievalOptions(neighbours=1))
            # A model that is down must not stop the others.
            with suppress(*MODEL_ERRORS):
                await self.search(SYSTEM_VIEWER, [nowhere], request, explain=True)

    def _checked(self, query: str) -> str:
        text = query.strip()
        if not text:
            raise EmptyQuery(field="query")
        if len(text) > self._max_query_characters:
            raise QueryTooLong(field="query", max_characters=self._max_query_characters)
        return text

    async def _scope(self, reader: Viewer, rows: Sequence[KnowledgeBase], filters: Filters) -> DocumentScope:
        generations = {row.id: row.generation for row in rows}
        is_sqlite = self._deps.database.is_sqlite
        condition = None if filters.is_empty else filter_condition(filters, is_sqlite=is_sqlite)
        if reader is SYSTEM_VIEWER:
            return DocumentScope(generations, condition)
        hidden: frozenset[str] = frozenset()
        if any(row.narrowed for row in rows):
            async with self._deps.database.reading() as session:
                hidden = await hidden_document_ids(session, rows, reader)
        unnarrowed = frozenset(row.id for row in rows if not row.narrowed)
        return DocumentScope(generations, condition, hidden=hidden, unnarrowed=unnarrowed)

    async def _reread(self, rows: Sequence[KnowledgeBase]) -> Sequence[KnowledgeBase]:
        query = select(KnowledgeBase).where(
            col(KnowledgeBase.id).in_([row.id for row in rows]), col(KnowledgeBase.deleted_at).is_(None)
        )
        async with self._deps.database.reading() as session:
            return (await session.exec(query)).all()
