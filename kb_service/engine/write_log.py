"""Log of the writes to a shard while its copy is optimised, to be repeated on the copy."""

from collections.abc import Iterator
from pathlib import Path

from kb_service.engine_client.protocol import EngineRequest, pack_frame, unpack_frame


class WriteLog:
    """Requests in the order in which they were carried out, in a file that goes with the object.

    Not durable: a crash throws away the copy, and the write log with it.

    Args:
        path: a file that does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb")
        self._read_to = 0
        self._invalid = False
        self.waiting = 0

    @property
    def is_invalid(self) -> bool:
        """Whether the copy can no longer be brought to the shard's state."""
        return self._invalid

    def invalidate(self) -> None:
        """Note that a write ended halfway: nobody knows what it left in the shard."""
        self._invalid = True

    def append(self, request: EngineRequest) -> None:
        """Keep a write that was carried out; one that can't be kept invalidates the write log."""
        try:
            self._file.write(pack_frame(request))
            self._file.flush()
        except OSError:
            self._invalid = True
            return
        self.waiting += 1

    def drain(self) -> Iterator[EngineRequest]:
        """The kept requests that were not taken before, each once."""
        while self.waiting:
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                request = unpack_frame(file, EngineRequest)
                self._read_to = file.tell()
            self.waiting -= 1
            yield request

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)
