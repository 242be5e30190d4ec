"""Checks before a start: data folder, port, leftover processes."""

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psutil

from cli.supervisor import redis_server
from cli.ui.i18n import supervisor as messages
from core.settings import Settings, override_settings
from kb_service.backup.data_folder import unfinished_restore

EXIT_CANNOT_START = 1
EXIT_FOLDER_IN_USE = 3
EXIT_PORT_IN_USE = 4
STATE_FILE = "supervisor.json"
# A child of a killed supervisor already had its SIGTERM; its work is safe to repeat.
_LEFTOVER_SECONDS = 5.0


class CannotStart(Exception):
    """The start is refused; carries the exit code and the user's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def claim_folder(settings: Settings) -> None:
    """Create the folders and lock the data folder for the lifetime of this process."""
    data = settings.data_dir
    try:
        create_folders(data, data / "logs", redis_server.data_folder(settings), settings.runtime_dir)
        if not settings.runtime_dir.is_relative_to(data):
            require_private(settings.runtime_dir)
        lock(data)
        if (backup := unfinished_restore(data)) is not None:
            raise CannotStart(EXIT_CANNOT_START, messages.restore_unfinished(data, backup))
    except FolderInUse as error:
        message = messages.folder_in_use(data, error.pid)
        raise CannotStart(EXIT_FOLDER_IN_USE, message) from None
    except OSError as error:
        message = messages.folder_unusable(data, error.strerror or "")
        raise CannotStart(EXIT_CANNOT_START, message) from None


def clean_up(settings: Settings) -> list[str]:
    """Stop the processes left by a killed supervisor and return their names; needs the folder's lock."""
    leftovers = find_leftovers(settings.runtime_dir / STATE_FILE)
    stop_leftovers(leftovers, _LEFTOVER_SECONDS)
    names = [leftover.name for leftover in leftovers]
    if settings.redis_url is None and redis_server.stop_leftover(settings, _LEFTOVER_SECONDS):
        names.append("redis")
    return names


def claim_port(settings: Settings) -> Settings:
    """The settings with the port that the API will use, a free one for port 0; refuses an occupied port.

    Call it after :func:`clean_up`: a leftover API would still hold the port.
    """
    host, port = settings.host, settings.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            free = int(probe.getsockname()[1])
    except OSError as error:
        message = messages.address_unusable(host, error.strerror or "")
        if error.errno == errno.EADDRINUSE:
            message = messages.port_in_use(host, port)
        raise CannotStart(EXIT_PORT_IN_USE, message) from None
    return override_settings(port=free)


_FOLDER_MODE = 0o700


class FolderInUse(Exception):
    """Another supervisor holds the data folder; ``pid`` is None if it can't be read."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(f"{folder} is in use")
        self.folder = folder
        self.pid = pid


@dataclass(frozen=True)
class LeftoverProcess:
    """A child of an earlier supervisor that still runs."""

    name: str
    process: psutil.Process


def create_folders(*folders: Path) -> None:
    """Create the folders, readable only by their owner."""
    for folder in folders:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.getuid():
            folder.chmod(_FOLDER_MODE)


def require_private(folder: Path) -> None:
    """Refuse a folder that another user created: in a shared place the sockets would be theirs."""
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not is_ours or status.st_mode & 0o077:
        raise PermissionError(errno.EPERM, f"{folder} belongs to somebody else")


def lock(folder: Path) -> int:
    """Lock the folder and return the lock's descriptor, whose closing unlocks it.

    The kernel drops the lock with the process, so a killed supervisor leaves none behind.
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


def find_leftovers(state_file: Path) -> list[LeftoverProcess]:
    """Find running children of the last supervisor in its state file; needs the folder's lock.

    A process counts only if its start time matches, so that another program that got the same
    process id is left alone.
    """
    leftovers: list[LeftoverProcess] = []
    for name, pid, started in _recorded(state_file):
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if abs(process.create_time() - started) < 1.0:
                leftovers.append(LeftoverProcess(name, process))
    return leftovers


def stop_leftovers(leftovers: list[LeftoverProcess], seconds: float) -> None:
    """Stop the processes, last started first, with SIGTERM and after ``seconds`` with SIGKILL."""
    for leftover in reversed(leftovers):
        with contextlib.suppress(psutil.NoSuchProcess):
            leftover.process.terminate()
    processes = [leftover.process for leftover in leftovers]
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    for process in alive:
        # Each child leads a process group, which contains its own children.
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
