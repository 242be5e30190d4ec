"""Knowledge bases (docs/reference/agentex-api.md, sections 9.1 to 9.5)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.knowledge_bases.notices import Notice, reindex_notices, replacement_notices
from core.auth.permissions import Permission
from core.auth.principal import Access, Action, Principal
from core.auth.sharing import access_by_id
from core.auth.users import find_usernames
from core.db.pagination import PageRequest
from core.errors.auth import KnowledgeBaseNotFound, OwnerOnly, ReadOnly
from core.errors.conflicts import KnowledgeBaseNameTaken, ReindexRunning
from core.errors.requests import InvalidPagination, InvalidRequest, ParserNotEnabled, UnknownEmbeddingModel
from ingestion.parsers.choice import check_choice
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import DocumentStatus, KnowledgeBase, SplitterName
from kb_service.reindex import service as reindex_service
from kb_service.retrieval.request import RetrievalOptions
from kb_service.visibility import count_documents

router = Router(prefix="/api/v1/knowledge-bases", tags=["knowledge bases"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))


class KnowledgeBaseAnswer(ResponseModel):
    """A knowledge base; chunk sizes are in tokens.

    ``parser`` and ``strategy`` say how documents are read that choose nothing else. ``owner_name`` is the owner's user name, empty where the account is gone. ``notices`` are for those who may write:
    `reindex_offered` where the server has a better embedding model.
    """

    id: str
    name: str
    description: str
    embedding_model: str
    splitter: str
    chunk_size: int
    chunk_overlap: int
    document_count: int
    generation: int
    reindexing: bool
    retrieval: RetrievalOptions
    parser: str
    strategy: str
    is_public: bool
    enabled: bool
    owner_id: str
    owner_name: str
    access: Access
    can_write: bool
    created_at: datetime
    updated_at: datetime
    notices: list[Notice]


class KnowledgeBaseChangeBody(RequestModel):
    """What may be set; what is left out stays as it is."""

    name: Text | None = Field(default=None, max_length=200)
    description: Text | None = Field(default=None, max_length=10_000)
    embedding_model: Text | None = Field(default=None, max_length=200)
    splitter: Text | None = Field(default=None, description=f"One of {', '.join(SplitterName)}", max_length=50)
    chunk_size: int | None = Field(default=None, description="Tokens per chunk, 32 to 2000")
    chunk_overlap: int | None = Field(default=None, description="Tokens, at most half a chunk")
    retrieval: RetrievalOptions | None = Field(
        default=None, description="What searches do where a request does not say; a null resets a choice"
    )
    parser: Text | None = Field(
        default=None,
        max_length=50,
        description="Reads documents from now on, of those in `GET /api/v1/parsers`; formats that it does not read "
        "are read by the built-in ones. A re-index with `force` reads present documents anew",
    )
    strategy: Text | None = Field(default=None, max_length=50, description="How that parser reads; together with it")
    is_public: bool | None = None
    enabled: bool | None = None

    def draft(self) -> KnowledgeBaseDraft:
        retrieval = None if self.retrieval is None else self.retrieval.changes()
        return KnowledgeBaseDraft(retrieval=retrieval, **self.model_dump(exclude={"retrieval"}))


class CreateBody(KnowledgeBaseChangeBody):
    """A new knowledge base."""

    name: Text = Field(max_length=200, examples=["技术文档知识库"])  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues] # required here, optional there


def _fields(
    row: KnowledgeBase, access: Access | None, document_count: int, owners: Mapping[str, str]
) -> dict[str, object]:
    can_write = access is not None and access.allows(Action.WRITE)
    return {
        **row.model_dump(exclude={"name_key", "deleted_at"}),
        "document_count": document_count,
        "owner_name": owners.get(row.owner_id, ""),
        "reindexing": row.target is not None,
        "access": access,
        "can_write": can_write,
        "notices": reindex_notices(row) if can_write else [],
    }


async def _answer(session: AsyncSession, principal: Principal, row: KnowledgeBase) -> Envelope[KnowledgeBaseAnswer]:
    counts = await count_documents(session, principal, [row])
    access = (await access_by_id(session, principal, [row]))[row.id]
    owners = await find_usernames(session, [row.owner_id])
    fields = _fields(row, access, counts.get(row.id, 0), owners)
    return Envelope(data=KnowledgeBaseAnswer.model_validate(fields))


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination, InvalidRequest))
async def list_knowledge_bases(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*knowledge_bases.SORT_FIELDS))],
    document_status: Annotated[
        list[DocumentStatus], Query(description="Only those with a document in any of these, which the caller reads")
    ] = [],  # noqa: B006 - FastAPI copies it
) -> Envelope[Items[KnowledgeBaseAnswer]]:
    """One's own knowledge bases, those shared with the caller, and the public ones."""
    listing = await knowledge_bases.list_visible(session, principal, page, document_statuses=document_status)
    owners = await find_usernames(session, [row.owner_id for row, *_ in listing.items])
    items = [
        KnowledgeBaseAnswer.model_validate(_fields(row, access, count, owners)) for row, count, access in listing.items
    ]
    return page_of(items, page, total=listing.total)


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(InvalidRequest, ParserNotEnabled, UnknownEmbeddingModel, KnowledgeBaseNameTaken),
)
async def create_knowledge_base(
    body: CreateBody, principal: CurrentPrincipal, context: CurrentContext, work: Writing
) -> Envelope[KnowledgeBaseAnswer]:
    """Make a knowledge base.

    An embedding model that is well known but not served here is replaced by the default one,
    and the answer says so in ``notices``.
    """
    check_choice(context.settings, body.parser, body.strategy)
    choice = knowledge_bases.choose_model(body.embedding_model)
    row = await knowledge_bases.create(work, principal, body.draft(), embedding_model=choice.model)
    owners = await find_usernames(work.session, [row.owner_id])
    # No offer of another model: this one was chosen just now.
    fields = {**_fields(row, Access.OWNER, 0, owners), "notices": replacement_notices(choice)}
    return Envelope(data=KnowledgeBaseAnswer.model_validate(fields))


@router.get("/{kb_id}", dependencies=[View], responses=error_responses(KnowledgeBaseNotFound))
async def read_knowledge_base(
    kb_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[KnowledgeBaseAnswer]:
    """One knowledge base."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    return await _answer(session, principal, row)


@router.put(
    "/{kb_id}",
    dependencies=[Write],
    responses=error_responses(
        InvalidRequest,
        ParserNotEnabled,
        ReadOnly,
        OwnerOnly,
        KnowledgeBaseNotFound,
        UnknownEmbeddingModel,
        KnowledgeBaseNameTaken,
        ReindexRunning,
    ),
)
async def change_knowledge_base(
    kb_id: Text,
    body: KnowledgeBaseChangeBody,
    principal: CurrentPrincipal,
    context: CurrentContext,
    work: Writing,
) -> Envelope[KnowledgeBaseAnswer]:
    """Change a knowledge base.

    Another splitter, chunk size or embedding model starts a re-index where there are documents
    (see `reindex`); until it is done searches go on, and the answer shows the present settings.
    Another parser reads documents from now on, and leaves those that are there as they are.
    """
    check_choice(context.settings, body.parser, body.strategy)
    row = await knowledge_bases.get_for_update(work.session, principal, kb_id, Action.WRITE)
    if body.is_public not in {None, row.is_public}:
        row = await knowledge_bases.get_for_update(work.session, principal, kb_id, Action.MANAGE)
    await knowledge_bases.update_knowledge_base(work, row, body.draft())
    await reindex_service.request_reindex(work, row, body.draft())
    return await _answer(work.session, principal, row)


@router.delete("/{kb_id}", dependencies=[Write], responses=error_responses(ReadOnly, OwnerOnly, KnowledgeBaseNotFound))
async def delete_knowledge_base(kb_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a knowledge base with its documents, vectors and files."""
    row = await knowledge_bases.get_for_update(work.session, principal, kb_id, Action.MANAGE)
    await knowledge_bases.delete(work, row)
    return Empty()
