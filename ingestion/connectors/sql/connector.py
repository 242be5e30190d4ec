"""The connector of rows that a query of a PostgreSQL database gives."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, ClassVar, Literal
from urllib.parse import unquote

import httpx
from anyio import to_thread
from pydantic import Field, SecretStr

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url
from ingestion.connectors.base import ConnectorCredentials, ConnectorEnvironment, ConnectorSettings, SourceItem
from ingestion.connectors.sql.postgres import PostgresPlace, open_postgres
from ingestion.connectors.sql.rows import QuerySettings, RowCollector
from ingestion.connectors.sql.statement import POSTGRESQL, columns_statement

_SCHEMES = ("postgresql", "postgres")


class SqlSettings(QuerySettings):
    """Settings of a query of a PostgreSQL database, whose rows become documents told apart by ``key_columns``.

    ``tls``: ``verify`` the certificate, ``encrypt`` without looking at it, or ``off``. Without ``content_columns`` and
    ``template``, in which ``{name}`` stands for a column, all columns are read but those of bytes, the title and the
    fingerprint. Without ``fingerprint_column`` a row has changed if its document would. ``format`` is that of long texts.
    """

    url: str = Field(min_length=1, max_length=2048)
    tls: Literal["verify", "encrypt", "off"] = "verify"
    ca_certificate: Annotated[str, Field(max_length=400_000)] = ""

    @property
    def place(self) -> str:
        return self.url

    @property
    def server(self) -> PostgresPlace:
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
        self._rows = RowCollector(settings, environment, POSTGRESQL)
        self.is_cut = False

    async def check(self) -> None:
        settings = self._settings
        await self._environment.guard.check(settings.url, schemes=_SCHEMES)
        url = httpx.URL(settings.url)
        if url.query or url.fragment or not settings.server.database or "/" in settings.server.database:
            en, zh = "Use the form postgresql://host:5432/database", "请使用 postgresql://host:5432/database 的形式"
            raise InvalidRequest("settings.url", en, zh)
        settings.check_query()
        if settings.ca_certificate:
            _check_certificate(settings.ca_certificate)

    async def items(self) -> AsyncGenerator[SourceItem]:
        credentials = self._environment.credentials
        values = credentials.values if credentials else {}
        await self._rows.open()
        async with open_postgres(self._environment.guard, self._settings.server, values) as reader:
            statement = self._rows.statement(await reader.columns(columns_statement(self._settings.query)))
            async with aclosing(reader.pages(statement)) as pages:
                async for page in pages:
                    await to_thread.run_sync(self._rows.keep, page)
        async with aclosing(self._rows.items()) as items:
            async for item in items:
                yield item

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        async with aclosing(self._rows.read(item)) as blocks:
            async for block in blocks:
                yield block


def _check_certificate(text: str) -> None:
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidRequest(
            "settings.ca_certificate",
            "Give certificates as PEM: -----BEGIN CERTIFICATE-----",
            "请以 PEM 格式提供证书：-----BEGIN CERTIFICATE-----",
        ) from error
