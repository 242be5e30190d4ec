"""Uploads become documents: a name stands for one document, its bytes for a revision of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from core.db.now import database_now
from core.db.types import new_id
from core.db.unit_of_work import UnitOfWork
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import QuotaExceeded
from kb_service.document_names import DocumentsByName, NameLock, lock_names, numbered_names
from kb_service.documents import quota
from kb_service.documents.metadata import Attributes
from kb_service.documents.quota import QuotaAllowance
from kb_service.documents.storage import FileType, StoredFile
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.visibility import Viewer

UploadRefusal = DocumentNameTaken | QuotaExceeded
"""Why an upload is not taken in, while others are."""

_ENDED_BADLY = (DocumentStatus.FAILED.value, DocumentStatus.CANCELLED.value)


class OnConflict(StrEnum):
    """What becomes of an upload whose name is taken by a document with other bytes."""

    REPLACE = "replace"
    KEEP_BOTH = "keep_both"
    REFUSE = "refuse"


class UploadOutcome(StrEnum):
    """What became of an upload.

    ``RETRIED``: the same bytes over a document that failed or was cancelled; it is processed once
    more.
    """

    CREATED = "created"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"
    RETRIED = "retried"


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
class UploadResult:
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
    viewer: Viewer,
    knowledge_base: KnowledgeBase,
    upload: Upload,
    *,
    quota_bytes: int = 0,
) -> UploadResult:
    """Make a stored upload a document, a revision of one, or nothing where it is there already.

    Uploads into one knowledge base pass here one after the other, so that many at once of one
    name make one document.

    A document that the uploader does not read is none to them: neither its name nor its bytes are
    taken, and theirs becomes a document beside it.

    Args:
        work: the transaction.
        viewer: who uploads.
        knowledge_base: which they may write to.
        upload: what came in.
        quota_bytes: most that the owner may keep; 0 for any number.

    Raises:
        DocumentNameTaken: other bytes have the name, and the caller wants it refused, or they
            read several documents of that name.
        KnowledgeBaseNotFound: it was deleted at this moment.
        QuotaExceeded: the owner's quota has no room for it.
    """
    (taken,) = await apply_uploads(work, viewer, knowledge_base, [upload], quota_bytes=quota_bytes)
    if isinstance(taken, UploadResult):
        return taken
    raise taken


async def apply_uploads(
    work: UnitOfWork,
    viewer: Viewer,
    knowledge_base: KnowledgeBase,
    uploads: Sequence[Upload],
    *,
    quota_bytes: int = 0,
) -> list[UploadResult | UploadRefusal]:
    """Do with each of some uploads, in their order, what ``take_in`` does with one.

    Returns:
        For each upload what ``take_in`` returns, or would raise: of a refused one nothing is
        written, and it does not stop the others.

    Raises:
        KnowledgeBaseNotFound: as ``take_in`` does.
    """
    allowance = None
    if quota_bytes:
        allowance = await quota.lock_allowance(work.session, knowledge_base.owner_id, quota_bytes)
    turn = await lock_names(work.session, knowledge_base.id)
    named = DocumentsByName(work.session, viewer, turn)
    await named.look_up(upload.name for upload in uploads)
    now = await database_now(work.session)
    desk = _UploadBatch(work, knowledge_base, turn, named, allowance, now)
    taken: list[UploadResult | UploadRefusal] = []
    for upload in uploads:
        try:
            taken.append(await desk.take(upload))
        except (DocumentNameTaken, QuotaExceeded) as error:
            taken.append(error)
    # All rows in one statement.
    await work.session.flush()
    return taken


@dataclass(frozen=True)
class _UploadBatch:
    """Takes in one upload after the other within one turn."""

    work: UnitOfWork
    knowledge_base: KnowledgeBase
    turn: NameLock
    named: DocumentsByName
    allowance: QuotaAllowance | None
    now: datetime

    async def take(self, upload: Upload) -> UploadResult:
        intake = await self._placed(upload)
        if upload.attributes is not None:
            intake.document.attributes = upload.attributes
            self.work.session.add(intake.document)
        return intake

    async def _placed(self, upload: Upload) -> UploadResult:
        of_name = await self.named.of(upload.name)
        name, present = upload.name, _addressed(of_name, upload)
        if present is not None and present.sha256 != upload.file.sha256:
            # Bytes that are for few must not come into the hands of more.
            is_ambiguous = upload.on_conflict is OnConflict.REPLACE and len(of_name) > 1
            if is_ambiguous or upload.on_conflict is OnConflict.REFUSE:
                raise DocumentNameTaken(field="file", name=name, document_id=present.id)
            if upload.on_conflict is OnConflict.KEEP_BOTH:
                name, present = await self._find_free(upload)
        if present is None:
            return self._created(name, upload)
        if present.sha256 == upload.file.sha256 and present.status not in _ENDED_BADLY:
            return UploadResult(present, UploadOutcome.UNCHANGED, (upload.file.storage_key,))
        return self._replaced(present, upload)

    async def _find_free(self, upload: Upload) -> tuple[str, Document | None]:
        """The first numbered name that is free, or the document that has these bytes under one."""
        names = numbered_names(upload.name)
        while True:
            name = next(names)
            present = _addressed(await self.named.of(name), upload)
            if present is None or present.sha256 == upload.file.sha256:
                return name, present

    def _created(self, name: str, upload: Upload) -> UploadResult:
        self._spend(upload.file.size)
        document = _new(
            self.knowledge_base,
            name=name,
            file=upload.file,
            file_type=upload.file_type,
            now=self.now,
        )
        self.work.session.add(document)
        self.work.wake_workers()
        self.named.add(document)
        return UploadResult(document, UploadOutcome.CREATED)

    def _replaced(self, present: Document, upload: Upload) -> UploadResult:
        given_up = 0 if _keeps_its_file(present) else present.file_size
        self._spend(upload.file.size - given_up)
        is_same = present.sha256 == upload.file.sha256
        outcome = UploadOutcome.RETRIED if is_same else UploadOutcome.REPLACED
        spare = _replace_file(present, upload)
        # New bytes are to be found soon, also while a re-index makes the old ones anew.
        present.generation = self.turn.generation
        present.updated_at = self.now
        begin_revision(self.work, present)
        return UploadResult(present, outcome, spare)

    def _spend(self, bytes_: int) -> None:
        if self.allowance is not None:
            self.allowance.spend(bytes_)


def _addressed(named: Sequence[Document], upload: Upload) -> Document | None:
    """Of several documents of a name the one that has these bytes, else the first."""
    same = (one for one in named if one.sha256 == upload.file.sha256)
    return next(same, named[0] if named else None)


async def add_document(
    work: UnitOfWork,
    knowledge_base: KnowledgeBase,
    *,
    name: str,
    file: StoredFile,
    file_type: FileType,
) -> Document:
    """Write the row of a stored file under a free name, where the workers find it."""
    now = await database_now(work.session)
    document = _new(knowledge_base, name=name, file=file, file_type=file_type, now=now)
    work.session.add(document)
    await work.session.flush()
    work.wake_workers()
    return document


def _new(
    knowledge_base: KnowledgeBase,
    *,
    name: str,
    file: StoredFile,
    file_type: FileType,
    now: datetime,
) -> Document:
    return Document(
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


def _keeps_its_file(document: Document) -> bool:
    """Whether the file stays when another comes: the passages found until the flip are made of it."""
    return document.active_revision is not None and not document.superseded_keys


def _replace_file(document: Document, upload: Upload) -> Sequence[str]:
    """Give a document another file; the keys of those that nothing needs any more."""
    keeps = _keeps_its_file(document)
    old_key, old_size = document.storage_key, document.file_size
    document.storage_key = upload.file.storage_key
    document.file_size, document.sha256 = upload.file.size, upload.file.sha256
    document.file_type = upload.file_type.label
    document.media_type = upload.file_type.media_type
    # It was said of other bytes.
    document.chosen_encoding = None
    if keeps:
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
