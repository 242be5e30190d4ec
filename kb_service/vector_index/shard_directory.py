"""The folders of a model's shard on disk, and its record."""

import os
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ValidationError

from core.errors.server import VectorIndexUnavailable

# Not in any model's name, so models' files are never confused.
_MARK = "@"


class ShardRecord(BaseModel):
    """A shard's persistent facts.

    Args:
        folder: name of the shard's folder; changing it is what swaps shards.
        backend: of its first vectors, e.g. ``openvino-bf16``; None while it has none.
        written: points written since its last optimisation or creation.
        deleted: points deleted since then; only the next optimisation frees their room.
    """

    folder: str
    dimension: int
    backend: str | None = None
    written: int = 0
    deleted: int = 0
    optimised_at: datetime | None = None


class ShardDirectory:
    """The folders of one model's shard under ``root``, of which the record names the valid one.

    The record is replaced by a rename, so that after a crash at any moment either the old shard or the new one is
    valid.

    Args:
        root: ``<data_dir>/vectors``.

    Raises:
        VectorIndexUnavailable: the shard was made with vectors of another length, or its record can't be read.
    """

    def __init__(self, root: Path, model: str, dimension: int) -> None:
        self._root = root
        self.model = model
        self._file = root / f"{model}{_MARK}shard.json"
        self.record = self._read(dimension)
        if self.record.dimension != dimension:
            raise VectorIndexUnavailable(
                reason=f"{model} was indexed with {self.record.dimension} numbers per vector, "
                f"the settings say {dimension}"
            )

    @property
    def folder(self) -> Path:
        return self._root / self.record.folder

    def next_folder(self) -> Path:
        """The folder of the next shard; it does not exist."""
        number = int(self.record.folder.rpartition(_MARK)[2]) if _MARK in self.record.folder else 1
        folder = self._root / f"{self.model}{_MARK}{number + 1}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def write(self, record: ShardRecord) -> None:
        """Replace the record; OSError leaves the former one in force."""
        self._root.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(record.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)
        # In force from here on, even if the disk fails now.
        self.record = record
        with suppress(OSError):
            directory = os.open(self._root, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def ensure_record(self) -> None:
        """Write the record of a new shard, so that its dimension is known."""
        if not self._file.exists():
            self.write(self.record)

    def sweep(self) -> None:
        """Delete remains of other shards of this model; only for the lock's holder."""
        for path in [self._root / self.model, *self._root.glob(f"{self.model}{_MARK}*")]:
            if path.is_dir() and path.name != self.record.folder:
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix in {".journal", ".new"}:
                path.unlink(missing_ok=True)

    def _read(self, dimension: int) -> ShardRecord:
        try:
            record = ShardRecord.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return ShardRecord(folder=self.model, dimension=dimension)
        except (OSError, ValidationError) as error:
            raise VectorIndexUnavailable(reason=f"{self._file.name} can't be read") from error
        if not (self._root / record.folder).is_dir():
            # An empty shard in its place would look as if nothing were indexed.
            raise VectorIndexUnavailable(reason=f"{record.folder} is missing from {self._root}")
        return record
