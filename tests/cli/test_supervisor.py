"""The supervisor's order of start and end, its states and its refusals, with real processes."""

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.supervisor import preflight
from cli.supervisor.preflight import CannotStart, claim_folder, claim_port
from cli.supervisor.service import RestartPace, Service, ServiceState
from cli.supervisor.status_file import StatusFile
from core.settings import Settings, get_settings
from tests.fixtures.product.processes import CHILD, is_running, python, runtime_dir, supervised, wait_until

IGNORES_TERM = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    time.sleep(1)
"""
TALKS = """
import json, signal
for level in ("info", "warning"):
    print(json.dumps({"event": f"{level}.words", "level": level, "n": 1}), flush=True)
print("\\x1b[2Jplain words", flush=True)
signal.pause()
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def part(data: Path, name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "command": python(CHILD, data, name), "gated": True, **fields}


def test_parts_start_together_when_nothing_holds_them(data: Path):
    with supervised(data, [part(data, "one"), part(data, "two")]) as run:
        wait_until(lambda: sorted(run.order) == ["start one", "start two"])
        run.wait_state(one="starting", two="starting")


def test_part_waits_when_the_one_before_is_not_ready(data: Path):
    with supervised(data, [part(data, "one"), part(data, "two", after=["one"])]) as run:
        wait_until(lambda: run.order == ["start one"])
        run.wait_state(one="starting", two="waiting")
        run.allow("one")
        run.wait_state(one="ready", two="starting")
        assert run.parts["one"]["detail"] == ""
        run.allow("two")
        run.wait_text("all ready")
        run.wait_state(one="ready", two="ready")


def test_starting_part_says_what_it_waits_for(data: Path):
    with supervised(data, [part(data, "one")]) as run:
        wait_until(lambda: run.parts.get("one", {}).get("detail") == "waits for one.go")
        run.wait_text("waits for one.go")


def test_parts_end_in_reverse_order_when_terminated(data: Path):
    names = ["one", "two", "three"]
    with supervised(data, [part(data, name) for name in names]) as run:
        run.allow(*names)
        run.wait_text("all ready")
        pids = [status["pid"] for status in run.parts.values()]
        assert run.stop() == 0
        assert [line for line in run.order if line.startswith("end")] == [
            "end three",
            "end two",
            "end one",
        ]
        assert not any(map(is_running, pids))
        assert not (runtime_dir(data) / "supervisor.json").exists()


@pytest.fixture
def heeded_signals() -> Iterator[None]:
    """What a shell's background or nohup lets its programs ignore is not ignored here."""
    numbers = (signal.SIGINT, signal.SIGHUP)
    present = {number: signal.getsignal(number) for number in numbers}
    for number, handler in present.items():
        if handler == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in present.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_parts_end_when_the_terminal_interrupts_or_closes(data: Path, number: signal.Signals, heeded_signals: None):
    with supervised(data, [part(data, "one")]) as run:
        run.allow("one")
        run.wait_text("all ready")
        run.process.send_signal(number)
        assert run.process.wait(20) == 0
        assert run.order == ["start one", "end one"]


def test_deaf_part_is_killed_when_its_time_is_over(data: Path):
    deaf = {"name": "deaf", "command": python(IGNORES_TERM)}
    with supervised(data, [deaf], verbose=True, pace={"drain": 0.3}) as run:
        run.wait_text("deaf               deaf")
        pid = run.parts["deaf"]["pid"]
        assert run.stop() == 0
        assert not is_running(pid)


def test_deaf_part_is_killed_at_once_when_signalled_twice(data: Path):
    deaf = {"name": "deaf", "command": python(IGNORES_TERM)}
    with supervised(data, [deaf], verbose=True, pace={"drain": 300.0}) as run:
        run.wait_text("deaf               deaf")
        run.process.terminate()
        run.wait_state(deaf="stopping")
        assert run.stop() == 0


def test_stopped_part_still_drains(data: Path):
    with supervised(data, [part(data, "one")]) as run:
        run.allow("one")
        run.wait_text("all ready")
        os.kill(run.parts["one"]["pid"], signal.SIGSTOP)
        assert run.stop() == 0
        assert run.order == ["start one", "end one"]


def test_one_shot_part_lets_the_next_start_when_it_succeeds(data: Path):
    once = {"name": "once", "command": python("print('made')"), "one_shot": True}
    with supervised(data, [once, part(data, "two", after=["once"])]) as run:
        run.allow("two")
        run.wait_text("all ready")
        run.wait_state(once="done", two="ready")
        assert (data / "logs" / "once.log").read_text() == "made\n"


def test_start_fails_with_the_last_lines_when_a_one_shot_part_fails(data: Path):
    code = "import sys; print('first words'); sys.exit('no database there')"
    once = {"name": "once", "command": python(code), "one_shot": True}
    with supervised(data, [part(data, "one"), once, part(data, "two", after=["once"])]) as run:
        assert run.process.wait(20) == 1
        assert "once failed (exit 1)" in run.text
        assert "no database there" in run.text
        assert "start two" not in run.order


def test_missing_program_is_named(data: Path):
    missing = {"name": "once", "command": ["/nowhere/program"], "one_shot": True}
    with supervised(data, [missing]) as run:
        assert run.process.wait(20) == 1
        assert "can't run /nowhere/program" in run.text


def test_part_without_command_is_external(data: Path):
    with supervised(data, [{"name": "redis"}, part(data, "one", after=["redis"])]) as run:
        run.allow("one")
        run.wait_text("all ready")
        run.wait_state(redis="external", one="ready")


@pytest.mark.parametrize("verbose", [False, True])
def test_terminal_shows_warnings_and_all_lines_when_verbose(data: Path, verbose: bool):
    talks = {"name": "talks", "command": python(TALKS)}
    with supervised(data, [talks], verbose=verbose) as run:
        log = data / "logs" / "talks.log"
        wait_until(lambda: log.exists() and "plain words" in log.read_text())
        run.wait_text("warning.words n=1")
        assert run.stop() == 0
        assert ("info.words n=1" in run.text) is verbose
        assert ("plain words" in run.text) is verbose
        assert "\x1b" not in run.text
        assert log.read_text().count("\n") == 3


def test_state_file_is_for_its_owner_only(data: Path):
    with supervised(data, [part(data, "one")]) as run:
        run.wait_state(one="starting")
        assert stat.S_IMODE((runtime_dir(data) / "supervisor.json").stat().st_mode) == 0o600
        for path in (data, runtime_dir(data), data / "logs"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_second_start_is_refused_when_the_folder_is_in_use(data: Path):
    with supervised(data, [part(data, "one")]) as first:
        first.wait_state(one="starting")
        with supervised(data, [part(data, "two")]) as second:
            assert second.process.wait(20) == 3
            assert f"(process {first.process.pid})" in second.text
            assert str(data) in second.text
            assert "--data-dir" in second.text
        first.wait_state(one="starting")


def test_folder_is_free_again_when_the_first_has_stopped(data: Path):
    for _ in range(2):
        with supervised(data, [part(data, "one")]) as run:
            run.allow("one")
            run.wait_text("all ready")
            assert run.stop() == 0


def test_port_in_use_is_named(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=f"Port {port} on 127.0.0.1") as refusal:
            claim_port(Settings(data_dir=tmp_path, host="127.0.0.1", port=port))
    assert refusal.value.code == 4


def test_address_of_another_machine_is_refused(tmp_path: Path):
    with pytest.raises(CannotStart, match=r"can't listen on 192\.0\.2\.1") as refusal:
        claim_port(Settings(data_dir=tmp_path, host="192.0.2.1"))
    assert refusal.value.code == 4


def test_port_zero_becomes_a_free_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTEX_PORT", "0")
    try:
        port = claim_port(Settings(data_dir=tmp_path)).port
        assert 1024 <= port <= 65535
        assert os.environ["AGENTEX_PORT"] == str(port)
    finally:
        get_settings.cache_clear()


def test_folder_that_is_a_file_is_refused(tmp_path: Path):
    path = tmp_path / "data"
    path.touch()
    with pytest.raises(CannotStart, match=r"can't be used") as refusal:
        claim_folder(Settings(data_dir=path))
    assert refusal.value.code == 1


def test_lock_names_no_process_when_its_file_is_empty(tmp_path: Path):
    descriptor = preflight.lock(tmp_path)
    try:
        (tmp_path / "agentex.lock").write_text("")
        with pytest.raises(preflight.FolderInUse) as refusal:
            preflight.lock(tmp_path)
        assert refusal.value.pid is None
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("deaths", "pause"), [(1, 0.2), (2, 0.4), (3, 0.8), (6, 6.4), (7, 10.0), (500, 10.0)])
def test_pause_doubles_up_to_a_limit(deaths: int, pause: float):
    assert RestartPace().pause(deaths) == pytest.approx(pause)


def test_board_keeps_since_while_the_state_stays(tmp_path: Path):
    board = StatusFile([Service("one", ("/bin/true",))], tmp_path / "supervisor.json")
    board.note_start("one", 11, 5.0)
    since = board.statuses["one"].since
    board.change("one", ServiceState.STARTING, "loads")
    assert board.statuses["one"].since == since > 0


def test_board_mirrors_each_start_in_its_file(tmp_path: Path):
    board = StatusFile([Service("one", ("/bin/true",))], tmp_path / "supervisor.json")
    for pid in (11, 12):
        board.note_start("one", pid, 5.0)
        content = json.loads((tmp_path / "supervisor.json").read_text())
        assert content == {
            "supervisor": os.getpid(),
            "url": "",
            "parts": {
                "one": {
                    "state": "starting",
                    "detail": "",
                    "pid": pid,
                    "started": 5.0,
                    "restarts": pid - 11,
                    "since": board.statuses["one"].since,
                }
            },
        }
