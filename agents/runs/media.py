"""Intake of the pictures and documents in a question: they become attachments before the run is written."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.agui.message_parts import TOO_MANY
from agents.attachments.base64_content import decode_base64
from agents.attachments.documents import DocumentParser
from agents.attachments.image_sanitizer import detect_type
from agents.attachments.remote_files import RemoteFiles
from agents.attachments.service import AttachmentLimits, AttachmentService
from agents.models import ChatMessage
from agents.run_request import MOST_ATTACHMENTS, DocumentRef, ImageRef, MediaPart, RunRequest
from agents.runs.planner import RunPlan
from agents.sessions.branches import newest_documents
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import is_id
from core.errors.auth import InvalidLink
from core.errors.base import AgentexError
from core.errors.requests import FileTooLarge, InvalidRunInput
from core.json_access import as_list, as_object, as_text
from core.runtime_config.live import LiveSettings
from kb_service.models import Attachment

_SERVER_FAULT = 500
_HEAD_BYTES = 16
_NO_DOCUMENT = ("names no document that you attached to a question", "不是您在提问时附加过的文档")
# Why a link is none of this server's.
_NOT_OURS = frozenset({"other_host", "no_attachment_link"})


@dataclass
class _QuestionMedia:
    """The media of one question.

    ``images`` and ``documents`` by the hash of the bytes that came, ``rows`` those that were stored.
    """

    principal: Principal
    own_hosts: Collection[str]
    images: dict[str, ImageRef] = field(default_factory=dict[str, ImageRef])
    documents: dict[str, DocumentRef] = field(default_factory=dict[str, DocumentRef])
    rows: list[Attachment] = field(default_factory=list[Attachment])


class MediaIntake:
    """Fetches and stores the pictures and documents of questions, each of them once."""

    def __init__(
        self, database: Database, attachments: AttachmentService, remote_files: RemoteFiles, live: LiveSettings
    ) -> None:
        self._database = database
        self._attachments = attachments
        self._remote_files = remote_files
        self._parser = DocumentParser(live.environment)
        self._live = live

    async def close(self) -> None:
        await self._remote_files.close()
        await self._parser.close()

    @asynccontextmanager
    async def attached(
        self, principal: Principal, plan: RunPlan, own_hosts: Collection[str] = ()
    ) -> AsyncGenerator[RunPlan]:
        """The plan with the media of its question as attachments; they are removed if the run can't be started.

        A question that the thread has already keeps the ones that it was asked with: nothing is stored or fetched twice.
        A signed link to an uploaded image, perhaps with one of ``own_hosts``, is that image.

        Raises:
            InvalidRunInput: A part is no base64, or names a document that the caller does not have.
            UnsupportedFileType, CorruptImage, ImageTooLarge, FileTooLarge, EmptyFile: A part is no usable image.
            FileTypeMismatch, TextRecognitionMissing, UnreadableFile, ArchiveLimits: A part is no usable document.
            QuotaExceeded: The caller may not store more.
            UrlNotAllowed, FileNotFetched, InvalidLink, LinkExpired: An address can't be used.
        """
        new = _QuestionMedia(principal, own_hosts)
        try:
            yield replace(plan, request=await self._read(plan, new))
        except Exception:
            with suppress(AgentexError, OSError):
                await self._attachments.discard(new.rows)
            raise

    async def _read(self, plan: RunPlan, new: _QuestionMedia) -> RunRequest:
        request, is_beside_answer = plan.request, plan.resume is not None
        messages = request.follow_ups if is_beside_answer else request.messages
        if not messages:
            return request
        *earlier, question = (replace(message, media=()) for message in messages)
        with_media = [message for message in messages if message.media]
        earlier_documents, stored_messages = list[str](), dict[str, ChatMessage]()
        if plan.thread_key is not None:
            async with self._database.reading() as session:
                earlier_documents = await newest_documents(session, plan.thread_key, most=MOST_ATTACHMENTS)
                ids = [message.id for message in with_media]
                stored_messages = await _find_messages(session, plan.thread_key, ids) if ids else {}
        if (row := stored_messages.get(question.id)) is not None:
            question = replace(question, images=image_refs(row.details))
        media = [part for message in with_media if message.id not in stored_messages for part in message.media]
        if media:
            await self._add_all(media, new)
            images = tuple(dict.fromkeys((*question.images, *new.images.values())))
            question = replace(question, images=images, documents=tuple(new.documents.values()))
        document_ids = [*earlier_documents, *(document.id for document in question.documents)]
        request = replace(request, document_ids=tuple(document_ids[-MOST_ATTACHMENTS:]))
        stored = (*earlier, question)
        return replace(request, follow_ups=stored) if is_beside_answer else replace(request, messages=stored)

    async def _add_all(self, media: Sequence[MediaPart], new: _QuestionMedia) -> None:
        if len(media) > MOST_ATTACHMENTS:
            raise InvalidRunInput("messages", *TOO_MANY)
        settings = await self._live.now()
        limits = AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes)
        for part in media:
            try:
                await self._add(part, limits, new)
            except AgentexError as error:
                if error.status < _SERVER_FAULT:
                    error.details["field"] = part.field
                raise

    async def _add(self, part: MediaPart, limits: AttachmentLimits, new: _QuestionMedia) -> None:
        if part.attachment_id is not None:
            new.documents[part.attachment_id] = await self._stored_document(part, part.attachment_id, new.principal)
            return
        if part.url and (row := await self._uploaded(part.url, new)) is not None:
            new.images[row.id] = ImageRef(row.id, row.mime_type)
            return
        mime_type = part.mime_type
        if part.url:
            fetched = await self._remote_files.fetch(part.url, most=limits.max_bytes)
            content, mime_type = fetched.content, mime_type or fetched.mime_type
        else:
            content = await asyncio.to_thread(decode_base64, part.data, limits.max_bytes)
        digest = hashlib.sha256(content).hexdigest()
        if digest in new.images or digest in new.documents:
            return
        if part.kind == "image" or detect_type(content[:_HEAD_BYTES]) is not None:
            row = await self._attachments.add(new.principal, content, limits)
            new.rows.append(row)
            new.images[digest] = ImageRef(row.id, row.mime_type)
            return
        if len(content) > limits.max_bytes:
            raise FileTooLarge(max_bytes=limits.max_bytes)
        filename = part.filename or unquote(urlsplit(part.url).path)
        document = await self._parser.parse(content, filename, mime_type)
        row = await self._attachments.add_document(new.principal, document, limits)
        new.rows.append(row)
        new.documents[digest] = DocumentRef(row.id, row.mime_type, document.name)

    async def _stored_document(self, part: MediaPart, attachment_id: str, principal: Principal) -> DocumentRef:
        ids = [attachment_id] if is_id(attachment_id) else []
        for _, document in await self._attachments.read_documents(principal.user_id, ids):
            return DocumentRef(attachment_id, document.mime_type, document.name)
        raise InvalidRunInput(part.field, *_NO_DOCUMENT)

    async def _uploaded(self, url: str, new: _QuestionMedia) -> Attachment | None:
        """The caller's image behind a signed link; None if the address is another one."""
        try:
            return await self._attachments.resolve(url, new.principal, hosts=new.own_hosts)
        except InvalidLink as error:
            if error.details["reason"] in _NOT_OURS and not url.startswith("/"):
                return None
            raise


async def _find_messages(session: AsyncSession, thread_key: str, ids: Sequence[str]) -> dict[str, ChatMessage]:
    query = select(ChatMessage).where(ChatMessage.session_id == thread_key, col(ChatMessage.message_id).in_(ids))
    return {row.message_id: row for row in (await session.exec(query)).all()}


def image_refs(details: dict[str, JsonValue]) -> tuple[ImageRef, ...]:
    """The images in the details of a stored message."""
    items = map(as_object, as_list(details.get("attachments")))
    return tuple(ImageRef(as_text(item.get("id")), as_text(item.get("mime_type"))) for item in items)
