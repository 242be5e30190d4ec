"""Errors of backups: why one can't be made, read or restored."""

from enum import StrEnum


class BackupFault(StrEnum):
    """What is wrong; the command line has a message for each."""

    FOLDER_NOT_EMPTY = "folder_not_empty"
    NO_REPOSITORY = "no_repository"
    REPOSITORY_UNREADABLE = "repository_unreadable"
    NEWER_FORMAT = "newer_format"
    IN_USE = "in_use"
    BEING_READ = "being_read"
    NO_BACKUP = "no_backup"
    UNKNOWN_BACKUP = "unknown_backup"
    PASSPHRASE_MISSING = "passphrase_missing"  # noqa: S105 - a name
    PASSPHRASE_SHORT = "passphrase_short"  # noqa: S105 - a name
    PASSPHRASE_WRONG = "passphrase_wrong"  # noqa: S105 - a name
    NOT_ENCRYPTED = "not_encrypted"
    MANIFEST_DAMAGED = "manifest_damaged"
    BLOB_MISSING = "blob_missing"
    BLOB_DAMAGED = "blob_damaged"
    COUNTS_DIFFER = "counts_differ"
    DISK_FAILED = "disk_failed"
    NO_INSTALLATION = "no_installation"
    SCHEMA_DIFFERS = "schema_differs"
    NEVER_QUIET = "never_quiet"
    NEWER_SCHEMA = "newer_schema"
    DATA_FOLDER_IN_USE = "data_folder_in_use"
    DATA_FOLDER_NOT_EMPTY = "data_folder_not_empty"
    DATABASE_NOT_EMPTY = "database_not_empty"
    FILES_NOT_EMPTY = "files_not_empty"
    VECTORS_NOT_EMPTY = "vectors_not_empty"
    OTHER_RESTORE = "other_restore"
    MODEL_NOT_SERVED = "model_not_served"
    SECRET_KEY_MISSING = "secret_key_missing"  # noqa: S105 - a name
    SECRET_KEY_DIFFERS = "secret_key_differs"  # noqa: S105 - a name
    UNFIT_ROW = "unfit_row"


class BackupError(Exception):
    """A fault with its facts; ``facts`` fill the placeholders of its message and hold no secret and no content."""

    def __init__(self, fault: BackupFault, **facts: object) -> None:
        super().__init__(fault.value)
        self.fault = fault
        self.facts = facts
