"""The connector of Git repositories over HTTP and SSH."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, ClassVar

from anyio import to_thread
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from core.outbound.guard import NameNotResolved
from core.threads import import_in_thread
from core.types.errors import FieldValueError
from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemUnreadable,
    SourceItem,
    SourceUnavailable,
    too_large,
)
from ingestion.connectors.git.address import SSH_PORTS, is_ssh, read_ssh_address
from ingestion.connectors.git.failures import cache_lost, lfs_failure
from ingestion.connectors.git.http import GitHttp, basic_authorization
from ingestion.connectors.git.lfs import LfsEndpoint, LfsLink, read_object, read_pointer
from ingestion.connectors.git.private_key import read_private_key
from ingestion.connectors.git.ssh import GitSsh
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

if TYPE_CHECKING:
    from ingestion.connectors.git.cache import GitCache

_BLOCK = 256 * 1024
_LFS_ANSWER_BYTES = 2**16
_LFS_SECONDS = 300


class GitSettings(ConnectorSettings):
    """Settings of a Git repository; patterns are matched with paths in it, such as ``manuals/*.pdf``.

    Without ``branch`` the default branch is read, and without ``folder`` all of it. ``known_hosts`` are the lines that say
    which key a server has that is reached over SSH, as ``ssh-keyscan`` writes them.
    """

    url: str = Field(min_length=1, max_length=2048)
    # What no name of a branch may hold (git-check-ref-format).
    branch: Annotated[str, Field(max_length=250, pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]*$")] = ""
    folder: Annotated[str, Field(max_length=1000)] = ""
    known_hosts: Annotated[str, Field(max_length=50_000, pattern=r"^[^\x00]*$")] = ""
    include: Patterns = ()
    exclude: Patterns = ()

    @property
    def place(self) -> str:
        return self.url

    @property
    def credentials_target(self) -> str:
        return read_ssh_address(self.url).origin if is_ssh(self.url) else origin_of(self.url)


class GitCredentials(ConnectorCredentials):
    """Credentials of a private repository: over HTTP mostly a token as the password, over SSH a private key.

    Most servers take any ``username`` with a token. ``private_key`` is one without a passphrase, such as a deploy key.
    """

    username: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^:\x00-\x1f\x7f]+$")] | None = Field(
        default=None, repr=False
    )
    password: Annotated[SecretStr, Field(min_length=1, max_length=4000)] | None = None
    private_key: Annotated[SecretStr, Field(min_length=1, max_length=20_000)] | None = None

    @field_validator("private_key")
    @classmethod
    def _check_private_key(cls, value: SecretStr | None) -> SecretStr | None:
        return SecretStr(read_private_key(value.get_secret_value())) if value is not None else None

    @model_validator(mode="after")
    def _check_kind(self) -> "GitCredentials":
        if (self.password is None) == (self.private_key is None):
            raise FieldValueError(
                "Give a password for an address with http, or a private_key for one over SSH",
                "http 地址请填写 password，SSH 地址请填写 private_key",
            )
        return self


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
        self._endpoint: LfsEndpoint | None = None
        self._endpoint_ends = 0.0
        self.is_cut = False

    async def check(self) -> None:
        url = self._settings.url
        if is_ssh(url):
            address = read_ssh_address(url)
            with suppress(NameNotResolved):
                await self._environment.guard.resolve(address.host, address.port, usual_ports=SSH_PORTS)
        else:
            check_address(url)
            await self._environment.guard.check(url)

    async def items(self) -> AsyncGenerator[SourceItem]:
        settings, cache = self._settings, await self._cache()
        module = await import_in_thread("ingestion.connectors.git.cache")
        selection = module.GitSelection(settings.branch, settings.folder, self._accepts)
        async with self._transport() as transport:
            files = await transport.run(lambda: cache.refresh(transport, settings.url, selection))
        for path, blob_id in files:
            parts = PurePosixPath(path).parts
            yield SourceItem(path, document_name(parts), blob_id, attributes={"path": path})

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        cache = await self._cache()
        content = await to_thread.run_sync(cache.read, self._settings.url, item.fingerprint)
        if content is None or len(content) > self._environment.max_bytes:
            raise ItemUnreadable(too_large(self._environment.max_bytes))
        if (pointer := read_pointer(content)) is not None:
            environment, endpoint = self._environment, await self._lfs_endpoint()
            async with aclosing(read_object(environment.guard, endpoint, pointer, environment.max_bytes)) as blocks:
                async for block in blocks:
                    yield block
            return
        for start in range(0, len(content), _BLOCK):
            yield content[start : start + _BLOCK]

    @property
    def _credentials(self) -> Mapping[str, str]:
        credentials = self._environment.credentials
        return credentials.values if credentials else {}

    def _transport(self) -> GitHttp | GitSsh:
        settings, guard, credentials = self._settings, self._environment.guard, self._credentials
        if not is_ssh(settings.url):
            return GitHttp(guard, settings.url, credentials)
        address = read_ssh_address(settings.url)
        return GitSsh(guard, address, settings.known_hosts, credentials.get("private_key", ""))

    async def _lfs_endpoint(self) -> LfsEndpoint:
        """Where the contents of pointers are asked for; raises ``ItemUnreadable``."""
        url = self._settings.url.rstrip("/")
        if not is_ssh(url):
            path = url if url.endswith(".git") else f"{url}.git"
            authorization = basic_authorization(self._credentials)
            return LfsEndpoint(f"{path}/info/lfs", {"Authorization": authorization} if authorization else {})
        if self._endpoint is None or time.monotonic() > self._endpoint_ends:
            link = await self._ask_endpoint()
            self._endpoint = LfsEndpoint(link.href.rstrip("/"), link.header or {})
            self._endpoint_ends = time.monotonic() + min(
                max((link.expires_in or 0) - 60, 0) or _LFS_SECONDS, _LFS_SECONDS
            )
        return self._endpoint

    async def _ask_endpoint(self) -> LfsLink:
        """What the server of the repository says over SSH (git-lfs, docs/api/server-discovery.md)."""
        try:
            async with self._transport() as transport:
                if not isinstance(transport, GitSsh):
                    raise TypeError
                text = await transport.run(
                    lambda: transport.open("git-lfs-authenticate", "download").read_all(_LFS_ANSWER_BYTES)
                )
            link = LfsLink.model_validate_json(text)
        except (SourceUnavailable, ValidationError):
            raise ItemUnreadable(lfs_failure("lfs_unavailable")) from None
        if not link.href:
            raise ItemUnreadable(lfs_failure("lfs_unavailable"))
        return link

    async def _cache(self) -> "GitCache":
        module = await import_in_thread("ingestion.connectors.git.cache")
        environment = self._environment
        if environment.cache_folder is None:
            raise cache_lost()
        return module.GitCache(environment.cache_folder, environment.max_cache_bytes, environment.max_bytes)

    def _accepts(self, path: str) -> bool:
        is_read = has_parser(path, self._environment.support)
        return is_read and is_included(path, self._settings.include, self._settings.exclude)
