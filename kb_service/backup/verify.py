"""Check of backups: every blob's hash, that each is there, and that the counts are right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from core.db.types import utc_now
from kb_service.backup.create import read_files, read_points
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest, BlobRef, RowBlob, RowStream
from kb_service.backup.points import MalformedPoints, count_points
from kb_service.backup.progress import BackupStep, OnProgress, silent
from kb_service.backup.repository import BackupRepository
from kb_service.backup.row_format import read_rows
from kb_service.backup.verification_note import VerificationNote, write_note

_T = TypeVar("_T")
# Rows, so many points, or a file of any content.
_Content = RowStream | int | None
_LISTS = {"files": "list of files", "points": "list of vectors"}


@dataclass(frozen=True)
class BackupFinding:
    """Something wrong: in which backup, with which part of it."""

    backup: str
    part: str
    error: BackupError


@dataclass
class BackupReport:
    """The result of a check; sizes in bytes, before compression."""

    backups: int = 0
    blobs: int = 0
    size: int = 0
    findings: list[BackupFinding] = field(default_factory=list[BackupFinding])


def verify(repository: BackupRepository, backup_ids: Sequence[str], on_progress: OnProgress = silent) -> BackupReport:
    """Read everything that these backups hold; a blob of several is read once. A note beside each says how it ended.

    Raises:
        BackupError: another process removes backups.
    """
    check = _Verification(repository, on_progress)
    with repository.reading():
        for backup_id in backup_ids:
            before = len(check.report.findings)
            check.backup(backup_id)
            note = VerificationNote(checked_at=utc_now(), findings=len(check.report.findings) - before)
            write_note(repository.root, backup_id, note)
    return check.report


class _Verification:
    def __init__(self, repository: BackupRepository, on_progress: OnProgress) -> None:
        self.report = BackupReport()
        self._repository = repository
        self._on_progress = on_progress
        self._checked: dict[str, BackupError | None] = {}
        self._unread_lists: set[str] = set()
        self._backup = ""

    def backup(self, backup_id: str) -> None:
        self._backup = backup_id
        self.report.backups += 1
        try:
            manifest = self._repository.manifest(backup_id)
        except BackupError as error:
            self._note("manifest", error)
            return
        for part, blob, content in self._parts(manifest):
            if blob.id not in self._checked:
                self._checked[blob.id] = self._fault(blob, content)
                self.report.blobs += 1
                self.report.size += blob.size
                self._on_progress(BackupStep.BLOBS, self.report.blobs, None)
            error = self._checked[blob.id]
            if error is not None:
                self._note(part, error)

    def _parts(self, manifest: BackupManifest) -> Iterator[tuple[str, BlobRef, _Content]]:
        """The blobs of a backup with names for people, and what they hold."""
        for name, blob in manifest.secrets.items():
            yield name, blob, None
        self._unread_lists.clear()
        rows = 0
        for name, stream in manifest.tables.items():
            rows += stream.rows
            for blob in stream.blobs:
                yield f"table {name}", blob, stream
        self._compare("rows", manifest.counts.rows, rows)
        files = points = 0
        for file in self._listed("files", read_files(self._repository, manifest)):
            files += 1
            yield f"file {file.storage_key}", file.blob, None
        for entry in self._listed("points", read_points(self._repository, manifest)):
            points += entry.points
            yield f"vectors of document {entry.document_id}", entry.blob, entry.points
        self._compare("files", manifest.counts.files, files)
        self._compare("points", manifest.counts.points, points)

    def _listed(self, kind: str, entries: Iterator[_T]) -> Iterator[_T]:
        try:
            yield from entries
        except BackupError as error:
            # The count that follows from it says nothing more.
            self._unread_lists.add(kind)
            self._note(_LISTS[kind], error)

    def _fault(self, blob: BlobRef, content: _Content) -> BackupError | None:
        try:
            if isinstance(content, RowStream):
                rows = RowStream(columns=content.columns, blobs=(RowBlob.model_validate(blob.model_dump()),))
                for _ in read_rows(self._repository, rows):
                    pass
            elif content is None:
                for _ in self._repository.read(blob):
                    pass
            elif count_points(b"".join(self._repository.read(blob))) != content:
                return BackupError(BackupFault.BLOB_DAMAGED, blob=blob.id)
        except MalformedPoints:
            return BackupError(BackupFault.BLOB_DAMAGED, blob=blob.id)
        except BackupError as error:
            return error
        return None

    def _compare(self, part: str, expected: int, actual: int) -> None:
        if expected != actual and part not in self._unread_lists:
            self._note(part, BackupError(BackupFault.COUNTS_DIFFER, blob=part, expected=expected, actual=actual))

    def _note(self, part: str, error: BackupError) -> None:
        self.report.findings.append(BackupFinding(self._backup, part, error))
