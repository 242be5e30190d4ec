"""Attached images and documents: upload, links, use in sessions, cleanup."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.attachments.documents import AttachedDocument, from_bytes
from agents.attachments.image_sanitizer import ImageSanitizer, SanitizedImage
from agents.attachments.signed_links import LinkClaim, LinkSigner, SignedLink, parse_link
from core.auth.locks import lock_owner
from core.auth.models import User
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import is_id, new_id, utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import InvalidLink, LinkExpired
from core.errors.base import AgentexError
from core.errors.requests import FileTooLarge
from core.logging import get_logger
from kb_service.documents.quota import check_quota
from kb_service.models import Attachment
from kb_service.object_storage.protocol import ObjectStore

log = get_logger(__name__)

UNUSED_SECONDS = 86_400
"""How long an image that no run has used is kept."""
SHOWN_SECONDS = 10
"""How long an image may take to be ready for a model: the run that waits for it has its lease."""
_SWEPT_AT_ONCE = 500
# An image drawn anew may be larger than it came, within reason.
_GROWTH = 2
_ACTIVE = "active"


@dataclass(frozen=True)
class _NewFile:
    """What becomes an attachment; a document has no pixels."""

    mime_type: str
    content: bytes
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class AttachmentLimits:
    """Upload limits; ``quota_bytes`` includes the owner's documents, 0 is unlimited."""

    max_bytes: int
    quota_bytes: int = 0


class AttachmentService:
    """The attached images and documents of all users."""

    def __init__(self, database: Database, store: ObjectStore, links: LinkSigner, *, limits: AttachmentLimits) -> None:
        self._database = database
        self._store = store
        self._links = links
        self._limits = limits
        self._sanitizer = ImageSanitizer()

    async def add(self, principal: Principal, content: bytes, limits: AttachmentLimits | None = None) -> Attachment:
        """Store an image; if this raises, nothing is left behind."""
        limits = limits or self._limits
        if len(content) > limits.max_bytes:
            raise FileTooLarge(max_bytes=limits.max_bytes)
        image = await self._sanitizer.sanitize(content)
        if len(image.content) > _GROWTH * limits.max_bytes:
            raise FileTooLarge(max_bytes=limits.max_bytes)
        return await self._add(
            principal.user_id, _NewFile(image.mime_type, image.content, image.width, image.height), limits.quota_bytes
        )

    async def add_document(
        self, principal: Principal, document: AttachedDocument, limits: AttachmentLimits
    ) -> Attachment:
        """Store the passages of a document; if this raises, nothing is left behind."""
        return await self._add(principal.user_id, _NewFile(document.mime_type, document.to_bytes()), limits.quota_bytes)

    async def _add(self, owner_id: str, file: _NewFile, quota: int) -> Attachment:
        async with unit_of_work(self._database) as work:
            row = await self._create_row(work, owner_id, file, quota)
        # A row first: a file that is written when the process dies has one that the sweep finds.
        try:
            await self._store.write(row.storage_key, _one_block(file.content))
            async with unit_of_work(self._database) as work:
                row.stored_at = utc_now()
                row = await work.session.merge(row)
        except (AgentexError, OSError):
            with suppress(AgentexError, OSError):
                await self._remove([row])
            raise
        return row

    async def discard(self, rows: Sequence[Attachment]) -> None:
        """Remove what was just stored, unless a run uses it: its commit may have succeeded although it seemed to fail."""
        await self._remove(await self._mark_deleted(rows))

    async def _create_row(self, work: UnitOfWork, owner_id: str, file: _NewFile, quota: int) -> Attachment:
        if quota:
            await lock_owner(work.session, owner_id)
        row = Attachment(
            owner_id=owner_id,
            # Not a plain id: the worker's sweep takes those for documents.
            storage_key=f"{new_id()}-attachment",
            mime_type=file.mime_type,
            size=len(file.content),
            width=file.width,
            height=file.height,
        )
        work.session.add(row)
        await work.session.flush()
        if quota:
            await check_quota(work.session, owner_id, limit_bytes=quota)
        return row

    def link(self, row: Attachment, *, now: datetime | None = None) -> SignedLink:
        return self._links.make(row.id, row.owner_id, now=now or utc_now())

    async def resolve_claim(self, claim: LinkClaim, *, now: datetime | None = None) -> Attachment:
        """The image of a link; forged links, removed images and disabled owners look the same."""
        async with self._database.reading() as session:
            row = await _find(session, claim.attachment_id)
        # Also compared where there is no such image: one can't tell by the time it takes.
        is_valid = self._links.is_valid(claim, "" if row is None else row.owner_id)
        if row is None or not is_valid:
            raise InvalidLink(reason="forged")
        if (now or utc_now()).timestamp() > claim.expires:
            raise LinkExpired
        return row

    async def resolve(
        self, url: str, principal: Principal, *, hosts: Collection[str] = (), now: datetime | None = None
    ) -> Attachment:
        """The caller's own image behind a signed link, perhaps with scheme and one of our hosts; nothing is fetched.

        The ``reason`` of ``InvalidLink`` is ``other_host``, ``no_attachment_link``, ``forged`` or ``foreign``.
        """
        row = await self.resolve_claim(parse_link(url, hosts=hosts), now=now)
        if row.owner_id != principal.user_id:
            raise InvalidLink(reason="foreign")
        return row

    def open(self, row: Attachment) -> AbstractAsyncContextManager[Path]:
        """A file with the image, valid inside the context; ``FileNotFoundError`` if it is gone."""
        return self._store.local_copy(row.storage_key)

    async def images_for_model(self, owner_id: str, ids: Sequence[str]) -> list[SanitizedImage]:
        """The owner's images for a model; unreadable or slow ones are left out."""
        async with self._database.reading() as session:
            rows = await get_many(session, owner_id, ids)
        drawn = await asyncio.gather(
            *(self._image_for_model(rows[attachment_id]) for attachment_id in ids if attachment_id in rows)
        )
        return [image for image in drawn if image is not None]

    async def _image_for_model(self, row: Attachment) -> SanitizedImage | None:
        try:
            async with asyncio.timeout(SHOWN_SECONDS), self.open(row) as path:
                content = await asyncio.to_thread(path.read_bytes)
                return await self._sanitizer.sanitize(content, for_models=True)
        except (AgentexError, OSError) as error:
            log.warning("attachment.not_shown", cause=type(error).__name__)
            return None

    async def read_documents(self, owner_id: str, ids: Sequence[str]) -> list[tuple[str, AttachedDocument]]:
        """The owner's documents with their ids, in this order; what is gone is left out."""
        async with self._database.reading() as session:
            rows = await get_many(session, owner_id, ids)
        documents: list[tuple[str, AttachedDocument]] = []
        for attachment_id in ids:
            if (row := rows.get(attachment_id)) is None:
                continue
            try:
                async with self.open(row) as path:
                    document = from_bytes(await asyncio.to_thread(path.read_bytes))
            except (AgentexError, OSError) as error:
                log.warning("attachment.not_read", cause=type(error).__name__)
                continue
            documents += [] if document is None else [(attachment_id, document)]
        return documents

    async def sweep(self, *, now: datetime | None = None) -> int:
        """Remove images of deleted sessions, and unused ones after a day; returns their number."""
        before = (now or utc_now()) - timedelta(seconds=UNUSED_SECONDS)
        query = select(Attachment).where(
            or_(
                col(Attachment.deleted_at).is_not(None),
                col(Attachment.session_id).is_(None) & (col(Attachment.created_at) < before),
            )
        )
        async with self._database.reading() as session:
            rows = (await session.exec(query.limit(_SWEPT_AT_ONCE))).all()
        await self._remove(await self._mark_deleted(rows))
        if rows:
            log.info("attachments.swept", count=len(rows))
        return len(rows)

    async def _mark_deleted(self, rows: Sequence[Attachment]) -> Sequence[Attachment]:
        if not rows:
            return rows
        ids = [row.id for row in rows]
        unused = col(Attachment.session_id).is_(None) & col(Attachment.deleted_at).is_(None)
        mark = update(Attachment).where(col(Attachment.id).in_(ids), unused)
        marked = select(Attachment).where(col(Attachment.id).in_(ids), col(Attachment.deleted_at).is_not(None))
        async with unit_of_work(self._database) as work:
            await work.session.exec(mark.values(deleted_at=utc_now()))
            return (await work.session.exec(marked)).all()

    async def _remove(self, rows: Sequence[Attachment]) -> None:
        """Delete files first: rows find what an interruption leaves."""
        for row in rows:
            await self._store.delete(row.storage_key)
        async with unit_of_work(self._database) as work:
            for row in rows:
                if (stored := await work.session.get(Attachment, row.id)) is not None:
                    await work.session.delete(stored)


async def assign_to_session(session: AsyncSession, rows: Sequence[Attachment], session_key: str) -> None:
    """Assign images to a session, in the caller's transaction; they are deleted with it.

    An image of another session of the owner stays there. ``InvalidLink`` if one was just removed.
    """
    for row in rows:
        statement = (
            update(Attachment)
            .where(col(Attachment.id) == row.id, col(Attachment.deleted_at).is_(None))
            .values(session_id=func.coalesce(col(Attachment.session_id), session_key))
        )
        if (await session.exec(statement)).rowcount == 0:
            raise InvalidLink(reason="forged")


async def get_many(session: AsyncSession, owner_id: str, ids: Collection[str]) -> dict[str, Attachment]:
    """The owner's images among these ids, by id."""
    query = select(Attachment).where(
        col(Attachment.id).in_(ids), col(Attachment.owner_id) == owner_id, col(Attachment.deleted_at).is_(None)
    )
    return {row.id: row for row in (await session.exec(query)).all()}


async def _find(session: AsyncSession, attachment_id: str) -> Attachment | None:
    if not is_id(attachment_id):
        return None
    query = (
        select(Attachment)
        .join(User, col(User.id) == col(Attachment.owner_id))
        .where(
            Attachment.id == attachment_id,
            col(Attachment.stored_at).is_not(None),
            col(Attachment.deleted_at).is_(None),
            User.status == _ACTIVE,
        )
    )
    return (await session.exec(query)).first()


async def _one_block(content: bytes) -> AsyncIterator[bytes]:
    yield content
