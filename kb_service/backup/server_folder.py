"""The folder of backups that the operator has named for the console and the API."""

from pathlib import Path

from core.errors.auth import BackupNotFound
from core.errors.conflicts import BackupFolderUnset, BackupUnusable
from core.settings import Settings
from kb_service.backup.errors import BackupError
from kb_service.backup.fault_texts import fault_texts
from kb_service.backup.overview import BackupSummary, list_backups
from kb_service.backup.repository import BackupRepository, create_repository, is_repository, open_repository


class ServerBackups:
    """The backups in the folder of the settings, under their passphrase."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def root(self) -> Path:
        """The folder; BackupFolderUnset where none is set."""
        if self._settings.backup_folder is None:
            raise BackupFolderUnset
        return self._settings.backup_folder

    @property
    def encrypts(self) -> bool:
        """Whether a new folder's backups are encrypted."""
        return self._settings.backup_passphrase is not None

    def open(self) -> BackupRepository:
        """The repository; BackupError where it can't be opened."""
        return open_repository(self.root, self._passphrase)

    def open_or_create(self) -> BackupRepository:
        """The repository, new in an empty folder; BackupError where it can't be opened or made."""
        return self.open() if is_repository(self.root) else create_repository(self.root, self._passphrase)

    def list(self) -> list[BackupSummary]:
        """All backups, newest first; none before the first one.

        Raises:
            BackupFolderUnset: no folder is set.
            BackupUnusable: it can't be opened, or its backups are being removed.
        """
        if not is_repository(self.root):
            return []
        try:
            return list_backups(self.open())
        except BackupError as error:
            raise unusable(error) from error

    def require(self, backup_id: str) -> None:
        """Refuse the id of a backup that is not there.

        Raises:
            BackupFolderUnset: no folder is set.
            BackupUnusable: it can't be opened.
            BackupNotFound: it has no such backup.
        """
        try:
            ids = self.open().backup_ids() if is_repository(self.root) else []
        except BackupError as error:
            raise unusable(error) from error
        if backup_id not in ids:
            raise BackupNotFound

    @property
    def _passphrase(self) -> str | None:
        secret = self._settings.backup_passphrase
        return secret.get_secret_value() if secret else None


def unusable(error: BackupError) -> BackupUnusable:
    """The refusal that callers of the API see."""
    english, chinese = fault_texts(error)
    return BackupUnusable(field="folder", error=english, error_zh=chinese, fault=error.fault.value)
