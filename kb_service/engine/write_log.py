"""The writes that reach a shard while its copy is being optimised, kept to be repeated on it."""

from collections.abc import Iterator
from pathlib import Path

from kb_service.engine_client.protocol import Request, pack_frame, unpack_frame


class Journal:
    """Requests in the order in which they were carried out, in a file that goes with the object.

    Not durable: a crash throws away the copy, and the journal with it.

    Args:
        path: a file that does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb")
        self._read_to = 0
        self._spoilt = False
        self.waiting = 0

    @property
    def is_spoilt(self) -> bool:
        """Whether the copy can no longer be brought to the shard's state."""
        return self._spoilt

    def spoil(self) -> None:
        """Note that a write ended halfway: nobody knows what it left in the shard."""
        self._spoilt = True

    def append(self, request: Request) -> None:
        """Keep a write that was carried out; one that can't be kept spoils the journal."""
        try:
            self._file.write(pack_frame(request))
            self._file.flush()
        except OSError:
            self._spoilt = True
            return
        self.waiting += 1

    def take(self) -> Iterator[Request]:
        """The kept requests that were not taken before, each once."""
        while self.waiting:
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                request = unpack_frame(file, Request)
                self._read_to = file.tell()
            self.waiting -= 1
            yield request

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)
