"""The manifest of a backup: what it holds, and in which blobs."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

FORMAT = 1
BlobId = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ColumnKind(StrEnum):
    """A column's type, of no database in particular."""

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    BYTES = "bytes"
    DATETIME = "datetime"
    DATE = "date"
    JSON = "json"


class ManifestPart(BaseModel):
    """Base of all parts; unknown fields are refused: they would be lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BlobRef(ManifestPart):
    """A blob: its id, the length of its content, and its length on disk, in bytes."""

    id: BlobId
    size: int = Field(ge=0)
    stored: int = Field(ge=0)


class RowBlob(BlobRef):
    """A blob of rows."""

    rows: int = Field(ge=1)


class ColumnSpec(ManifestPart):
    """A column of a stream of rows."""

    name: str
    kind: ColumnKind


class RowStream(ManifestPart):
    """Rows in their order, over several blobs."""

    columns: tuple[ColumnSpec, ...]
    blobs: tuple[RowBlob, ...]

    @property
    def rows(self) -> int:
        return sum(blob.rows for blob in self.blobs)


class BackupCounts(ManifestPart):
    """What a backup holds, in numbers; sizes in bytes.

    Args:
        stored_bytes: of all its blobs on disk; None in backups from before this was counted.
        added_bytes: of those that were written for it, because no earlier backup had them.
    """

    documents: int
    files: int
    file_bytes: int
    points: int
    rows: int
    stored_bytes: int | None = None
    added_bytes: int | None = None


class BackupManifest(ManifestPart):
    """A whole backup.

    Args:
        product: the version of the software that made it.
        schema_revision: of the database's tables.
        database: ``sqlite`` or ``postgresql``.
        tables: in an order in which foreign keys hold.
        counters: the last number of each table whose key counts.
        files: rows of storage key, blob, sizes.
        vectors: rows of document, revision, model, fingerprint, blob, sizes, points.
        models: embedding models that the vectors are of.
        unindexed: documents whose vectors could not be read; a restore makes them again.
        unserved: documents whose embedding model the settings did not serve; a restore leaves them without vectors.
        secrets: files of the data folder that hold secrets, by name.
        secret_key_mark: tells whether a secret key is the one that the database's secrets are sealed with.
    """

    format: int = FORMAT
    id: str
    repository: str
    created_at: datetime
    product: str
    schema_revision: str
    database: str
    tables: dict[str, RowStream]
    counters: dict[str, int] = {}
    files: RowStream
    vectors: RowStream
    models: tuple[str, ...]
    unindexed: tuple[str, ...] = ()
    unserved: tuple[str, ...] = ()
    secrets: dict[str, BlobRef] = {}
    secret_key_mark: str
    counts: BackupCounts

    @property
    def streams(self) -> dict[str, RowStream]:
        """All streams of rows by a name for people."""
        return {**self.tables, "files": self.files, "vectors": self.vectors}
