"""A filter in the kernel that lets this process make no socket, whoever asks (Linux, seccomp).

It needs no rights and no namespace, so that it holds where containers forbid those. Filters add up:
one of the container's stays in force.
"""

import ctypes
import errno
import platform
import struct

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
# Of struct seccomp_data (include/uapi/linux/seccomp.h): the system call's number, the architecture.
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
# BPF: load a word, jump if equal, jump if not less, return (include/uapi/linux/bpf_common.h).
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32_CALLS = 0x40000000
# It makes sockets, too; the number is the same everywhere.
_IO_URING_SETUP = 425
# AUDIT_ARCH_* (include/uapi/linux/audit.h), and the number of socket(2) there.
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def forbid_sockets(libc: ctypes.CDLL) -> bool:
    """Refuse with EPERM whatever would make a socket, for good; for this process and its children.

    Args:
        libc: to ask the kernel with; ``no_new_privs`` must be set.

    Returns:
        Whether it holds: not on other processors, nor where the kernel has no filters.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    architecture, socket = machine
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        # Calls by another architecture's numbers are none of ours.
        (_IF_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 3, 0, _X32_CALLS),
        (_IF_EQUAL, 2, 0, socket),
        (_IF_EQUAL, 1, 0, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    )
    packed = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), packed)
    return libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0
