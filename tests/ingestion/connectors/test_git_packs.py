"""Packs that a hostile Git server may send."""

import subprocess
import tempfile
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.connectors.git.packs import PackDamaged, PackLimits, PackTooLarge, check_pack
from tests.fixtures.servers.git_server import require_git

BLOB, REFERENCE_DELTA = 3, 7
LIMITS = PackLimits(object=10_000, differences=30_000, total=100_000)


def number(value: int) -> bytes:
    """7 bits a byte, the lowest first."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + number(rest) if rest else bytes([low])


def entry(kind: int, content: bytes, size: int | None = None) -> bytes:
    """An object whose header names its size, or another one."""
    size = len(content) if size is None else size
    low, rest = size & 15, size >> 4
    header = bytes([kind << 4 | low | 0x80]) + number(rest) if rest else bytes([kind << 4 | low])
    base = b"b" * 20 if kind == REFERENCE_DELTA else b""
    return header + base + zlib.compress(content)


def delta(result: int) -> bytes:
    return entry(REFERENCE_DELTA, number(5) + number(result) + b"\x90\x05")


def check(*entries: bytes, count: int | None = None, limits: PackLimits = LIMITS) -> int:
    content = b"PACK" + (2).to_bytes(4, "big") + (len(entries) if count is None else count).to_bytes(4, "big")
    return check_content(content + b"".join(entries) + b"c" * 20, limits)


def check_content(content: bytes, limits: PackLimits = LIMITS) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        with mmap(file.fileno(), 0, access=ACCESS_READ) as view:
            return check_pack(view, limits, lambda: None)


def test_packs_of_git_pass(tmp_path: Path):
    require_git()
    git = ("git", "-c", "user.name=o", "-c", "user.email=o@example.org")
    subprocess.run((*git, "init", "--quiet"), cwd=tmp_path, check=True)
    for revision in range(3):
        for name in range(5):
            (tmp_path / f"{name}.md").write_text("".join(f"line {line} of {name}\n" for line in range(revision + 300)))
        subprocess.run((*git, "add", "."), cwd=tmp_path, check=True)
        subprocess.run((*git, "commit", "--quiet", "--message", "x"), cwd=tmp_path, check=True)
    subprocess.run((*git, "repack", "--quiet", "-adf"), cwd=tmp_path, check=True)
    (pack,) = (tmp_path / ".git/objects/pack").glob("*.pack")
    # 3 commits with a tree and 5 files each.
    assert check_content(pack.read_bytes(), PackLimits(10_000, 100_000, 100_000)) == 21


def test_what_unpacks_beyond_a_limit_is_refused():
    assert check(entry(BLOB, b"a" * 10_000), delta(10_000)) == 2
    # A difference of a few bytes makes as much of a file as it likes.
    for entries in (
        [entry(BLOB, b"a" * 10_001)],
        [entry(BLOB, b"a", size=2**40)],
        [delta(10_001)],
        [delta(10_000)] * 4,
        [entry(BLOB, b"a" * 10_000)] * 11,
    ):
        with pytest.raises(PackTooLarge):
            check(*entries)


def test_damaged_packs_are_refused():
    for entries in ([entry(BLOB, b"abc", size=2)], [entry(BLOB, b"abc", size=4)], [entry(BLOB, b"abc")[:-6]]):
        with pytest.raises(PackDamaged):
            check(*entries)
    with pytest.raises(PackDamaged):
        check(entry(BLOB, b"abc"), count=2)
    with pytest.raises(PackDamaged):
        check_content(b"<html>not a pack</html>")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes):
    try:
        check(content, count=3)
    except (PackDamaged, PackTooLarge):
        return
