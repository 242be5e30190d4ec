"""The engine's socket file: private, owned by one engine, free of leftovers."""

import fcntl
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from core.errors import EngineUnavailable

_BACKLOG = 128


@contextmanager
def listening_socket(path: Path) -> Generator[socket.socket]:
    """A bound, listening socket of mode 0600, removed on leaving.

    Its folder is made with mode 0700 when missing. A lock file beside the socket decides between
    engines that start at once; the kernel drops it when its holder dies.

    Raises:
        EngineUnavailable: Another engine holds the lock or answers on the socket.
        OSError: The folder or the socket can't be made.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineUnavailable(reason="another engine owns this socket") from error
        if _answers(path):
            raise EngineUnavailable(reason="another process answers on this socket")
        path.unlink(missing_ok=True)
        try:
            with _bound(path) as listener:
                yield listener
        finally:
            path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    # The file must never be open to others, not even between bind and chmod.
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener
