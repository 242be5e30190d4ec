"""Export, import and copy of whole knowledge bases."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request
from pydantic import Field

from api.container import AppContext, KnowledgeServices
from api.dependencies import (
    CurrentContext,
    CurrentDatabase,
    CurrentPrincipal,
    Knowledge,
    Reading,
    Writing,
    paging,
    requires,
)
from api.http.errors import error_responses
from api.http.files import content_disposition
from api.http.multipart import read_blocks, single_file_form
from api.http.responses import Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.streaming.response import ExportResponse
from core.auth.locks import lock_owner
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound, TransferNotFound
from core.errors.conflicts import Conflict, KnowledgeBaseNameTaken, SettingsChanged
from core.errors.requests import FileTooLarge, InvalidArchive, InvalidPagination, InvalidRequest, QuotaExceeded
from core.errors.server import EmbeddingModelNotServed, ObjectStoreUnavailable, StorageFull, VectorIndexUnavailable
from kb_service.documents import quota as document_quota
from kb_service.documents import storage as document_storage
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import NAME_LENGTH, Transfer
from kb_service.transfer import import_target
from kb_service.transfer import jobs as transfers
from kb_service.transfer.archive_reader import ArchiveReader, archive_limits
from kb_service.transfer.archive_writer import write_archive
from kb_service.transfer.export_source import KnowledgeBaseSource, SourceStores
from kb_service.transfer.import_target import ImportTarget
from kb_service.transfer.jobs import TransferSpec

router = Router(prefix="/api/v1", tags=["transfers"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))

MEDIA_TYPE = "application/vnd.agentex.knowledge-base+zip"
_FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "name": {"type": "string", "maxLength": NAME_LENGTH},
                    },
                    "additionalProperties": False,
                }
            }
        },
    }
}


class CopyBody(RequestModel):
    """What the copy is called; without a name the old one with ``(copy)`` behind it."""

    name: Text | None = Field(default=None, max_length=NAME_LENGTH)


class TransferFailure(ResponseModel):
    """Why a transfer waits or ended, and what to do about it."""

    reason: str
    message: str
    message_zh: str = ""
    next_action: str = ""
    next_action_zh: str = ""


class TransferFacts(ResponseModel):
    """What is transferred; ``embeds_anew``: its model is not served here."""

    name: str
    documents: int
    embeds_anew: bool
    embedding_model: str


class TransferAnswer(ResponseModel):
    """An import or a copy and how far it is, in percent."""

    id: str
    knowledge_base_id: str
    kind: str
    status: str
    progress: int
    attempt: int
    facts: TransferFacts
    failure: TransferFailure | None
    created_at: datetime
    updated_at: datetime


def _answer(row: Transfer) -> Envelope[TransferAnswer]:
    return Envelope(data=TransferAnswer.model_validate(row.model_dump()))


@router.get(
    "/knowledge-bases/{kb_id}/export",
    dependencies=[View],
    response_class=ExportResponse,
    responses={
        **error_responses(
            KnowledgeBaseNotFound,
            SettingsChanged,
            EmbeddingModelNotServed,
            VectorIndexUnavailable,
            ObjectStoreUnavailable,
        ),
        200: {"content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}},
    },
)
async def export_knowledge_base(
    kb_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, knowledge: Knowledge
) -> ExportResponse:
    """All of a knowledge base that the caller reads as one file.

    It holds documents, chunks, vectors, settings and questions. A restricted document arrives
    restricted to whoever imports the file.
    """
    async with database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    blocks = write_archive(
        KnowledgeBaseSource(_stores(database, knowledge), principal, row), product=version("agentex")
    )
    # What goes wrong before the first block can still be told.
    first = await anext(blocks)
    name = content_disposition(row.name, fallback="knowledge-base", extension="akb")
    return ExportResponse(_continued(first, blocks), media_type=MEDIA_TYPE, headers={"Content-Disposition": name})


async def _continued(first: bytes, blocks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(blocks):
        yield first
        async for block in blocks:
            yield block


def _stores(database: Database, knowledge: KnowledgeServices) -> SourceStores:
    return SourceStores(database, knowledge.store, knowledge.spaces)


@router.post(
    "/knowledge-bases/import",
    dependencies=[Write],
    openapi_extra=_FILE_BODY,
    responses=error_responses(
        InvalidRequest, InvalidArchive, KnowledgeBaseNameTaken, FileTooLarge, QuotaExceeded, StorageFull
    ),
)
async def import_knowledge_base(
    request: Request, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[TransferAnswer]:
    """Make a private knowledge base of an exported file.

    When this answers, the file is checked and safe; a worker does the rest, and ``progress``
    says how far it is. Where the file's embedding model is not served here, its documents are
    embedded anew. A form field ``name`` gives it another name.
    """
    settings = await context.live.now()
    limit = settings.max_import_bytes
    async with single_file_form(request, max_bytes=limit, fields=("name",)) as form:
        name = form.fields.get("name") or None
        if name is not None and len(name) > NAME_LENGTH:
            zh = f"最多 {NAME_LENGTH} 个字符"
            raise InvalidRequest("name", f"Use at most {NAME_LENGTH} characters", zh)
        file = form.file.file
        archive = await to_thread.run_sync(ArchiveReader, file, archive_limits(settings))
        planned = import_target.plan_import(
            archive.settings, archive.manifest.dimension, context.knowledge.spaces, extent=archive.extent, name=name
        )
        stored = await document_storage.store_stream(context.knowledge.store, read_blocks(form.file), max_bytes=limit)
    try:
        cargo = planned.cargo(transfers.IMPORT, stored.storage_key)
        return await _begin(context, principal, planned, cargo)
    except (InvalidRequest, KnowledgeBaseNameTaken, QuotaExceeded):
        # After any other failure a row may be there; a file that has none is the sweeper's.
        await context.knowledge.store.delete(stored.storage_key)
        raise


async def _begin(
    context: AppContext, principal: Principal, planned: ImportTarget, cargo: TransferSpec
) -> Envelope[TransferAnswer]:
    async with unit_of_work(context.database, context.queue.push) as work:
        quota = (await context.live.read(work.session)).user_quota_bytes
        if quota:
            await lock_owner(work.session, principal.user_id)
        row = await import_target.create_target(work, principal, planned)
        transfer = await transfers.create_transfer(work, row, cargo)
        if quota:
            await document_quota.check_quota(work.session, principal.user_id, limit_bytes=quota)
        return _answer(transfer)


@router.post(
    "/knowledge-bases/{kb_id}/copy",
    dependencies=[Write],
    responses=error_responses(KnowledgeBaseNotFound, KnowledgeBaseNameTaken, QuotaExceeded, EmbeddingModelNotServed),
)
async def copy_knowledge_base(
    kb_id: Text, principal: CurrentPrincipal, context: CurrentContext, body: CopyBody | None = None
) -> Envelope[TransferAnswer]:
    """Make a private copy of all that the caller reads of a knowledge base.

    A restricted document is restricted in the copy, too: of one's own knowledge base to the same
    people and roles, else to oneself.
    """
    async with context.database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    source = KnowledgeBaseSource(_stores(context.database, context.knowledge), principal, row)
    planned = import_target.plan_import(
        source.settings,
        source.dimension,
        context.knowledge.spaces,
        extent=await source.extent(),
        name=(body and body.name) or knowledge_bases.default_copy_name(row.name),
    )
    return await _begin(context, principal, planned, planned.cargo(transfers.COPY, row.id))


@router.get("/transfers", dependencies=[View], responses=error_responses(InvalidPagination))
async def list_transfers(
    principal: CurrentPrincipal, session: Reading, page: Annotated[PageRequest, Depends(paging(*transfers.SORT_FIELDS))]
) -> Envelope[Items[TransferAnswer]]:
    """One page of one's own imports and copies."""
    listing = await transfers.list_own(session, principal, page)
    items = [TransferAnswer.model_validate(row.model_dump()) for row in listing.items]
    return page_of(items, page, total=listing.total)


@router.get("/transfers/{transfer_id}", dependencies=[View], responses=error_responses(TransferNotFound))
async def read_transfer(transfer_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[TransferAnswer]:
    """One import or copy: its status, its progress and, where it failed, why."""
    return _answer(await transfers.get(session, principal, transfer_id))


@router.post(
    "/transfers/{transfer_id}/cancel", dependencies=[Write], responses=error_responses(TransferNotFound, Conflict)
)
async def cancel_transfer(transfer_id: Text, principal: CurrentPrincipal, work: Writing) -> Envelope[TransferAnswer]:
    """End an import or a copy that is under way; what it brought is deleted."""
    row = await transfers.get(work.session, principal, transfer_id)
    await transfers.cancel(work, row)
    return _answer(row)
