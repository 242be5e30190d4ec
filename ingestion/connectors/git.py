"""The connector of Git repositories over HTTP."""

from collections.abc import AsyncGenerator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, ClassVar

from anyio import to_thread
from pydantic import Field, SecretStr

from core.threads import import_in_thread
from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemUnreadable,
    SourceItem,
    too_large,
)
from ingestion.connectors.git_failures import LFS_POINTER, cache_lost
from ingestion.connectors.git_http import GitHttp
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

if TYPE_CHECKING:
    from ingestion.connectors.git_cache import GitCache

_BLOCK = 256 * 1024
# What begins a file whose contents are elsewhere (https://git-lfs.com/spec/v1).
_LFS = b"version https://git-lfs.github.com/spec/"
_LFS_BYTES = 1024


class GitSettings(ConnectorSettings):
    """Settings of a Git repository; patterns are matched with paths in it, such as ``manuals/*.pdf``.

    Without ``branch`` the default branch is read, and without ``folder`` all of it.
    """

    url: str = Field(min_length=1, max_length=2048)
    # What no name of a branch may hold (git-check-ref-format).
    branch: Annotated[str, Field(max_length=250, pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]*$")] = ""
    folder: Annotated[str, Field(max_length=1000)] = ""
    include: Patterns = ()
    exclude: Patterns = ()

    @property
    def place(self) -> str:
        return self.url

    @property
    def credentials_target(self) -> str:
        return origin_of(self.url)


class GitCredentials(ConnectorCredentials):
    """Credentials of a private repository: mostly a token as the password; most servers take any name with it."""

    username: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^:\x00-\x1f\x7f]+$")] | None = Field(
        default=None, repr=False
    )
    password: SecretStr = Field(min_length=1, max_length=4000)


class GitConnector:
    """Reads the files of a branch; links, hidden files and submodules are left out."""

    NAME: ClassVar[str] = "git"
    SETTINGS: ClassVar[type[ConnectorSettings]] = GitSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = GitCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: GitSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self.is_cut = False

    async def check(self) -> None:
        check_address(self._settings.url)
        await self._environment.guard.check(self._settings.url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        settings, cache = self._settings, await self._cache()
        module = await import_in_thread("ingestion.connectors.git_cache")
        selection = module.GitSelection(settings.branch, settings.folder, self._accepts)
        credentials = self._environment.credentials
        values = credentials.values if credentials else {}
        async with GitHttp(self._environment.guard, settings.url, values) as http:
            files = await http.run(lambda: cache.refresh(http, settings.url, selection))
        for path, blob_id in files:
            parts = PurePosixPath(path).parts
            yield SourceItem(path, document_name(parts), blob_id, attributes={"path": path})

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        cache = await self._cache()
        content = await to_thread.run_sync(cache.read, self._settings.url, item.fingerprint)
        if content is None or len(content) > self._environment.max_bytes:
            raise ItemUnreadable(too_large(self._environment.max_bytes))
        if len(content) < _LFS_BYTES and content.startswith(_LFS):
            raise ItemUnreadable(LFS_POINTER)
        for start in range(0, len(content), _BLOCK):
            yield content[start : start + _BLOCK]

    async def _cache(self) -> "GitCache":
        module = await import_in_thread("ingestion.connectors.git_cache")
        environment = self._environment
        if environment.cache_folder is None:
            raise cache_lost()
        return module.GitCache(environment.cache_folder, environment.max_cache_bytes, environment.max_bytes)

    def _accepts(self, path: str) -> bool:
        is_read = has_parser(path, self._environment.support)
        return is_read and is_included(path, self._settings.include, self._settings.exclude)
