"""Turning uploads into documents: a name identifies a document, its bytes a revision."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, cast

from core.db.now import database_now
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
"""Why a single upload of a batch is refused."""

_ENDED_BADLY = (DocumentStatus.FAILED.value, DocumentStatus.CANCELLED.value)


class OnConflict(StrEnum):
    """What becomes of an upload whose name is taken by a document with other bytes."""

    REPLACE = "replace"
    KEEP_BOTH = "keep_both"
    REFUSE = "refuse"


class UploadOutcome(StrEnum):
    """What became of an upload.

    ``RETRIED``: the same bytes over a document that failed or was cancelled, or with another choice of a parser; it is
    processed once more.
    """

    CREATED = "created"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"
    RETRIED = "retried"


@dataclass(frozen=True)
class Upload:
    """A stored file that is to become a document.

    ``attributes`` None leaves the document's metadata, ``parser`` None its choice of a parser and of a ``strategy``.
    """

    name: str
    file: StoredFile
    file_type: FileType
    on_conflict: OnConflict = OnConflict.REPLACE
    attributes: Attributes | None = None
    parser: str | None = None
    strategy: str | None = None

    def chooses_other(self, document: Document) -> bool:
        """Whether it has a document read in another way than its last upload."""
        return self.parser is not None and (self.parser, self.strategy) != (
            document.chosen_parser,
            document.chosen_strategy,
        )


@dataclass(frozen=True)
class UploadResult:
    """The result of an upload; ``spare_keys`` are stored files to delete after the commit."""

    document: Document
    outcome: UploadOutcome
    knowledge_base: KnowledgeBase
    spare_keys: Sequence[str] = field(default_factory=tuple)


async def apply_uploads(
    work: UnitOfWork, viewer: Viewer, knowledge_base: KnowledgeBase, uploads: Sequence[Upload], *, quota_bytes: int = 0
) -> list[UploadResult | UploadRefusal]:
    """Make each stored upload a document or a revision of one; do nothing if it already exists.

    Uploads into one knowledge base are serialized here, so concurrent uploads of one name make one document. Documents
    hidden from the uploader do not count: neither their names nor their bytes are taken, and the upload becomes a
    separate document. ``quota_bytes`` 0 means no limit.

    Returns:
        For each upload its result, or why it is refused: the quota is exhausted, or other bytes have the name and the
        caller wants it refused or sees several documents of that name. A refused upload writes nothing and does not
        stop the others.
    """
    allowance = None
    if quota_bytes:
        allowance = await quota.lock_allowance(work.session, knowledge_base.owner_id, quota_bytes)
    lock = await lock_names(work.session, knowledge_base.id)
    by_name = DocumentsByName(work.session, viewer, lock)
    await by_name.load(upload.name for upload in uploads)
    now = await database_now(work.session)
    batch = _UploadBatch(work, knowledge_base, lock, by_name, allowance, now)
    results: list[UploadResult | UploadRefusal] = []
    for upload in uploads:
        try:
            results.append(await batch.apply(upload))
        except (DocumentNameTaken, QuotaExceeded) as error:
            results.append(error)
    # All rows in one statement.
    await work.session.flush()
    return results


@dataclass(frozen=True)
class _UploadBatch:
    """Applies uploads in order under one lock on the names."""

    work: UnitOfWork
    knowledge_base: KnowledgeBase
    lock: NameLock
    by_name: DocumentsByName
    allowance: QuotaAllowance | None
    now: datetime

    async def apply(self, upload: Upload) -> UploadResult:
        result = await self._write(upload)
        if upload.attributes is not None:
            result.document.attributes = upload.attributes
            self.work.session.add(result.document)
        return result

    async def _write(self, upload: Upload) -> UploadResult:
        namesakes = await self.by_name.get(upload.name)
        name, present = upload.name, _match(namesakes, upload)
        if present is not None and present.sha256 != upload.file.sha256:
            # A restricted document's content must not become visible to more people.
            is_ambiguous = upload.on_conflict is OnConflict.REPLACE and len(namesakes) > 1
            if is_ambiguous or upload.on_conflict is OnConflict.REFUSE:
                raise DocumentNameTaken(field="file", name=name, document_id=present.id)
            if upload.on_conflict is OnConflict.KEEP_BOTH:
                name, present = await self._find_free(upload)
        if present is None:
            return self._created(name, upload)
        is_same = present.sha256 == upload.file.sha256 and not upload.chooses_other(present)
        if is_same and present.status not in _ENDED_BADLY:
            return self._result(present, UploadOutcome.UNCHANGED, (upload.file.storage_key,))
        return self._replaced(present, upload)

    async def _find_free(self, upload: Upload) -> tuple[str, Document | None]:
        """The first free numbered name, or the document that has these bytes under such a name."""
        names = numbered_names(upload.name)
        while True:
            name = next(names)
            present = _match(await self.by_name.get(name), upload)
            if present is None or present.sha256 == upload.file.sha256:
                return name, present

    def _created(self, name: str, upload: Upload) -> UploadResult:
        self._spend(upload.file.size)
        document = _new(self.knowledge_base, name=name, file=upload.file, file_type=upload.file_type, now=self.now)
        document.chosen_parser, document.chosen_strategy = upload.parser, upload.strategy
        self.work.session.add(document)
        self.work.wake_workers()
        self.by_name.add(document)
        return self._result(document, UploadOutcome.CREATED)

    def _replaced(self, present: Document, upload: Upload) -> UploadResult:
        freed = 0 if _keeps_its_file(present) else present.file_size
        self._spend(upload.file.size - freed)
        is_same = present.sha256 == upload.file.sha256
        outcome = UploadOutcome.RETRIED if is_same else UploadOutcome.REPLACED
        spare = _replace_file(present, upload)
        if upload.parser is not None:
            present.chosen_parser, present.chosen_strategy = upload.parser, upload.strategy
        # New content goes first, even while a re-index processes old documents.
        present.generation = self.lock.generation
        present.updated_at = self.now
        begin_revision(self.work, present)
        return self._result(present, outcome, spare)

    def _result(self, document: Document, outcome: UploadOutcome, spare_keys: Sequence[str] = ()) -> UploadResult:
        return UploadResult(document, outcome, self.knowledge_base, spare_keys)

    def _spend(self, bytes_: int) -> None:
        if self.allowance is not None:
            self.allowance.spend(bytes_)


def _match(namesakes: Sequence[Document], upload: Upload) -> Document | None:
    same = (document for document in namesakes if document.sha256 == upload.file.sha256)
    return next(same, namesakes[0] if namesakes else None)


async def add_document(
    work: UnitOfWork, knowledge_base: KnowledgeBase, *, name: str, file: StoredFile, file_type: FileType
) -> Document:
    """Insert a document for a stored file under a free name, ready for the workers."""
    now = await database_now(work.session)
    document = _new(knowledge_base, name=name, file=file, file_type=file_type, now=now)
    work.session.add(document)
    await work.session.flush()
    work.wake_workers()
    return document


def _new(knowledge_base: KnowledgeBase, *, name: str, file: StoredFile, file_type: FileType, now: datetime) -> Document:
    defaults = {name: make() for name, make in _default_factories().items()}
    values: dict[str, Any] = defaults | {"created_at": now, "updated_at": now}
    return Document(
        # Computing the defaults in the columns would take longer than everything else.
        **values,
        knowledge_base_id=knowledge_base.id,
        name=name,
        file_type=file_type.label,
        media_type=file_type.media_type,
        file_size=file.size,
        sha256=file.sha256,
        storage_key=file.storage_key,
        generation=knowledge_base.generation,
    )


@cache
def _default_factories() -> dict[str, Callable[[], Any]]:
    factories = {name: field.default_factory for name, field in Document.model_fields.items()}
    return {name: cast("Callable[[], Any]", make) for name, make in factories.items() if make is not None}


def _keeps_its_file(document: Document) -> bool:
    """Whether a replaced file must be kept: the searchable passages are made from it until the switch."""
    return document.active_revision is not None and not document.superseded_keys


def _replace_file(document: Document, upload: Upload) -> Sequence[str]:
    """Give a document another file; returns storage keys no longer needed."""
    keeps = _keeps_its_file(document)
    old_key, old_size = document.storage_key, document.file_size
    document.storage_key = upload.file.storage_key
    document.file_size, document.sha256 = upload.file.size, upload.file.sha256
    document.file_type = upload.file_type.label
    document.media_type = upload.file_type.media_type
    for name in Document.FILE_FIELDS:
        setattr(document, name, Document.model_fields[name].get_default())
    if keeps:
        document.superseded_keys, document.superseded_bytes = [old_key], old_size
        return ()
    return (old_key,)


def begin_revision(work: UnitOfWork, document: Document) -> None:
    """Queue a document for a new revision; searches see the old one until that is done.

    A worker on the old revision keeps its lease until it notices, so that no two workers write points of one document
    at a time. The caller sets the time of change.
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
