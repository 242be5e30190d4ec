"""A supervised service: command, ready check, restart pace, status."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum


class ServiceState(StrEnum):
    """State of a part, as ``supervisor.json`` and the screen spell it."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DONE = "done"
    EXTERNAL = "external"
    RESTARTING = "restarting"
    FAILING = "failing"
    STOPPING = "stopping"
    STOPPED = "stopped"

    @property
    def settled(self) -> bool:
        """Whether parts that wait for this one may go on."""
        return self in {ServiceState.READY, ServiceState.DONE, ServiceState.EXTERNAL}


@dataclass(frozen=True)
class ReadinessCheck:
    """Result of a ready check; ``detail`` says what is still missing."""

    ready: bool
    detail: str = ""


@dataclass(frozen=True)
class Service:
    """A process to run.

    Args:
        name: short noun, also the name of its log file.
        command: absolute program path and arguments; empty for a part that runs elsewhere.
        check: polled after a start until it is ready; without one a part is ready as soon as it runs.
        after: names of the parts that must be ready before this one starts.
        one_shot: whether it runs to its end once; its failure ends the start.
        advice: what a person can do when it keeps dying.
    """

    name: str
    command: tuple[str, ...] = ()
    check: Callable[[], Awaitable[ReadinessCheck]] | None = None
    after: tuple[str, ...] = ()
    one_shot: bool = False
    advice: str = ""


@dataclass
class ServiceStatus:
    """Current state of a part; ``since`` and ``started`` are seconds since the epoch."""

    name: str
    state: ServiceState = ServiceState.WAITING
    detail: str = ""
    pid: int | None = None
    started: float | None = None
    restarts: int = 0
    since: float = 0.0


@dataclass(frozen=True)
class RestartPace:
    """Timeouts and pauses of the supervisor, in seconds."""

    first_pause: float = 0.2
    longest_pause: float = 10.0
    healthy_after: float = 30.0
    alarm_after_deaths: int = 5
    drain: float = 20.0
    check_every: float = 0.1
    check_timeout: float = 3.0

    def pause(self, deaths: int) -> float:
        """Pause before the next start after this many quick deaths in a row."""
        return min(self.first_pause * 2 ** min(deaths - 1, 32), self.longest_pause)
