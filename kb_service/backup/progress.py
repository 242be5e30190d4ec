"""Progress of backups and restores, for who watches."""

from collections.abc import Callable
from enum import StrEnum


class BackupStep(StrEnum):
    """A part of the work; a step may come again."""

    FILES = "files"
    VECTORS = "vectors"
    ROWS = "rows"
    BLOBS = "blobs"
    MANIFESTS = "manifests"
    DELETED = "deleted"


OnProgress = Callable[[BackupStep, int, int | None], None]
"""Called with the step, what is done of it, and the total where that is known."""


def silent(_step: BackupStep, _done: int, _total: int | None) -> None:
    """Report to nobody."""
