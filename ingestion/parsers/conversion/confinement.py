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
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.parsers.sandbox.limits import (
    die_with_parent,
    forbid_connections,
    forbid_privileges,
    forbid_sockets,
    leave_network,
)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
# Rights on files and folders of Landlock's first version; moving between folders came with the second, cutting files
# with the third.
_FIRST_RIGHTS = (1 << 13) - 1
_MOVE, _CUT = 1 << 13, 1 << 14
_READ_FILE = (1 << 0) | (1 << 2)
_READ_FOLDER = _READ_FILE | (1 << 3)
_READ_AND_WRITE_FILE = (1 << 1) | (1 << 2)
_MAKE_SOCKET = 1 << 9
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
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    rights = _FIRST_RIGHTS | (_MOVE if version >= 2 else 0) | (_CUT if version >= 3 else 0)
    rules = struct.pack("Q", rights)
    ruleset = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path, _READ_FOLDER if path.is_dir() else _READ_FILE)
        _allow(libc, ruleset, Path(os.devnull), _READ_AND_WRITE_FILE)
        for path in SOCKET_FOLDERS:
            _allow(libc, ruleset, Path(path), _MAKE_SOCKET)
        is_complete = _allow(libc, ruleset, writable, rights)
        return is_complete and libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> bool:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # Not on this system.
        return False
    try:
        rule = struct.pack("=Qi", rights, descriptor)
        return libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0
    finally:
        os.close(descriptor)
