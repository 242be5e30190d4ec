"""The memory that a process returns after its start."""

import platform
import subprocess
import sys

import pytest

# Blocks that Python leaves to the C library; the last keeps the library's heap from shrinking.
_PROGRAM = """
import psutil
from core.process import freeze_loaded_objects

blocks = [bytes(10_000) for _ in range(6_000)]
last = blocks[-1]
del blocks
before = psutil.Process().memory_info().rss
freeze_loaded_objects()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what is freed")
def test_memory_that_loading_has_freed_is_given_back():
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 40_000_000
