"""The format of backups: blobs, manifests and repositories, whole, changed and cut off."""

import io
import random
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_service.backup.blob_format import BlobDamaged, decode, encode
from kb_service.backup.encryption import NO_KEYS, RepositoryKeys
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.manifest import BackupCounts, BackupManifest, BlobRef, ColumnKind, ColumnSpec, RowStream
from kb_service.backup.repository import BackupRepository, create_repository, needs_passphrase, open_repository
from kb_service.backup.row_format import RowWriter, read_rows
from kb_service.backup.verify import verify

SEALED = RepositoryKeys(bytes(range(32)), bytes(range(32, 64)))
keys_of = st.sampled_from([NO_KEYS, SEALED])
# Around the size of a sealed segment, where the last one must be told from a full one.
sizes = st.one_of(st.integers(0, 200), st.sampled_from([2**16 - 1, 2**16, 2**16 + 1, 2**17, 3 * 2**16 + 5]))


def content_of(size: int, seed: bytes, *, is_dull: bool) -> bytes:
    return bytes(size) if is_dull else seed * (size // 16 + 1)


pieces = st.builds(content_of, sizes, st.binary(min_size=16, max_size=16), is_dull=st.booleans())
contents = st.lists(pieces, max_size=4)
PASSPHRASE = "five-words-of-no-sense"


def stored(blocks: list[bytes], keys: RepositoryKeys) -> bytes:
    return b"".join(encode(iter(blocks), keys))


@given(contents, keys_of)
def test_content_comes_back_as_it_was(blocks: list[bytes], keys: RepositoryKeys):
    assert b"".join(decode(io.BytesIO(stored(blocks, keys)), keys)) == b"".join(blocks)


@given(contents, st.data())
def test_sealed_content_that_was_changed_or_cut_off_is_refused(blocks: list[bytes], data: st.DataObject):
    content = stored(blocks, SEALED)
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(changed), content[:place], content + b"x"):
        with pytest.raises(BlobDamaged):
            b"".join(decode(io.BytesIO(bad), SEALED))


def test_segments_of_a_sealed_content_can_not_be_exchanged():
    segment, head = 2**16 + 16, 38
    content = stored([random.Random(7).randbytes(4 * 2**16)], SEALED)
    swapped = content[:head] + content[head + segment : head + 2 * segment] + content[head : head + segment]
    swapped += content[len(swapped) :]
    assert len(swapped) == len(content) == head + 4 * segment
    with pytest.raises(BlobDamaged):
        b"".join(decode(io.BytesIO(swapped), SEALED))


def test_blobs_of_other_keys_and_plain_ones_in_an_encrypted_repository_are_refused():
    other = RepositoryKeys(bytes(32), bytes(32))
    for content, keys in (
        (stored([b"a"], SEALED), other),
        (stored([b"a"], NO_KEYS), SEALED),
        (stored([b"a"], SEALED), NO_KEYS),
    ):
        with pytest.raises(BlobDamaged):
            b"".join(decode(io.BytesIO(content), keys))


@pytest.fixture(params=[None, PASSPHRASE], ids=["plain", "encrypted"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> BackupRepository:
    return create_repository(tmp_path / "backups", request.param)


COLUMNS = (ColumnSpec(name="name", kind=ColumnKind.TEXT), ColumnSpec(name="place", kind=ColumnKind.INTEGER))


def rows_of(count: int) -> list[list[object]]:
    return [[f"name-{number:06}" * 20, number] for number in range(count)]


def write_rows(repository: BackupRepository, rows: list[list[object]]) -> RowStream:
    writer = RowWriter(repository, COLUMNS, [0])
    writer.add(rows)
    return writer.finish()


def back_up(repository: BackupRepository, backup_id: str = "20260101T000000000Z-aaaaaa") -> BackupManifest:
    """A backup of a table, without files and vectors."""
    rows = write_rows(repository, rows_of(3000))
    nothing = RowStream(columns=COLUMNS, blobs=())
    manifest = BackupManifest(
        id=backup_id,
        repository=repository.id,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        product="1",
        schema_revision="0001",
        database="sqlite",
        tables={"things": rows},
        files=nothing,
        vectors=nothing,
        models=(),
        secret_key_mark="0" * 32,
        counts=BackupCounts(documents=0, files=0, file_bytes=0, points=0, rows=rows.rows),
    )
    repository.commit(manifest)
    return manifest


def blob_path(repository: BackupRepository, blob: BlobRef) -> Path:
    return repository.root / "blobs" / blob.id[:2] / blob.id


def faults_of(repository: BackupRepository) -> set[tuple[str, BackupFault]]:
    return {(finding.part, finding.error.fault) for finding in verify(repository, repository.backup_ids()).findings}


def test_backup_reads_back_after_opening_the_folder_again(repository: BackupRepository):
    manifest = back_up(repository)
    opened = open_repository(repository.root, PASSPHRASE if needs_passphrase(repository.root) else None)
    assert opened.manifest() == manifest
    assert [row for rows in read_rows(opened, manifest.tables["things"]) for row in rows] == rows_of(3000)
    report = verify(opened, opened.backup_ids())
    assert (report.findings, report.backups, report.blobs) == ([], 1, len(manifest.tables["things"].blobs))


def test_files_are_for_their_owner_only(repository: BackupRepository):
    back_up(repository)
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in repository.root.rglob("*")} == {0}


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "gone"])
def test_damaged_blob_is_named_with_its_table(repository: BackupRepository, damage: str):
    path = blob_path(repository, back_up(repository).tables["things"].blobs[1])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"flip": bytes(content), "cut": bytes(content[:-1]), "empty": b""}[damage])
    fault = BackupFault.BLOB_MISSING if damage == "gone" else BackupFault.BLOB_DAMAGED
    assert faults_of(repository) == {("table things", fault)}


def test_flipped_bit_of_a_content_that_was_not_compressed_is_noticed(repository: BackupRepository):
    blob = repository.add(iter([random.Random(7).randbytes(3 * 2**18)]))
    content = bytearray(blob_path(repository, blob).read_bytes())
    content[1000] ^= 1
    blob_path(repository, blob).write_bytes(content)
    with pytest.raises(BackupError) as caught:
        list(repository.read(blob))
    assert caught.value.fault is BackupFault.BLOB_DAMAGED


@pytest.mark.parametrize("length", [0, 10, 65, 200, -1])
def test_manifest_that_is_cut_off_is_damaged_and_others_stay_whole(repository: BackupRepository, length: int):
    back_up(repository)
    later = back_up(repository, "20260202T000000000Z-bbbbbb")
    path = repository.root / "backups" / f"{later.id}.manifest"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(BackupError) as caught:
        repository.manifest()
    assert caught.value.fault is BackupFault.MANIFEST_DAMAGED
    assert {(f.backup, f.error.fault) for f in verify(repository, repository.backup_ids()).findings} == {
        (later.id, BackupFault.MANIFEST_DAMAGED)
    }
    assert repository.manifest("20260101T000000000Z-aaaaaa").counts.rows == 3000


def test_manifest_of_another_repository_is_none_of_this(tmp_path: Path):
    first, second = (create_repository(tmp_path / name, None) for name in ("a", "b"))
    manifest = back_up(first)
    shutil.copytree(first.root / "backups", second.root / "backups", dirs_exist_ok=True)
    with pytest.raises(BackupError) as caught:
        second.manifest(manifest.id)
    assert caught.value.fault is BackupFault.MANIFEST_DAMAGED


def test_equal_content_is_stored_once_and_new_rows_change_their_own_blob(repository: BackupRepository):
    first = back_up(repository)
    again = open_repository(repository.root, PASSPHRASE if repository.is_encrypted else None)
    for blob in first.tables["things"].blobs:
        assert again.trust(blob)
    rows = rows_of(3000)
    rows.insert(1500, ["name-001499" * 20 + "b", 0])
    second = write_rows(again, rows)
    old = {blob.id for blob in first.tables["things"].blobs}
    assert len(old) > 10
    assert len({blob.id for blob in second.blobs} - old) <= 3


def test_blob_that_lost_its_length_is_written_again(repository: BackupRepository):
    blob = back_up(repository).tables["things"].blobs[0]
    blob_path(repository, blob).write_bytes(b"")
    again = open_repository(repository.root, PASSPHRASE if repository.is_encrypted else None)
    assert not again.trust(blob)
    write_rows(again, rows_of(3000))
    assert faults_of(again) == set()


def test_passphrase_is_checked_at_once(tmp_path: Path):
    create_repository(tmp_path / "sealed", PASSPHRASE)
    create_repository(tmp_path / "plain", None)
    cases = {
        ("sealed", "five-words-of-no-sensE"): BackupFault.PASSPHRASE_WRONG,
        ("sealed", None): BackupFault.PASSPHRASE_MISSING,
        ("plain", PASSPHRASE): BackupFault.NOT_ENCRYPTED,
        ("absent", None): BackupFault.NO_REPOSITORY,
    }
    for (name, passphrase), fault in cases.items():
        with pytest.raises(BackupError) as caught:
            open_repository(tmp_path / name, passphrase)
        assert caught.value.fault is fault


def test_folder_with_other_things_becomes_no_repository(tmp_path: Path):
    (tmp_path / "letter.txt").write_text("Dear Ada")
    with pytest.raises(BackupError) as caught:
        create_repository(tmp_path, None)
    assert caught.value.fault is BackupFault.FOLDER_NOT_EMPTY
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_second_writer_is_refused_and_leftovers_of_a_killed_one_go(repository: BackupRepository):
    leftover = repository.root / "incoming" / "half"
    leftover.write_bytes(b"half a blob")
    with repository.writing():
        assert not leftover.exists()
        with pytest.raises(BackupError) as caught, repository.writing():
            pass
        assert caught.value.fault is BackupFault.IN_USE


def test_later_format_is_refused_by_name(repository: BackupRepository):
    path = repository.root / "repository.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(BackupError) as caught:
        open_repository(repository.root, PASSPHRASE)
    assert caught.value.fault is BackupFault.NEWER_FORMAT
