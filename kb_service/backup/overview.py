"""The backups of a folder, as a list."""

from dataclasses import dataclass
from datetime import datetime

from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupManifest
from kb_service.backup.repository import BackupRepository
from kb_service.backup.retention import moment_of
from kb_service.backup.verification_note import VerificationNote, read_note


@dataclass(frozen=True)
class BackupSummary:
    """A backup of a folder.

    Args:
        created_at: None where neither the manifest nor the id says it.
        manifest: None if it is damaged.
        verification: of the last check; None if there was none.
    """

    id: str
    created_at: datetime | None
    manifest: BackupManifest | None
    verification: VerificationNote | None


def list_backups(repository: BackupRepository) -> list[BackupSummary]:
    """All backups, newest first; the manifest of each is read.

    Raises:
        BackupError: a backup is of a later version, or another process removes backups.
    """
    with repository.reading():
        return [summarize(repository, backup_id) for backup_id in reversed(repository.backup_ids())]


def summarize(repository: BackupRepository, backup_id: str) -> BackupSummary:
    """One backup.

    Raises:
        BackupError: there is none, or it is of a later version.
    """
    try:
        manifest = repository.manifest(backup_id)
    except BackupError as error:
        if error.fault is not BackupFault.MANIFEST_DAMAGED:
            raise
        manifest = None
    moment = manifest.created_at if manifest else moment_of(backup_id)
    return BackupSummary(backup_id, moment, manifest, read_note(repository.root, backup_id))
