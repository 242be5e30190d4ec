"""Files that the server makes, written so that a broken one never looks like a whole one."""

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from cli import messages
from cli.client import ApiClient
from cli.problems import CommandFailed
from core.errors import InvalidRequest


def require_free(file: Path, *, force: bool) -> None:
    """Refuse to write over a file unless that is wanted.

    Raises:
        CommandFailed: the file is there, or its folder can't be looked into.
    """
    with _writing(file):
        is_there = file.exists()
    if is_there and not force:
        raise CommandFailed(InvalidRequest("file", str(file)), messages.FILE_THERE, path=file)


async def download(
    client: ApiClient, path: str, file: Path, told: Callable[[int], None] = lambda _: None
) -> tuple[int, str]:
    """Write an answer beside its place first, and into its place when it is whole.

    Args:
        client: of the server.
        path: of the request.
        file: where to write it.
        told: called with the bytes that came so far.

    Returns:
        Its size in bytes and its SHA-256 in hexadecimal.

    Raises:
        CommandFailed: it can't be written there.
    """
    digest, size = hashlib.sha256(), 0
    # A name of nobody else's: what another one left or is about to write is not touched.
    partial = file.with_name(f".agentex-{uuid4().hex}.part")
    with _writing(file):
        try:
            with partial.open("xb") as target:
                async with client.stream("GET", path) as response:
                    async for block in response.aiter_bytes():
                        target.write(block)
                        digest.update(block)
                        size += len(block)
                        told(size)
                target.flush()
                os.fsync(target.fileno())
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)
    return size, digest.hexdigest()


@contextmanager
def _writing(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        told = {"path": file, "reason": error.strerror or type(error).__name__}
        cause = InvalidRequest("file", str(file))
        raise CommandFailed(cause, messages.FILE_UNWRITABLE, **told) from error
