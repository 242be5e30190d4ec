"""Knowledge sources and their syncs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import Field, JsonValue

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import (
    KnowledgeBaseNotFound,
    KnowledgeSourceNotFound,
    KnowledgeSourceSyncNotFound,
    OwnerOnly,
    PermissionDenied,
    ReadOnly,
)
from core.errors.conflicts import Conflict, KnowledgeSourceNameTaken
from core.errors.requests import InvalidPagination, InvalidRequest, UrlNotAllowed
from ingestion.connectors import CONNECTORS, connector_named, parse_credentials, parse_settings, place_of
from ingestion.connectors.base import ConnectorEnvironment
from ingestion.parsers.choice import format_support
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_sources import service as sources
from kb_service.knowledge_sources import syncs
from kb_service.knowledge_sources.credentials import names_of, seal
from kb_service.knowledge_sources.service import SourceDraft
from kb_service.models import NAME_LENGTH, KnowledgeSource, KnowledgeSourceSync

router = Router(prefix="/api/v1", tags=["knowledge sources"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))

_GATE = (KnowledgeBaseNotFound, ReadOnly, OwnerOnly)
_ONE = (*_GATE, KnowledgeSourceNotFound)
_SYNC = (*_ONE, KnowledgeSourceSyncNotFound)


class KnowledgeSourceBody(RequestModel):
    """A source as its owner wants it.

    ``settings`` and ``credentials`` are those of the connector (``GET /knowledge-connectors`` has their schemas).
    Without ``sync_every_minutes`` it is synchronized only when somebody asks. Credentials are never shown again: a
    change without them keeps those that are stored, which another address refuses, and null clears them.
    """

    name: Text = Field(min_length=1, max_length=NAME_LENGTH)
    connector: Text = Field(max_length=50)
    settings: dict[str, JsonValue]
    credentials: dict[str, JsonValue] | None = Field(default=None, repr=False)
    sync_every_minutes: int | None = Field(default=None, ge=5, le=43_200)


class SyncBody(RequestModel):
    """How to synchronize; ``preview`` changes nothing and says what would be done."""

    preview: bool = False


class ConnectorAnswer(ResponseModel):
    """A kind of source with the JSON Schemas of its settings and of its credentials, null where it takes none."""

    name: str
    administrators_only: bool
    settings_schema: dict[str, JsonValue]
    credentials_schema: dict[str, JsonValue] | None


class SyncFailureAnswer(ResponseModel):
    """Why a sync failed or waits, what to know of one that did not, or why an item could not be read, and what to do."""

    reason: str
    message: str
    message_zh: str = ""
    next_action: str = ""
    next_action_zh: str = ""


class SyncAnswer(ResponseModel):
    """A sync or preview of a source.

    ``counts`` are items by outcome: ``created``, ``updated``, ``renamed``, ``unchanged``, ``deleted``, ``failed``,
    ``skipped``; ``examples`` the first hundred names of each. With the status ``confirm`` it waits for a person to
    allow its deletions. ``is_cut``: a limit of the source's settings ended the listing.
    """

    id: str
    source_id: str
    is_preview: bool
    status: str
    counts: dict[str, int]
    examples: dict[str, list[str]]
    is_cut: bool
    failure: SyncFailureAnswer | None
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None


class KnowledgeSourceAnswer(ResponseModel):
    """A source and its last sync; ``documents`` are those that it has brought.

    ``place`` is the address or path where it is; ``credentials_set`` names the credentials that are stored.
    """

    id: str
    knowledge_base_id: str
    name: str
    connector: str
    place: str
    settings: dict[str, JsonValue]
    credentials_set: list[str]
    sync_every_minutes: int | None
    due_at: datetime | None
    documents: int
    last_sync: SyncAnswer | None
    created_at: datetime
    updated_at: datetime


class SourceItemAnswer(ResponseModel):
    """A file or page of a source, the document made of it, and why the last sync could not read it."""

    key: str
    name: str
    document_id: str | None
    failure: SyncFailureAnswer | None
    updated_at: datetime


class SourceDeletion(ResponseModel):
    """What was deleted with a source."""

    deleted_documents: int


@router.get("/knowledge-connectors", dependencies=[View])
async def list_connectors() -> Envelope[list[ConnectorAnswer]]:
    """The kinds of sources that knowledge bases can be kept in step with."""
    answers = [
        ConnectorAnswer(
            name=name,
            administrators_only=connector.ADMINISTRATORS_ONLY,
            settings_schema=connector.SETTINGS.model_json_schema(),
            credentials_schema=connector.CREDENTIALS.model_json_schema() if connector.CREDENTIALS else None,
        )
        for name, connector in CONNECTORS.items()
    ]
    return Envelope(data=answers)


@router.get("/knowledge-bases/{kb_id}/sources", dependencies=[View], responses=error_responses(*_GATE))
async def list_knowledge_sources(
    kb_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[list[KnowledgeSourceAnswer]]:
    """All sources of one's own knowledge base, by name."""
    rows = await sources.list_sources(session, principal, kb_id)
    ids = [row.id for row in rows]
    latest, documents = await syncs.latest(session, ids), await sources.count_documents(session, ids)
    return Envelope(data=[_answer(row, documents, latest) for row in rows])


@router.post(
    "/knowledge-bases/{kb_id}/sources",
    dependencies=[Write],
    responses=error_responses(*_GATE, InvalidRequest, UrlNotAllowed, KnowledgeSourceNameTaken),
)
async def create_knowledge_source(
    kb_id: Text, body: KnowledgeSourceBody, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[KnowledgeSourceAnswer]:
    """Keep one's own knowledge base in step with a source; its first sync begins at once."""
    async with context.database.reading() as session:
        # Before the settings are tried: they may name an address.
        await knowledge_bases.get(session, principal, kb_id, Action.MANAGE)
    draft = await _checked_draft(context, principal, body)
    async with unit_of_work(context.database, context.queue.push) as work:
        row = await sources.create(work, principal, kb_id, draft)
        latest = await syncs.latest(work.session, [row.id])
        return Envelope(data=_answer(row, {}, latest))


async def _checked_draft(context: CurrentContext, principal: Principal, body: KnowledgeSourceBody) -> SourceDraft:
    connector_type = connector_named(body.connector)
    if connector_type.ADMINISTRATORS_ONLY and not principal.is_administrator:
        raise PermissionDenied(
            error="Only administrators may use this connector", error_zh="只有管理员可以使用该连接器"
        )
    settings = parse_settings(connector_type, body.settings)
    credentials = parse_credentials(connector_type, body.credentials or {})
    current = await context.live.now()

    async def find_known(_key: str) -> None:
        return None

    environment = ConnectorEnvironment(
        guard=context.outbound.guards.everybody,
        folders=current.source_folders,
        hidden_folder=current.data_dir,
        max_bytes=current.max_upload_bytes,
        find_known=find_known,
        credentials=credentials,
        reader_modules=current.llama_index_readers,
        support=format_support(current),
    )
    await connector_type(settings, environment).check()
    target = settings.credentials_target
    return SourceDraft(
        body.name,
        body.connector,
        settings.model_dump(mode="json"),
        body.sync_every_minutes,
        credentials=seal(context.knowledge.source_vault, target, credentials.values if credentials else {}),
        keeps_credentials="credentials" not in body.model_fields_set,
        target=target,
    )


@router.get(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}", dependencies=[View], responses=error_responses(*_ONE)
)
async def read_knowledge_source(
    kb_id: Text, knowledge_source_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[KnowledgeSourceAnswer]:
    """One source and its last sync."""
    row = await sources.get(session, principal, kb_id, knowledge_source_id)
    latest, documents = await syncs.latest(session, [row.id]), await sources.count_documents(session, [row.id])
    return Envelope(data=_answer(row, documents, latest))


@router.put(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}",
    dependencies=[Write],
    responses=error_responses(*_ONE, InvalidRequest, UrlNotAllowed, KnowledgeSourceNameTaken),
)
async def update_knowledge_source(
    kb_id: Text,
    knowledge_source_id: Text,
    body: KnowledgeSourceBody,
    principal: CurrentPrincipal,
    context: CurrentContext,
) -> Envelope[KnowledgeSourceAnswer]:
    """Replace a source's name, settings, schedule and, if given, credentials; they count from its next sync on."""
    async with context.database.reading() as session:
        await sources.get(session, principal, kb_id, knowledge_source_id)
    draft = await _checked_draft(context, principal, body)
    async with unit_of_work(context.database) as work:
        row = await sources.update(work, principal, kb_id, knowledge_source_id, draft)
        latest = await syncs.latest(work.session, [row.id])
        return Envelope(data=_answer(row, await sources.count_documents(work.session, [row.id]), latest))


@router.delete(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}", dependencies=[Write], responses=error_responses(*_ONE)
)
async def delete_knowledge_source(
    kb_id: Text,
    knowledge_source_id: Text,
    principal: CurrentPrincipal,
    work: Writing,
    documents: Annotated[bool, Query(description="Delete the documents, too, that it has brought.")] = False,
) -> Envelope[SourceDeletion]:
    """Forget a source; its documents stay as if they had been uploaded, unless they are to go with it."""
    number = await sources.delete(work, principal, kb_id, knowledge_source_id, with_documents=documents)
    return Envelope(data=SourceDeletion(deleted_documents=number))


@router.get(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/items",
    dependencies=[View],
    responses=error_responses(*_ONE, InvalidPagination),
)
async def list_source_items(
    kb_id: Text,
    knowledge_source_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*sources.ITEM_SORT_FIELDS))],
    failed: Annotated[bool, Query(description="Only those that the last sync could not read.")] = False,
) -> Envelope[Items[SourceItemAnswer]]:
    """One page of a source's files or pages, and the documents that they became."""
    row = await sources.get(session, principal, kb_id, knowledge_source_id)
    listing = await sources.list_items(session, row, page, is_failed=failed)
    answers = [SourceItemAnswer.model_validate(item.model_dump()) for item in listing.items]
    return page_of(answers, page, total=listing.total)


@router.post(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs",
    dependencies=[Write],
    responses=error_responses(*_ONE, Conflict),
)
async def start_sync(
    kb_id: Text, knowledge_source_id: Text, principal: CurrentPrincipal, work: Writing, body: SyncBody | None = None
) -> Envelope[SyncAnswer]:
    """Begin a sync, or a preview of one; a worker carries it out."""
    row = await sources.get_for_update(work, principal, kb_id, knowledge_source_id)
    return _sync_answer(await syncs.request(work, row, is_preview=body is not None and body.preview))


@router.get(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs",
    dependencies=[View],
    responses=error_responses(*_ONE, InvalidPagination),
)
async def list_syncs(
    kb_id: Text,
    knowledge_source_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*syncs.SORT_FIELDS))],
) -> Envelope[Items[SyncAnswer]]:
    """One page of a source's syncs and previews, the newest first; the last hundred are kept."""
    row = await sources.get(session, principal, kb_id, knowledge_source_id)
    listing = await syncs.list_of(session, row, page)
    return page_of([_sync(item) for item in listing.items], page, total=listing.total)


@router.get(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs/{sync_id}",
    dependencies=[View],
    responses=error_responses(*_SYNC),
)
async def read_sync(
    kb_id: Text, knowledge_source_id: Text, sync_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[SyncAnswer]:
    """One sync: its status, its counts and, where it failed, why."""
    row = await sources.get(session, principal, kb_id, knowledge_source_id)
    return _sync_answer(await syncs.get(session, row, sync_id))


@router.post(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs/{sync_id}/cancel",
    dependencies=[Write],
    responses=error_responses(*_SYNC, Conflict),
)
async def cancel_sync(
    kb_id: Text, knowledge_source_id: Text, sync_id: Text, principal: CurrentPrincipal, work: Writing
) -> Envelope[SyncAnswer]:
    """End a sync; what it has brought stays."""
    row = await syncs.get(work.session, await sources.get(work.session, principal, kb_id, knowledge_source_id), sync_id)
    await syncs.cancel(work, row)
    return _sync_answer(row)


@router.post(
    "/knowledge-bases/{kb_id}/sources/{knowledge_source_id}/syncs/{sync_id}/confirm",
    dependencies=[Write],
    responses=error_responses(*_SYNC, Conflict),
)
async def confirm_sync(
    kb_id: Text, knowledge_source_id: Text, sync_id: Text, principal: CurrentPrincipal, work: Writing
) -> Envelope[SyncAnswer]:
    """Allow the deletions that a sync waits with; the source is listed once more, and what is still gone goes."""
    row = await syncs.get(work.session, await sources.get(work.session, principal, kb_id, knowledge_source_id), sync_id)
    await syncs.confirm(work, row)
    return _sync_answer(row)


def _answer(
    row: KnowledgeSource, documents: Mapping[str, int], latest: Mapping[str, KnowledgeSourceSync]
) -> KnowledgeSourceAnswer:
    last = latest.get(row.id)
    fields: dict[str, Any] = row.model_dump(exclude={"sealed_credentials"})
    return KnowledgeSourceAnswer(
        **fields,
        place=place_of(row.connector, row.settings),
        credentials_set=names_of(row.sealed_credentials),
        documents=documents.get(row.id, 0),
        last_sync=_sync(last) if last is not None else None,
    )


def _sync(row: KnowledgeSourceSync) -> SyncAnswer:
    return SyncAnswer.model_validate(row.model_dump())


def _sync_answer(row: KnowledgeSourceSync) -> Envelope[SyncAnswer]:
    return Envelope(data=_sync(row))
