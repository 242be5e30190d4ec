"""Search in one or several knowledge bases (docs/reference/agentex-api.md, section 9.10)."""

from fastapi import Depends
from pydantic import Field

from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import EMBEDDING_FAILURES, error_responses
from api.http.responses import Envelope, RequestModel, Text
from api.http.routing import Router
from api.knowledge_bases.search_schemas import SearchAnswer, search_answer
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.requests import EmptyQuery, InvalidRequest, QueryTooLong
from kb_service.documents.queries import metadata_by_id
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.retrieval.filters import Filters
from kb_service.retrieval.request import RetrievalOptions

router = Router(prefix="/api/v1", tags=["search"])
View = Depends(requires(Permission.KB_VIEW))
_ERRORS = error_responses(InvalidRequest, EmptyQuery, QueryTooLong, KnowledgeBaseNotFound, *EMBEDDING_FAILURES)


class RetrievalBody(RequestModel, RetrievalOptions):
    """What to look for; a choice that is left out is the knowledge base's, then the product's."""

    query: Text = Field(examples=["服务器配置要求"])
    filters: Filters = Field(default_factory=Filters, description="Which documents count")
    explain: bool = Field(default=False, description="Show how each passage got its place, and what was dropped")


class SearchBody(RetrievalBody):
    """What to look for, and what to show."""

    include_metadata: bool = Field(default=False, description="Show the metadata of each passage's document")


class WideSearchBody(SearchBody):
    """What to look for, and where; without knowledge bases in all that the caller sees."""

    knowledge_base_ids: list[Text] | None = Field(default=None, max_length=100)


async def _search(
    context: CurrentContext, principal: Principal, body: SearchBody, knowledge_base_ids: list[str] | None
) -> Envelope[SearchAnswer]:
    async with context.database.reading() as session:
        rows = await knowledge_bases.get_searchable(session, principal, knowledge_base_ids)
        most = (await context.live.read(session)).search_top_k
    request = context.knowledge.searcher.resolve(rows, body.query, body, filters=body.filters, top_k=most)
    result = await context.knowledge.searcher.search(principal, rows, request, explain=body.explain)
    answer = search_answer(result, explain=body.explain)
    if body.include_metadata:
        await _add_metadata(context, answer)
    return Envelope(data=answer)


async def _add_metadata(context: AppContext, answer: SearchAnswer) -> None:
    async with context.database.reading() as session:
        metadata = await metadata_by_id(session, {passage.document_id for passage in answer.results})
    for passage in answer.results:
        passage.metadata = metadata.get(passage.document_id)


@router.post("/knowledge-bases/{kb_id}/search", dependencies=[View], responses=_ERRORS)
async def search_knowledge_base(
    kb_id: Text, body: SearchBody, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[SearchAnswer]:
    """See what a search of one knowledge base finds: the same search that agents use."""
    return await _search(context, principal, body, [kb_id])


@router.post("/search", dependencies=[View], responses=_ERRORS)
async def search_knowledge_bases(
    body: WideSearchBody, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[SearchAnswer]:
    """Search several knowledge bases at once."""
    return await _search(context, principal, body, body.knowledge_base_ids)
