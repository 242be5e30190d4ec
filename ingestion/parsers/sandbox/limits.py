"""Limits and privileges that a parser child sets before it reads the first document.

Applied in this order, each as far as the system allows; what holds is reported by name:

- ``no_core_dump``, ``no_file_growth``, ``few_files``: resource limits (every POSIX system).
- ``no_python_sockets``: an audit hook refuses sockets and new processes.
- ``no_new_privileges``, ``dies_with_parent``: Linux ``prctl``.
- ``no_sockets``: a filter in the kernel, for libraries too (Linux on x86-64 and ARM).
- ``no_network``: an empty network namespace (Linux, as root or where user namespaces are allowed).
- ``read_only``: a Landlock rule set without any right to write, create, rename or delete
  (Linux 5.13 and later), nor to cut (6.2).
"""

import ctypes
import errno
import platform
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from ingestion.parsers.sandbox import landlock

_OPEN_FILES = 64
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38

_REFUSED_EVENTS = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")


def enter_sandbox() -> tuple[str, ...]:
    """Enter the sandbox, before any thread starts; returns the names of the effective restrictions."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    active = ["no_core_dump", "no_file_growth", "few_files"]
    if sys.platform == "linux":
        active += _enter_linux()
    sys.addaudithook(_refuse)
    return (*active, "no_python_sockets")


def limit_processor_time(seconds: float) -> None:
    """Let the kernel end this process (SIGXCPU) after so many more seconds of processor time."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def limit_memory(size: int) -> None:
    """Limit the growth of the address space (Linux); elsewhere the worker's watch over memory is the only bound."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + size
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _refuse(event: str, _: tuple[object, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(event)


def _enter_linux() -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    active: list[str] = []
    if die_with_parent(libc):
        active.append("dies_with_parent")
    if forbid_privileges(libc):
        active.append("no_new_privileges")
        if forbid_sockets(libc):
            active.append("no_sockets")
    if leave_network(libc):
        active.append("no_network")
    if landlock.give_up(libc, landlock.CHANGES, {}):
        active.append("read_only")
    return active


def leave_network(libc: ctypes.CDLL) -> bool:
    """Move this process into an empty network namespace; whether the system allows it."""
    # Root needs no user namespace, and would lose in one the right to read other users' files.
    return libc.unshare(_CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0


def die_with_parent(libc: ctypes.CDLL) -> bool:
    """Have the kernel end this process with the one that started it."""
    return libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0


def forbid_privileges(libc: ctypes.CDLL) -> bool:
    """Let no program that this process starts have more rights than it has."""
    return libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
# Of struct seccomp_data (include/uapi/linux/seccomp.h): the system call's number, the architecture.
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
# BPF: load a word, jump if equal, jump if not less, return (include/uapi/linux/bpf_common.h).
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32_CALLS = 0x40000000
# It creates sockets, too; the number is the same everywhere.
_IO_URING_SETUP = 425
# AUDIT_ARCH_* (include/uapi/linux/audit.h), and the numbers of socket(2) and connect(2) there.
_MACHINES = {"x86_64": (0xC000003E, 41, 42), "aarch64": (0xC00000B7, 198, 203)}
# The first argument's lower half; both machines are little-endian.
_ARGUMENT_AT, _AF_UNIX = 16, 1


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def forbid_sockets(libc: ctypes.CDLL) -> bool:
    """Refuse with EPERM whatever would make a socket, for good; for this process and its children.

    Args:
        libc: for system calls; ``no_new_privs`` must be set.

    Returns:
        Whether it is effective: not on other processors, nor where the kernel has no filters.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    architecture, socket, _ = machine
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        # System calls of another architecture are refused.
        (_IF_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 3, 0, _X32_CALLS),
        (_IF_EQUAL, 2, 0, socket),
        (_IF_EQUAL, 1, 0, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    )
    return _install_filter(libc, steps)


def forbid_connections(libc: ctypes.CDLL) -> bool:
    """As ``forbid_sockets``, but a Unix socket may be made and listened on: LibreOffice does not start without one.

    It may not be connected, so that no other program is reached through one.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    architecture, socket, connect = machine
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 0, 8, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 6, 0, _X32_CALLS),
        (_IF_EQUAL, 5, 0, _IO_URING_SETUP),
        (_IF_EQUAL, 4, 0, connect),
        (_IF_EQUAL, 0, 2, socket),
        (_LOAD, 0, 0, _ARGUMENT_AT),
        (_IF_EQUAL, 0, 1, _AF_UNIX),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    )
    return _install_filter(libc, steps)


def _install_filter(libc: ctypes.CDLL, steps: Sequence[tuple[int, int, int, int]]) -> bool:
    packed = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), packed)
    return libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0
