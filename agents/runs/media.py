"""Intake of the pictures in a question: they become attachments before the run is written."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from pydantic import JsonValue
from sqlmodel import select

from agents.attachments.base64_content import decode_base64
from agents.attachments.service import AttachmentLimits, AttachmentService
from agents.models import ChatMessage
from agents.run_request import ImageRef, MediaPart, UserMessage
from agents.runs.planner import RunPlan
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.base import AgentexError
from core.json_access import as_list, as_object, as_text
from core.runtime_config.live import LiveSettings
from kb_service.models import Attachment

_SERVER_FAULT = 500


@dataclass
class _NewAttachments:
    """What was stored for one question, in the order of its parts."""

    images: dict[str, ImageRef] = field(default_factory=dict[str, ImageRef])
    rows: list[Attachment] = field(default_factory=list[Attachment])


class MediaIntake:
    """Stores the pictures of questions, each of them once."""

    def __init__(self, database: Database, attachments: AttachmentService, live: LiveSettings) -> None:
        self._database = database
        self._attachments = attachments
        self._live = live

    @asynccontextmanager
    async def attached(self, principal: Principal, plan: RunPlan) -> AsyncGenerator[RunPlan]:
        """The plan with the pictures of its question as attachments; they are removed if the run can't be started.

        A question that the thread has already keeps the ones that it was asked with: nothing is stored twice.

        Raises:
            InvalidRunInput: A part is no base64.
            UnsupportedFileType, CorruptImage, ImageTooLarge, FileTooLarge, EmptyFile: A part is no usable image.
            QuotaExceeded: The caller may not store more.
        """
        new = _NewAttachments()
        try:
            yield replace(plan, request=replace(plan.request, messages=await self._read(principal, plan, new)))
        except AgentexError:
            with suppress(AgentexError, OSError):
                await self._attachments.discard(new.rows)
            raise

    async def _read(self, principal: Principal, plan: RunPlan, new: _NewAttachments) -> tuple[UserMessage, ...]:
        messages = plan.request.messages
        media = [part for message in messages for part in message.media]
        if not media:
            return messages
        *earlier, question = (replace(message, media=()) for message in messages)
        if plan.resume is not None:
            # It goes on with the question of its task.
            return (*earlier, question)
        images = await self._images_of(plan.thread_key, question.id)
        if images is None:
            await self._store(principal, media, new)
            images = tuple(new.images.values())
        return (*earlier, replace(question, images=images))

    async def _images_of(self, thread_key: str | None, message_id: str) -> tuple[ImageRef, ...] | None:
        """The images of a message that the thread has; None if it is new."""
        if thread_key is None:
            return None
        query = select(ChatMessage).where(ChatMessage.session_id == thread_key, ChatMessage.message_id == message_id)
        async with self._database.reading() as session:
            row = (await session.exec(query)).first()
        return None if row is None else image_refs(row.details)

    async def _store(self, principal: Principal, media: Sequence[MediaPart], new: _NewAttachments) -> None:
        settings = await self._live.now()
        limits = AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes)
        for part in media:
            try:
                await self._add(principal, part, limits, new)
            except AgentexError as error:
                if error.status < _SERVER_FAULT:
                    error.details["field"] = part.field
                raise

    async def _add(self, principal: Principal, part: MediaPart, limits: AttachmentLimits, new: _NewAttachments) -> None:
        content, digest = await asyncio.to_thread(decode_base64, part.data, limits.max_bytes)
        if digest in new.images:
            return
        row = await self._attachments.add(principal, content, limits)
        new.rows.append(row)
        new.images[digest] = ImageRef(row.id, row.mime_type)


def image_refs(details: dict[str, JsonValue]) -> tuple[ImageRef, ...]:
    """The images in the details of a stored message."""
    items = map(as_object, as_list(details.get("attachments")))
    return tuple(ImageRef(as_text(item.get("id")), as_text(item.get("mime_type"))) for item in items)
