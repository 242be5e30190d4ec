"""The folder of backups: content-addressed blobs, and a manifest for each backup."""

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from core.durable_files import sync_path, write_private
from kb_service.backup.blob_format import BlobDamaged, decode, encode
from kb_service.backup.encryption import NO_KEYS, KeyDerivation, RepositoryKeys, derive_keys, new_keys
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import FORMAT, BackupManifest, BlobRef, ManifestPart
from kb_service.backup.verification_note import note_path

_DESCRIPTION, _BLOBS, _BACKUPS, _INCOMING, _LOCK = "repository.json", "blobs", "backups", "incoming", "lock"
_SUFFIX = ".manifest"
_LEAST_CHARACTERS = 8
_BLOB_NAME = re.compile(r"[0-9a-f]{64}")
_MAX_MANIFEST_BYTES = 2**31


class RepositoryDescription(ManifestPart):
    """The file that makes a folder a repository."""

    format: int = FORMAT
    id: str = Field(default_factory=lambda: secrets.token_hex(16))
    encryption: KeyDerivation | None = None


class BackupRepository:
    """A folder of backups that is open with its keys.

    Blobs are named by the hash of their content, so equal content is stored once. A backup exists from the moment its
    manifest does, which is written last, after every blob is on the disk.
    """

    def __init__(self, root: Path, description: RepositoryDescription, keys: RepositoryKeys) -> None:
        self.root = root
        self.id = description.id
        self.is_encrypted = description.encryption is not None
        self._keys = keys
        self._trusted: set[str] = set()
        self._unsynced: set[Path] = set()
        self.added_bytes = 0

    # -- blobs

    def trust(self, blob: BlobRef) -> bool:
        """Whether a blob of a whole backup is still there in full length; if so, it is not written again."""
        if blob.id not in self._trusted:
            with suppress(OSError):
                if self._path(blob.id).stat().st_size == blob.stored:
                    self._trusted.add(blob.id)
        return blob.id in self._trusted

    def add(self, blocks: Iterable[bytes]) -> BlobRef:
        """Store a content; may run in several threads."""
        digest, size = self._keys.digest(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for block in blocks:
                digest.update(block)
                size += len(block)
                yield block

        temporary = self.root / _INCOMING / secrets.token_hex(16)
        try:
            with _disk_errors(temporary):
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(encode(counted(), self._keys))
                return self._keep(temporary, digest.hexdigest(), size)
        finally:
            temporary.unlink(missing_ok=True)

    def _keep(self, temporary: Path, blob_id: str, size: int) -> BlobRef:
        path = self._path(blob_id)
        if blob_id not in self._trusted:
            # One that no manifest vouches for may be empty since a power cut: it is written over.
            path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary.rename(path)
            self._trusted.add(blob_id)
            self._unsynced.add(path)
            self.added_bytes += path.stat().st_size
        return BlobRef(id=blob_id, size=size, stored=path.stat().st_size)

    def read(self, blob: BlobRef) -> Iterator[bytes]:
        """The content in blocks; the last of them comes only if all are right.

        Raises:
            BackupError: the blob is missing or damaged.
        """
        digest, size, pending = self._keys.digest(), 0, b""
        try:
            with self._path(blob.id).open("rb") as file:
                for block in filter(None, decode(file, self._keys)):
                    digest.update(block)
                    size += len(block)
                    if pending:
                        yield pending
                    pending = block
        except FileNotFoundError as error:
            raise BackupError(BackupFault.BLOB_MISSING, blob=blob.id) from error
        except (BlobDamaged, OSError) as error:
            raise BackupError(BackupFault.BLOB_DAMAGED, blob=blob.id) from error
        if digest.hexdigest() != blob.id or size != blob.size:
            raise BackupError(BackupFault.BLOB_DAMAGED, blob=blob.id)
        yield pending

    def _path(self, blob_id: str) -> Path:
        return self.root / _BLOBS / blob_id[:2] / blob_id

    # -- backups

    def backup_ids(self) -> list[str]:
        """The ids of all backups, oldest first."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in (self.root / _BACKUPS).glob(f"*{_SUFFIX}"))

    def manifest(self, backup_id: str | None = None) -> BackupManifest:
        """The manifest of a backup, by default of the newest one.

        Raises:
            BackupError: there is no such backup, or its manifest is damaged.
        """
        ids = self.backup_ids()
        if not ids:
            raise BackupError(BackupFault.NO_BACKUP, folder=self.root)
        chosen = backup_id or ids[-1]
        if chosen not in ids:
            raise BackupError(BackupFault.UNKNOWN_BACKUP, backup=chosen, backups=", ".join(ids))
        return self._read_manifest(chosen)

    def _read_manifest(self, backup_id: str) -> BackupManifest:
        damaged = BackupError(BackupFault.MANIFEST_DAMAGED, backup=backup_id)
        try:
            path = self.root / _BACKUPS / f"{backup_id}{_SUFFIX}"
            if path.stat().st_size > _MAX_MANIFEST_BYTES:
                raise damaged
            digest, _, sealed = path.read_bytes().partition(b"\n")
            if hashlib.sha256(sealed).hexdigest().encode() != digest:
                raise damaged
            content: Any = json.loads(b"".join(decode(BytesIO(sealed), self._keys)))
        except (BlobDamaged, OSError, ValueError) as error:
            raise damaged from error
        if _format_of(content) != FORMAT:
            raise BackupError(BackupFault.NEWER_FORMAT, folder=self.root)
        try:
            manifest = BackupManifest.model_validate(content)
        except ValidationError as error:
            raise damaged from error
        if manifest.id != backup_id or manifest.repository != self.id:
            raise damaged
        return manifest

    def commit(self, manifest: BackupManifest) -> None:
        """Bring all blobs onto the disk, then the manifest: from here on the backup exists."""
        with _disk_errors(self.root):
            for path in self._unsynced:
                sync_path(path)
            for folder in {path.parent for path in self._unsynced} | {self.root / _BLOBS}:
                sync_path(folder)
            self._unsynced.clear()
            sealed = b"".join(encode([manifest.model_dump_json().encode()], self._keys))
            digest = hashlib.sha256(sealed).hexdigest().encode()
            write_private(self.root / _BACKUPS / f"{manifest.id}{_SUFFIX}", digest + b"\n" + sealed)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Keep other writers out, and clear away what a broken-off one left.

        Raises:
            BackupError: another process writes a backup here.
        """
        with _flock(self.root / _LOCK, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX, BackupFault.IN_USE):
            with _disk_errors(self.root):
                for leftover in (self.root / _INCOMING).iterdir():
                    leftover.unlink(missing_ok=True)
            yield

    @contextmanager
    def reading(self) -> Generator[None]:
        """Keep removals out while backups are read; other readers and a writer may be there.

        Raises:
            BackupError: another process removes backups here.
        """
        # The description is there even in a copy on a read-only disk.
        with _flock(self.root / _DESCRIPTION, os.O_RDONLY, fcntl.LOCK_SH, BackupFault.IN_USE):
            yield

    @contextmanager
    def removing(self) -> Generator[None]:
        """Keep writers and readers out.

        Raises:
            BackupError: another process writes or reads backups here.
        """
        with (
            self.writing(),
            _flock(self.root / _DESCRIPTION, os.O_RDWR, fcntl.LOCK_EX, BackupFault.BEING_READ),
        ):
            yield

    def delete_manifests(self, backup_ids: Collection[str]) -> None:
        """Delete the manifests for good: from here on these backups do not exist, and their blobs may go."""
        with _disk_errors(self.root):
            for backup_id in backup_ids:
                (self.root / _BACKUPS / f"{backup_id}{_SUFFIX}").unlink(missing_ok=True)
                note_path(self.root, backup_id).unlink(missing_ok=True)
            # Before any blob goes, also where the power fails; an earlier removal may have been killed before its own.
            sync_path(self.root / _BACKUPS)

    def delete_blobs(self, needed: Collection[bytes]) -> Iterator[int]:
        """Delete all other blobs; gives the length on disk of each."""
        with _disk_errors(self.root):
            for path in (self.root / _BLOBS).glob("[0-9a-f][0-9a-f]/*"):
                # Files of other names were not written here.
                if _BLOB_NAME.fullmatch(path.name) and bytes.fromhex(path.name) not in needed:
                    size = path.stat().st_size
                    path.unlink()
                    self._trusted.discard(path.name)
                    yield size


def is_repository(root: Path) -> bool:
    """Whether a folder holds backups."""
    return (root / _DESCRIPTION).is_file()


def needs_passphrase(root: Path) -> bool:
    """Whether a repository's backups are encrypted."""
    return _describe(root).encryption is not None


def open_repository(root: Path, passphrase: str | None) -> BackupRepository:
    """Open a folder of backups.

    Raises:
        BackupError: it is none, of a later version, or not open to this passphrase.
    """
    description = _describe(root)
    if description.encryption is None:
        if passphrase is not None:
            raise BackupError(BackupFault.NOT_ENCRYPTED, folder=root)
        return BackupRepository(root, description, NO_KEYS)
    if passphrase is None:
        raise BackupError(BackupFault.PASSPHRASE_MISSING, folder=root)
    return BackupRepository(root, description, derive_keys(description.encryption, passphrase))


def require_long_passphrase(passphrase: str) -> None:
    """Refuse a passphrase that is guessed soon."""
    if len(passphrase) < _LEAST_CHARACTERS:
        raise BackupError(BackupFault.PASSPHRASE_SHORT, least=_LEAST_CHARACTERS)


def create_repository(root: Path, passphrase: str | None) -> BackupRepository:
    """Make an empty or missing folder a folder of backups, for its owner only; with a passphrase they are encrypted.

    Raises:
        BackupError: the folder holds something else, or can't be written, or the passphrase is short.
    """
    if passphrase is not None:
        require_long_passphrase(passphrase)
    with _disk_errors(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise BackupError(BackupFault.FOLDER_NOT_EMPTY, folder=root)
        root.chmod(0o700)
        derivation, keys = (None, NO_KEYS) if passphrase is None else new_keys(passphrase)
        for name in (_BLOBS, _BACKUPS, _INCOMING):
            (root / name).mkdir(mode=0o700)
        description = RepositoryDescription(encryption=derivation)
        write_private(root / _DESCRIPTION, description.model_dump_json(indent=2).encode())
    return BackupRepository(root, description, keys)


def _describe(root: Path) -> RepositoryDescription:
    try:
        content: Any = json.loads((root / _DESCRIPTION).read_bytes())
        if _format_of(content) != FORMAT:
            raise BackupError(BackupFault.NEWER_FORMAT, folder=root)
        return RepositoryDescription.model_validate(content)
    except FileNotFoundError as error:
        raise BackupError(BackupFault.NO_REPOSITORY, folder=root) from error
    except (OSError, ValueError) as error:
        raise BackupError(BackupFault.REPOSITORY_UNREADABLE, folder=root) from error


def _format_of(content: Any) -> object:  # noqa: ANN401 - whatever lies in a file
    try:
        return content["format"]
    except (KeyError, TypeError):
        return FORMAT


@contextmanager
def _flock(path: Path, flags: int, mode: int, fault: BackupFault) -> Generator[None]:
    with _disk_errors(path):
        descriptor = os.open(path, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(fault, folder=path.parent) from None
        except OSError:
            # A disk without locks: nobody may write there, but a copy on it can be read.
            if mode != fcntl.LOCK_SH:
                raise
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _disk_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BackupError(BackupFault.DISK_FAILED, path=error.filename or path, reason=error.strerror or "") from error
