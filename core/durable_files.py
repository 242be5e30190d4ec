"""Durable writes: private files as a whole, and the names in a folder."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write or replace a file with the mode 0600; after a power cut it is the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Make a file's contents, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
