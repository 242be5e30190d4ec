"""What connectors over JSON and HTTP have in common."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, Field, SecretStr

from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ItemUnreadable,
    SourceItem,
    SourceUnavailable,
    too_large,
    too_many_items,
)
from ingestion.connectors.rest.json_client import ApiError, JsonClient

Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[tuple[Name, ...], Field(max_length=50, strict=False)]
"""Names or ids that settings list."""
_LONGEST_TITLE = 180


def _printable(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("A token has neither spaces nor characters beyond ASCII")
    return secret


Token = Annotated[SecretStr, Field(min_length=1, max_length=4000), AfterValidator(_printable)]
"""A secret that travels in a header."""
_SettingsT = TypeVar("_SettingsT", bound="RestSettings")
_ClientT = TypeVar("_ClientT", bound=JsonClient)


class RestSettings(ConnectorSettings):
    """Base of settings with an address."""

    url: str = Field(min_length=1, max_length=2048)

    @property
    def place(self) -> str:
        return self.url

    @property
    def api_url(self) -> str:
        """The address that requests go to, without a slash at its end."""
        return self.url.rstrip("/")

    @property
    def credentials_target(self) -> str:
        return origin_of(self.api_url)


class RestConnector(ABC, Generic[_SettingsT, _ClientT]):
    """Lists and reads over one client; subclasses say what is asked for."""

    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: _SettingsT, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._listing: _ClientT | None = None
        self.is_cut = False

    async def check(self) -> None:
        check_address(self._settings.url)
        await self._environment.guard.check(self._settings.api_url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        keys: set[str] = set()
        async with self._client() as client:
            # Items are read while the list goes on: over the same connections.
            self._listing = client
            try:
                async with aclosing(self._list(client)) as listing:
                    async for item in listing:
                        if item.key in keys:
                            continue
                        keys.add(item.key)
                        if len(keys) > MOST_ITEMS:
                            raise too_many_items()
                        yield item
            except ApiError as error:
                raise SourceUnavailable(error.failure) from error
            finally:
                self._listing = None

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        async with self._reading() as client:
            content = await self._content(client, item)
        if len(content) > self._environment.max_bytes:
            raise ItemUnreadable(too_large(self._environment.max_bytes))
        yield content

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[_ClientT]:
        """A client to read an item with; its errors become those of ``read``."""
        try:
            async with self._client() as client:
                yield client
        except ApiError as error:
            if error.is_missing:
                raise ItemGone from error
            if error.is_general:
                # What was read so far stays; the next sync goes on with what is left.
                raise SourceUnavailable(error.failure) from error
            raise

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[_ClientT]:
        if self._listing is not None:
            yield self._listing
            return
        credentials = self._environment.credentials
        async with self._open(credentials.values if credentials else {}) as client:
            yield client

    @abstractmethod
    def _open(self, credentials: dict[str, str]) -> _ClientT:
        """A new client."""

    @abstractmethod
    def _list(self, client: _ClientT) -> AsyncGenerator[SourceItem]:
        """All items; raises ``ApiError`` or ``SourceUnavailable``."""

    @abstractmethod
    async def _content(self, client: _ClientT, item: SourceItem) -> bytes:
        """An item's contents; raises ``ApiError``."""


def title_part(title: str, otherwise: str) -> str:
    """A title as a part of a document's name."""
    text = " ".join(title.replace("/", "-").replace("\\", "-").split())
    return text[:_LONGEST_TITLE].strip(" .") or otherwise
