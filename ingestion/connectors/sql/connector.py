"""The connector of rows that a query of a PostgreSQL, MySQL or MariaDB database gives."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, ClassVar
from urllib.parse import unquote

import httpx
from anyio import to_thread
from pydantic import Field, SecretStr

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url
from ingestion.connectors.base import ConnectorCredentials, ConnectorEnvironment, ConnectorSettings, SourceItem
from ingestion.connectors.sql.mysql import open_mysql
from ingestion.connectors.sql.place import DatabasePlace, TlsMode
from ingestion.connectors.sql.postgres import open_postgres
from ingestion.connectors.sql.rows import QuerySettings, RowCollector
from ingestion.connectors.sql.statement import MYSQL, POSTGRESQL, columns_statement

_POSTGRESQL, _MYSQL = ("postgresql", "postgres"), ("mysql", "mariadb")
_SCHEMES = (*_POSTGRESQL, *_MYSQL)


class SqlSettings(QuerySettings):
    """Settings of a query of a database, whose rows become documents told apart by ``key_columns``.

    ``url`` begins with ``postgresql://``, ``mysql://`` or ``mariadb://``. ``tls``: ``verify`` the certificate, ``encrypt`` without looking at it, or ``off``. Without ``content_columns`` and
    ``template``, in which ``{name}`` stands for a column, all columns are read but those of bytes, the title and the
    fingerprint. Without ``fingerprint_column`` a row has changed if its document would. ``format`` is that of long texts.
    """

    url: str = Field(min_length=1, max_length=2048)
    tls: TlsMode = "verify"
    ca_certificate: Annotated[str, Field(max_length=400_000)] = ""

    @property
    def place(self) -> str:
        return self.url

    @property
    def server(self) -> DatabasePlace:
        """Where to connect."""
        target, path = read_url(self.url, _SCHEMES), httpx.URL(self.url).path
        return DatabasePlace(
            target.host.strip("[]"),
            target.port,
            unquote(path.strip("/")),
            self.tls,
            self.ca_certificate,
            float(self.timeout_seconds),
        )

    @property
    def is_mysql(self) -> bool:
        """Whether the server is one of MySQL or MariaDB."""
        return self.url.partition(":")[0].lower() in _MYSQL

    @property
    def credentials_target(self) -> str:
        # A password that was given for a verified server is for no other one.
        target = read_url(self.url, _SCHEMES)
        family = "mysql" if self.is_mysql else "postgresql"
        return f"{family}://{target.host}:{target.port} tls={self.tls}"


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
        self._rows = RowCollector(settings, environment, MYSQL if settings.is_mysql else POSTGRESQL)
        self.is_cut = False

    async def check(self) -> None:
        settings = self._settings
        await self._environment.guard.check(settings.url, schemes=_SCHEMES)
        url = httpx.URL(settings.url)
        if url.query or url.fragment or not settings.server.database or "/" in settings.server.database:
            form = "mysql://host:3306/database" if settings.is_mysql else "postgresql://host:5432/database"
            en, zh = f"Use the form {form}", f"请使用 {form} 的形式"
            raise InvalidRequest("settings.url", en, zh)
        settings.check_query()
        if settings.ca_certificate:
            _check_certificate(settings.ca_certificate)

    async def items(self) -> AsyncGenerator[SourceItem]:
        credentials = self._environment.credentials
        values = credentials.values if credentials else {}
        await self._rows.open()
        open_database = open_mysql if self._settings.is_mysql else open_postgres
        async with open_database(self._environment.guard, self._settings.server, values) as reader:
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
