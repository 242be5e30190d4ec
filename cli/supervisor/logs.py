"""Output of child processes: a bounded log file and its last lines."""

import contextlib
import itertools
import json
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

_MAX_BYTES = 5 * 2**20
_KEPT_FILES = 3
_TAIL_LINES = 12
_LONGEST_LINE = 64 * 2**10
# Anything that moves the cursor or colours the terminal; the text of a log line is not ours.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN_KEYS = frozenset({"event", "level", "timestamp", "logger", "part"})
LOUD_LEVELS = frozenset({"warning", "error", "critical", "exception"})


class LogFile:
    """An append-only file that rotates when it is full, keeping a few old ones."""

    def __init__(self, path: Path, *, max_bytes: int = _MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def write(self, data: bytes) -> None:
        """Append; a full disk loses the line rather than the process that reads it."""
        with contextlib.suppress(OSError):
            if self._size() + len(data) > self._max_bytes:
                self._rotate()
            with self._path.open("ab") as file:
                file.write(data)

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _rotate(self) -> None:
        names = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, _KEPT_FILES + 1))]
        for newer, older in reversed(list(itertools.pairwise(names))):
            if newer.exists():
                newer.replace(older)


class LogOutput:
    """Splits a child's output into lines and passes them to ``show``, decoded and without control characters."""

    def __init__(self, file: LogFile, show: Callable[[str], None]) -> None:
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._file = file
        self._show = show
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Process the next bytes; an empty chunk is the end of the output."""
        if data:
            self._file.write(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (not data or len(self._rest) > _LONGEST_LINE):
            lines.append(self._rest)
            self._rest = b""
        for raw in lines:
            line = _CONTROL.sub("", raw.decode(errors="replace")).rstrip()
            if line:
                self.tail.append(line)
                self._show(line)


def parse_line(line: str) -> tuple[str, str]:
    """Split a log line into its level and a readable text.

    Returns:
        The level in lower case, empty if the line is not one of our JSON lines, and
        ``event key=value ...`` or the line unchanged.
    """
    try:
        content: object = json.loads(line)
    except ValueError:
        return "", line
    if not isinstance(content, dict):
        return "", line
    fields = cast(dict[str, Any], content)
    if "event" not in fields:
        return "", line
    facts = [f"{key}={value}" for key, value in fields.items() if key not in _HIDDEN_KEYS]
    return str(fields.get("level", "")).lower(), " ".join([str(fields["event"]), *facts])
