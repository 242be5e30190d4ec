"""Encryption of backups: keys derived from a passphrase, and streams of sealed segments."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO, Literal, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from pydantic import BaseModel, ConfigDict, Field

from kb_service.backup.errors import BackupError, BackupFault

KEY_BYTES = SALT_BYTES = 32
_SEGMENT = 64 * 2**10
_TAG = 16
_COUNTER_BYTES = 11


class Digest(Protocol):
    """A running hash, with a key or without."""

    def update(self, content: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


class KeyDerivation(BaseModel):
    """How a repository's keys follow from its passphrase; ``check`` tells a wrong passphrase.

    The bounds keep a forged file from asking for all of the memory.
    """

    model_config = ConfigDict(frozen=True)

    kdf: Literal["scrypt"] = "scrypt"
    n: int = Field(default=2**17, ge=2, le=2**20)
    r: int = Field(default=8, ge=1, le=16)
    p: int = Field(default=1, ge=1, le=4)
    salt: str = Field(pattern=r"^[0-9a-f]{64}$")
    check: str = Field(default="", max_length=64)


@dataclass(frozen=True)
class RepositoryKeys:
    """A repository's keys: ``content`` seals blobs, ``names`` makes their ids; both None without encryption."""

    content: bytes | None = field(default=None, repr=False)
    names: bytes | None = field(default=None, repr=False)

    def digest(self) -> Digest:
        """A running hash for the id of a blob, which must not tell strangers what is in an encrypted one."""
        return hashlib.sha256() if self.names is None else hmac.new(self.names, digestmod="sha256")


NO_KEYS = RepositoryKeys()


def new_keys(passphrase: str) -> tuple[KeyDerivation, RepositoryKeys]:
    """The derivation and the keys of a new repository."""
    derivation = KeyDerivation(salt=secrets.token_hex(SALT_BYTES))
    root = _root_key(derivation, passphrase)
    return derivation.model_copy(update={"check": _expand(root, b"check").hex()}), _keys(root)


def derive_keys(derivation: KeyDerivation, passphrase: str) -> RepositoryKeys:
    """The keys of a repository.

    Raises:
        BackupError: the passphrase is another one.
    """
    root = _root_key_again(derivation.model_dump_json(), passphrase)
    if not hmac.compare_digest(_expand(root, b"check").hex(), derivation.check):
        raise BackupError(BackupFault.PASSPHRASE_WRONG)
    return _keys(root)


def seal(blocks: Iterable[bytes], key: bytes, context: bytes) -> Iterator[bytes]:
    """Encrypt a stream in segments that can neither be cut off, reordered nor moved to another ``context``.

    Args:
        key: for this stream alone: segments are numbered from zero.
        context: what stands unencrypted before it.
    """
    cipher = ChaCha20Poly1305(key)
    pending, number = bytearray(), 0
    for block in blocks:
        pending += block
        # The last segment is marked, so a full one waits until more follows.
        while len(pending) > _SEGMENT:
            yield cipher.encrypt(_nonce(number, is_last=False), bytes(pending[:_SEGMENT]), context)
            del pending[:_SEGMENT]
            number += 1
    yield cipher.encrypt(_nonce(number, is_last=True), bytes(pending), context)


def unseal(file: BinaryIO, key: bytes, context: bytes) -> Iterator[bytes]:
    """Decrypt the rest of a file; InvalidTag for anything that :func:`seal` did not write."""
    cipher = ChaCha20Poly1305(key)
    number, segment = 0, file.read(_SEGMENT + _TAG)
    while True:
        following = file.read(_SEGMENT + _TAG)
        if len(segment) < _TAG:
            raise InvalidTag
        yield cipher.decrypt(_nonce(number, is_last=not following), segment, context)
        if not following:
            return
        number, segment = number + 1, following


def stream_key(keys: RepositoryKeys, salt: bytes) -> bytes:
    """The key of a single stream."""
    if keys.content is None:
        raise BackupError(BackupFault.PASSPHRASE_MISSING)
    return HKDF(SHA256(), KEY_BYTES, salt=salt, info=b"agentex backup stream").derive(keys.content)


def secret_key_mark(secret_key: bytes) -> str:
    """A value that tells whether an installation's secret key is the one of a backup."""
    return _expand(secret_key, b"mark").hex()[:32]


def _root_key(derivation: KeyDerivation, passphrase: str) -> bytes:
    salt = bytes.fromhex(derivation.salt)
    return Scrypt(salt, KEY_BYTES, n=derivation.n, r=derivation.r, p=derivation.p).derive(passphrase.encode())


@lru_cache(maxsize=1)
def _root_key_again(derivation: str, passphrase: str) -> bytes:
    """The root key; remembered, because a server lists its backups often and each derivation takes 128 MiB."""
    return _root_key(KeyDerivation.model_validate_json(derivation), passphrase)


def _keys(root: bytes) -> RepositoryKeys:
    return RepositoryKeys(_expand(root, b"content"), _expand(root, b"names"))


def _expand(key: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"agentex backup " + purpose).derive(key)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(_COUNTER_BYTES, "big") + bytes([is_last])
