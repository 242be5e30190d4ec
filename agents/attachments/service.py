"""Attached images: taking one in, resolving its link, giving it to a session, sweeping."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.attachments.image_sanitizer import ImageSanitizer, SanitizedImage
from agents.attachments.signed_links import LinkClaim, LinkSigner, SignedLink, parse_link
from core.auth.models import User
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import is_id, new_id, utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import InvalidLink, LinkExpired
from core.errors.base import AgentexError
from core.errors.requests import FileTooLarge
from core.logging import get_logger
from kb_service.documents.quota import check_quota, take_turn
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
class AttachmentLimits:
    """Bounds on what is taken in.

    Args:
        max_bytes: largest image as it is sent.
        quota_bytes: most that an owner may keep, documents included; 0 for any number.
    """

    max_bytes: int
    quota_bytes: int = 0


class AttachmentService:
    """The attached images of all users.

    Args:
        limits: of what is taken in, where a call names no others.
    """

    def __init__(
        self, database: Database, store: ObjectStore, links: LinkSigner, *, limits: AttachmentLimits
    ) -> None:
        self._database = database
        self._store = store
        self._links = links
        self._limits = limits
        self._pictures = ImageSanitizer()

    async def add(
        self, principal: Principal, content: bytes, limits: AttachmentLimits | None = None
    ) -> Attachment:
        """Take an image in; its file is safe when this returns, and nothing is left when it raises.

        Raises:
            EmptyFile: no bytes.
            FileTooLarge: more than ``max_bytes``, or far more once it is drawn anew.
            UnsupportedFileType: no PNG, JPEG, WebP or GIF by its bytes.
            ImageTooLarge: too many pixels.
            CorruptImage: it can't be decoded.
            QuotaExceeded: the owner's quota has no room for it.
            StorageFull: no room.
        """
        limits = limits or self._limits
        if len(content) > limits.max_bytes:
            raise FileTooLarge(max_bytes=limits.max_bytes)
        picture = await self._pictures.sanitize(content)
        if len(picture.content) > _GROWTH * limits.max_bytes:
            raise FileTooLarge(max_bytes=limits.max_bytes)
        async with unit_of_work(self._database) as work:
            row = await self._promise(work, principal.user_id, picture, limits.quota_bytes)
        # A row first: a file that is written when the process dies has one that the sweep finds.
        try:
            await self._store.write(row.storage_key, _one_block(picture.content))
            async with unit_of_work(self._database) as work:
                row.stored_at = utc_now()
                row = await work.session.merge(row)
        except (AgentexError, OSError):
            with suppress(AgentexError, OSError):
                await self._remove([row])
            raise
        return row

    async def _promise(
        self, work: UnitOfWork, owner_id: str, picture: SanitizedImage, quota: int
    ) -> Attachment:
        if quota:
            await take_turn(work.session, owner_id)
        row = Attachment(
            owner_id=owner_id,
            # Not a plain id: the worker's sweep takes those for documents.
            storage_key=f"{new_id()}-attachment",
            mime_type=picture.mime_type,
            size=len(picture.content),
            width=picture.width,
            height=picture.height,
        )
        work.session.add(row)
        await work.session.flush()
        if quota:
            await check_quota(work.session, owner_id, limit_bytes=quota)
        return row

    def link(self, row: Attachment, *, now: datetime | None = None) -> SignedLink:
        """A link to an image that works from now on for a while, without a login."""
        return self._links.make(row.id, row.owner_id, now=now or utc_now())

    async def resolve_claim(self, claim: LinkClaim, *, now: datetime | None = None) -> Attachment:
        """The image of a link.

        Raises:
            InvalidLink: it was not made here, the image is gone, or its owner is switched off;
                these look the same.
            LinkExpired: it was made here, and is past its end.
        """
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
        self,
        url: str,
        principal: Principal,
        *,
        hosts: Collection[str] = (),
        now: datetime | None = None,
    ) -> Attachment:
        """The caller's own image that a signed link stands for; nothing is fetched.

        Args:
            url: as :meth:`link` made it, or the same with scheme and host in front.
            principal: whose image it must be.
            hosts: names, with the port if there is one, that the caller reached this server by.

        Raises:
            InvalidLink: its ``reason`` is ``other_host``, ``no_attachment_link``, ``forged`` or
                ``foreign``.
            LinkExpired: past its end.
        """
        row = await self.resolve_claim(parse_link(url, hosts=hosts), now=now)
        if row.owner_id != principal.user_id:
            raise InvalidLink(reason="foreign")
        return row

    def open(self, row: Attachment) -> AbstractAsyncContextManager[Path]:
        """A file with the image's bytes, valid inside the context.

        Raises:
            FileNotFoundError: it is gone.
            ObjectStoreUnavailable: the store did not answer.
        """
        return self._store.local_copy(row.storage_key)

    async def images_for_model(self, owner_id: str, ids: Sequence[str]) -> list[SanitizedImage]:
        """The owner's images as models are shown them, made anew and kept nowhere.

        One that can't be read, or not within ``SHOWN_SECONDS``, is left out.
        """
        async with self._database.reading() as session:
            rows = await get_many(session, owner_id, ids)
        drawn = await asyncio.gather(
            *(
                self._image_for_model(rows[attachment_id])
                for attachment_id in ids
                if attachment_id in rows
            )
        )
        return [picture for picture in drawn if picture is not None]

    async def _image_for_model(self, row: Attachment) -> SanitizedImage | None:
        try:
            async with asyncio.timeout(SHOWN_SECONDS), self.open(row) as path:
                content = await asyncio.to_thread(path.read_bytes)
                return await self._pictures.sanitize(content, for_models=True)
        except (AgentexError, OSError) as error:
            log.warning("attachment.not_shown", cause=type(error).__name__)
            return None

    async def sweep(self, *, now: datetime | None = None) -> int:
        """Remove the images of deleted sessions, and those that no run used within a day.

        Returns:
            How many.
        """
        before = (now or utc_now()) - timedelta(seconds=UNUSED_SECONDS)
        query = select(Attachment).where(
            or_(
                col(Attachment.deleted_at).is_not(None),
                col(Attachment.session_id).is_(None) & (col(Attachment.created_at) < before),
            )
        )
        async with self._database.reading() as session:
            rows = (await session.exec(query.limit(_SWEPT_AT_ONCE))).all()
        await self._remove(await self._give_up(rows))
        if rows:
            log.info("attachments.swept", count=len(rows))
        return len(rows)

    async def _give_up(self, rows: Sequence[Attachment]) -> Sequence[Attachment]:
        """Mark them deleted, so that no run takes one into use meanwhile; those that were."""
        if not rows:
            return rows
        ids = [row.id for row in rows]
        unused = col(Attachment.session_id).is_(None) & col(Attachment.deleted_at).is_(None)
        mark = update(Attachment).where(col(Attachment.id).in_(ids), unused)
        marked = select(Attachment).where(
            col(Attachment.id).in_(ids), col(Attachment.deleted_at).is_not(None)
        )
        async with unit_of_work(self._database) as work:
            await work.session.exec(mark.values(deleted_at=utc_now()))
            return (await work.session.exec(marked)).all()

    async def _remove(self, rows: Sequence[Attachment]) -> None:
        """Files first: what is left when this breaks off is found again by its row."""
        for row in rows:
            await self._store.delete(row.storage_key)
        async with unit_of_work(self._database) as work:
            for row in rows:
                if (stored := await work.session.get(Attachment, row.id)) is not None:
                    await work.session.delete(stored)


async def assign_to_session(
    session: AsyncSession, rows: Sequence[Attachment], session_key: str
) -> None:
    """Give images to the session whose run uses them, in the caller's transaction.

    They go with it. One that another session of the owner's has stays that session's.

    Raises:
        InvalidLink: one was swept at this moment.
    """
    for row in rows:
        statement = (
            update(Attachment)
            .where(col(Attachment.id) == row.id, col(Attachment.deleted_at).is_(None))
            .values(session_id=func.coalesce(col(Attachment.session_id), session_key))
        )
        if (await session.exec(statement)).rowcount == 0:
            raise InvalidLink(reason="forged")


async def get_many(
    session: AsyncSession, owner_id: str, ids: Collection[str]
) -> dict[str, Attachment]:
    """The owner's images among these ids, by id: for the links of a history."""
    query = select(Attachment).where(
        col(Attachment.id).in_(ids),
        col(Attachment.owner_id) == owner_id,
        col(Attachment.deleted_at).is_(None),
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
