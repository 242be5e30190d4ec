"""What processes that live long do with the memory that their start took."""

import ctypes
import gc
import os
import signal
import sys
from importlib import import_module


def run_main(module: str) -> int | None:
    """Load what a process is made of and run its ``main``, whose result is the exit code.

    Loading makes what stays; to look for garbage in it takes a sixth of a start. A process that
    lives long calls :func:`spare_what_is_loaded` afterwards.

    Args:
        module: where ``main`` is; nothing of it may be loaded before.
    """
    gc.disable()
    return import_module(module).main()


def freeze_loaded_objects() -> None:
    """Leave all that there is now out of future collections; call it once, before the first work.

    Modules, classes and schemas are never garbage, and a full collection that goes through them
    stops the event loop for 50 to 170 milliseconds. Not even one is made before: a few thousand
    small objects are all that loading leaves behind, and to find them takes a tenth of a start.
    From here on collections are on, whether they were meanwhile or not.

    What loading took beside Python's own memory and has freed is given back to the system: 20 MB of
    an engine's, whose runtime reads the encoder's weights, changes their layout and lets go of them.
    """
    gc.freeze()
    gc.enable()
    # Only glibc keeps what is freed, and has this.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


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
