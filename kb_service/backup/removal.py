"""Removal of backups, and of the blobs that only they hold."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain

from kb_service.backup.create import read_files, read_points
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.progress import BackupStep, OnProgress, silent
from kb_service.backup.repository import BackupRepository


@dataclass(frozen=True)
class BackupRemoval:
    """What was removed: the backups, and in number and bytes on disk the blobs."""

    backups: tuple[str, ...]
    blobs: int
    freed_bytes: int


def remove(
    repository: BackupRepository,
    choose: Callable[[list[str]], Collection[str]],
    on_progress: OnProgress = silent,
) -> BackupRemoval:
    """Remove backups, then every blob that no remaining one holds; with none chosen only such blobs, of a killed run.

    All remaining backups are read before anything goes, and manifests go before blobs: whenever this stops, each
    manifest that is left has all of its blobs.

    Args:
        choose: the backups to remove, given the ids of all there are, oldest first.

    Raises:
        BackupError: there is no such backup, one that stays can't be read, or another process uses the folder.
    """
    with repository.removing():
        ids = repository.backup_ids()
        chosen = sorted(set(choose(ids)))
        if unknown := set(chosen) - set(ids):
            raise BackupError(BackupFault.UNKNOWN_BACKUP, backup=min(unknown), backups=", ".join(ids))
        needed: set[bytes] = set()
        for done, backup_id in enumerate(remaining := [id_ for id_ in ids if id_ not in chosen], start=1):
            needed |= _blobs_of(repository, backup_id)
            on_progress(BackupStep.MANIFESTS, done, len(remaining))
        repository.delete_manifests(chosen)
        blobs = freed = 0
        for size in repository.delete_blobs(needed):
            blobs += 1
            freed += size
            on_progress(BackupStep.DELETED, blobs, None)
        return BackupRemoval(tuple(chosen), blobs, freed)


def _blobs_of(repository: BackupRepository, backup_id: str) -> set[bytes]:
    """The ids of a backup's blobs; as bytes, since they may be millions."""
    manifest = repository.manifest(backup_id)
    listed = chain(
        manifest.secrets.values(),
        chain.from_iterable(stream.blobs for stream in manifest.streams.values()),
        (entry.blob for entry in read_files(repository, manifest)),
        (entry.blob for entry in read_points(repository, manifest)),
    )
    return {bytes.fromhex(blob.id) for blob in listed}
