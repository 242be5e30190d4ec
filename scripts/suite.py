"""Runs the tests: ``python -m scripts.suite [PYTEST ARGUMENTS]``.

Without arguments, on two cores or more, three pytest processes share the suite (``scripts/sharing.py``):
most of a test's time is one core at work, and two processes would wait a quarter of the time. Each has
its own Redis, PostgreSQL and servers. Lines are printed as they come, the final sections one after the other.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import psutil

_WITH_SERVICES = (sys.executable, "-m", "scripts.services")
_PYTEST = (sys.executable, "-m", "pytest")
# Long enough for servers to be stopped in order.
_STOP_SECONDS = 120.0
_LAST_WORDS_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
# Others that Linux counts are parts of these.
_PROCESSOR_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def main() -> int:
    """Run the command line's tests and return the exit code; plain pytest replaces this process."""
    arguments = sys.argv[1:]
    if arguments or _cores() < 2:
        os.execv(sys.executable, [*_WITH_SERVICES, *_PYTEST, *arguments])
    with tempfile.TemporaryDirectory(prefix="agentex-suite-") as folder:
        # Compiled once for the hundreds of processes that tests start, wherever that is switched off.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(folder, "compiled")))
        share = str(Path(folder, "taken"))
        Path(share).mkdir()
        parts = {"1": "front", "2": "back", "3": "middle"}
        return run_side_by_side({name: _part(name, share, start) for name, start in parts.items()})


def _part(name: str, folder: str, start: str) -> list[str]:
    color = "yes" if sys.stdout.isatty() else "no"
    options = (f"--color={color}", "-o", f"cache_dir=.pytest_cache/{name}")
    return [*_WITH_SERVICES, *_PYTEST, *options, *sharing(folder, start)]


def sharing(folder: str, start: str) -> tuple[str, ...]:
    """The options of a pytest process that shares its files with others.

    Args:
        folder: shared record of claimed files; empty at the start.
        start: ``front`` or ``back`` of the list of files, or its ``middle``, where it stays.
    """
    style = ("-o", "console_output_style=classic")
    return ("-p", "scripts.sharing", *style, f"--share={folder}", f"--share-from={start}")


def _cores() -> int:
    # The usable cores, if the system says so.
    return len(psutil.Process().cpu_affinity() or ()) if psutil.LINUX else os.cpu_count() or 1


@dataclass
class _Running:
    """A process, its final output, and the thread that reads it."""

    name: str
    process: subprocess.Popen[str]
    started: float = field(default_factory=time.monotonic)
    ending: list[str] = field(default_factory=list[str])
    reader: threading.Thread | None = None

    def read(self) -> None:
        """Print lines as they come, up to the first section after the tests."""
        for line in self.process.stdout or ():
            if self.ending or _begins_the_end(line):
                self.ending.append(line)
            elif line.strip():
                _print(f"{_clock(time.monotonic() - self.started)} {self.name}| {line}")


def _begins_the_end(line: str) -> bool:
    return "=====" in line and "test session starts" not in line


def run_side_by_side(commands: Mapping[str, Sequence[str]]) -> int:
    """Run commands in parallel, each with its own process group; returns the first exit code that is not 0, else 0.

    Ctrl-C and SIGTERM become one Ctrl-C for each command; commands that do not end are killed. The
    keys are the prefixes of their lines.
    """
    usage = ProcessorUsage()
    with _stop_signals() as stop_requested:
        running = [_start(name, command) for name, command in commands.items()]
        try:
            _wait(running, stop_requested)
        finally:
            for process_run in running:
                _kill(process_run.process)
        for process_run in running:
            if process_run.reader is not None:
                process_run.reader.join(_LAST_WORDS_SECONDS)
            _print(f"\n{process_run.name}: exit code {process_run.process.returncode}\n{''.join(process_run.ending)}")
    codes = [process_run.process.returncode for process_run in running]
    outcome = ", ".join(f"{process_run.name}: {_summary(process_run)}" for process_run in running)
    _print(f"\n{usage}\n{outcome}\n")
    return next((abs(code) for code in codes if code), 0)


@dataclass
class ProcessorUsage:
    """What the machine's cores have done since this was made: whether a long run was work, waiting or other machines."""

    _started: float = field(default_factory=time.monotonic)
    _before: dict[str, float] = field(default_factory=lambda: psutil.cpu_times()._asdict())

    def __str__(self) -> str:
        """The time, and the shares of the cores, as a line."""
        spent = {name: value - self._before[name] for name, value in psutil.cpu_times()._asdict().items()}
        whole = sum(spent.get(name, 0) for name in _PROCESSOR_STATES) or 1
        # Named by what a reader can do about each; systems other than Linux know fewer.
        shares = {
            "idle": spent["idle"],
            "waiting for disks": spent.get("iowait", 0),
            "taken by other machines": spent.get("steal", 0),
        }
        rest = ", ".join(f"{100 * share / whole:.1f} % {name}" for name, share in shares.items())
        busy = whole - sum(shares.values())
        return f"{_clock(time.monotonic() - self._started)}; of all cores {100 * busy / whole:.1f} % at work, {rest}"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _summary(run: _Running) -> str:
    last = run.ending[-1].strip(" =\n") if run.ending else ""
    return last or f"exit code {run.process.returncode}"


def _start(name: str, command: Sequence[str]) -> _Running:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    run = _Running(name, process)
    run.reader = threading.Thread(target=run.read, daemon=True)
    run.reader.start()
    return run


@contextmanager
def _stop_signals() -> Generator[threading.Event]:
    stop_requested = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        stop_requested.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop_requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(running: Sequence[_Running], stop_requested: threading.Event) -> None:
    deadline = float("inf")
    while any(run.process.poll() is None for run in running) and time.monotonic() < deadline:
        if stop_requested.is_set() and deadline == float("inf"):
            _print("Stopping all.\n")
            deadline = time.monotonic() + _STOP_SECONDS
            for run in running:
                if run.process.poll() is None:
                    os.killpg(run.process.pid, signal.SIGINT)
        time.sleep(_PAUSE_SECONDS)


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        whole = psutil.Process(process.pid)
        # First what would otherwise end by itself, with another exit code, because its children are gone.
        for each in [whole, *whole.children(recursive=True)]:
            each.kill()
        process.wait()


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
