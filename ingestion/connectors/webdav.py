"""The connector of folders on WebDAV servers, such as Nextcloud."""

import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, ClassVar
from uuid import uuid4

from pydantic import Field, SecretStr

from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ItemUnreadable,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
    too_large,
)
from ingestion.connectors.limits import limited_contents, limited_items
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.connectors.webdav_client import DavClient, DavEntry, DavError
from ingestion.connectors.webdav_failures import (
    NOT_A_FOLDER,
    OTHER_ACCOUNT,
    TOO_DEEP,
    TOO_MANY_FOLDERS,
    TOO_SLOW,
    UNUSABLE_NAME,
)
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

_DEEPEST = 64
_MOST_FOLDERS = 10_000
_READ_SECONDS = 3600.0
_LONGEST_KEY = 1024
_LONGEST_VALIDATOR = 150
_HOME = re.compile(r"/remote\.php/dav/files/[^/]+/$")
# Control characters, and what stands for bytes that are no text.
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd/\\\\]")


class WebDavSettings(ConnectorSettings):
    """Settings of a WebDAV folder; patterns are matched with paths in it, such as ``manuals/*.pdf``."""

    url: str = Field(min_length=1, max_length=2048)
    include: Patterns = ()
    exclude: Patterns = ()

    @property
    def place(self) -> str:
        return self.url

    @property
    def credentials_target(self) -> str:
        return origin_of(self.url)


class WebDavCredentials(ConnectorCredentials):
    """Credentials of an account of the server; the password may be one for a single application."""

    username: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^:\x00-\x1f\x7f]+$")] = Field(repr=False)
    password: SecretStr = Field(min_length=1, max_length=4000)


class WebDavConnector:
    """Reads a folder on a WebDAV server, and those in it; hidden files are left out."""

    NAME: ClassVar[str] = "webdav"
    SETTINGS: ClassVar[type[ConnectorSettings]] = WebDavSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = WebDavCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: WebDavSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._url = settings.url
        self._listing: DavClient | None = None
        self.is_cut = False

    async def check(self) -> None:
        check_address(self._settings.url)
        await self._environment.guard.check(self._settings.url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        async with self._client() as client:
            # Files are read while the list goes on: over the same connections.
            self._listing = client
            try:
                async with aclosing(limited_items(self._files(client))) as files:
                    async for item in files:
                        yield item
            finally:
                self._listing = None
                self._url = client.root

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        deadline = time.monotonic() + _READ_SECONDS
        try:
            async with (
                self._client() as client,
                client.open_file(item.key.split("/")) as response,
                aclosing(limited_contents(response, self._environment.max_bytes)) as blocks,
            ):
                async for block in blocks:
                    if time.monotonic() > deadline:
                        raise ItemUnreadable(TOO_SLOW)
                    yield block
        except DavError as error:
            if error.is_missing:
                raise ItemGone from error
            raise

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[DavClient]:
        if self._listing is not None:
            yield self._listing
            return
        credentials = self._environment.credentials
        values = credentials.values if credentials else {}
        async with DavClient(self._environment.guard, self._url, values) as client:
            yield client

    async def _files(self, client: DavClient) -> AsyncGenerator[SourceItem]:
        """The files of the folder and of those below it, folder by folder."""
        waiting: list[tuple[str, ...]] = [()]
        number = 0
        while waiting:
            number += 1
            if number + len(waiting) > _MOST_FOLDERS:
                raise SourceUnavailable(TOO_MANY_FOLDERS)
            folder = waiting.pop()
            if len(folder) > _DEEPEST:
                raise SourceUnavailable(_of_folder(TOO_DEEP, folder))
            members = await self._members(client, folder)
            for entry in members:
                if (item := self._item(folder, entry)) is not None:
                    yield item
            inner = [(*folder, entry.name) for entry in reversed(members) if entry.is_folder]
            waiting += [path for path in inner if self._enters(path)]

    async def _members(self, client: DavClient, folder: tuple[str, ...]) -> Sequence[DavEntry]:
        """What is in a folder, in order, each name once."""
        try:
            entries = await client.list_folder(folder)
        except DavError as error:
            if folder and error.is_missing:
                # It was deleted a moment ago.
                return ()
            raise SourceUnavailable(_of_folder(error.failure, folder)) from error
        if any(not (entry.name or entry.is_folder) for entry in entries):
            raise SourceUnavailable(_of_folder(NOT_A_FOLDER, folder))
        # Nextcloud answers so for the files of everybody but the account that asks: a folder without a time and a tag.
        if not folder and _HOME.search(client.root) and not any(entry.name or entry.validator for entry in entries):
            raise SourceUnavailable(OTHER_ACCOUNT)
        members = {entry.name: entry for entry in entries if entry.name and not _is_hidden(entry.name)}
        return [entry for _, entry in sorted(members.items())]

    def _enters(self, path: tuple[str, ...]) -> bool:
        # With a slash: a pattern that leaves out all that is in a folder spares its listing.
        is_excluded = not is_included("/".join(path) + "/", (), self._settings.exclude)
        return not (is_excluded or _UNUSABLE.search("".join(path)))

    def _item(self, folder: tuple[str, ...], entry: DavEntry) -> SourceItem | None:
        """The item of a file that belongs to this source, or of a member whose name is no use."""
        parts = (*folder, entry.name)
        key = "/".join(parts)
        is_wanted = entry.is_folder or has_parser(entry.name, self._environment.support)
        if not (
            is_wanted and is_included(key, () if entry.is_folder else self._settings.include, self._settings.exclude)
        ):
            return None
        if _UNUSABLE.search(entry.name) or len(key) > _LONGEST_KEY:
            key = _printable(parts)[:_LONGEST_KEY]
            return SourceItem(key, document_name([key]), failure=UNUSABLE_NAME)
        if entry.is_folder:
            return None
        limit = self._environment.max_bytes
        name = document_name([part for part in parts if part.strip()])
        if entry.size is not None and entry.size > limit:
            return SourceItem(key, name, failure=too_large(limit))
        # Without anything to compare, the contents are.
        validator = entry.validator[:_LONGEST_VALIDATOR] or uuid4().hex
        fingerprint = f"{validator}:{'' if entry.size is None else entry.size}"
        return SourceItem(key, name, fingerprint, attributes={"path": key})


def _of_folder(failure: ReadFailure, folder: Sequence[str]) -> ReadFailure:
    """A failure that names the folder below the topmost one that it is about."""
    if not folder:
        return failure
    path = _printable(folder)[:200]
    return ReadFailure(
        failure.reason,
        f"{failure.message}: {path}",
        f"{failure.message_zh}：{path}",
        failure.next_action,
        failure.next_action_zh,
    )


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and not _UNUSABLE.search(name)


def _printable(parts: Sequence[str]) -> str:
    return "/".join(_UNUSABLE.sub("\N{REPLACEMENT CHARACTER}", part) for part in parts)
