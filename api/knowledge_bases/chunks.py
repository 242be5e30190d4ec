"""Chunks of documents: reading, editing, switching off."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from api.container import KnowledgeServices
from api.dependencies import CurrentDatabase, CurrentPrincipal, Knowledge, Reading, paging, requires
from api.http.errors import EMBEDDING_FAILURES, error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.errors.auth import ChunkNotFound, DocumentNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidPagination, InvalidRequest
from core.types.text_boxes import BOX_SCALE, TextBox
from ingestion.chunk_edit import MAX_CHARACTERS, ChunkEdit, edit_chunk
from kb_service.documents import chunks
from kb_service.documents import queries as document_queries
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Chunk, Document

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}", tags=["chunks"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))
_MISSING = (KnowledgeBaseNotFound, ChunkNotFound)
_CHANGES = error_responses(InvalidRequest, ReadOnly, *_MISSING, Conflict, *EMBEDDING_FAILURES)


class PassageBox(ResponseModel):
    """An upright rectangle on a page in which part of a passage stands.

    ``left``, ``top``, ``width`` and ``height`` are shares of the page (0 to 1) from the top left corner, as the page is
    shown: turned as its file says. ``char_start`` and ``char_end`` count characters like those of the passage; a box may
    begin before it and end behind it. Several boxes of the same characters follow a tilted line.
    """

    page: int
    left: float
    top: float
    width: float
    height: float
    char_start: int
    char_end: int


class ChunkAnswer(ResponseModel):
    """A passage of a document.

    ``char_start`` and ``char_end`` count characters of the document's extracted text and, like
    ``page`` and ``boxes``, tell where the passage stood before anybody edited it. ``version`` rises with each
    edit of the text. A passage that is not ``enabled`` is in no search result.

    ``boxes`` are known of text that was recognised in scans and pictures, and of what parsers told that give places; other
    documents and those processed by an earlier version have none.
    """

    id: str
    document_id: str
    knowledge_base_id: str
    revision: int
    position: int
    content: str
    heading_path: list[str]
    page: int | None
    char_start: int
    char_end: int
    token_count: int
    enabled: bool
    version: int
    edited: bool
    boxes: list[PassageBox]


class ChunkChangeBody(RequestModel):
    """What may be changed; what is left out stays as it is."""

    version: int = Field(ge=1, description="Of the passage as it was read")
    content: Text | None = Field(default=None, min_length=1, max_length=MAX_CHARACTERS)
    enabled: bool | None = None


def _answer(row: Chunk) -> ChunkAnswer:
    boxes = [_box(TextBox(*box)) for box in row.boxes or ()]
    return ChunkAnswer.model_validate({**row.model_dump(), "edited": row.version > 1, "boxes": boxes})


def _box(box: TextBox) -> PassageBox:
    return PassageBox(
        page=box.page,
        left=box.left / BOX_SCALE,
        top=box.top / BOX_SCALE,
        width=box.width / BOX_SCALE,
        height=box.height / BOX_SCALE,
        char_start=box.start,
        char_end=box.end,
    )


async def _document(kb_id: Text, doc_id: Text, principal: CurrentPrincipal, session: Reading) -> Document:
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    return await document_queries.get(session, principal, row.id, doc_id)


@router.get(
    "/documents/{doc_id}/chunks",
    dependencies=[View],
    responses=error_responses(InvalidPagination, KnowledgeBaseNotFound, DocumentNotFound),
)
async def list_chunks(
    document: Annotated[Document, Depends(_document)],
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*chunks.SORT_FIELDS, descending=False))],
    changed: Annotated[bool | None, Query(description="Only passages that were edited or disabled, or no such")] = None,
) -> Envelope[Items[ChunkAnswer]]:
    """One page of a document's passages, in reading order; none before it is searchable."""
    listing = await chunks.list_chunks(session, document, page, is_changed=changed)
    items = [_answer(chunk) for chunk in listing.items]
    return page_of(items, page, total=listing.total)


@router.get("/chunks/{chunk_id}", dependencies=[View], responses=error_responses(*_MISSING))
async def read_chunk(
    kb_id: Text, chunk_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[ChunkAnswer]:
    """One passage."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    return Envelope(data=_answer((await chunks.get(session, principal, row, chunk_id)).chunk))


@router.put("/chunks/{chunk_id}", dependencies=[Write], responses=_CHANGES)
async def change_chunk(
    kb_id: Text,
    chunk_id: Text,
    body: ChunkChangeBody,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    knowledge: Knowledge,
) -> Envelope[ChunkAnswer]:
    """Edit a passage, or take it out of searches; when this answers, searches follow it.

    The document's file stays as it is: its next revision and a re-index make all passages anew,
    without the edits.
    """
    edit = ChunkEdit(body.version, body.content, body.enabled)
    return Envelope(data=await _change(database, knowledge, principal, (kb_id, chunk_id), edit))


@router.delete("/chunks/{chunk_id}", dependencies=[Write], responses=_CHANGES)
async def delete_chunk(
    kb_id: Text, chunk_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, knowledge: Knowledge
) -> Empty:
    """Take a passage out of all searches; it can be enabled again."""
    await _change(database, knowledge, principal, (kb_id, chunk_id), ChunkEdit(None, enabled=False))
    return Empty()


async def _change(
    database: Database, knowledge: KnowledgeServices, principal: Principal, ids: tuple[str, str], edit: ChunkEdit
) -> ChunkAnswer:
    kb_id, chunk_id = ids
    async with database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.WRITE)
        place = await chunks.get(session, principal, row, chunk_id)
    return _answer(await edit_chunk(database, knowledge.spaces, place, edit))
