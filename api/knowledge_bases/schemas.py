"""Response models of documents."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from api.http.responses import ResponseModel
from core.auth.principal import Action, Principal
from kb_service.documents import progress as document_progress
from kb_service.documents import queries as document_queries
from kb_service.documents.upload import UploadOutcome
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, KnowledgeBase


class Words(ResponseModel):
    """Why a document is not indexed or waits, and what to do about it."""

    reason: str
    message: str
    message_zh: str = ""
    next_action: str = ""
    next_action_zh: str = ""


class DocumentAnswer(ResponseModel):
    """A document and the state of its processing; sizes in bytes, progress in percent.

    ``revision`` is the one that was uploaded or started last, ``active_revision`` the one that
    searches see; ``searchable`` says whether there is one. ``encoding`` is what a text was read
    as, ``chosen_encoding`` what somebody said it is. ``parser`` read what searches see (null: it
    was not recorded), ``chosen_parser`` and ``chosen_strategy`` are this document's choice (null:
    the knowledge base's). ``waiting`` says why a document that is not
    done is not in work either, ``ahead`` how many of its knowledge base go before it.
    ``restricted``: not all who read the knowledge base read it.
    """

    id: str
    knowledge_base_id: str
    name: str
    file_type: str
    media_type: str
    file_size: int
    sha256: str
    restricted: bool
    metadata: dict[str, JsonValue]
    status: str
    stage: str
    progress: int
    eta_seconds: int | None
    ahead: int | None
    revision: int
    active_revision: int | None
    searchable: bool
    attempt: int
    chunk_count: int
    pages: int | None
    encoding: str | None
    chosen_encoding: str | None
    parser: str | None
    chosen_parser: str | None
    chosen_strategy: str | None
    warnings: list[str]
    failure: Words | None
    waiting: Words | None
    retry_at: datetime | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class UploadAnswer(DocumentAnswer):
    """The document that has the uploaded bytes; ``outcome`` says how that came."""

    outcome: UploadOutcome


def document_answer(row: Document, base: KnowledgeBase, *, ahead: Mapping[str, int] | None = None) -> DocumentAnswer:
    """A row as an answer; ``ahead`` comes from :func:`documents.count_ahead`."""
    return DocumentAnswer(
        **row.model_dump(include=_COPIED),
        metadata=row.attributes,
        eta_seconds=document_progress.eta_seconds(row),
        ahead=(ahead or {}).get(row.id),
        searchable=row.active_revision is not None,
        failure=Words.model_validate(row.failure) if row.failure else None,
        waiting=_words(document_progress.waiting_reason(row, base_paused=base.paused)),
    )


_COPIED = set(DocumentAnswer.model_fields) & set(Document.model_fields) - {"failure"}


def _words(words: Mapping[str, str] | None) -> Words | None:
    return Words.model_validate(words) if words else None


async def load_document_answer(
    session: AsyncSession, principal: Principal, kb_id: str, document_id: str
) -> DocumentAnswer:
    """One document as an answer, after the access check."""
    base = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    row = await document_queries.get(session, principal, base.id, document_id)
    ahead = await document_progress.count_ahead(session, principal, base.id, [row])
    return document_answer(row, base, ahead=ahead)
