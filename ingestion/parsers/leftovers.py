"""Temporary folders whose names say whose they are, so that those of processes that were killed can be removed."""

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

# Containers may share this folder, and not the numbers of their processes.
_LEFTOVER_SECONDS = 3600


def make_folder(prefix: str) -> Path:
    """A new folder of this process."""
    # Without links: LibreOffice would otherwise leave the folder that it may use.
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=_temporary_folder()))


def sweep_folders(prefix: str) -> None:
    """Remove the folders of processes that are gone, an hour after their last use."""
    for folder in Path(_temporary_folder()).glob(f"{prefix}*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        with suppress(OSError):
            is_old = folder.stat().st_mtime < time.time() - _LEFTOVER_SECONDS
            if is_old and pid.isdecimal() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def _temporary_folder() -> str:
    return os.path.realpath(tempfile.gettempdir())
