"""Rows of tables as lines of JSON, cut into blobs where their content says so."""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

from core.db.types import UtcDateTime
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import ColumnKind, ColumnSpec, RowBlob, RowStream
from kb_service.backup.repository import BackupRepository

# The first type that a column's is an instance of names its kind.
_KINDS: tuple[tuple[type[Any], ColumnKind], ...] = (
    (UtcDateTime, ColumnKind.DATETIME),
    (DateTime, ColumnKind.DATETIME),
    (Date, ColumnKind.DATE),
    (JSON, ColumnKind.JSON),
    (Boolean, ColumnKind.BOOLEAN),
    (Integer, ColumnKind.INTEGER),
    (Float, ColumnKind.FLOAT),
    (LargeBinary, ColumnKind.BYTES),
    (String, ColumnKind.TEXT),
)
_LEAST_BYTES, _MOST_BYTES = 16 * 2**10, 4 * 2**20
# Past the least size, a blob ends on average so many rows later.
_ENDS = 32


def describe_columns(table: Table) -> tuple[ColumnSpec, ...]:
    """The columns of a table, of no database in particular.

    Raises:
        TypeError: a column's type has no kind; a test backs up every table.
    """
    return tuple(ColumnSpec(name=column.name, kind=_kind_of(column)) for column in table.columns)


def _kind_of(column: Column[Any]) -> ColumnKind:
    kind = getattr(column.type, "impl_instance", column.type)
    for type_, name in _KINDS:
        if isinstance(column.type, type_) or isinstance(kind, type_):
            return name
    raise TypeError(f"{column} has a type that backups do not know: {column.type!r}")


def plain_table(name: str, columns: Sequence[ColumnSpec]) -> Table:
    """A table with types that hold in every database; JSON is text."""
    types: Mapping[ColumnKind, Any] = {
        ColumnKind.TEXT: Text(),
        ColumnKind.INTEGER: BigInteger(),
        ColumnKind.FLOAT: Float(),
        ColumnKind.BOOLEAN: Boolean(),
        ColumnKind.BYTES: LargeBinary(),
        ColumnKind.DATETIME: UtcDateTime(),
        ColumnKind.DATE: Date(),
        ColumnKind.JSON: Text(),
    }
    return Table(name, MetaData(), *(Column(column.name, types[column.kind]) for column in columns))


class RowWriter:
    """Writes a stream of rows into blobs.

    A blob ends after a row whose key says so: rows inserted later change the blob that they fall into, and no other.
    """

    def __init__(self, repository: BackupRepository, columns: Sequence[ColumnSpec], key_places: Sequence[int]) -> None:
        self._repository = repository
        self._columns = tuple(columns)
        self._key_places = key_places
        self._lines: list[bytes] = []
        self._size = 0
        self._blobs: list[RowBlob] = []

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows that follow on those before."""
        kinds = [column.kind for column in self._columns]
        for row in rows:
            values = [_to_json(kind, value) for kind, value in zip(kinds, row, strict=True)]
            line = json.dumps(values, separators=(",", ":")).encode() + b"\n"
            self._lines.append(line)
            self._size += len(line)
            if self._size >= _MOST_BYTES or (self._size >= _LEAST_BYTES and self._is_end(values)):
                self._flush()

    def finish(self) -> RowStream:
        """Write what is left, and describe the whole."""
        if self._lines:
            self._flush()
        return RowStream(columns=self._columns, blobs=tuple(self._blobs))

    def _is_end(self, values: Sequence[Any]) -> bool:
        key = json.dumps([values[place] for place in self._key_places])
        return zlib.crc32(key.encode()) % _ENDS == 0

    def _flush(self) -> None:
        blob = self._repository.add(iter([b"".join(self._lines)]))
        self._blobs.append(RowBlob(**blob.model_dump(), rows=len(self._lines)))
        self._lines, self._size = [], 0


def read_rows(repository: BackupRepository, stream: RowStream) -> Iterator[list[list[Any]]]:
    """The rows of each blob, in their order.

    Raises:
        BackupError: a blob is missing, damaged, or has not as many rows as its manifest says.
    """
    kinds = [column.kind for column in stream.columns]
    for blob in stream.blobs:
        lines = b"".join(repository.read(blob)).splitlines()
        try:
            rows = [_row(kinds, json.loads(line)) for line in lines]
        except (ValueError, TypeError) as error:
            raise BackupError(BackupFault.BLOB_DAMAGED, blob=blob.id) from error
        if len(rows) != blob.rows:
            raise BackupError(BackupFault.COUNTS_DIFFER, blob=blob.id, expected=blob.rows, actual=len(rows))
        yield rows


def _row(kinds: Sequence[ColumnKind], values: Sequence[Any]) -> list[Any]:
    return [_from_json(kind, value) for kind, value in zip(kinds, values, strict=True)]


def _to_json(kind: ColumnKind, value: Any) -> Any:  # noqa: ANN401 - a column's value
    if value is None:
        return None
    if kind is ColumnKind.BYTES:
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date):
        return value.isoformat()
    # SQLite keeps JSON that is only a number as that number.
    if kind is ColumnKind.JSON and not isinstance(value, str):
        return json.dumps(value)
    return value


def _from_json(kind: ColumnKind, value: Any) -> Any:  # noqa: ANN401 - a column's value
    if value is None:
        return None
    if kind is ColumnKind.BYTES:
        return base64.b64decode(value, validate=True)
    if kind is ColumnKind.DATETIME:
        return datetime.fromisoformat(value)
    if kind is ColumnKind.DATE:
        return date.fromisoformat(value)
    return value
