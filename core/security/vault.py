"""The installation's secret key, and encryption of stored secrets."""

import base64
import os
import secrets
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.settings import Settings

_FILE_NAME = "secret-key"


class SecretKeyMismatchError(RuntimeError):
    """The stored data were encrypted with another secret key."""


def load_secret_key(settings: Settings) -> bytes:
    """The secret key of the settings, else the one in the data folder, created at first use."""
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value().encode()
    path = secret_key_file(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _create_once(path, secrets.token_urlsafe(48).encode())
    key = path.read_bytes().strip()
    if not key:
        raise SecretKeyMismatchError(f"The secret key file {path} is empty: put back the one from your backup.")
    return key


def secret_key_file(settings: Settings) -> Path:
    """The key file for installations that set no key."""
    return settings.data_dir / _FILE_NAME


def _create_once(path: Path, content: bytes) -> None:
    # The link fails if another process was first; then that key is used.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Vault:
    """Encrypts and decrypts stored secrets, with a separate key for each purpose."""

    def __init__(self, secret_key: bytes, purpose: str) -> None:
        derived = HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(secret_key)
        self._fernet = Fernet(base64.urlsafe_b64encode(derived))

    def encrypt(self, plain: str) -> str:
        return self._fernet.encrypt(plain.encode()).decode()

    def decrypt(self, sealed: str) -> str:
        """The plain text; raises ``SecretKeyMismatchError`` for another key's."""
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise SecretKeyMismatchError(
                "The database was made with another secret key: start with the same "
                "AGENTEX_SECRET_KEY or the data folder it was made with."
            ) from error
