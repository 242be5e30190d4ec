"""Launcher of one child process that ends with its supervisor: ``launch.py PARENT_PID COMMAND...``.

A separate file, run with ``python -I -S``, because the steps below must happen in the child,
and Python code between fork and exec of a threaded parent may deadlock.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process's life to the parent's, then become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the supervisor is gone")
    # Python ignores these two, and exec would hand that on to the command.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"can't run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
