"""The connector of rows that a query of a PostgreSQL database gives."""

import ssl
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

import httpx
from anyio import to_thread
from pydantic import Field, SecretStr

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.item_spool import ItemSpool, SpoolFull
from ingestion.connectors.sql import failures
from ingestion.connectors.sql.postgres import MOST_ROW_BYTES, PostgresPlace, QueryColumn, open_postgres
from ingestion.connectors.sql.row_documents import QueryRow, RowLayout, template_columns
from ingestion.connectors.sql.statement import LONGEST_KEY, columns_statement, is_query, rows_statement

_SCHEMES = ("postgresql", "postgres")
Column = Annotated[str, Field(min_length=1, max_length=100)]
Columns = Annotated[tuple[Column, ...], Field(max_length=50, strict=False)]


class SqlSettings(ConnectorSettings):
    """Settings of a query whose rows become documents, each told from the others by ``key_columns``.

    Without ``content_columns`` and ``template``, in which ``{name}`` stands for a column, all columns are read but
    those of bytes, the title and the fingerprint. Without ``fingerprint_column`` a row has changed if its document
    would. ``format`` is that of long texts. ``tls``: ``verify`` the certificate, ``encrypt`` without looking at it, or
    ``off``.
    """

    url: str = Field(min_length=1, max_length=2048)
    tls: Literal["verify", "encrypt", "off"] = "verify"
    ca_certificate: Annotated[str, Field(max_length=400_000)] = ""
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
    def place(self) -> PostgresPlace:
        """Where to connect."""
        target, path = read_url(self.url, _SCHEMES), httpx.URL(self.url).path
        return PostgresPlace(
            target.host.strip("[]"),
            target.port,
            unquote(path.strip("/")),
            self.tls,
            self.ca_certificate,
            float(self.timeout_seconds),
        )

    @property
    def credentials_target(self) -> str:
        # A password that was given for a verified server is for no other one.
        target = read_url(self.url, _SCHEMES)
        return f"postgresql://{target.host}:{target.port} tls={self.tls}"

    @property
    def layout(self) -> RowLayout:
        """How rows become documents."""
        fields = self.model_dump(include={"query", "content_columns", "template", "title_column", "attribute_columns"})
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


class SqlCredentials(ConnectorCredentials):
    """A user of the database, best one that may only read, and the password."""

    username: Annotated[str, Field(min_length=1, max_length=200)]
    password: Annotated[SecretStr, Field(max_length=1000)] = SecretStr("")


class SqlConnector:
    """Reads the rows of one query, which is run once for a sync; they wait on disk until they have become documents."""

    NAME: ClassVar[str] = "sql"
    SETTINGS: ClassVar[type[ConnectorSettings]] = SqlSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = SqlCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: SqlSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._layout = settings.layout
        self._limit = min(environment.max_bytes, MOST_ROW_BYTES)
        self._spool: ItemSpool | None = None
        self._failed: list[SourceItem] = []
        self.is_cut = False

    async def check(self) -> None:
        settings = self._settings
        await self._environment.guard.check(settings.url, schemes=_SCHEMES)
        url = httpx.URL(settings.url)
        if url.query or url.fragment or not settings.place.database or "/" in settings.place.database:
            en, zh = "Use the form postgresql://host:5432/database", "请使用 postgresql://host:5432/database 的形式"
            raise InvalidRequest("settings.url", en, zh)
        if not is_query(settings.query):
            en, zh = "Give one SELECT; nothing else is run", "请提供一条 SELECT；其他语句不会执行"
            raise InvalidRequest("settings.query", en, zh)
        if settings.ca_certificate:
            _check_certificate(settings.ca_certificate)
        if any("\x00" in text for text in (settings.query, settings.template, *settings.named_columns)):
            raise InvalidRequest("settings", "Leave out NUL characters", "请去掉 NUL 字符")

    async def items(self) -> AsyncGenerator[SourceItem]:
        environment = self._environment
        self._failed.clear()
        try:
            self._spool = spool = await to_thread.run_sync(
                ItemSpool, environment.cache_folder, environment.max_cache_bytes
            )
            await self._read_rows(spool)
        except SpoolFull as error:
            raise SourceUnavailable(failures.TOO_MUCH_DATA) from error
        for item in self._failed:
            yield item
        async with aclosing(spool.items()) as items:
            async for item in items:
                yield item

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        if self._spool is None:
            raise ItemGone
        async with aclosing(self._spool.read(item.key)) as blocks:
            async for block in blocks:
                yield block

    async def _read_rows(self, spool: ItemSpool) -> None:
        settings, credentials = self._settings, self._environment.credentials
        values = credentials.values if credentials else {}
        async with open_postgres(self._environment.guard, settings.place, values) as reader:
            contents = self._contents(await reader.columns(columns_statement(settings.query)))
            statement = rows_statement(
                settings.query,
                settings.key_columns,
                settings.title_column,
                settings.fingerprint_column,
                settings.attribute_columns,
                contents,
                self._limit,
            )
            keys: set[str] = set()
            async with aclosing(reader.pages(statement)) as pages:
                async for page in pages:
                    await to_thread.run_sync(self._keep, page, contents, keys, spool)

    def _contents(self, columns: Sequence[QueryColumn]) -> list[str]:
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

    def _keep(self, page: Sequence[Sequence[Any]], contents: Sequence[str], keys: set[str], spool: ItemSpool) -> None:
        """Make documents of some rows."""
        for values in page:
            row, size = self._row(iter(values), contents)
            if row.key in keys:
                raise SourceUnavailable(failures.repeated_key(row.key))
            keys.add(row.key)
            if len(keys) > MOST_ITEMS:
                raise SourceUnavailable(failures.too_many_rows(MOST_ITEMS))
            name = self._layout.name(row)
            document = self._layout.document(row) if size <= self._limit else b""
            if size > self._limit or len(document) > self._environment.max_bytes:
                self._failed.append(SourceItem(row.key, name, failure=failures.too_large_row(self._limit)))
                continue
            fingerprint = self._layout.fingerprint(row, document)
            spool.add(SourceItem(row.key, name, fingerprint, content=document, attributes=row.metadata))

    def _row(self, values: Iterator[Any], contents: Sequence[str]) -> tuple[QueryRow, int]:
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
        texts = {name: next(values) for name in contents}
        return QueryRow(tuple(keys), title, fingerprint, attributes, texts), next(values)


def _check_certificate(text: str) -> None:
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidRequest(
            "settings.ca_certificate",
            "Give certificates as PEM: -----BEGIN CERTIFICATE-----",
            "请以 PEM 格式提供证书：-----BEGIN CERTIFICATE-----",
        ) from error
