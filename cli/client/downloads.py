"""Atomic downloads: an incomplete file never looks like a complete one."""

import hashlib
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from cli.client.api import ApiClient
from cli.errors import CommandFailed
from cli.ui.i18n import common as messages
from core.errors.requests import InvalidRequest


def require_free(file: Path, *, force: bool) -> None:
    """Refuse to overwrite a file without ``force``."""
    with writing(file):
        is_there = file.exists()
    if is_there and not force:
        raise CommandFailed(InvalidRequest("file", str(file)), messages.FILE_THERE, path=file)


async def download(
    client: ApiClient, path: str, file: Path, on_progress: Callable[[int], None] = lambda _: None
) -> tuple[int, str]:
    """Write a response to a temporary file beside its place, and move it there when it is complete.

    Returns its size in bytes and its SHA-256 in hexadecimal; ``on_progress`` gets the bytes received so far.
    """
    digest, size = hashlib.sha256(), 0
    with _replacing(file) as target:
        async with client.stream("GET", path) as response:
            async for block in response.aiter_bytes():
                target.write(block)
                digest.update(block)
                size += len(block)
                on_progress(size)
    return size, digest.hexdigest()


def write_whole(file: Path, content: bytes) -> None:
    """Write a file atomically; an existing one keeps its permissions, and links stay links."""
    with _replacing(file) as target:
        target.write(content)


@contextmanager
def _replacing(file: Path) -> Generator[BinaryIO]:
    """Yield a temporary file that replaces the file on success."""
    place = Path(os.path.realpath(file))
    # A unique name, so that other processes' files are not touched.
    partial = place.with_name(f".agentex-{uuid4().hex}.part")
    with writing(file):
        try:
            is_there = place.exists()
            # The temporary file is never more readable than the final one.
            partial.touch(0o600 if is_there else 0o666, exist_ok=False)
            with partial.open("wb") as target:
                yield target
                target.flush()
                os.fsync(target.fileno())
            if is_there:
                shutil.copymode(place, partial)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def writing(file: Path) -> Generator[None]:
    """Turn write errors inside into ``CommandFailed``."""
    try:
        yield
    except OSError as error:
        details = {"path": file, "reason": error.strerror or type(error).__name__}
        cause = InvalidRequest("file", str(file))
        raise CommandFailed(cause, messages.FILE_UNWRITABLE, **details) from error
