"""Indexing progress of a knowledge base, as a snapshot or a stream."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import BaseModel

from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.schemas import DocumentAnswer, document_answer
from api.middleware import authenticate
from api.streaming.framing import EVENT_STREAM, stream_response
from api.streaming.progress_feed import ProgressSubscriber, ProgressUpdate, ProgressView
from api.streaming.response import EventStream
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.base import AgentexError
from core.errors.server import DatabaseUnavailable
from kb_service.documents import progress as document_progress
from kb_service.documents import queries as document_queries
from kb_service.documents.progress import KnowledgeBaseProgress
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/progress", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))

_CHECK_SECONDS = 10.0
_WAIT_SECONDS = 1.0
_MOST_SHOWN = 100
_EVENTS = (
    "Events: snapshot; then with each change document, removed (the id of a document that was "
    "deleted or is not for the caller any more) and progress; end"
)
_UNTIL_QUIET = (
    "End the stream when nothing waits or is in work any more, or when the knowledge base is paused: "
    "what waits there waits for a person."
)
UntilQuiet = Annotated[bool, Query(description=_UNTIL_QUIET)]


class ProgressAnswer(ResponseModel):
    """How far a knowledge base is: documents by status, percent of them that need no more work.

    ``eta_seconds`` is the time until none waits or is in work, at the pace of those of about their
    size in the last minute; null while nobody can tell and where all that is open is paused.
    """

    total: int
    counts: dict[str, int]
    percent: int
    eta_seconds: int | None
    paused: bool
    changed_at: datetime | None


class Snapshot(ResponseModel):
    """What a stream begins with: the documents that are in work, wait or are paused.

    ``more`` says that there are further ones than are shown.
    """

    progress: ProgressAnswer
    documents: list[DocumentAnswer]
    more: bool


def _answer(progress: KnowledgeBaseProgress) -> ProgressAnswer:
    return ProgressAnswer(
        total=sum(progress.counts.values()),
        counts=dict(progress.counts),
        percent=progress.percent,
        eta_seconds=progress.eta_seconds,
        paused=progress.paused,
        changed_at=progress.changed_at,
    )


@router.get(
    "",
    dependencies=[View],
    response_model=Envelope[ProgressAnswer],
    responses={
        **error_responses(KnowledgeBaseNotFound),
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
    },
)
async def read_progress(
    kb_id: Text, request: Request, principal: CurrentPrincipal, context: CurrentContext, until_quiet: UntilQuiet = False
) -> Envelope[ProgressAnswer] | EventStream:
    """How far a knowledge base is; with ``Accept: text/event-stream`` as it goes on."""
    if EVENT_STREAM in request.headers.get("accept", ""):
        return await stream_progress(kb_id, request, principal, context, until_quiet)
    async with context.database.reading() as session:
        base = await knowledge_bases.get(session, principal, kb_id, Action.READ)
        return Envelope(data=_answer(await document_progress.get_progress(session, principal, base)))


@router.get(
    "/stream",
    dependencies=[View],
    response_class=EventStream,
    responses={**error_responses(KnowledgeBaseNotFound), 200: {"content": {EVENT_STREAM: {}}, "description": _EVENTS}},
)
async def stream_progress(
    kb_id: Text, request: Request, principal: CurrentPrincipal, context: CurrentContext, until_quiet: UntilQuiet = False
) -> EventStream:
    """Server-sent events: a snapshot, then every change, until the caller may no longer look.

    Events are ``snapshot``, ``progress``, ``document``, ``removed`` and ``end``, whose ``reason``
    is ``quiet``, ``access`` or ``shutting_down``. Whoever connects again gets a new snapshot.
    """
    async with context.database.reading() as session:
        base = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    looking = _Request(context, request, principal, base.id)
    events = _events(looking, until_quiet=until_quiet)
    return stream_response(events, farewell=_end("access"))


@dataclass(frozen=True)
class _Request:
    context: AppContext
    request: Request
    principal: Principal
    kb_id: str


async def _events(looking: _Request, *, until_quiet: bool) -> AsyncGenerator[bytes]:
    yield b"retry: 2000\n\n"
    context = looking.context
    async with context.streams.feeds.follow(looking.kb_id) as follower:
        if follower is None or follower.base is None:
            yield _end("access")
            return
        view = ProgressView(context.database, looking.principal, follower)
        await view.begin(follower.base)
        snapshot = await _snapshot(looking, follower.base, view)
        follower.listed.update(row.id for row in snapshot.documents)
        yield _frame("snapshot", snapshot)
        clock = asyncio.get_running_loop().time
        checked, seen_by = clock(), _seen_by(follower)
        while True:
            if reason := _reason_to_end(follower, view, until_quiet=until_quiet):
                yield _end(reason)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(follower.news.wait(), _WAIT_SECONDS)
            if clock() - checked >= _CHECK_SECONDS or seen_by != _seen_by(follower):
                checked, seen_by = clock(), _seen_by(follower)
                if not await _may_look(looking):
                    yield _end("access")
                    return
            yield _news(await view.take(), view.progress)


def _seen_by(follower: ProgressSubscriber) -> tuple[object, ...] | None:
    base = follower.base
    return None if base is None else (base.owner_id, base.is_public, follower.shared)


def _reason_to_end(follower: ProgressSubscriber, view: ProgressView, *, until_quiet: bool) -> str:
    if follower.closed:
        return "shutting_down"
    if follower.base is None:
        return "access"
    is_told = not follower.news.is_set()
    return "quiet" if until_quiet and is_told and view.progress.is_quiet else ""


async def _may_look(looking: _Request) -> bool:
    """Check again: account, login, role and knowledge base may have changed."""
    try:
        context = looking.context
        principal = await authenticate(context.database, context.security, looking.request.headers)
        principal.require(Permission.KB_VIEW)
        async with context.database.reading() as session:
            await knowledge_bases.get(session, principal, looking.kb_id, Action.READ)
    except DatabaseUnavailable:
        # Nobody's access ended; the next look asks again.
        return True
    except AgentexError:
        return False
    return True


async def _snapshot(looking: _Request, base: KnowledgeBase, view: ProgressView) -> Snapshot:
    reader = looking.principal
    async with looking.context.database.reading() as session:
        rows = await document_queries.list_open(session, reader, base.id, limit=_MOST_SHOWN + 1)
        ahead = await document_progress.count_ahead(session, reader, base.id, rows)
    documents = [document_answer(row, base, ahead=ahead) for row in rows[:_MOST_SHOWN]]
    return Snapshot(progress=_answer(view.progress), documents=documents, more=len(rows) > _MOST_SHOWN)


def _news(news: ProgressUpdate, progress: KnowledgeBaseProgress) -> bytes:
    if news.base is None:
        return b""
    changed = [_frame("document", document_answer(row, news.base)) for row in news.changed]
    removed = [_event("removed", json.dumps({"id": id_})) for id_ in news.removed]
    return b"".join([*changed, *removed, _frame("progress", _answer(progress))])


def _frame(name: str, data: BaseModel) -> bytes:
    return _event(name, data.model_dump_json())


def _end(reason: str) -> bytes:
    return _event("end", json.dumps({"reason": reason}))


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
