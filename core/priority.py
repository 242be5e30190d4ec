"""Work that nobody waits for gives way to work that somebody waits for."""

import contextlib
import os
import sys
import threading
from pathlib import Path

# Where Linux groups processes by session, niceness counts only within a group; this is the group's.
_GROUP = Path("/proc/self/autogroup")

BACKGROUND = 5
"""Niceness of work that somebody waits for, but not at the next moment: a third of the weight."""


def process_gives_way(niceness: int) -> None:
    """Have this process, and all that it starts from now on, give way to others.

    Args:
        niceness: from 1 (a little) to 19 (to everything). Nothing happens where the system has
            none, or where the process gives way more already.
    """
    if sys.platform == "win32":
        return
    niceness = max(niceness, os.getpriority(os.PRIO_PROCESS, 0))
    os.setpriority(os.PRIO_PROCESS, 0, niceness)
    # It may be switched off, or not be writable in a container.
    with contextlib.suppress(OSError):
        if os.getsid(0) == os.getpid():
            _GROUP.write_text(str(niceness))


def thread_gives_way(niceness: int) -> None:
    """Have the calling thread, and those that it starts from now on, give way to others.

    Only Linux has a niceness of threads; elsewhere nothing happens.

    Args:
        niceness: from 1 (a little) to 19 (to everything).
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        given = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, max(given, niceness))
