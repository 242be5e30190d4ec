"""Removal of backups: whatever is removed, and wherever it is stopped, those that remain are whole."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.overview import list_backups
from kb_service.backup.progress import BackupStep
from kb_service.backup.removal import BackupRemoval, remove
from kb_service.backup.repository import BackupRepository, create_repository, open_repository
from kb_service.backup.retention import RetentionPolicy, expired
from kb_service.backup.verify import verify
from tests.fixtures.knowledge.backups import commit_files

PASSPHRASE = "five-words-of-no-sense"


@pytest.fixture(params=[None, PASSPHRASE], ids=["plain", "encrypted"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> BackupRepository:
    return create_repository(tmp_path / "backups", request.param)


def id_of(number: int) -> str:
    return f"{datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number):%Y%m%dT%H%M%S}000Z-{number:06x}"


def blobs_on_disk(repository: BackupRepository) -> set[str]:
    return {path.name for path in (repository.root / "blobs").glob("*/*")}


def remove_only(repository: BackupRepository, *ids: str) -> BackupRemoval:
    return remove(repository, lambda _: ids)


def fault_of(act: Callable[[], object]) -> BackupFault:
    with pytest.raises(BackupError) as caught:
        act()
    return caught.value.fault


class _Killed(Exception):
    pass


class _KilledAfter:
    """Progress that ends a removal after so many deleted blobs."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __call__(self, step: BackupStep, done: int, _total: int | None) -> None:
        if step is BackupStep.DELETED and done > self._count:
            raise _Killed


_TEXTS = st.sets(st.integers(0, 12), min_size=1, max_size=6)
_ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), _TEXTS),
        st.tuples(st.just("remove"), st.sets(st.integers(0, 8), max_size=3)),
        st.tuples(st.just("killed"), st.tuples(st.integers(0, 8), st.integers(0, 4))),
    ),
    min_size=2,
    max_size=10,
)


@settings(max_examples=40)
@given(_ACTS)
def test_remaining_backups_are_whole_after_any_acts_and_nothing_else_is_left_at_the_end(acts: list[tuple[str, object]]):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "backups"
        create_repository(root, None)
        expected: dict[str, set[int]] = {}
        for number, (act, detail) in enumerate(acts):
            repository = open_repository(root, None)
            ids = repository.backup_ids()
            match act, detail:
                case "create", set():
                    with repository.writing():
                        commit_files(repository, id_of(number), {f"file-{text}": f"text {text}" for text in detail})
                    expected[id_of(number)] = detail
                case "remove", set():
                    chosen = [ids[place] for place in detail if place < len(ids)]
                    remove_only(repository, *chosen)
                    expected = {id_: texts for id_, texts in expected.items() if id_ not in chosen}
                case _, (place, count):
                    chosen = ids[place : place + 1]
                    with suppress(_Killed):
                        remove(repository, lambda _, chosen=chosen: chosen, _KilledAfter(count))
                    expected = {id_: texts for id_, texts in expected.items() if id_ not in chosen}
                case _:
                    raise AssertionError
            report = verify(repository, repository.backup_ids())
            assert (repository.backup_ids(), report.findings) == (sorted(expected), [])
        repository = open_repository(root, None)
        remove_only(repository)
        whole = verify(repository, repository.backup_ids())
        assert len(blobs_on_disk(repository)) == whole.blobs + len(expected_lists(repository))


def expected_lists(repository: BackupRepository) -> set[str]:
    """The blobs of the lists of files, which a check reads but does not count."""
    return {blob.id for id_ in repository.backup_ids() for blob in repository.manifest(id_).files.blobs}


def test_removal_frees_what_only_that_backup_held(repository: BackupRepository):
    commit_files(repository, id_of(1), {"a": "plum", "b": "pear"})
    before = blobs_on_disk(repository)
    commit_files(repository, id_of(2), {"a": "plum", "c": "fig " * 1000})
    new = {name for name in blobs_on_disk(repository) if name not in before}
    sizes = sum(path.stat().st_size for path in (repository.root / "blobs").glob("*/*") if path.name in new)
    verify(repository, repository.backup_ids())
    report = remove_only(repository, id_of(2))
    assert (report.backups, report.blobs, report.freed_bytes) == ((id_of(2),), 2, sizes)
    assert blobs_on_disk(repository) == before
    assert sorted(path.name for path in (repository.root / "backups").iterdir()) == [
        f"{id_of(1)}.manifest",
        f"{id_of(1)}.verified",
    ]


def test_nothing_goes_while_a_backup_that_stays_can_not_be_read(repository: BackupRepository):
    for number in (1, 2, 3):
        commit_files(repository, id_of(number), {"a": f"text {number}"})
    before = blobs_on_disk(repository)
    path = repository.root / "backups" / f"{id_of(2)}.manifest"
    path.write_bytes(path.read_bytes()[:-1])
    assert fault_of(lambda: remove_only(repository, id_of(1))) is BackupFault.MANIFEST_DAMAGED
    assert (blobs_on_disk(repository), len(repository.backup_ids())) == (before, 3)
    assert [summary.manifest is None for summary in list_backups(repository)] == [False, True, False]
    # The damaged one itself can go.
    assert remove_only(repository, id_of(2)).blobs == 2
    assert verify(repository, repository.backup_ids()).findings == []


def test_removal_with_a_missing_list_of_files_deletes_nothing(repository: BackupRepository):
    first = commit_files(repository, id_of(1), {"a": "plum"})
    commit_files(repository, id_of(2), {"b": "pear"})
    blob = first.files.blobs[0]
    (repository.root / "blobs" / blob.id[:2] / blob.id).unlink()
    before = blobs_on_disk(repository)
    assert fault_of(lambda: remove_only(repository, id_of(2))) is BackupFault.BLOB_MISSING
    assert (blobs_on_disk(repository), len(repository.backup_ids())) == (before, 2)


def test_removal_waits_for_writers_and_readers_by_refusing(repository: BackupRepository):
    commit_files(repository, id_of(1), {"a": "plum"})
    other = open_repository(repository.root, PASSPHRASE if repository.is_encrypted else None)
    with other.writing():
        assert fault_of(lambda: remove_only(repository, id_of(1))) is BackupFault.IN_USE
    with other.reading():
        assert fault_of(lambda: remove_only(repository, id_of(1))) is BackupFault.BEING_READ
        with repository.writing(), repository.reading():
            pass
    with other.removing():
        assert fault_of(lambda: list_backups(repository)) is BackupFault.IN_USE
    assert repository.backup_ids() == [id_of(1)]
    assert fault_of(lambda: remove_only(repository, "another")) is BackupFault.UNKNOWN_BACKUP


def test_files_of_other_names_stay(repository: BackupRepository):
    commit_files(repository, id_of(1), {"a": "plum"})
    strange = repository.root / "blobs" / "ab"
    strange.mkdir(exist_ok=True)
    (strange / "letter.txt").write_text("Dear Ada")
    remove_only(repository, id_of(1))
    assert blobs_on_disk(repository) == {"letter.txt"}


def test_removal_that_is_killed_leaves_whole_backups_and_the_next_ends_it(tmp_path: Path):
    repository = create_repository(tmp_path / "backups", None)
    commit_files(repository, id_of(1), {"a": "plum"})
    kept = blobs_on_disk(repository)
    commit_files(repository, id_of(2), {f"file-{number}": f"text {number}" for number in range(3000)})
    full = len(blobs_on_disk(repository))
    words = [sys.executable, "-m", "cli.main", "backup", "remove", repository.root, id_of(2), "--yes"]
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(blobs_on_disk(repository)) == full:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert kept < blobs_on_disk(repository)
    assert (repository.backup_ids(), verify(repository, repository.backup_ids()).findings) == ([id_of(1)], [])
    ended = subprocess.run(
        [sys.executable, "-m", "cli.main", "backup", "prune", str(repository.root), "--keep", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert blobs_on_disk(repository) == kept


_MOMENTS = st.lists(st.integers(0, 24 * 60), unique=True, min_size=1, max_size=40)
_POLICIES = st.builds(RetentionPolicy, st.integers(0, 5), st.integers(0, 5), st.integers(1, 5))


@given(_MOMENTS, _POLICIES)
def test_policy_keeps_the_newest_of_each_period_and_nothing_more(hours: list[int], policy: RetentionPolicy):
    ids = [id_of(hour) for hour in hours]
    gone = expired(ids, policy)
    kept = sorted(set(ids) - set(gone), reverse=True)
    assert kept[0] == max(ids)
    assert len(kept) <= policy.last + policy.daily + policy.weekly
    assert expired(kept, policy) == []
    days = sorted({id_[:8] for id_ in ids}, reverse=True)[: policy.daily]
    assert {max(id_ for id_ in ids if id_.startswith(day)) for day in days} <= set(kept)
    assert set(sorted(ids, reverse=True)[: policy.last]) <= set(kept)


def test_policy_leaves_strange_names_alone_and_must_keep_something():
    assert expired(["my-copy", id_of(1), id_of(2), "99999999T999999999Z-abcdef"], RetentionPolicy(last=1)) == [id_of(1)]
    with pytest.raises(ValueError, match="must keep"):
        RetentionPolicy()
