"""Ties a child process of the engine to the engine's life."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent dies, however that dies (Linux).

    Elsewhere a child that outlives the engine is found by the shard's lock at the next start.

    Args:
        parent: the parent's process id, as the parent itself told it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the engine is gone")
