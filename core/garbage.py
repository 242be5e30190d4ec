"""Python's garbage collection in processes that live long."""

import gc
from importlib import import_module


def start(module: str) -> int | None:
    """Load what a process is made of and run its ``main``, whose result is the exit code.

    Loading makes what stays; to look for garbage in it takes a sixth of a start. A process that
    lives long calls :func:`spare_what_is_loaded` afterwards.

    Args:
        module: where ``main`` is; nothing of it may be loaded before.
    """
    gc.disable()
    return import_module(module).main()


def spare_what_is_loaded() -> None:
    """Leave all that there is now out of future collections; call it once, before the first work.

    Modules, classes and schemas are never garbage, and a full collection that goes through them
    stops the event loop for 50 to 170 milliseconds. Not even one is made before: a few thousand
    small objects are all that loading leaves behind, and to find them takes a tenth of a start.
    From here on collections are on, whether they were meanwhile or not.
    """
    gc.freeze()
    gc.enable()
