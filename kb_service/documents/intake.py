"""Uploads become documents: a name stands for one document, its bytes for a revision of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select, SelectOfScalar

from core.database.clock import database_now
from core.database.types import new_id
from core.database.unit_of_work import UnitOfWork
from core.errors import DocumentNameTaken, KnowledgeBaseNotFound
from kb_service.documents import quota
from kb_service.documents.attributes import Attributes
from kb_service.documents.files import FileType, StoredFile
from kb_service.documents.names import numbered_names
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.readers import Reader, is_admitted

_ENDED_BADLY = (DocumentStatus.FAILED.value, DocumentStatus.CANCELLED.value)


class OnConflict(StrEnum):
    """What becomes of an upload whose name is taken by a document with other bytes."""

    REPLACE = "replace"
    KEEP_BOTH = "keep_both"
    REFUSE = "refuse"


class UploadOutcome(StrEnum):
    """What became of an upload."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"


@dataclass(frozen=True)
class Upload:
    """A stored file that is to become a document.

    Args:
        name: cleaned.
        file: its bytes.
        file_type: by content and name.
        on_conflict: what to do where the name is taken by other bytes.
        attributes: metadata that the document gets; None leaves what it has.
    """

    name: str
    file: StoredFile
    file_type: FileType
    on_conflict: OnConflict = OnConflict.REPLACE
    attributes: Attributes | None = None


@dataclass(frozen=True)
class Intake:
    """What an upload led to.

    Args:
        document: the one that holds the bytes now.
        outcome: how that came.
        spare_keys: stored files that nothing needs any more, to be deleted after the commit.
    """

    document: Document
    outcome: UploadOutcome
    spare_keys: Sequence[str] = field(default_factory=tuple)


async def take_in(
    work: UnitOfWork,
    reader: Reader,
    knowledge_base: KnowledgeBase,
    upload: Upload,
    *,
    quota_bytes: int = 0,
) -> Intake:
    """Make a stored upload a document, a revision of one, or nothing where it is there already.

    Uploads into one knowledge base pass here one after the other, so that many at once of one
    name make one document.

    A document that the uploader does not read is none to them: neither its name nor its bytes are
    taken, and theirs becomes a document beside it.

    Args:
        work: the transaction.
        reader: who uploads.
        knowledge_base: which they may write to.
        upload: what came in.
        quota_bytes: most that the owner may keep; 0 for any number.

    Raises:
        DocumentNameTaken: other bytes have the name, and the caller wants it refused, or they
            read several documents of that name.
        KnowledgeBaseNotFound: it was deleted at this moment.
        QuotaExceeded: the owner's quota has no room for it.
    """
    if quota_bytes:
        await quota.take_turn(work.session, knowledge_base.owner_id)
    intake = await _place(work, reader, knowledge_base, upload)
    if upload.attributes is not None:
        intake.document.attributes = upload.attributes
        work.session.add(intake.document)
    if quota_bytes and intake.outcome is not UploadOutcome.UNCHANGED:
        await quota.check_quota(work.session, knowledge_base.owner_id, limit_bytes=quota_bytes)
    return intake


async def _place(
    work: UnitOfWork, reader: Reader, knowledge_base: KnowledgeBase, upload: Upload
) -> Intake:
    turn = await take_turn(work.session, knowledge_base.id)
    named = await find_named(work.session, reader, turn, upload.name)
    name, present = upload.name, _meant(named, upload)
    if present is not None and present.sha256 != upload.file.sha256:
        # Bytes that are for few must not come into the hands of more.
        is_ambiguous = upload.on_conflict is OnConflict.REPLACE and len(named) > 1
        if is_ambiguous or upload.on_conflict is OnConflict.REFUSE:
            raise DocumentNameTaken(field="file", name=name, document_id=present.id)
        if upload.on_conflict is OnConflict.KEEP_BOTH:
            name, present = await _find_free(work.session, reader, turn, upload)
    if present is None:
        document = await add(
            work, knowledge_base, name=name, file=upload.file, file_type=upload.file_type
        )
        return Intake(document, UploadOutcome.CREATED)
    if present.sha256 == upload.file.sha256 and present.status not in _ENDED_BADLY:
        return Intake(present, UploadOutcome.UNCHANGED, (upload.file.storage_key,))
    spare = _replace_file(present, upload)
    # New bytes are to be found soon, also while a re-index makes the old ones anew.
    present.generation = turn.generation
    present.updated_at = await database_now(work.session)
    begin_revision(work, present)
    return Intake(present, UploadOutcome.REPLACED, spare)


class Turn(NamedTuple):
    """A knowledge base whose names nobody else gives at this moment.

    Args:
        knowledge_base_id: which one.
        generation: that searches see now.
        narrowed: whether it may have restricted documents.
    """

    knowledge_base_id: str
    generation: int
    narrowed: bool


async def take_turn(session: AsyncSession, knowledge_base_id: str) -> Turn:
    """Wait for those who give names before.

    Raises:
        KnowledgeBaseNotFound: it was deleted at this moment.
    """
    found = (await session.exec(_turn(), params={"id": knowledge_base_id})).first()
    if found is None:
        raise KnowledgeBaseNotFound
    return Turn(*found)


# Built once: building a statement takes as long as asking it, and every upload asks these.
@cache
def _turn() -> Select[*tuple[Any, ...]]:
    columns = (KnowledgeBase.id, KnowledgeBase.generation, KnowledgeBase.narrowed)
    # On SQLite the transaction is the only writer anyway.
    query = cast("Select[*tuple[Any, ...]]", select(*columns)).where(
        KnowledgeBase.id == bindparam("id"), col(KnowledgeBase.deleted_at).is_(None)
    )
    return query.with_for_update(key_share=True)


async def find_named(
    session: AsyncSession, reader: Reader, turn: Turn, name: str
) -> list[Document]:
    """The documents of a name that somebody reads, their rows locked; restricted ones first.

    At most one of them is open to all who read the knowledge base.
    """
    named = {"knowledge_base_id": turn.knowledge_base_id, "name": name}
    found = [*(await session.exec(_open_named(), params=named)).all()]
    if not turn.narrowed:
        return found
    restricted = await session.exec(
        _restricted_named(), params={**named, "reader_id": reader.user_id}
    )
    return [*restricted.all(), *found]


@cache
def _open_named() -> SelectOfScalar[Document]:
    return _named(col(Document.restricted).is_(False))


@cache
def _restricted_named() -> SelectOfScalar[Document]:
    admitted = is_admitted(bindparam("reader_id"))
    return _named(col(Document.restricted).is_(True), admitted).order_by(
        col(Document.created_at), col(Document.id)
    )


def _named(*conditions: ColumnElement[bool]) -> SelectOfScalar[Document]:
    query = select(Document).where(
        Document.knowledge_base_id == bindparam("knowledge_base_id"),
        Document.name == bindparam("name"),
        col(Document.deleted_at).is_(None),
        *conditions,
    )
    # A worker may be about to end a try of it.
    return query.with_for_update(key_share=True, of=Document)


def _meant(named: Sequence[Document], upload: Upload) -> Document | None:
    """Of several documents of a name the one that has these bytes, else the first."""
    same = (one for one in named if one.sha256 == upload.file.sha256)
    return next(same, named[0] if named else None)


async def _find_free(
    session: AsyncSession, reader: Reader, turn: Turn, upload: Upload
) -> tuple[str, Document | None]:
    """The first numbered name that is free, or the document that has these bytes under one."""
    names = numbered_names(upload.name)
    while True:
        name = next(names)
        present = _meant(await find_named(session, reader, turn, name), upload)
        if present is None or present.sha256 == upload.file.sha256:
            return name, present


async def add(
    work: UnitOfWork,
    knowledge_base: KnowledgeBase,
    *,
    name: str,
    file: StoredFile,
    file_type: FileType,
) -> Document:
    """Write the row of a stored file under a free name, where the workers find it."""
    now = await database_now(work.session)
    document = Document(
        # What its columns' defaults would make too, which takes longer than all the rest.
        id=new_id(),
        superseded_keys=[],
        attributes={},
        warnings=[],
        knowledge_base_id=knowledge_base.id,
        name=name,
        file_type=file_type.label,
        media_type=file_type.media_type,
        file_size=file.size,
        sha256=file.sha256,
        storage_key=file.storage_key,
        generation=knowledge_base.generation,
        created_at=now,
        updated_at=now,
    )
    work.session.add(document)
    await work.session.flush()
    work.wake_workers()
    return document


def _replace_file(document: Document, upload: Upload) -> Sequence[str]:
    """Give a document another file; the keys of those that nothing needs any more."""
    old_key, old_size = document.storage_key, document.file_size
    document.storage_key = upload.file.storage_key
    document.file_size, document.sha256 = upload.file.size, upload.file.sha256
    document.file_type = upload.file_type.label
    document.media_type = upload.file_type.media_type
    if document.active_revision is not None and not document.superseded_keys:
        # The passages that are found until the flip were made of it.
        document.superseded_keys, document.superseded_bytes = [old_key], old_size
        return ()
    return (old_key,)


def begin_revision(work: UnitOfWork, document: Document) -> None:
    """Let a document wait for being made anew; what is searched stays until that is done.

    A worker that still has the old revision in hand keeps its lease until it has noticed, so that
    no two write points of one document at a time. When that was is for the caller to write.
    """
    document.status = DocumentStatus.PENDING.value
    document.stage = DocumentStage.QUEUED.value
    document.progress, document.attempt = 0, 0
    document.failure = document.retry_at = document.stage_since = document.started_at = None
    document.revision += 1
    if document.lease_until is None:
        document.lease_owner = None
    work.session.add(document)
    work.wake_workers()
