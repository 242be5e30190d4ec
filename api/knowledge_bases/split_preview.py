"""Preview of how a document would be split."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Query, Request
from starlette.datastructures import UploadFile

from api.container import AppContext, KnowledgeServices
from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.disconnects import while_connected
from api.http.errors import error_responses
from api.http.multipart import read_blocks, read_head, single_file_form
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.requests import (
    EmptyFile,
    FileTooLarge,
    FileTypeMismatch,
    InvalidFileName,
    InvalidRequest,
    PreviewBusy,
    UnreadableFile,
    UnsupportedFileType,
)
from core.errors.server import EngineUnavailable, ParserServiceUnavailable, StorageFull
from ingestion.parsers.choice import choice_for, choice_of, format_support
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import detect_type, ending_of
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.preview import SplitPreview, SplitRequest, unreadable_file
from kb_service import document_names
from kb_service.documents import queries as document_queries
from kb_service.failures import MODEL_ERRORS
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft, Splitting
from kb_service.models import Document, SplitterName
from kb_service.object_storage.local import DISK_FULL

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}", tags=["chunks"])
Write = Depends(requires(Permission.KB_WRITE))
MOST_PIECES = 50

_FILE_BODY = {
    "requestBody": {
        "required": False,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "additionalProperties": False,
                }
            }
        },
    }
}


class PieceAnswer(ResponseModel):
    """A passage that would be made; its windows are embedded instead of the whole, if any."""

    index: int
    text: str
    heading_path: list[str]
    page: int | None
    char_start: int
    char_end: int
    token_count: int
    windows: list[str]


class SplitPreviewAnswer(ResponseModel):
    """The first passages, and figures over all of them; sizes are in tokens."""

    splitter: str
    chunk_size: int
    chunk_overlap: int
    pieces: list[PieceAnswer]
    total: int
    windows: int
    mean_tokens: float
    max_tokens: int
    characters: int
    pages: int | None
    warnings: list[str]


class Wishes(ResponseModel):
    """What to cut and how; what is left out is the knowledge base's own."""

    document_id: Text | None = None
    splitter: Text | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    pieces: int


async def _wishes(
    document_id: Annotated[
        Text | None, Query(description="A document of this knowledge base; else send a file")
    ] = None,
    splitter: Annotated[Text | None, Query(description=f"One of {', '.join(SplitterName)}")] = None,
    chunk_size: Annotated[int | None, Query(description="Tokens per chunk")] = None,
    chunk_overlap: Annotated[int | None, Query(description="Tokens, at most half a chunk")] = None,
    pieces: Annotated[int, Query(ge=1, le=MOST_PIECES, description="How many passages are shown")] = 10,
) -> Wishes:
    return Wishes(
        document_id=document_id, splitter=splitter, chunk_size=chunk_size, chunk_overlap=chunk_overlap, pieces=pieces
    )


@router.post(
    "/split-preview",
    dependencies=[Write],
    openapi_extra=_FILE_BODY,
    responses=error_responses(
        InvalidRequest,
        EmptyFile,
        UnsupportedFileType,
        FileTypeMismatch,
        InvalidFileName,
        UnreadableFile,
        ReadOnly,
        KnowledgeBaseNotFound,
        DocumentNotFound,
        FileTooLarge,
        PreviewBusy,
        ParserServiceUnavailable,
        EngineUnavailable,
        *MODEL_ERRORS,
        StorageFull,
    ),
)
async def preview_split(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    wishes: Annotated[Wishes, Depends(_wishes)],
) -> Envelope[SplitPreviewAnswer]:
    """Cut a file, or a document of the knowledge base, and show the first passages.

    Nothing is stored or indexed. It takes 20 seconds at most, and three minutes with a parser that is not built in
    or a splitter that compares meanings. Who closes the connection cancels it.
    """
    document = None
    async with context.database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.WRITE)
        if wishes.document_id is not None:
            document = await document_queries.get(session, principal, row.id, wishes.document_id)
    draft = KnowledgeBaseDraft(
        splitter=wishes.splitter, chunk_size=wishes.chunk_size, chunk_overlap=wishes.chunk_overlap
    )
    splitting = knowledge_bases.resolve_splitting(row, draft)
    space = context.knowledge.spaces.of(row.embedding_model)
    source = _stored(context.knowledge, document) if document else _sent(context, request)
    async with source as (path, media_type):
        encoding = document.chosen_encoding if document else None
        try:
            choice = choice_for(context.settings, media_type, document, choice_of(row))
        except ParseFailure as failure:
            raise unreadable_file(failure) from failure
        ending = ending_of(document.name) if document else ""
        parse_request = ParseRequest(
            path, media_type, encoding=encoding, parser=choice.parser, strategy=choice.strategy, ending=ending
        )
        split_request = SplitRequest(
            parse_request, splitting, space.counter, space.encoder, row.owner_id, most=wishes.pieces
        )
        preview = await while_connected(request, context.knowledge.previews.preview(split_request))
    return Envelope(data=_answer(splitting, preview))


def _answer(splitting: Splitting, preview: SplitPreview) -> SplitPreviewAnswer:
    return SplitPreviewAnswer.model_validate(
        {**vars(splitting), **vars(preview), "pieces": preview.pieces}, from_attributes=True
    )


@asynccontextmanager
async def _stored(knowledge: KnowledgeServices, document: Document) -> AsyncGenerator[tuple[Path, str]]:
    try:
        async with knowledge.store.local_copy(document.storage_key) as path:
            yield path, document.media_type
    except FileNotFoundError as error:
        raise UnreadableFile(reason="file_missing") from error


@asynccontextmanager
async def _sent(context: AppContext, request: Request) -> AsyncGenerator[tuple[Path, str]]:
    settings = await context.live.now()
    async with single_file_form(request, max_bytes=settings.max_upload_bytes) as form:
        name = document_names.clean_name(form.file.filename or "")
        support = format_support(context.settings)
        file_type = detect_type(name, await read_head(form.file), form.file.size or 0, support)
        with tempfile.TemporaryDirectory(prefix="agentex-preview-") as folder:
            path = Path(folder) / "file"
            await _write(path, form.file)
            yield path, file_type.name


async def _write(path: Path, file: UploadFile) -> None:
    try:
        async for block in read_blocks(file):
            await to_thread.run_sync(_append, path, block)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise StorageFull from error
        raise


def _append(path: Path, block: bytes) -> None:
    with path.open("ab") as target:
        target.write(block)
