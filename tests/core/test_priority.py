"""Work that gives way: processes with all that they start, and single threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.priority import thread_gives_way

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="niceness of threads is Linux's")

GIVES_WAY = """
import os, pathlib, subprocess
from core.priority import process_gives_way
process_gives_way(7)
process_gives_way(3)
subprocess.run(["nice"], check=True)
group = pathlib.Path("/proc/self/autogroup")
print(group.read_text() if group.exists() else "none", flush=True)
"""


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("own_session", [True, False])
def test_process_gives_way_with_all_that_it_starts(own_session: bool):
    said = subprocess.run(
        [sys.executable, "-c", GIVES_WAY],
        check=True,
        capture_output=True,
        text=True,
        start_new_session=own_session,
    ).stdout.splitlines()
    assert int(said[0]) == max(7, niceness())
    if own_session and "nice" in said[1]:
        assert said[1].endswith("nice 7")
    # A group that others are in is not this process's to change.
    assert own_session or not said[1].endswith("nice 7")


def test_thread_gives_way_alone():
    def gives_way() -> int:
        thread_gives_way(min(19, before + 4))
        return niceness()

    before = niceness()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(gives_way).result() == min(19, before + 4)
    assert niceness() == before
    assert Path("/proc/self/stat").read_text().rpartition(")")[2].split()[16] == str(before)
