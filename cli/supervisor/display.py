"""The supervisor's terminal display: a live table, or plain lines."""

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.supervisor.logs import LOUD_LEVELS, parse_line
from cli.supervisor.service import Service, ServiceState, ServiceStatus

_COLOURS = {
    ServiceState.READY: "green",
    ServiceState.DONE: "green",
    ServiceState.EXTERNAL: "green",
    ServiceState.STARTING: "yellow",
    ServiceState.RESTARTING: "yellow",
    ServiceState.FAILING: "red",
}


# After this long in one state the display says why.
_SLOW_SECONDS = 3.0


class StatusDisplay:
    """Writes to one console; ``verbose`` shows every log line, not only warnings and errors."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self.console = console
        self._verbose = verbose
        self._gone = False
        self._began = time.time()
        self._live: Live | None = None
        self._statuses: Mapping[str, ServiceStatus] = {}
        self._last: dict[str, tuple[str, str]] = {}

    def begin(self, statuses: Mapping[str, ServiceStatus]) -> None:
        """Show the parts from now on until :meth:`end`; times count from here."""
        self._statuses = statuses
        self._began = time.time()
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._write(self._live.start)
            self.refresh()
        for status in statuses.values():
            if status.state == ServiceState.EXTERNAL:
                self.change(status)

    def end(self) -> None:
        """Freeze the table; later changes are lines."""
        if self._live is not None:
            self.refresh()
            self._write(self._live.stop)
            self._live = None

    def refresh(self) -> None:
        """Update the table's seconds; in plain lines, say what a slow part waits for."""
        if self._live is not None:
            self._write(functools.partial(self._live.update, self._table(), refresh=True))
            return
        for status in self._statuses.values():
            slow = time.time() - status.since > _SLOW_SECONDS
            if status.state == ServiceState.STARTING and status.detail and slow:
                self._write_line(status, status.detail)

    def change(self, status: ServiceStatus) -> None:
        if self._live is not None:
            self.refresh()
        elif status.state == ServiceState.FAILING:
            self._write_line(status, status.detail)
        elif status.state != ServiceState.RESTARTING:
            self._write_line(status)

    def _write_line(self, status: ServiceStatus, detail: str = "") -> None:
        # A detail after the bare state is news; the bare state after a detail is not.
        state, last_detail = self._last.get(status.name, ("", ""))
        if state == status.state and (not detail or last_detail == detail):
            return
        self._last[status.name] = (status.state, detail)
        seconds = time.time() - self._began
        self.say(f"{seconds:6.1f} s  {status.name:<9} {status.state:<11} {detail}".rstrip())

    def say(self, text: str, style: str = "") -> None:
        line = Text(text, style=style)
        self._write(functools.partial(self.console.print, line, soft_wrap=True))

    def show_log(self, name: str, line: str) -> None:
        """Show a log line of a part if its level is high enough."""
        level, text = parse_line(line)
        if self._verbose or level in LOUD_LEVELS:
            style = "red" if level in LOUD_LEVELS - {"warning"} else ""
            self.say(f"{name:<9} {level:<8} {text}", "yellow" if level == "warning" else style)

    def note_death(self, name: str, reason: str, pause: float) -> None:
        """Report that a part ended unexpectedly and restarts."""
        self.say(f"{name} ended ({reason}); it starts again in {pause:g} s", "yellow")

    def alarm(self, part: Service, deaths: int, lines: Sequence[str]) -> None:
        """Report that a part keeps dying, with its last log lines."""
        self.say(
            f"{part.name} ended {deaths} times in a row right after its start. Agentex keeps "
            f"trying, slowly.\n{part.name} 连续 {deaths} 次启动后立即退出，将放慢速度继续重试。",
            "bold red",
        )
        self.show_tail(part.name, lines)
        if part.advice:
            self.say(part.advice)

    def show_tail(self, name: str, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(f"  {name} | {parse_line(line)[1]}")

    def _write(self, act: Callable[[], None]) -> None:
        """Write, ignoring a closed terminal, which must not end the parts."""
        if self._gone:
            return
        try:
            act()
        except (OSError, SystemExit):  # the latter is how Rich takes a closed pipe
            self._gone = True
            # What is still in Python's buffer would fail once more at the exit.
            with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.console.file.fileno())

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for title in ("part", "state", "detail", "seconds"):
            table.add_column(title, justify="right" if title == "seconds" else "left")
        for status in self._statuses.values():
            until = status.since if status.state.settled else time.time()
            seconds = max(until - self._began, 0) if status.since else 0
            table.add_row(
                status.name,
                Text(status.state, style=_COLOURS.get(status.state, "dim")),
                Text(status.detail),
                f"{seconds:.1f}" if status.state != ServiceState.EXTERNAL else "",
            )
        return table
