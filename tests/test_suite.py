"""What ``make test`` does: pytest processes side by side, one outcome."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from scripts.suite import sharing
from tests.fixtures.paths import ROOT
from tests.fixtures.product.processes import is_running, wait_until

RUN = (
    "import json, sys; from scripts.suite import run_side_by_side; sys.exit(run_side_by_side(json.loads(sys.argv[1])))"
)
GOOD = "def test_good(): pass\n"
BAD = "def test_bad(): assert 'here' == 'there'\n"
# A server of the session, and a test that never ends.
ENDLESS = """
import pathlib, subprocess, sys, time, pytest

HERE = pathlib.Path(__file__).parent

@pytest.fixture(scope="session")
def server():
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    yield process.pid
    process.kill()
    process.wait()
    (HERE / "ended").touch()

def test_endless(server):
    # Not before the test runs: an interrupt within the fixture leaves it half done.
    (HERE / "pid.new").write_text(str(server))
    (HERE / "pid.new").rename(HERE / "pid")
    time.sleep(600)
"""


def command(folder: Path, content: str) -> list[str]:
    folder.mkdir()
    (folder / "test_it.py").write_text(content)
    pytest_alone = ("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", *pytest_alone, str(folder)]


def start(**commands: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("one", "two", "code"), [(GOOD, GOOD, 0), (BAD, GOOD, 1), (GOOD, BAD, 1)])
def test_both_are_run_and_one_failure_fails_the_whole(tmp_path: Path, one: str, two: str, code: int):
    process = start(a=command(tmp_path / "one", one), b=command(tmp_path / "two", two))
    out, _ = process.communicate(timeout=120)
    assert process.returncode == code, out
    words = {GOOD: "1 passed", BAD: "1 failed"}
    progress, _, rest = out.partition("\na: exit code")
    assert {re.match(r"\d+:\d\d ([ab])\| ", line + " ")[1] for line in progress.splitlines()} == {"a", "b"}
    of_a, _, of_b = rest.partition("\nb: exit code")
    assert words[one] in of_a
    assert words[two] in of_b
    assert ("'here' == 'there'" in of_a, "'here' == 'there'" in of_b) == (one == BAD, two == BAD)
    usage, last = out.splitlines()[-2:]
    assert re.fullmatch(r"\d+:\d\d; of all cores [\d.]+ % at work, [\d.]+ % idle, .*", usage)
    assert last.startswith(f"a: {words[one]}"), last
    assert f", b: {words[two]}" in last


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_both_in_order_and_leaves_no_process(tmp_path: Path, number: int):
    folders = [tmp_path / "one", tmp_path / "two"]
    process = start(a=command(folders[0], ENDLESS), b=command(folders[1], ENDLESS))
    try:
        for folder in folders:
            wait_until((folder / "pid").exists, seconds=60)
        pids = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        servers = [int((folder / "pid").read_text()) for folder in folders]
        assert set(servers) < set(pids)
        process.send_signal(number)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out
    assert all((folder / "ended").exists() for folder in folders)
    assert [pid for pid in pids if is_running(pid)] == []


def test_what_holds_out_is_killed_with_all_it_started(tmp_path: Path):
    stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"
    parent = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"child = subprocess.Popen([sys.executable, '-c', {stubborn!r}]); "
        f"open({str(tmp_path / 'up')!r}, 'w').close(); child.wait()"
    )
    program = f"import scripts.suite; scripts.suite._STOP_SECONDS = 0.5; {RUN}"
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps({"a": [sys.executable, "-c", parent]})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_until((tmp_path / "up").exists)
    pids = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert len(pids) == 2
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == signal.SIGKILL
    assert [pid for pid in pids if is_running(pid)] == []


# Both begin; then the first file waits for one in the middle, which only the other process can run.
FIRST = """
from tests.fixtures.product.processes import wait_until

def test_first(request):
    runs = request.path.with_name("runs")
    request.path.with_name("begun").touch()
    wait_until(lambda: runs.exists() and "test_c" in runs.read_text())
    with runs.open("a") as file:
        file.write("first\\n")
"""
OTHER = """
from tests.fixtures.product.processes import wait_until

def test_one(request):
    wait_until(request.path.with_name("begun").exists)
    with request.path.with_name("runs").open("a") as runs:
        runs.write(f"{request.path.stem}\\n")

def test_two(request):
    pass
"""


def test_files_are_shared_until_both_meet_and_each_is_run_once(tmp_path: Path):
    folder, meeting = tmp_path / "tests", tmp_path / "meeting"
    folder.mkdir()
    meeting.mkdir()
    (folder / "test_a.py").write_text(FIRST)
    names = [f"test_{letter}" for letter in "bcde"]
    for name in names:
        (folder / f"{name}.py").write_text(OTHER)
    alone = ("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider")
    pytest_alone = [sys.executable, "-m", "pytest", *alone, "-p", "no:randomly"]
    ends = ("front", "back")
    commands = {end: [*pytest_alone, *sharing(str(meeting), end), str(folder)] for end in ends}
    out, _ = start(**commands).communicate(timeout=120)
    runs = (folder / "runs").read_text().splitlines()
    # The one after it was taken before the first waited.
    assert runs == ["test_e", "test_d", "test_c", "first", "test_b"], out
    assert out.splitlines()[-1].startswith("front: 3 passed"), out
    assert "back: 6 passed" in out.splitlines()[-1]


def test_third_process_begins_in_the_middle_and_ends_with_what_the_others_reach_last(tmp_path: Path):
    folder, meeting = tmp_path / "tests", tmp_path / "meeting"
    meeting.mkdir()
    for name in ("core/test_core", "e2e/test_a", "e2e/test_b", "faults/test_c", "faults/test_d", "skills/test_skills"):
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD)
    alone = ("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider", "-v")
    command = [sys.executable, "-m", "pytest", *alone, "-p", "no:randomly", *sharing(str(meeting), "middle")]
    out = subprocess.run([*command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ran = dict.fromkeys(
        line.partition("::")[0].rpartition("/tests/")[2] for line in out.splitlines() if ".py::" in line
    )
    names = [path.removesuffix(".py") for path in ran]
    assert names == [
        "core/test_core",
        "skills/test_skills",
        "e2e/test_b",
        "e2e/test_a",
        "faults/test_c",
        "faults/test_d",
    ]


def run_from_front(folder: Path, *options: str, **files: str) -> subprocess.CompletedProcess[str]:
    """Run files as the only process that shares them."""
    tests, meeting = folder / "tests", folder / "meeting"
    tests.mkdir()
    meeting.mkdir()
    for name, content in files.items():
        (tests / f"{name}.py").write_text(content)
    alone = ("-c", os.devnull, "--rootdir", str(tests), "-p", "no:cacheprovider")
    shared = (*alone, *options, *sharing(str(meeting), "front"))
    command = [sys.executable, "-m", "pytest", *shared, str(tests)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_file_that_cannot_be_imported_fails_the_run_and_keeps_no_other_from_running(tmp_path: Path):
    done = run_from_front(tmp_path, test_a=GOOD, test_b="import nothing_of_this_name\n", test_c=GOOD)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "No module named 'nothing_of_this_name'" in done.stdout
    assert "2 passed, 1 error" in done.stdout
    assert "[3 of 3]" in done.stdout


def test_failure_is_named_before_the_run_ends(tmp_path: Path):
    done = run_from_front(
        tmp_path, test_a=BAD, test_b="import os, signal\ndef test_killed(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert done.returncode == -signal.SIGKILL
    assert "FAILED in call: test_a.py::test_bad AssertionError: assert 'here' == 'there'" in done.stdout


def test_first_failure_ends_a_run_that_is_to_stop_there(tmp_path: Path):
    done = run_from_front(tmp_path, "-x", test_a=BAD, test_b=GOOD)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "1 failed" in done.stdout
    assert "passed" not in done.stdout


def test_files_are_imported_by_the_process_that_claims_them(tmp_path: Path):
    folder, meeting = tmp_path / "tests", tmp_path / "meeting"
    folder.mkdir()
    meeting.mkdir()
    imported = (
        "from pathlib import Path\nwith Path(__file__).with_name('imports').open('a') as file:\n    file.write('x')\n"
    )
    for name in ("test_a", "test_b"):
        (folder / f"{name}.py").write_text(imported + GOOD)
    alone = ("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider")
    pytest_alone = [sys.executable, "-m", "pytest", *alone]
    commands = {end: [*pytest_alone, *sharing(str(meeting), end), str(folder)] for end in ("front", "back", "middle")}
    process = start(**commands)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert (folder / "imports").read_text() == "xx"
