"""Export of a whole session as a file."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import Depends, Query

from agents.models import ChatMessage, ChatSession
from agents.sessions import service as sessions
from agents.sessions.export import MarkdownExporter, message_batches
from api.agents.session_schemas import message_answer, session_answer
from api.dependencies import CurrentDatabase, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.files import content_disposition
from api.http.responses import Text
from api.http.routing import Router
from api.streaming.response import ExportResponse
from core.auth.permissions import Permission
from core.db.types import utc_now
from core.errors.auth import SessionNotFound

router = Router(prefix="/api/v1/sessions", tags=["sessions"])
View = Depends(requires(Permission.SESSION_VIEW))
Batches = AsyncGenerator[Sequence[ChatMessage]]
_MEDIA_TYPES = {"markdown": "text/markdown; charset=utf-8", "json": "application/json"}
_EXTENSIONS = {"markdown": "md", "json": "json"}
_FORMAT = '"format":"agentex-session","version":1'


@router.get(
    "/{session_id}/export",
    dependencies=[View],
    response_class=ExportResponse,
    responses={
        **error_responses(SessionNotFound),
        200: {
            "description": "The file, as an attachment",
            "content": {
                "text/markdown": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
            },
        },
    },
)
async def export_session(
    session_id: Text,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    file_format: Annotated[Literal["markdown", "json"], Query(alias="format")] = "markdown",
) -> ExportResponse:
    """A whole session as a file: Markdown for people, JSON for programs.

    Markdown folds tool calls, lists the sources of each answer, and has nothing in it that runs
    or is loaded when it is shown; JSON has the messages as they are listed.
    """
    async with database.reading() as session:
        row = await sessions.get(session, principal, session_id)
    batches = message_batches(database, row.id)
    pieces = _markdown(row, batches) if file_format == "markdown" else _json(row, batches)
    disposition = content_disposition(row.title, fallback="session", extension=_EXTENSIONS[file_format])
    return ExportResponse(pieces, media_type=_MEDIA_TYPES[file_format], headers={"Content-Disposition": disposition})


async def _markdown(row: ChatSession, batches: Batches) -> AsyncGenerator[str]:
    writer = MarkdownExporter(row, now=utc_now())
    yield writer.head()
    async with aclosing(batches):
        async for messages in batches:
            for message in messages:
                # Reading a long one takes long: not on the event loop.
                yield await asyncio.to_thread(writer.message, message)


def _dumped(message: ChatMessage) -> str:
    return message_answer(message).model_dump_json()


async def _json(row: ChatSession, batches: Batches) -> AsyncGenerator[str]:
    exported = utc_now().isoformat().replace("+00:00", "Z")
    yield f'{{{_FORMAT},"exported_at":"{exported}",'
    yield f'"session":{session_answer(row).model_dump_json()},"messages":['
    separator = ""
    async with aclosing(batches):
        async for messages in batches:
            for message in messages:
                yield separator + await asyncio.to_thread(_dumped, message)
                separator = ",\n"
    yield "]}\n"
