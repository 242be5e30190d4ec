"""The system figures while what they count changes."""

import shutil
from pathlib import Path

import pytest

from api import stats


def test_folder_that_goes_while_it_is_measured_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "segment").write_bytes(b"12345")
    (tmp_path / "wal").write_bytes(b"123")
    size = stats._size  # pyright: ignore[reportPrivateUsage]

    def measured(path: Path) -> int:
        # The other one, of which it is known already that it is there.
        for name in {"a", "b"} - {path.parent.name} if path.name == "segment" else ():
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        return size(path)

    monkeypatch.setattr(stats, "_size", measured)
    total = stats._folder_size(tmp_path)  # pyright: ignore[reportPrivateUsage]
    assert total == len(b"123") + len(b"12345")
