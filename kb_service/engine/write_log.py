"""Log of the writes to a shard while its copy is optimised, to be repeated on the copy."""

from collections.abc import Iterator
from pathlib import Path

from kb_service.engine_client.protocol import EngineRequest, pack_frame, unpack_frame


class WriteLog:
    """Requests in order, in a new temporary file at ``path``; not durable: a crash discards it together with the copy."""

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
        """Call when a write failed halfway: the shard's state is unknown."""
        self._invalid = True

    def append(self, request: EngineRequest) -> None:
        """Log a completed write; a failure to do so invalidates the log."""
        try:
            self._file.write(pack_frame(request))
            self._file.flush()
        except OSError:
            self._invalid = True
            return
        self.waiting += 1

    def drain(self) -> Iterator[EngineRequest]:
        """The requests added since the last call."""
        while self.waiting:
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                request = unpack_frame(file, EngineRequest)
                self._read_to = file.tell()
            self.waiting -= 1
            yield request

    def close(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)
