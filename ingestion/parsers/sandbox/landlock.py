"""Landlock: file rights that a process gives up for good (Linux 5.13 and later)."""

import ctypes
import os
import struct
from collections.abc import Mapping
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

RUN, WRITE_FILE, READ_FILE, LIST_FOLDER = (1 << bit for bit in range(4))
MAKE_SOCKET = 1 << 9
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
# Moving between folders came with the second version, cutting files with the third.
_MOVE, _CUT = 1 << 13, 1 << 14
CHANGES = WRITE_FILE | _REMOVE_AND_MAKE | _MOVE | _CUT
"""All that changes a file or a folder."""
ALL = RUN | READ_FILE | LIST_FOLDER | CHANGES


def known_rights(libc: ctypes.CDLL) -> int:
    """The rights that this kernel can take away; 0 without Landlock."""
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return 0
    return ALL & ~((_MOVE if version < 2 else 0) | (_CUT if version < 3 else 0))


def give_up(libc: ctypes.CDLL, rights: int, allowed: Mapping[Path, int]) -> bool:
    """Give up rights, as far as the kernel knows them, but those below some paths; ``no_new_privs`` must be set.

    Args:
        allowed: the rights that are kept; a path that is not there is left out.

    Returns:
        Whether it is effective.
    """
    handled = rights & known_rights(libc)
    if not handled:
        return False
    rules = struct.pack("Q", handled)
    ruleset = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return False
    try:
        rules_hold = [_allow(libc, ruleset, path, some & handled) for path, some in allowed.items() if path.exists()]
        return all(rules_hold) and libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> bool:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        rule = struct.pack("=Qi", rights, descriptor)
        return libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0
    finally:
        os.close(descriptor)
