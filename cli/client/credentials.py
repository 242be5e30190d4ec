"""The logins stored on this machine, one per server URL, readable only by their owner."""

import contextlib
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, ValidationError

from cli.errors import CommandFailed
from cli.ui.i18n.common import CREDENTIALS_UNUSABLE
from core.errors.requests import InvalidRequest

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


class Login(BaseModel):
    """Credentials: a token pair or an API key; neither after a logout."""

    model_config = ConfigDict(frozen=True)

    username: str = ""
    access_token: str | None = None
    refresh_token: str | None = None
    api_key: str | None = None

    @property
    def usable(self) -> bool:
        return bool(self.access_token or self.api_key)

    def headers(self) -> dict[str, str]:
        if self.api_key:
            return {"X-API-Key": self.api_key}
        return {"Authorization": f"Bearer {self.access_token}"}


class _CredentialFile(BaseModel):
    version: int = 1
    server: str | None = None
    logins: dict[str, Login] = {}


class CredentialStore:
    """The file ``credentials.json`` in the user's configuration folder; disk errors become ``CommandFailed``."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or user_config_path("agentex") / "credentials.json"

    def load(self, url: str) -> Login | None:
        """The login stored for a server; an unusable one means that the user logged out."""
        return self._read().logins.get(url)

    def save(self, url: str, login: Login) -> None:
        """Replace the login of a server; the caller holds the lock."""
        content = self._read()
        content.logins[url] = login
        self._write(content)

    @property
    def server(self) -> str | None:
        """The default server of commands: that of the last login with an explicit URL."""
        return self._read().server

    def remember_server(self, url: str | None) -> None:
        """Set the default server; None forgets it."""
        with self.lock():
            content = self._read()
            content.server = url
            self._write(content)

    @contextlib.contextmanager
    def lock(self) -> Generator[None]:
        """Lock the file against other ``agentex`` processes.

        A refresh token works once: two commands that refresh at the same time would end the login.
        """
        with self._trouble_told():
            self._make_folder()
            lock = self.path.with_suffix(".lock")
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, _FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _make_folder(self) -> None:
        self.path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)

    def _read(self) -> _CredentialFile:
        try:
            with self._trouble_told():
                return _CredentialFile.model_validate_json(self.path.read_bytes())
        except (FileNotFoundError, ValidationError):
            # A damaged file holds nothing that a new login can't replace.
            return _CredentialFile()

    def _write(self, content: _CredentialFile) -> None:
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with self._trouble_told():
            self._make_folder()
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content.model_dump(exclude_none=True), file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)

    @contextlib.contextmanager
    def _trouble_told(self) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            cause = InvalidRequest("credentials", str(self.path))
            details = {"path": self.path, "reason": error.strerror or type(error).__name__}
            raise CommandFailed(cause, CREDENTIALS_UNUSABLE, **details) from error
