"""The connector of folders on the server."""

import os
import stat
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import ClassVar

from anyio import to_thread
from pydantic import Field

from core.errors.requests import InvalidRequest
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ItemUnreadable,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
    too_large,
    too_many_items,
)
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.parsers.file_type import has_parser
from kb_service.document_names import document_name

_BLOCK = 256 * 1024
_DEEPEST = 64
# A link is never followed: it could lead out of what the operator allows.
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting: the name may have become that of a pipe.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderSettings(ConnectorSettings):
    """Settings of a folder; patterns are matched with paths in it, such as ``manuals/*.pdf``.

    With ``watch`` a sync begins within seconds of a change.
    """

    path: str = Field(min_length=1, max_length=1000)
    include: Patterns = ()
    exclude: Patterns = ()
    watch: bool = False

    @property
    def place(self) -> str:
        return self.path


class FolderConnector:
    """Reads a folder that the operator allows, and those in it; links, hidden files and special files are left out."""

    NAME: ClassVar[str] = "folder"
    SETTINGS: ClassVar[type[ConnectorSettings]] = FolderSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = None
    ADMINISTRATORS_ONLY: ClassVar[bool] = True
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: FolderSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self.is_cut = False

    async def check(self) -> None:
        allowed, _ = allowed_location(self._settings.path, self._environment.folders)
        try:
            await to_thread.run_sync(self._look)
        except OSError as error:
            raise InvalidRequest(
                "settings.path",
                f"The server can't open this folder below {allowed}: {error.strerror}",
                f"服务器无法打开 {allowed} 下的该文件夹：{error.strerror}",
            ) from error

    async def digest(self) -> str:
        """A hash of the paths and fingerprints of all files; raises ``SourceUnavailable``."""
        return sha256(repr(await self._listing()).encode()).hexdigest()

    async def items(self) -> AsyncGenerator[SourceItem]:
        limit = self._environment.max_bytes
        for path, fingerprint in await self._listing():
            name = document_name(PurePosixPath(path).parts)
            if int(fingerprint.partition(":")[0]) > limit:
                yield SourceItem(path, name, failure=too_large(limit))
            else:
                yield SourceItem(path, name, fingerprint, attributes={"path": path})

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        try:
            descriptor = await to_thread.run_sync(self._open_file, item.key)
        except FileNotFoundError as error:
            raise ItemGone from error
        except OSError as error:
            raise ItemUnreadable(_unreadable(error)) from error
        with os.fdopen(descriptor, "rb") as file:
            size = 0
            while block := await to_thread.run_sync(file.read, _BLOCK):
                size += len(block)
                if size > self._environment.max_bytes:
                    raise ItemUnreadable(too_large(self._environment.max_bytes))
                yield block

    async def _listing(self) -> list[tuple[str, str]]:
        try:
            return await to_thread.run_sync(self._list_files)
        except InvalidRequest as error:
            raise SourceUnavailable(_not_allowed(str(error.details["error"]))) from error
        except OSError as error:
            raise SourceUnavailable(_unreadable(error)) from error

    @contextmanager
    def _opened(self) -> Generator[int]:
        allowed, parts = allowed_location(self._settings.path, self._environment.folders)
        # The operator's own path may have links.
        root = os.open(allowed, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with open_below(root, parts) as folder:
            yield folder

    def _look(self) -> None:
        with self._opened():
            pass

    def _list_files(self) -> list[tuple[str, str]]:
        """Paths and fingerprints of all files, in order."""
        paths: list[tuple[str, str]] = []
        with self._opened() as folder:
            hidden = _identity(self._environment.hidden_folder)
            for path, status in _files(folder, "", hidden, depth=0):
                is_read = has_parser(path, self._environment.support)
                if not (is_read and is_included(path, self._settings.include, self._settings.exclude)):
                    continue
                paths.append((path, f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"))
                if len(paths) > MOST_ITEMS:
                    raise too_many_items()
        return paths

    def _open_file(self, path: str) -> int:
        parts = PurePosixPath(path).parts
        with self._opened() as top, open_below(os.dup(top), parts[:-1]) as folder:
            descriptor = os.open(parts[-1], _FILE_FLAGS, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileNotFoundError
        return descriptor


def allowed_location(text: str, folders: Sequence[Path]) -> tuple[Path, tuple[str, ...]]:
    """The allowed folder that a path lies in, and the parts of the path below it; raises ``InvalidRequest``."""
    path = Path(os.path.normpath(text))
    for allowed in folders:
        if path == allowed or allowed in path.parents:
            return allowed, path.relative_to(allowed).parts
    names = ", ".join(map(str, folders)) or "-"
    raise InvalidRequest(
        "settings.path",
        f"This folder is not allowed. Allowed are those below: {names}. Your operator lists them in "
        "AGENTEX_SOURCE_FOLDERS",
        f"不允许读取该文件夹。允许的文件夹：{names}。管理员可在 AGENTEX_SOURCE_FOLDERS 中配置",
    )


@contextmanager
def open_below(descriptor: int, parts: Sequence[str]) -> Generator[int]:
    """The folder at a path below an open one, which it closes; no part of the path may be a link."""
    try:
        for part in parts:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _files(
    folder: int, prefix: str, hidden: tuple[int, int] | None, *, depth: int
) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            path = f"{prefix}{name}"
            # Names that are no text can't be keys.
            path.encode()
        except (FileNotFoundError, UnicodeEncodeError):
            continue
        if stat.S_ISREG(status.st_mode):
            yield path, status
        elif stat.S_ISDIR(status.st_mode) and (status.st_dev, status.st_ino) != hidden and depth < _DEEPEST:
            with open_below(os.dup(folder), (name,)) as inner:
                yield from _files(inner, f"{path}/", hidden, depth=depth + 1)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _not_allowed(error: str) -> ReadFailure:
    return ReadFailure("not_allowed", error, "不再允许读取该文件夹", "Ask your operator", "请联系管理员")


def _unreadable(error: OSError) -> ReadFailure:
    return ReadFailure(
        "unreadable",
        f"The server can't read it: {error.strerror}",
        f"服务器无法读取：{error.strerror}",
        "See that it is there, and that the account which runs Agentex may read it",
        "请确认它存在，且运行 Agentex 的账户有读取权限",
    )
