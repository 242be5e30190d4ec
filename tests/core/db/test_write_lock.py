"""The write lock of SQLite across processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.db.write_lock import WriteLock
from core.errors.server import DatabaseUnavailable
from tests.fixtures.paths import ROOT

pytestmark = pytest.mark.anyio

# Holds the turn again and again without a pause, and says when it begins.
GREEDY = """
import asyncio, sys
from pathlib import Path
from core.db.write_lock import WriteLock

async def main():
    turn = WriteLock(Path(sys.argv[1]))
    print("begun", flush=True)
    while True:
        async with turn.acquire(10):
            await asyncio.sleep(float(sys.argv[2]))

asyncio.run(main())
"""


@pytest.fixture
def greedy(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", GREEDY, str(tmp_path / "db"), "0.02"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


async def test_two_of_one_process_never_hold_it_together(tmp_path: Path):
    turns = [WriteLock(tmp_path / "db"), WriteLock(tmp_path / "db")]
    holders = 0

    async def hold(turn: WriteLock) -> None:
        nonlocal holders
        async with turn.acquire(10):
            holders += 1
            assert holders == 1
            await asyncio.sleep(0.001)
            holders -= 1

    await asyncio.gather(*(hold(turns[number % 2]) for number in range(40)))


async def test_a_process_that_never_pauses_does_not_keep_others_out(tmp_path: Path, greedy):
    turn = WriteLock(tmp_path / "db")
    for _ in range(20):
        # Each comes in after one turn of the other's; ten seconds would be five hundred of them.
        async with turn.acquire(10):
            await asyncio.sleep(0)
    assert greedy.poll() is None


async def test_a_killed_holder_gives_it_up(tmp_path: Path, greedy):
    os.kill(greedy.pid, signal.SIGKILL)
    greedy.wait()
    async with WriteLock(tmp_path / "db").acquire(1):
        pass


async def test_a_stopped_holder_keeps_nobody_out(tmp_path: Path, greedy):
    turn = WriteLock(tmp_path / "db")
    os.kill(greedy.pid, signal.SIGSTOP)
    started = time.monotonic()
    for _ in range(50):
        async with turn.acquire(10):
            pass
    # Patience is lost once, not fifty times.
    assert time.monotonic() - started < 10
    os.kill(greedy.pid, signal.SIGCONT)


async def test_who_waits_too_long_is_told_and_leaves_nothing_locked(tmp_path: Path):
    turn = WriteLock(tmp_path / "db")
    async with turn.acquire(1):
        with pytest.raises(TimeoutError):
            async with turn.acquire(0.05):
                pass
    async with turn.acquire(1):
        pass
    async with WriteLock(tmp_path / "db").acquire(1):
        pass


async def test_a_writer_that_fails_gives_its_turn_back(tmp_path: Path):
    turn = WriteLock(tmp_path / "db")
    with pytest.raises(ValueError, match="no"):
        async with turn.acquire(1):
            raise ValueError("no")
    async with turn.acquire(1):
        pass


async def test_database_in_memory_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    async with WriteLock(None).acquire(1):
        pass
    assert os.listdir(tmp_path) == []


async def test_lock_file_is_not_left_open_when_the_other_one_can_not_be_made(tmp_path: Path):
    (tmp_path / "db-turn").mkdir()
    turn = WriteLock(tmp_path / "db")
    for _ in range(3):
        with pytest.raises(IsADirectoryError):
            async with turn.acquire(1):
                pass
    assert (tmp_path / "db-queue").exists()
    left = [file.path for file in psutil.Process().open_files()]
    assert [path for path in left if path.startswith(str(tmp_path))] == []
    (tmp_path / "db-turn").rmdir()
    async with turn.acquire(1):
        pass
    turn.close()


async def test_locks_that_can_not_be_made_make_the_database_unavailable(tmp_path: Path):
    (tmp_path / "db-turn").mkdir()
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'db'}")
    with pytest.raises(DatabaseUnavailable):
        async with unit_of_work(database):
            pass
    started = time.monotonic()
    await database.close()
    assert time.monotonic() - started < 5
