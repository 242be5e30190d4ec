"""The data folder while a restore fills it: what may lie there, and the mark of an unfinished restore."""

import json
from collections.abc import Mapping
from pathlib import Path

from core.durable_files import sync_path, write_private
from kb_service.backup.errors import BackupError, BackupFault

_MARK = "restore-unfinished"
_SECRET_KEY = "secret-key"  # noqa: S105 - a file's name
# A start that failed leaves these, and the key is put there before a restore that does not bring it.
_SECRET_FILES = (_SECRET_KEY, "initial-admin-password")
_HARMLESS = frozenset({"agentex.lock", "logs", "run", _SECRET_KEY})


def secret_files(data_dir: Path) -> Mapping[str, bytes]:
    """The files of the data folder that hold secrets, by name; fewer where settings have these."""
    paths = [data_dir / name for name in _SECRET_FILES]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def unfinished_restore(data_dir: Path) -> str | None:
    """The backup whose restore broke off in this data folder; None if none did."""
    try:
        return str(json.loads((data_dir / _MARK).read_bytes())["backup"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return "?"


def require_free_folder(data_dir: Path, backup_id: str) -> bool:
    """Whether the folder holds a broken-off restore of this backup, to be gone on with; else it must be empty.

    Raises:
        BackupError: it holds other data, or a part of another backup.
    """
    unfinished = unfinished_restore(data_dir)
    if unfinished is not None:
        if unfinished != backup_id:
            raise BackupError(BackupFault.OTHER_RESTORE, folder=data_dir, backup=unfinished)
        return True
    present = {path.name for path in data_dir.iterdir()} if data_dir.is_dir() else set[str]()
    if strange := sorted(present - _HARMLESS):
        raise BackupError(BackupFault.DATA_FOLDER_NOT_EMPTY, folder=data_dir, present=", ".join(strange[:5]))
    return False


def mark_unfinished(data_dir: Path, backup_id: str) -> None:
    """Say, until :func:`mark_finished`, that the folder holds a part of a backup only."""
    write_private(data_dir / _MARK, json.dumps({"backup": backup_id}).encode())


def mark_finished(data_dir: Path) -> None:
    """The folder holds all of a backup."""
    (data_dir / _MARK).unlink()
    sync_path(data_dir)
