"""Documents of a knowledge base (docs/reference/agentex-api.md, sections 9.6 to 9.9)."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import Field, JsonValue

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_body, error_responses
from api.http.multipart import FormFile, missing_file, read_file_batches, single_file_form
from api.http.responses import Empty, Envelope, ErrorBody, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.knowledge_bases.schemas import DocumentAnswer, UploadAnswer, document_answer, load_document_answer
from api.knowledge_bases.upload import (
    FORM_FIELDS,
    UploadQuery,
    files_body,
    received_file,
    upload_answer,
    upload_service,
)
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.db.pagination import PageRequest
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.base import AgentexError
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import (
    ArchiveLimits,
    EmptyFile,
    FileTooLarge,
    FileTypeMismatch,
    ImageTooLarge,
    InvalidFileName,
    InvalidPagination,
    InvalidRequest,
    ParserNotEnabled,
    QuotaExceeded,
    TextTooLarge,
    UnsupportedFileType,
)
from core.errors.server import StorageFull
from core.types.document_parsers import AUTO_STRATEGY
from ingestion.parsers import is_plain_text
from ingestion.parsers.choice import INHERIT, check_document_choice
from ingestion.parsers.text.charset import selectable_codec, selectable_codecs
from kb_service.documents import actions as document_actions
from kb_service.documents import metadata as document_metadata
from kb_service.documents import progress as document_progress
from kb_service.documents import queries as document_queries
from kb_service.documents import update as document_update
from kb_service.documents.actions import ActionName
from kb_service.documents.metadata_filter import parse_conditions
from kb_service.documents.queries import SORT_FIELDS, DocumentFilter
from kb_service.documents.update import ParserChange
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import DocumentStatus

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/documents", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))

# They share a transaction: about 6 ms in which nobody else writes to SQLite.
_FILES_TOGETHER = 16


class BatchItem(ResponseModel):
    """What became of one file: a document, or the error that a single upload would answer."""

    name: str
    document: UploadAnswer | None
    error: ErrorBody | None


class BatchAnswer(ResponseModel):
    """What became of the files of a batch, in their order."""

    items: list[BatchItem]


class DocumentChangeBody(RequestModel):
    """What may be set of a document; what is left out stays as it is."""

    name: Text | None = Field(default=None, min_length=1, max_length=1000)
    metadata: dict[str, JsonValue] | None = None
    encoding: Text | None = Field(
        default=None,
        max_length=50,
        description="Of a text, such as `koi8-r` or `big5`: it is processed again and read as that. "
        "`auto`: find it out.",
    )
    parser: Text | None = Field(
        default=None,
        max_length=50,
        description="Of `GET /api/v1/parsers`: the document is processed again with it. `inherit`: that of the "
        "knowledge base.",
    )
    strategy: Text | None = Field(default=None, max_length=50, description="How that parser reads; together with it")

    @property
    def parser_change(self) -> ParserChange | None:
        if self.parser is None:
            return None
        if self.parser == INHERIT:
            return ParserChange(None, None)
        return ParserChange(self.parser, self.strategy or AUTO_STRATEGY)

    @property
    def codec(self) -> str | None:
        if self.encoding is None or self.encoding == document_update.AUTO_ENCODING:
            return self.encoding
        codec = selectable_codec(self.encoding)
        if codec is None:
            codecs = ", ".join(sorted(selectable_codecs()))
            en, zh = f"Use {document_update.AUTO_ENCODING} or one of {codecs}", "可用的值：{}, {}"
            raise InvalidRequest("encoding", en, zh.format(document_update.AUTO_ENCODING, codecs))
        return codec


async def _filter(
    status: DocumentStatus | None = None,
    name: Annotated[Text | None, Query(max_length=1000, description="Only documents of exactly this name")] = None,
    name_contains: Annotated[
        Text | None,
        Query(max_length=255, description="Only documents with this in their name, in upper or lower case"),
    ] = None,
    metadata: Annotated[
        Text | None,
        Query(
            max_length=10_000,
            description="A JSON object: only documents with this metadata, as in the filters of a search",
        ),
    ] = None,
) -> DocumentFilter:
    return DocumentFilter(status, name, name_contains, parse_conditions(metadata or "{}"))


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination, KnowledgeBaseNotFound))
async def list_documents(
    kb_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
    only: Annotated[DocumentFilter, Depends(_filter)],
) -> Envelope[Items[DocumentAnswer]]:
    """One page of the documents of a knowledge base that the caller reads."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    listing = await document_queries.list_documents(session, principal, row.id, page, only=only)
    ahead = await document_progress.count_ahead(session, principal, row.id, listing.items)
    items = [document_answer(document, row, ahead=ahead) for document in listing.items]
    return page_of(items, page, total=listing.total)


@router.post(
    "",
    dependencies=[Write],
    openapi_extra=files_body(many=False),
    responses=error_responses(
        InvalidRequest,
        ParserNotEnabled,
        EmptyFile,
        UnsupportedFileType,
        FileTypeMismatch,
        ArchiveLimits,
        InvalidFileName,
        ReadOnly,
        KnowledgeBaseNotFound,
        DocumentNameTaken,
        FileTooLarge,
        ImageTooLarge,
        TextTooLarge,
        QuotaExceeded,
        StorageFull,
    ),
)
async def upload_document(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    defaults: UploadQuery,
) -> Envelope[UploadAnswer]:
    """Upload one file. When this answers, the file is safe and will be indexed.

    A name stands for one document of the knowledge base: the same bytes under it change nothing,
    other bytes become its next revision, and what was indexed before is found until that is.
    """
    service = upload_service(context)
    target = await service.open(principal, kb_id)
    async with single_file_form(request, max_bytes=target.max_bytes, fields=FORM_FIELDS) as form:
        file = received_file(form.file, form.fields, defaults)
        (result,) = await service.upload(target, [file])
    if isinstance(result, AgentexError):
        raise result
    return Envelope(data=upload_answer(result))


@router.post(
    "/batch",
    dependencies=[Write],
    openapi_extra=files_body(many=True),
    responses=error_responses(ReadOnly, KnowledgeBaseNotFound, StorageFull),
)
async def upload_documents(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    defaults: UploadQuery,
) -> Envelope[BatchAnswer]:
    """Upload up to 1,000 files in one request of at most 4 GiB.

    Form fields hold for the files that come after them. A form with an unknown field, or with one
    behind all files, is refused before any of its files is taken in. What became of each file is
    in the answer; one that is refused does not stop the others.
    """
    service = upload_service(context)
    target = await service.open(principal, kb_id)
    items: list[BatchItem] = []
    language = request.headers.get("accept-language", "")

    async def upload(batch: Sequence[FormFile]) -> None:
        files = [received_file(sent.file, sent.fields, defaults, is_cut=sent.is_too_large) for sent in batch]
        for file, result in zip(files, await service.upload(target, files), strict=True):
            item = BatchItem(name=file.name, document=None, error=None)
            if isinstance(result, AgentexError):
                item.error = error_body(type(result), result.details, language=language)
            else:
                item.document = upload_answer(result)
            items.append(item)

    await read_file_batches(request, upload, most=_FILES_TOGETHER, max_bytes=target.max_bytes, fields=FORM_FIELDS)
    if not items:
        raise missing_file(many=True)
    return Envelope(data=BatchAnswer(items=items))


@router.get("/{doc_id}", dependencies=[View], responses=error_responses(KnowledgeBaseNotFound, DocumentNotFound))
async def read_document(
    kb_id: Text, doc_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[DocumentAnswer]:
    """One document: its status, stage, progress and, where it failed, why."""
    return Envelope(data=await load_document_answer(session, principal, kb_id, doc_id))


@router.put(
    "/{doc_id}",
    dependencies=[Write],
    responses=error_responses(
        InvalidRequest,
        ParserNotEnabled,
        InvalidFileName,
        ReadOnly,
        KnowledgeBaseNotFound,
        DocumentNotFound,
        DocumentNameTaken,
    ),
)
async def change_document(
    kb_id: Text,
    doc_id: Text,
    body: DocumentChangeBody,
    principal: CurrentPrincipal,
    context: CurrentContext,
    work: Writing,
) -> Envelope[DocumentAnswer]:
    """Rename a document or replace its metadata, which does not process it again; or say in which
    encoding its text is or which parser reads it, which does.
    """
    attributes = None if body.metadata is None else document_metadata.validate_attributes(body.metadata)
    codec = body.codec
    base = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    if codec is not None:
        present = await document_queries.get(work.session, principal, base.id, doc_id)
        if not is_plain_text(present.media_type):
            error = "Only the encoding of a text file can be chosen"
            raise InvalidRequest("encoding", error, "只有文本文件可以选择编码")
    if body.parser is not None or body.strategy is not None:
        present = await document_queries.get(work.session, principal, base.id, doc_id)
        check_document_choice(context.settings, present.media_type, body.parser, body.strategy)
    changes = document_update.DocumentUpdate(body.name, attributes, codec, body.parser_change)
    document = await document_update.update(work, principal, base.id, doc_id, changes)
    return Envelope(data=document_answer(document, base))


@router.delete(
    "/{doc_id}", dependencies=[Write], responses=error_responses(ReadOnly, KnowledgeBaseNotFound, DocumentNotFound)
)
async def delete_document(kb_id: Text, doc_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a document with its vectors and its file."""
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    await document_actions.apply_action(work, principal, ActionName.DELETE, row.id, doc_id)
    return Empty()
