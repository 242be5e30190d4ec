"""Settings of queries, and the items that their rows become."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from anyio import to_thread
from pydantic import Field

from core.errors.requests import InvalidRequest
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.item_spool import ItemSpool, SpoolFull
from ingestion.connectors.sql import failures
from ingestion.connectors.sql.row_documents import QueryRow, RowLayout, template_columns
from ingestion.connectors.sql.statement import LONGEST_KEY, Dialect, RowColumns, is_query, rows_statement

MOST_ROW_BYTES = 4 * 2**20
PAGE_ROWS = 20
Column = Annotated[str, Field(min_length=1, max_length=100)]
Columns = Annotated[tuple[Column, ...], Field(max_length=50, strict=False)]


@dataclass(frozen=True)
class QueryColumn:
    """A column that a query gives; ``form`` is how its text is written, if not as the dialect has it."""

    name: str
    is_binary: bool = False
    form: str = ""


class QuerySettings(ConnectorSettings):
    """Settings of a query whose rows become documents, each told from the others by ``key_columns``.

    Without ``content_columns`` and ``template``, in which ``{name}`` stands for a column, all columns are read but
    those of bytes, the title and the fingerprint. Without ``fingerprint_column`` a row has changed if its document
    would. ``format`` is that of long texts.
    """

    query: str = Field(min_length=1, max_length=20_000)
    key_columns: Annotated[tuple[Column, ...], Field(min_length=1, max_length=8, strict=False)]
    title_column: Annotated[str, Field(max_length=100)] = ""
    content_columns: Columns = ()
    template: Annotated[str, Field(max_length=20_000)] = ""
    fingerprint_column: Annotated[str, Field(max_length=100)] = ""
    attribute_columns: Annotated[tuple[Column, ...], Field(max_length=20, strict=False)] = ()
    format: Literal["markdown", "text", "html"] = "markdown"
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 300

    @property
    def layout(self) -> RowLayout:
        """How rows become documents."""
        names = {"query", "content_columns", "template", "title_column", "attribute_columns", "format"}
        fields = self.model_dump(include=names)
        version = sha256(repr(sorted(fields.items())).encode()).hexdigest()
        return RowLayout(self.format, self.template, version)

    @property
    def named_columns(self) -> list[str]:
        """All columns that the settings name."""
        names = (
            *self.key_columns,
            self.title_column,
            self.fingerprint_column,
            *self.attribute_columns,
            *self.content_columns,
            *template_columns(self.template),
        )
        return [name for name in dict.fromkeys(names) if name]

    def check_query(self) -> None:
        """Refuse what is no query; raises ``InvalidRequest``."""
        if not is_query(self.query):
            en, zh = "Give one SELECT; nothing else is run", "请提供一条 SELECT；其他语句不会执行"
            raise InvalidRequest("settings.query", en, zh)
        if any("\x00" in text for text in (self.query, self.template, *self.named_columns)):
            raise InvalidRequest("settings", "Leave out NUL characters", "请去掉 NUL 字符")


class RowCollector:
    """Makes items of the rows of a query, and keeps them on disk.

    Args:
        settings: of the query.
        environment: of the connector.
        dialect: of the database.
    """

    def __init__(self, settings: QuerySettings, environment: ConnectorEnvironment, dialect: Dialect) -> None:
        self._settings = settings
        self._environment = environment
        self._dialect = dialect
        self._layout = settings.layout
        self._limit = min(environment.max_bytes, MOST_ROW_BYTES)
        self._spool: ItemSpool | None = None
        self._failed: list[SourceItem] = []
        self._keys: set[str] = set()
        self._contents: Sequence[str] = ()

    async def open(self) -> None:
        """Begin anew, with nothing."""
        environment = self._environment
        self._failed, self._keys = [], set()
        self._spool = await to_thread.run_sync(ItemSpool, environment.cache_folder, environment.max_cache_bytes)

    async def items(self) -> AsyncGenerator[SourceItem]:
        """What has been kept."""
        for item in self._failed:
            yield item
        if self._spool is not None:
            async with aclosing(self._spool.items()) as items:
                async for item in items:
                    yield item

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        """An item's document; raises ``ItemGone``."""
        if self._spool is None:
            raise ItemGone
        async with aclosing(self._spool.read(item.key)) as blocks:
            async for block in blocks:
                yield block

    def statement(self, columns: Sequence[QueryColumn]) -> str:
        """The statement that reads what the settings want; raises ``SourceUnavailable`` if the query does not give it."""
        settings = self._settings
        self._contents = self._chosen(columns)
        columns_to_read = RowColumns(
            settings.key_columns,
            settings.title_column,
            settings.fingerprint_column,
            settings.attribute_columns,
            self._contents,
            {column.name: column.form for column in columns if column.form},
        )
        return rows_statement(self._dialect, settings.query, columns_to_read, self._limit)

    def keep(self, page: Sequence[Sequence[Any]]) -> None:
        """Make documents of some rows of the statement; raises ``SourceUnavailable``."""
        try:
            for values in page:
                self._keep_row(*self._row(iter(values)))
        except SpoolFull as error:
            raise SourceUnavailable(failures.TOO_MUCH_DATA) from error

    def _chosen(self, columns: Sequence[QueryColumn]) -> list[str]:
        """The columns to read; raises ``SourceUnavailable`` where the query does not give what the settings name."""
        settings, names = self._settings, [column.name for column in columns]
        if len({*names}) < len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            raise SourceUnavailable(failures.repeated_columns(repeated))
        missing = [name for name in settings.named_columns if name not in names]
        if missing:
            raise SourceUnavailable(failures.missing_columns(missing, names))
        chosen = list(dict.fromkeys([*settings.content_columns, *template_columns(settings.template)]))
        binary = [column.name for column in columns if column.is_binary]
        if wrong := [name for name in chosen if name in binary]:
            raise SourceUnavailable(failures.binary_columns(wrong))
        left_out = {settings.title_column, settings.fingerprint_column, *binary}
        return chosen or [name for name in names if name not in left_out]

    def _keep_row(self, row: QueryRow, size: int) -> None:
        if row.key in self._keys:
            raise SourceUnavailable(failures.repeated_key(row.key))
        self._keys.add(row.key)
        if len(self._keys) > MOST_ITEMS:
            raise SourceUnavailable(failures.too_many_rows(MOST_ITEMS))
        name = self._layout.name(row)
        document = self._layout.document(row) if size <= self._limit else b""
        if self._spool is None or size > self._limit or len(document) > self._environment.max_bytes:
            self._failed.append(SourceItem(row.key, name, failure=failures.too_large_row(self._limit)))
            return
        fingerprint = self._layout.fingerprint(row, document)
        self._spool.add(SourceItem(row.key, name, fingerprint, content=document, attributes=row.metadata))

    def _row(self, values: Iterator[Any]) -> tuple[QueryRow, int]:
        """A row of the statement, and the size of its contents."""
        settings = self._settings
        keys = [next(values) for _ in settings.key_columns]
        if not all(keys):
            empty = [name for name, key in zip(settings.key_columns, keys, strict=True) if not key]
            raise SourceUnavailable(failures.empty_key(empty))
        if any(len(key) > LONGEST_KEY for key in keys):
            raise SourceUnavailable(failures.long_key(LONGEST_KEY))
        title, fingerprint = next(values) or "", next(values)
        attributes = {name: next(values) for name in settings.attribute_columns}
        texts = {name: next(values) for name in self._contents}
        return QueryRow(tuple(keys), title, fingerprint, attributes, texts), next(values)
