"""Units of the supervisor: one watched part, the display, log files, messages."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from cli.supervisor.display import StatusDisplay
from cli.supervisor.logs import LogFile, LogOutput, parse_line
from cli.supervisor.service import ReadinessCheck, RestartPace, Service, ServiceState
from cli.supervisor.status_file import StatusFile
from cli.supervisor.watcher import ServiceWatcher
from cli.ui.i18n import supervisor as messages
from core.settings import Settings
from tests.fixtures.product.processes import python


def screen(*, terminal: bool = False, verbose: bool = False) -> tuple[StatusDisplay, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=200, highlight=False)
    return StatusDisplay(console, verbose=verbose), file


def test_late_answer_of_a_dead_part_is_ignored(tmp_path: Path):
    async def swallow_cancel() -> ReadinessCheck:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            answered.set()
        return ReadinessCheck(True)

    async def scenario() -> ServiceState:
        part = Service("one", tuple(python("raise SystemExit(1)")), swallow_cancel)
        board = StatusFile([part], tmp_path / "supervisor.json")
        pace = RestartPace(first_pause=300, longest_pause=300, check_timeout=60)
        watch = ServiceWatcher(part, board, screen()[0], pace=pace, log=LogFile(tmp_path / "one.log"))
        board.listeners.append(lambda s: died.set() if s.state == ServiceState.RESTARTING else None)
        run = asyncio.create_task(watch.run([]))
        async with asyncio.timeout(20):
            await answered.wait()
            await died.wait()
            # Every task that could run has run by now.
            for _ in range(20):
                await asyncio.sleep(0)
        state = board.statuses["one"].state
        assert not watch.ready.is_set()
        watch.stop()
        await run
        return state

    answered, died = asyncio.Event(), asyncio.Event()
    assert asyncio.run(scenario()) == ServiceState.RESTARTING


def test_plain_screen_writes_each_state_once(tmp_path: Path):
    shown, file = screen()
    board = StatusFile([Service("redis"), Service("api", ("/bin/true",))], tmp_path / "supervisor.json")
    board.listeners.append(shown.change)
    shown.begin(board.statuses)
    board.note_start("api", 1, 1.0)
    board.change("api", ServiceState.STARTING, "loads")
    board.change("api", ServiceState.READY)
    shown.end()
    words = [line.split()[2:] for line in file.getvalue().splitlines()]
    assert words == [["redis", "external"], ["api", "starting"], ["api", "ready"]]


def test_plain_screen_says_what_a_slow_part_waits_for(tmp_path: Path):
    shown, file = screen()
    board = StatusFile([Service("api", ("/bin/true",))], tmp_path / "supervisor.json")
    board.change("api", ServiceState.STARTING, "loads the encoder")
    shown.begin(board.statuses)
    shown.refresh()
    assert file.getvalue() == ""
    board.statuses["api"].since -= 60
    shown.refresh()
    shown.refresh()
    assert file.getvalue().count("loads the encoder") == 1


def test_terminal_screen_draws_a_table(tmp_path: Path):
    shown, file = screen(terminal=True)
    board = StatusFile([Service("redis"), Service("api", ("/bin/true",))], tmp_path / "supervisor.json")
    board.listeners.append(shown.change)
    shown.begin(board.statuses)
    board.note_start("api", 1, 1.0)
    board.change("api", ServiceState.STARTING, "loads [bold]all[/bold]")
    shown.end()
    shown.say("after")
    text = file.getvalue()
    assert "seconds" in text
    assert "external" in text
    assert "loads [bold]all[/bold]" in text
    assert text.rstrip().endswith("after")


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        ('{"event": "a.b", "level": "Warning", "part": "api", "n": 1}', ("warning", "a.b n=1")),
        ('{"level": "error"}', ("", '{"level": "error"}')),
        ("[1]", ("", "[1]")),
        ("{broken", ("", "{broken")),
        ("Traceback:", ("", "Traceback:")),
    ],
)
def test_log_line_becomes_level_and_text(line: str, parsed: tuple[str, str]):
    assert parse_line(line) == parsed


def test_output_joins_lines_that_come_in_pieces(tmp_path: Path):
    lines: list[str] = []
    output = LogOutput(LogFile(tmp_path / "log"), lines.append)
    for data in (b"fir", b"st\nsec", b"ond \xe4\xb8", b"\xad\n\n\x1b[31mred\x1b[0m\x07\nlast", b""):
        output.feed(data)
    assert lines == ["first", "second 中", "red", "last"]
    assert list(output.tail) == lines
    assert (tmp_path / "log").read_bytes().startswith(b"first\nsecond \xe4\xb8\xad\n")


def test_output_cuts_a_line_without_end(tmp_path: Path):
    lines: list[str] = []
    output = LogOutput(LogFile(tmp_path / "log"), lines.append)
    for _ in range(5):
        output.feed(b"x" * 30_000)
    assert [len(line) for line in lines] == [90_000]


def test_log_file_keeps_a_few_old_files_of_bounded_size(tmp_path: Path):
    log = LogFile(tmp_path / "api.log", max_bytes=100)
    for number in range(60):
        log.write(b"%09d\n" % number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["api.log", "api.log.1", "api.log.2", "api.log.3"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    assert (tmp_path / "api.log").read_bytes().endswith(b"000000059\n")


def test_log_file_that_cannot_be_written_loses_the_line(tmp_path: Path):
    LogFile(tmp_path / "missing" / "api.log").write(b"words\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("agentex.example", "http://agentex.example:8000"),
    ],
)
def test_url_is_one_that_this_machine_reaches(tmp_path: Path, host: str, url: str):
    assert messages.base_url(Settings(data_dir=tmp_path, host=host, port=8000)) == url


def test_welcome_shows_the_password_on_the_first_start_only(tmp_path: Path):
    settings = Settings(data_dir=tmp_path, admin_username="root-of-all")
    file = tmp_path / messages.INITIAL_PASSWORD_FILE
    file.write_text("correct horse\n")
    first = messages.welcome(settings, seconds=1.0, password="correct horse")
    later = messages.welcome(settings, seconds=1.0, password=None)
    assert "correct horse" in first
    assert "correct horse" not in later
    assert all(str(file) in text and "root-of-all" in text for text in (first, later))
    file.unlink()
    assert str(file) not in messages.welcome(settings, seconds=1.0, password=None)


@pytest.mark.parametrize(("port", "line"), [(8000, "login\n"), (9000, "login --url http://127.0.0.1:9000\n")])
def test_welcome_names_the_server_for_the_client_where_it_must(tmp_path: Path, port: int, line: str):
    settings = Settings(data_dir=tmp_path, host="127.0.0.1", port=port)
    assert line in messages.welcome(settings, seconds=1.0, password=None)


def test_state_file_survives_a_full_or_missing_folder(tmp_path: Path):
    board = StatusFile([Service("api", ("/bin/true",))], tmp_path / "missing" / "supervisor.json")
    board.change("api", ServiceState.READY)
    assert json.dumps(board.statuses["api"].state) == '"ready"'
