"""The data folder: its lock, its sub-folders, and what a killed supervisor left running there."""

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil

_FOLDER_MODE = 0o700


class FolderInUse(Exception):
    """Another supervisor holds the data folder; ``pid`` is None when its number can't be read."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(f"{folder} is in use")
        self.folder = folder
        self.pid = pid


@dataclass(frozen=True)
class Leftover:
    """A child process of an earlier supervisor that still runs."""

    name: str
    process: psutil.Process


def create_folders(*folders: Path) -> None:
    """Create the folders, for their owner only."""
    for folder in folders:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.getuid():
            folder.chmod(_FOLDER_MODE)


def require_private(folder: Path) -> None:
    """Refuse a folder that somebody else made first: in a shared place the sockets would be theirs.

    Raises:
        PermissionError: it is another's, open to others, or a link.
    """
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, f"{folder} belongs to somebody else")


def lock(folder: Path) -> int:
    """Take the folder's lock for the life of this process.

    The kernel drops the lock with the process, so a killed supervisor leaves none behind.

    Returns:
        The descriptor that holds the lock; closing it gives the lock back.

    Raises:
        FolderInUse: another process holds it.
    """
    descriptor = os.open(folder / "agentex.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        raise FolderInUse(folder, int(text) if text.isdigit() else None) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def find_leftovers(state_file: Path) -> list[Leftover]:
    """Find the children that the last supervisor's state file names and that still run.

    Call it only with the lock held. A process counts only if it started when the file says, so
    that a number which the system gave to another program since is left alone.
    """
    found: list[Leftover] = []
    for name, pid, started in _recorded(state_file):
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if abs(process.create_time() - started) < 1.0:
                found.append(Leftover(name, process))
    return found


def stop_leftovers(leftovers: list[Leftover], seconds: float) -> None:
    """Stop the processes, last started first: politely, then for good after ``seconds``."""
    for leftover in reversed(leftovers):
        with contextlib.suppress(psutil.NoSuchProcess):
            leftover.process.terminate()
    processes = [leftover.process for leftover in leftovers]
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    for process in alive:
        # Each child leads a group of its own, which holds what it started in turn.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=seconds)


def _recorded(state_file: Path) -> list[tuple[str, int, float]]:
    try:
        content: Any = json.loads(state_file.read_bytes())
        parts = cast(dict[str, dict[str, Any]], content["parts"])
        return [
            (name, int(part["pid"]), float(part["started"]))
            for name, part in parts.items()
            if part["pid"] and part["started"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
