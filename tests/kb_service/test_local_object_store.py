"""The local object store: names, modes, leftovers, a full disk."""

import errno
import os
import stat
import time
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from core.errors.server import ObjectStoreUnavailable, StorageFull
from kb_service.object_storage.local import LocalObjectStore
from tests.fixtures.knowledge.stored_documents import blocks

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "files")


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("key", ["../escape", "a/b", "/etc/passwd", "a\\b", "", "..", ".incoming", "nul\x00", "a b"])
async def test_key_that_is_no_plain_name_is_refused(store: LocalObjectStore, tmp_path: Path, key: str):
    with pytest.raises(ValueError, match="object key"):
        await store.write(key, blocks(b"x"))
    with pytest.raises(ValueError, match="object key"):
        await store.delete(key)
    assert files_below(tmp_path) == []


async def test_what_others_keep_in_the_folder_hides_no_key(store: LocalObjectStore, tmp_path: Path):
    key = str(uuid4())
    await store.write(key, blocks(b"x"))
    (tmp_path / "files" / ".DS_Store").touch()
    assert await store.keys() == [key]


async def test_upload_that_ends_while_the_keys_are_listed_is_no_error(store: LocalObjectStore, tmp_path: Path):
    key = str(uuid4())
    await store.write(key, blocks(b"x"))
    # As a file that was moved to its place since the folder was read: it has a name and no more.
    (tmp_path / "files" / ".incoming" / "gone").symlink_to(tmp_path / "nowhere")
    assert await store.keys() == [key]


async def test_files_are_their_owners_alone(store: LocalObjectStore, tmp_path: Path):
    await store.write(str(uuid4()), blocks(b"x"))
    for path in (tmp_path / "files").rglob("*"):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


async def test_bytes_and_both_folders_reach_the_disk_before_the_name_is_there(
    store: LocalObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root, key = tmp_path / "files", str(uuid4())
    synced: list[tuple[Path, bool]] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((path, (root / key[:2] / key).exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    await store.write(key, blocks(b"x"))
    assert [(path.parent.name, is_there) for path, is_there in synced[:1]] == [(".incoming", False)]
    assert synced[1:] == [(root / key[:2], True), (root, True)]


async def test_a_few_files_reach_the_disk_before_any_has_a_name_and_each_folder_once(
    store: LocalObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root, keys = tmp_path / "files", ["aa1", "aa2", "bb1"]
    synced: list[Path] = []
    names_then: list[int] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        names_then.append(sum((root / key[:2] / key).exists() for key in keys))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    await store.write_few(dict.fromkeys(keys, b"x"))
    assert [path.parent.name for path in synced[:3]] == [".incoming"] * 3
    assert sorted(synced[3:5]) == [root / "aa", root / "bb"]
    assert synced[5:] == [root]
    assert names_then == [0, 0, 0, 3, 3, 3]


@pytest.mark.parametrize(("number", "error"), [(errno.ENOSPC, StorageFull), (errno.EIO, ObjectStoreUnavailable)])
@pytest.mark.parametrize("call", range(1, 6))
async def test_disk_that_fails_between_a_few_files_leaves_none(
    store: LocalObjectStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: int,
    number: int,
    error: type[Exception],
):
    calls = count(1)

    def fail(_descriptor: int) -> None:
        if next(calls) == call:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        await store.write_few(dict.fromkeys(["aa1", "aa2", "bb1"], b"x"))
    assert files_below(tmp_path) == []


async def test_old_leftovers_are_removed_and_young_ones_stay(store: LocalObjectStore, tmp_path: Path):
    incoming = tmp_path / "files" / ".incoming"
    (incoming / "old").write_bytes(b"x")
    (incoming / "young").write_bytes(b"x")
    past = time.time() - 7200
    os.utime(incoming / "old", (past, past))
    assert await store.keys() == []
    assert [path.name for path in incoming.iterdir()] == ["young"]


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EIO, ObjectStoreUnavailable),
    ],
)
async def test_disk_that_takes_no_more_leaves_nothing(
    store: LocalObjectStore, tmp_path: Path, number: int, error: type[Exception]
):
    async def content() -> AsyncIterator[bytes]:
        yield b"x" * 1000
        raise OSError(number, os.strerror(number))

    with pytest.raises(error):
        await store.write(str(uuid4()), content())
    assert files_below(tmp_path) == []


async def test_folder_that_is_gone_is_named(store: LocalObjectStore, tmp_path: Path):
    (tmp_path / "files" / ".incoming").rmdir()
    with pytest.raises(ObjectStoreUnavailable):
        await store.ping()
    with pytest.raises(ObjectStoreUnavailable):
        await store.write(str(uuid4()), blocks(b"x"))
