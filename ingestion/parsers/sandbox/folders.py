"""Temporary folders of processes that write while they read a document."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

import psutil

# Containers may share this folder, and not the numbers of their processes.
_LEFTOVER_SECONDS = 3600


@asynccontextmanager
async def document_folder(prefix: str) -> AsyncGenerator[Path]:
    """A new folder, removed at the end; what processes that were killed have left goes at the first one.

    Args:
        prefix: of its name, the same for all folders of one kind.
    """
    await asyncio.to_thread(_sweep_once, prefix)
    # The name says whose it is, for the sweep after a worker that was killed.
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=_temporary_folder()))
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _temporary_folder() -> str:
    # Without links: a confined process would otherwise leave the folder that it may use.
    return os.path.realpath(tempfile.gettempdir())


@cache
def _sweep_once(prefix: str) -> None:
    for folder in Path(_temporary_folder()).glob(f"{prefix}*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        with suppress(OSError):
            is_old = folder.stat().st_mtime < time.time() - _LEFTOVER_SECONDS
            if is_old and pid.isdecimal() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)
