"""Limits and privileges of a process that reads documents with others' programs, set before it begins.

It becomes LibreOffice, or it is a fork that has loaded unstructured.

Each as far as the system allows; what holds is reported by name, as in ``sandbox.limits``:

- ``no_core_dump``, ``small_files``, ``bounded_time``, ``bounded_memory``: resource limits.
- ``no_new_privileges``, ``dies_with_parent``, ``no_connections`` or ``no_sockets``, ``no_network``: Linux.
- ``own_folder_only``: a Landlock rule set. Programs and fonts can be read, its own folder can be written, and
  nothing else can be opened: a link in a document to another file of the server leads nowhere.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.parsers.sandbox import landlock
from ingestion.parsers.sandbox.limits import (
    die_with_parent,
    forbid_connections,
    forbid_privileges,
    forbid_sockets,
    leave_network,
)

SOCKET_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108
"""Where LibreOffice makes the socket without which it does not start: the first that may be written."""
_PROGRAMS = (
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/etc/fonts",
    "/etc/libreoffice",
    "/etc/ld.so.cache",
    "/etc/mime.types",
)
_STATE = ("/etc/localtime", "/var/cache/fontconfig", "/var/lib/libreoffice", "/var/spool/libreoffice", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the reading of one document.

    Attributes:
        seconds: Of processor time.
        memory_bytes: Of data, the program's own included.
        file_bytes: Of each file that it writes.
    """

    seconds: int
    memory_bytes: int
    file_bytes: int


def confine(folder: Path, programs: Sequence[Path], bounds: Bounds, *, sockets: bool = True) -> tuple[str, ...]:
    """Confine this process and all that it becomes; returns the names of what holds.

    Args:
        folder: the only one that may be written.
        programs: folders that may be read beside the system's.
        sockets: whether Unix sockets may be made, as LibreOffice does.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (bounds.file_bytes, bounds.file_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds))
    active = ["no_core_dump", "small_files", "bounded_time"]
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (bounds.memory_bytes, bounds.memory_bytes))
        active += ["bounded_memory", *_confine_on_linux(folder, programs, sockets=sockets)]
    return tuple(active)


def _confine_on_linux(folder: Path, programs: Sequence[Path], *, sockets: bool) -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    readable = [Path(path) for path in (*_PROGRAMS, *_STATE)] + [*programs]
    forbid = ("no_connections", forbid_connections) if sockets else ("no_sockets", forbid_sockets)
    steps = (
        ("dies_with_parent", die_with_parent(libc)),
        ("no_new_privileges", forbid_privileges(libc)),
        ("no_network", leave_network(libc)),
        ("own_folder_only", _confine_files(libc, readable, folder)),
        (forbid[0], forbid[1](libc)),
    )
    return [name for name, holds in steps if holds]


def _confine_files(libc: ctypes.CDLL, readable: Sequence[Path], writable: Path) -> bool:
    read = landlock.RUN | landlock.READ_FILE
    allowed = {path: read | (landlock.LIST_FOLDER if path.is_dir() else 0) for path in readable}
    allowed |= {Path(path): landlock.MAKE_SOCKET for path in SOCKET_FOLDERS}
    device = {Path(os.devnull): landlock.WRITE_FILE | landlock.READ_FILE}
    return landlock.give_up(libc, landlock.ALL, {**allowed, **device, writable: landlock.ALL})
