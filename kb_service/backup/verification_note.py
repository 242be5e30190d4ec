"""The note beside a manifest that says how its last check ended; for people, since anybody with the folder can write it."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.durable_files import write_private

NOTE_SUFFIX = ".verified"


class VerificationNote(BaseModel):
    """When a backup was checked, and how many things were wrong."""

    model_config = ConfigDict(frozen=True)

    checked_at: datetime
    findings: int = Field(ge=0)


def note_path(root: Path, backup_id: str) -> Path:
    """Where the note of a backup lies."""
    return root / "backups" / f"{backup_id}{NOTE_SUFFIX}"


def read_note(root: Path, backup_id: str) -> VerificationNote | None:
    """The note of a backup; None if there is none that can be read."""
    try:
        return VerificationNote.model_validate_json(note_path(root, backup_id).read_bytes())
    except (OSError, ValidationError):
        return None


def write_note(root: Path, backup_id: str, note: VerificationNote) -> None:
    """Write the note; where the folder can't be written, as of a copy on a read-only disk, none is."""
    with suppress(OSError):
        write_private(note_path(root, backup_id), note.model_dump_json().encode())
