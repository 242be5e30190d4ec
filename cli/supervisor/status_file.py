"""The status of all services in a file, for ``/readyz`` and the terminal client."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

import psutil
from pydantic import BaseModel, ValidationError

from cli.supervisor.service import Service, ServiceState, ServiceStatus


class StatusFile:
    """Holds every part's status and notifies listeners of changes.

    Args:
        parts: in their order of start.
        path: file that mirrors the status: ``{"supervisor": pid, "url": url, "parts": {name:
            {state, detail, pid, started, restarts, since}}}``.
        url: where this machine reaches the API.
    """

    def __init__(self, parts: Iterable[Service], path: Path, *, url: str = "") -> None:
        self.statuses = {
            part.name: ServiceStatus(part.name, ServiceState.WAITING if part.command else ServiceState.EXTERNAL)
            for part in parts
        }
        self.listeners: list[Callable[[ServiceStatus], None]] = []
        self._path = path
        self._url = url

    def change(self, name: str, state: ServiceState, detail: str = "") -> None:
        """Store a part's new state or detail."""
        status = self.statuses[name]
        if (status.state, status.detail) != (state, detail):
            self._set(status, state, detail)

    def note_start(self, name: str, pid: int, started: float) -> None:
        """Store the process of a part; ``started`` distinguishes it from a later process with the same id."""
        status = self.statuses[name]
        if status.started is not None:
            status.restarts += 1
        status.pid, status.started = pid, started
        self._set(status, ServiceState.STARTING, "")

    def note_end(self, name: str) -> None:
        """Store that a part has no process any more."""
        self.statuses[name].pid = None

    def write(self) -> None:
        """Write the file atomically."""
        parts = {name: asdict(status) for name, status in self.statuses.items()}
        for part in parts.values():
            del part["name"]
        fresh = self._path.with_name(f".{self._path.name}.new")
        # A full disk must not end the supervisor: the file is a report, not the truth.
        with contextlib.suppress(OSError):
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"supervisor": os.getpid(), "url": self._url, "parts": parts}, file)
            fresh.replace(self._path)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def _set(self, status: ServiceStatus, state: ServiceState, detail: str) -> None:
        if status.state != state:
            status.since = time.time()
        status.state, status.detail = state, detail
        self.write()
        for listener in self.listeners:
            listener(status)


class _StatusRecord(BaseModel):
    supervisor: int
    url: str


def read_url(path: Path) -> str | None:
    """The API's URL from a running supervisor's file; None if none runs, or the file is another user's."""
    try:
        with path.open("rb") as file:
            is_ours = os.fstat(file.fileno()).st_uid == os.getuid()
            written = _StatusRecord.model_validate_json(file.read())
    except (OSError, ValidationError):
        return None
    # A killed supervisor leaves its file, and another program may have its port.
    runs = is_ours and psutil.pid_exists(written.supervisor)
    return (written.url or None) if runs else None
