"""The connector of buckets with the S3 API."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, ClassVar, Literal

import httpx
from pydantic import Field, SecretStr

from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    SourceItem,
    SourceUnavailable,
    too_large,
    too_many_items,
)
from ingestion.connectors.bucket_client import BucketClient, BucketError, BucketObject
from ingestion.connectors.bucket_failures import UNUSABLE_KEY
from ingestion.connectors.limits import limited_contents, limited_items
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

# Of a thousand objects each; most may be of types that no parser reads.
_MOST_PAGES = 10 * MOST_ITEMS // 1000
_LONGEST_KEY = 1024
_LONGEST_ETAG = 150
# Control characters, and what stands for bytes that are no text.
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")


class BucketSettings(ConnectorSettings):
    """Settings of a bucket; patterns are matched with whole keys, such as ``manuals/*.pdf``.

    Without ``endpoint`` it is one of AWS, in ``region``. ``addressing`` says where the bucket's name stands: in the
    ``path`` or in the host's name (``virtual``); by itself the former with an endpoint, the latter without.
    """

    bucket: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$")
    region: str = Field(default="us-east-1", pattern=r"^[a-z0-9-]{1,50}$")
    endpoint: Annotated[str, Field(max_length=1000)] = ""
    prefix: Annotated[str, Field(max_length=1000)] = ""
    addressing: Literal["auto", "path", "virtual"] = "auto"
    include: Patterns = ()
    exclude: Patterns = ()

    @property
    def place(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def bucket_url(self) -> str:
        """The address of the bucket, without a slash at its end."""
        suffix = ".cn" if self.region.startswith("cn-") else ""
        endpoint = httpx.URL(self.endpoint or f"https://s3.{self.region}.amazonaws.com{suffix}")
        # The certificates of AWS are for one label before the service's name.
        is_virtual = not self.endpoint and "." not in self.bucket
        if self.addressing != "auto":
            is_virtual = self.addressing == "virtual"
        if is_virtual:
            return str(endpoint.copy_with(host=f"{self.bucket}.{endpoint.host}")).rstrip("/")
        return f"{str(endpoint).rstrip('/')}/{self.bucket}"

    @property
    def credentials_target(self) -> str:
        return origin_of(self.bucket_url)


class BucketCredentials(ConnectorCredentials):
    """An access key of the S3 API; the session token belongs to temporary ones."""

    access_key_id: str = Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", repr=False)
    secret_access_key: SecretStr = Field(min_length=1, max_length=1000)
    session_token: SecretStr | None = Field(default=None, min_length=1, max_length=10_000)


class BucketConnector:
    """Reads the objects of a bucket below a prefix; without credentials only what is public."""

    NAME: ClassVar[str] = "s3"
    SETTINGS: ClassVar[type[ConnectorSettings]] = BucketSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = BucketCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: BucketSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._listing: BucketClient | None = None
        self.is_cut = False

    async def check(self) -> None:
        if self._settings.endpoint:
            check_address(self._settings.endpoint, "settings.endpoint")
        await self._environment.guard.check(self._settings.bucket_url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        async with self._client() as client:
            # Objects are read while the list goes on: over the same connections.
            self._listing = client
            try:
                async with aclosing(limited_items(self._objects(client))) as items:
                    async for item in items:
                        yield item
            finally:
                self._listing = None

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        try:
            async with (
                self._client() as client,
                client.open_object(item.key) as response,
                aclosing(limited_contents(response, self._environment.max_bytes)) as blocks,
            ):
                async for block in blocks:
                    yield block
        except BucketError as error:
            if error.is_missing:
                raise ItemGone from error
            raise

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[BucketClient]:
        if self._listing is not None:
            yield self._listing
            return
        settings, credentials = self._settings, self._environment.credentials
        values = credentials.values if credentials else {}
        async with BucketClient(self._environment.guard, settings.bucket_url, settings.region, values) as client:
            yield client

    async def _objects(self, client: BucketClient) -> AsyncGenerator[SourceItem]:
        """The objects that belong to this source, page by page."""
        token = ""
        for _ in range(_MOST_PAGES):
            try:
                page = await client.list_page(self._settings.prefix, token)
            except BucketError as error:
                raise SourceUnavailable(error.failure) from error
            for entry in page.objects:
                if self._accepts(entry):
                    yield self._item(entry)
            token = page.token
            if not token:
                return
        raise too_many_items()

    def _accepts(self, entry: BucketObject) -> bool:
        # Consoles show empty objects of such names as folders.
        is_folder = entry.key.endswith("/") and not entry.size
        is_read = has_parser(entry.key, self._environment.support)
        return is_read and not is_folder and is_included(entry.key, self._settings.include, self._settings.exclude)

    def _item(self, entry: BucketObject) -> SourceItem:
        parts = entry.key.split("/")
        limit = self._environment.max_bytes
        if _UNUSABLE.search(entry.key) or len(entry.key) > _LONGEST_KEY or {".", ".."} & {*parts}:
            key = _UNUSABLE.sub("\N{REPLACEMENT CHARACTER}", entry.key[:_LONGEST_KEY])
            return SourceItem(key, document_name([key]), failure=UNUSABLE_KEY)
        name = document_name([part for part in parts if part.strip()])
        if entry.size > limit:
            return SourceItem(entry.key, name, failure=too_large(limit))
        fingerprint = f"{entry.etag[:_LONGEST_ETAG]}:{entry.size}"
        return SourceItem(entry.key, name, fingerprint, attributes={"key": entry.key})
