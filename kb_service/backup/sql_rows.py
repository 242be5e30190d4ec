"""Rows out of a snapshot of a database, and into an empty one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from anyio import Path as AsyncPath
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Insert,
    Table,
    Text,
    bindparam,
    cast,
    insert,
    inspect,
    literal,
    select,
    text,
    tuple_,
    type_coerce,
)
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncConnection

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import ColumnKind, RowStream
from kb_service.backup.repository import BackupRepository
from kb_service.backup.row_format import RowWriter, describe_columns, plain_table, read_rows

# Rows that lie together in a backup when they were made together; other tables go by their primary keys.
_ORDERS = {"chunk": ("document_id", "revision", "position")}
_VERSIONS = "alembic_version"
_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 20, 500, 4 * 2**20
_ROWS_PER_INSERT = 500

OnRows = Callable[[int], None]


async def export_table(
    connection: AsyncConnection, table: Table, repository: BackupRepository, on_rows: OnRows
) -> RowStream:
    """Write all rows of a table.

    Args:
        connection: in a snapshot.
        on_rows: called with the number of rows of each page.
    """
    order = _ORDERS.get(table.name) or tuple(column.name for column in table.primary_key.columns)
    columns = describe_columns(table)
    places = [next(i for i, column in enumerate(columns) if column.name == name) for name in order]
    writer = RowWriter(repository, columns, places)
    async for rows in _pages(connection, table, order):
        await asyncio.to_thread(writer.add, rows)
        on_rows(len(rows))
    return await asyncio.to_thread(writer.finish)


async def _pages(
    connection: AsyncConnection, table: Table, order: Sequence[str]
) -> AsyncIterator[Sequence[Sequence[Any]]]:
    """Pages by key: a driver's cursor would fetch a whole table at once."""
    is_sqlite = connection.dialect.name == "sqlite"
    keys: list[ColumnElement[Any]] = [table.c[name] for name in order]
    places = [table.columns.keys().index(name) for name in order]
    query = select(*(_exported(column, is_sqlite=is_sqlite) for column in table.columns)).order_by(*keys)
    limit, last = _FIRST_ROWS, None
    while True:
        page = query if last is None else query.where(_after(keys, last))
        rows = [tuple(row) for row in (await connection.execute(page.limit(limit))).all()]
        if rows:
            yield rows
        if len(rows) < limit:
            return
        last = [rows[-1][place] for place in places]
        size = sum(len(value) for row in rows for value in row if isinstance(value, str | bytes)) + 1
        limit = max(1, min(_MOST_ROWS, _PAGE_BYTES * len(rows) // size))


def _after(keys: Sequence[ColumnElement[Any]], values: Sequence[Any]) -> ColumnElement[bool]:
    typed = [literal(value, key.type) for key, value in zip(keys, values, strict=True)]
    return keys[0] > typed[0] if len(keys) == 1 else tuple_(*keys) > tuple_(*typed)


def _exported(column: ColumnElement[Any], *, is_sqlite: bool) -> ColumnElement[Any]:
    """JSON as its text: parsed and written again it would lose whether it is NULL or JSON's own null."""
    if not isinstance(column.type, JSON):
        return column
    return type_coerce(column, Text) if is_sqlite else cast(column, Text)


async def read_counters(connection: AsyncConnection, tables: Sequence[Table]) -> dict[str, int]:
    """The last number that each counting key has given out, by table: none is used again after a restore."""
    if connection.dialect.name == "sqlite":
        has_counters = text("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'")
        if (await connection.execute(has_counters)).first() is None:
            return {}
        rows = await connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
        return {name: int(last) for name, last in rows}
    counters: dict[str, int] = {}
    for table in tables:
        sequence = await connection.run_sync(partial(_sequence_of, table=table.name))
        if sequence is not None:
            query = text(f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608 - quoted by the database
            last = (await connection.execute(query)).one()
            counters[table.name] = int(last.last_value) if last.is_called else 0
    return counters


def _sequence_of(connection: Connection, *, table: str) -> str | None:
    """The sequence behind a table's key on PostgreSQL, quoted."""
    keys = inspect(connection).get_pk_constraint(table)["constrained_columns"]
    if len(keys) != 1:
        return None
    query = text("SELECT pg_get_serial_sequence(:table, :key)")
    return connection.execute(query, {"table": f'"{table}"', "key": keys[0]}).scalar_one()


async def first_row_in(database: Database) -> str | None:
    """The name of a table that has rows, None for an empty database; the number of its migration is none."""
    file = database.engine.url.database
    # Looking would make the file.
    if database.is_sqlite and file and not await AsyncPath(file).exists():
        return None
    async with database.reading() as session:
        connection = await session.connection()
        names = await connection.run_sync(lambda inner: inspect(inner).get_table_names())
        for name in sorted(names):
            quoted = connection.dialect.identifier_preparer.quote(name)
            query = text(f"SELECT 1 FROM {quoted} LIMIT 1")  # noqa: S608 - the database's own name for it
            if name != _VERSIONS and (await connection.execute(query)).first() is not None:
                return name
    return None


async def import_tables(
    database: Database,
    repository: BackupRepository,
    tables: Mapping[str, RowStream],
    counters: Mapping[str, int],
    on_rows: OnRows,
) -> None:
    """Insert all rows in one transaction: all of them are there afterwards, or none.

    Args:
        tables: in an order in which foreign keys hold.
        on_rows: called with the number of rows of each blob.

    Raises:
        BackupError: a blob is damaged, or the database refuses a row; its table is named.
    """
    async with unit_of_work(database) as work:
        connection = await work.session.connection()
        for name, stream in tables.items():
            statement = _insertion(name, stream, is_sqlite=database.is_sqlite)
            names = [column.name for column in stream.columns]
            blobs = iter(read_rows(repository, stream))
            while (rows := await asyncio.to_thread(next, blobs, None)) is not None:
                for start in range(0, len(rows), _ROWS_PER_INSERT):
                    part = [dict(zip(names, row, strict=True)) for row in rows[start : start + _ROWS_PER_INSERT]]
                    try:
                        await connection.execute(statement, part)
                    except (DataError, IntegrityError, ProgrammingError) as error:
                        raise BackupError(BackupFault.UNFIT_ROW, table=name) from error
                on_rows(len(rows))
        for name, last in counters.items():
            await _set_counter(connection, name, last)


def _insertion(name: str, stream: RowStream, *, is_sqlite: bool) -> Insert:
    table = plain_table(name, stream.columns)
    if is_sqlite:
        return insert(table)
    values: dict[str, ColumnElement[Any]] = {column.name: bindparam(column.name) for column in stream.columns}
    for column in stream.columns:
        if column.kind is ColumnKind.JSON:
            values[column.name] = cast(bindparam(column.name, type_=Text), JSON)
    return insert(table).values(values)


async def _set_counter(connection: AsyncConnection, table: str, last: int) -> None:
    if connection.dialect.name == "sqlite":
        await connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table})
        statement = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)")
        await connection.execute(statement, {"table": table, "last": last})
        return
    sequence = await connection.run_sync(partial(_sequence_of, table=table))
    if sequence is not None and last > 0:
        await connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})
