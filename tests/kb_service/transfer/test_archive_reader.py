"""The reader of transfer archives: hostile files are refused with a reason."""

import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from core.errors.requests import InvalidArchive
from kb_service.transfer import arrays
from kb_service.transfer.archive_format import DocumentContent, PointEntry
from kb_service.transfer.archive_reader import ArchiveReader, ArchiveReadLimits
from kb_service.transfer.arrays import NumberedPoint
from kb_service.vector_index.protocol import SparseVector
from tests.fixtures.knowledge.kb_transfers import Parts, pack, unpack

pytestmark = pytest.mark.anyio

DIMENSION = 4
LIMITS = ArchiveReadLimits(original_bytes=1000, unpacked_bytes=100_000)
ORIGINAL = b"# A\n\nA zebra sleeps."
SHARD = "shards/000000"
Change = Callable[[Parts], Parts]


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def document(**fields: Any) -> dict[str, Any]:
    return {
        "number": 1,
        "name": "a.md",
        "file_type": "markdown",
        "media_type": "text/markdown",
        "file_size": len(ORIGINAL),
        "sha256": hashlib.sha256(ORIGINAL).hexdigest(),
        "state": "indexed",
        "chunk_count": 2,
        **fields,
    }


def chunk(position: int, **fields: Any) -> dict[str, Any]:
    return {"document": 1, "position": position, "content": f"zebra {position}", **fields}


def point(chunk_position: int, window: int | None = None, **fields: Any) -> NumberedPoint:
    sparse = SparseVector((), ()) if window is not None else SparseVector((3, 9), (0.5, 1.5))
    dense = np.full(DIMENSION, 0.5, dtype=np.float32)
    entry = PointEntry(chunk_position, window, dense, fields.get("sparse", sparse))
    return NumberedPoint(fields.get("document", 1), entry)


def sample() -> Parts:
    """A small, whole knowledge base."""
    packed_points = arrays.pack([point(0), point(0, 0), point(1)], DIMENSION)
    manifest = {
        "format": "agentex-knowledge-base",
        "version": 1,
        "product": "test",
        "knowledge_base": {
            "name": "Docs",
            "embedding_model": "all-MiniLM-L6-v2",
            "splitter": "heading_recursive",
            "chunk_size": 500,
            "chunk_overlap": 50,
        },
        "dimension": DIMENSION,
        "counts": {
            "documents": 1,
            "chunks": 2,
            "points": 3,
            "questions": 1,
            "original_bytes": len(ORIGINAL),
            "shards": 1,
        },
    }
    return {
        "originals/000001": ORIGINAL,
        f"{SHARD}/documents.jsonl": lines(document()),
        f"{SHARD}/chunks.jsonl": lines(chunk(0), chunk(1)),
        **{f"{SHARD}/{name}.npy": content for name, content in packed_points.items()},
        "questions.jsonl": lines({"question": "Who sleeps?", "document": "a.md"}),
        "manifest.json": json.dumps(manifest).encode(),
    }


def open_archive(content: bytes, limits: ArchiveReadLimits = LIMITS) -> ArchiveReader:
    return ArchiveReader(io.BytesIO(content), limits)


async def contents(archive: ArchiveReader) -> list[tuple[DocumentContent, bytes]]:
    return [(content, b"".join([block async for block in content.original])) async for content in archive.contents()]


def with_manifest(**fields: Any) -> Change:
    def change(parts: Parts) -> Parts:
        manifest = json.loads(parts["manifest.json"])
        for path, value in fields.items():
            *outer, last = path.split("__")
            target = manifest
            for name in outer:
                target = target[name]
            target[last] = value
        return {**parts, "manifest.json": json.dumps(manifest).encode()}

    return change


def with_part(name: str, content: bytes) -> Change:
    return lambda parts: {**parts, name: content}


def without(name: str) -> Change:
    return lambda parts: {key: value for key, value in parts.items() if key != name}


def with_documents(*values: dict[str, Any]) -> Change:
    return with_part(f"{SHARD}/documents.jsonl", lines(*values))


def with_chunks(*values: dict[str, Any]) -> Change:
    return with_part(f"{SHARD}/chunks.jsonl", lines(*values))


def with_points(*points: NumberedPoint) -> Change:
    made = arrays.pack(points, DIMENSION)
    return lambda parts: {**parts, **{f"{SHARD}/{name}.npy": data for name, data in made.items()}}


def header(text: str, data: bytes = b"", *, version: tuple[int, int] = (1, 0)) -> bytes:
    """An array file with whatever header."""
    raw = text.encode()
    return npy.MAGIC_PREFIX + bytes(version) + struct.pack("<H", len(raw)) + raw + data


def array(values: Any, kind: str) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, np.asarray(values, dtype=kind), version=(1, 0))
    return file.getvalue()


async def test_sample_is_read_as_it_is():
    archive = open_archive(pack(sample()))
    ((content, original),) = await contents(archive)
    assert original == ORIGINAL
    assert [one.content for one in content.chunks] == ["zebra 0", "zebra 1"]
    assert [(one.chunk, one.window) for one in content.points] == [(0, None), (0, 0), (1, None)]
    assert content.points[0].sparse == SparseVector((3, 9), (0.5, 1.5))
    assert [draft.text for draft in archive.questions] == ["Who sleeps?"]


REFUSED_AT_ONCE: dict[str, Change] = {
    "another format": with_manifest(format="something-else"),
    "a later version": with_manifest(version=2),
    "version as text": with_manifest(version="one"),
    "no manifest": without("manifest.json"),
    "manifest is no JSON": with_part("manifest.json", b"{"),
    "manifest is deep": with_part("manifest.json", b"[" * 100_000),
    "absurd dimension": with_manifest(dimension=10**9),
    "absurd document count": with_manifest(counts__documents=10**12),
    "absurd shard count": with_manifest(counts__shards=10**9),
    "shard count that is not there": with_manifest(counts__shards=5),
    "negative count": with_manifest(counts__chunks=-1),
    "too many documents announced": with_manifest(counts__documents=2),
    "too few chunks announced": with_manifest(counts__chunks=1),
    "other bytes announced": with_manifest(counts__original_bytes=1),
    "empty name": with_manifest(knowledge_base__name=""),
    "name with NUL": with_manifest(knowledge_base__name="a\0b"),
    "slip": with_part("../evil", b"x"),
    "absolute name": with_part("/etc/passwd", b"x"),
    "backslash slip": with_part("..\\evil", b"x"),
    "slip below a known folder": with_part("originals/../../evil", b"x"),
    "number with other digits": with_part("originals/٠٠٠٠٠١", b"x"),
    "folder": with_part("originals/", b""),
    "part that belongs to nothing": with_part("originals/000002", b"x"),
    "file that is missing": without("originals/000001"),
    "file of another size": with_part("originals/000001", ORIGINAL + b"x"),
    "array that is missing": without(f"{SHARD}/dense.npy"),
    "questions that are missing": without("questions.jsonl"),
    "document twice": with_documents(document(), document(name="b.md")),
    "document number 0": with_documents(document(number=0)),
    "name of a path": with_documents(document(name="../../a.md")),
    "name with a direction mark": with_documents(document(name="a\u202efdp.md")),
    "name too long": with_documents(document(name="x" * 300)),
    "media type with a line end": with_documents(document(media_type="text/x\r\nSet-Cookie: a")),
    "negative size": with_documents(document(file_size=-1)),
    "unknown state": with_documents(document(state="public")),
    "chunks without an index": with_documents(document(state="waiting")),
    "absurd chunk count": with_documents(document(chunk_count=10**12)),
    "line without an end": with_part(f"{SHARD}/documents.jsonl", lines(document())[:-1]),
    "attributes too large": with_documents(document(attributes={"a": "x" * 100_000})),
    "attributes with NUL": with_documents(document(attributes={"a": ["x\0"]})),
    "question that is empty": with_part("questions.jsonl", lines({"question": "", "document": "a"})),
    "question about a document that is not there": with_part(
        "questions.jsonl", lines({"question": "q", "document": "a.md", "restricted_to": [2]})
    ),
    "lone surrogate": with_part(
        f"{SHARD}/documents.jsonl",
        json.dumps(document()).replace("a.md", "\\ud800.md").encode() + b"\n",
    ),
}


@pytest.mark.parametrize("change", REFUSED_AT_ONCE.values(), ids=REFUSED_AT_ONCE)
def test_file_that_is_not_whole_or_breaks_a_rule_is_refused_at_once(change: Change):
    with pytest.raises(InvalidArchive):
        open_archive(pack(change(sample())))


DENSE = f"{SHARD}/dense.npy"
HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }\n"
REFUSED_WHEN_READ: dict[str, Change] = {
    "chunk of another document": with_chunks(chunk(0), chunk(1, document=2)),
    "chunk twice": with_chunks(chunk(0), chunk(0)),
    "chunk missing": with_chunks(chunk(0)),
    "chunk too many": with_chunks(chunk(0), chunk(1), chunk(2)),
    "chunk with NUL": with_chunks(chunk(0), chunk(1, content="a\0")),
    "chunk that is no object": with_part(f"{SHARD}/chunks.jsonl", b"1\n2\n"),
    "span beyond the column": with_chunks(chunk(0), chunk(1, char_end=2**40)),
    "point of another document": with_points(point(0), point(1), point(0, document=7)),
    "point of no chunk": with_points(point(0), point(1), point(2)),
    "point twice": with_points(point(0), point(0)),
    "term twice": with_points(point(0), point(1, sparse=SparseVector((3, 3), (1.0, 1.0)))),
    "weight that is no number": with_points(point(1, sparse=SparseVector((3,), (float("nan"),)))),
    "infinite vector": with_part(DENSE, array([[np.inf] * 4] * 3, "<f4")),
    "vector that is no number": with_part(DENSE, array([[np.nan] * 4] * 3, "<f4")),
    "doubles": with_part(DENSE, array([[0.5] * 4] * 3, "<f8")),
    "big-endian": with_part(DENSE, array([[0.5] * 4] * 3, ">f4")),
    "another dimension": with_part(DENSE, array([[0.5] * 5] * 3, "<f4")),
    "one dimension": with_part(DENSE, array([0.5] * 12, "<f4")),
    "too few vectors": with_part(DENSE, array([[0.5] * 4] * 2, "<f4")),
    "column order": with_part(DENSE, array(np.asfortranarray([[0.5] * 4] * 3), "<f4")),
    "header larger than the data": with_part(DENSE, header(HUGE, b"\0" * 48)),
    "negative shape": with_part(
        DENSE, header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4), }\n", b"\0" * 48)
    ),
    "header that calls": with_part(DENSE, header("__import__('os').system('true')\n", b"\0" * 48)),
    "header that nests": with_part(DENSE, header("(" * 3000 + ")" * 3000, b"")),
    "header without an end": with_part(DENSE, npy.MAGIC_PREFIX + b"\x01\x00\xff\xff{"),
    "later array version": with_part(DENSE, header(HUGE, version=(3, 0))),
    "empty array file": with_part(DENSE, b""),
    "structured type": with_part(
        DENSE,
        header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4), }\n", b"\0" * 48),
    ),
}


@pytest.mark.parametrize("change", REFUSED_WHEN_READ.values(), ids=REFUSED_WHEN_READ)
async def test_chunks_and_vectors_are_checked_when_they_are_read(change: Change):
    archive = open_archive(pack(change(sample())))
    with pytest.raises(InvalidArchive):
        await contents(archive)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._path),)


async def test_pickled_array_is_never_unpickled(tmp_path: Path):
    evil = io.BytesIO()
    npy.write_array(evil, np.array([[Bomb(tmp_path / "hit")] * 4] * 3, dtype=object))
    assert pickle.dumps(Bomb(tmp_path))
    archive = open_archive(pack(with_part(DENSE, evil.getvalue())(sample())))
    with pytest.raises(InvalidArchive):
        await contents(archive)
    assert not (tmp_path / "hit").exists()


def test_limits_of_size_hold():
    content = pack(sample())
    total = sum(map(len, sample().values()))
    open_archive(content, ArchiveReadLimits(original_bytes=len(ORIGINAL), unpacked_bytes=total))
    for limits in (
        ArchiveReadLimits(len(ORIGINAL) - 1, total),
        ArchiveReadLimits(len(ORIGINAL), total - 1),
    ):
        with pytest.raises(InvalidArchive):
            open_archive(content, limits)


def test_zip_bomb_is_refused_before_it_is_unpacked():
    bomb = pack({**sample(), f"{SHARD}/chunks.jsonl": bytes(100 * 2**20)})
    assert len(bomb) < 200_000
    wide = ArchiveReadLimits(original_bytes=2**30, unpacked_bytes=2**40)
    with pytest.raises(InvalidArchive) as error:
        open_archive(bomb, wide)
    assert "too much" in str(error.value.details["error"])


async def test_size_in_the_directory_is_no_way_around_the_limits():
    # The directory says one byte, the stream holds more: what is read is what was announced.
    content = bytearray(pack(sample()))
    name = b"originals/000001"
    at = content.rfind(name) - 46
    struct.pack_into("<L", content, at + 24, 5)
    with pytest.raises(InvalidArchive):
        await contents(open_archive(bytes(content)))


def test_encrypted_doubled_and_overlapping_parts_are_refused():
    plain = pack(sample())
    encrypted = bytearray(plain)
    encrypted[encrypted.find(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InvalidArchive):
        open_archive(bytes(encrypted))
    doubled = io.BytesIO(plain)
    with (
        zipfile.ZipFile(doubled, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("manifest.json", b"{}")
    with pytest.raises(InvalidArchive):
        open_archive(doubled.getvalue())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"%PDF-1.7", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_such_file_is_refused(content: bytes):
    with pytest.raises(InvalidArchive):
        open_archive(content)


def test_directory_that_claims_to_be_huge_is_not_read():
    content = bytearray(pack(sample()))
    end = content.rfind(b"PK\x05\x06")
    struct.pack_into("<L", content, end + 12, 2**31)
    with pytest.raises(InvalidArchive) as error:
        open_archive(bytes(content))
    assert "directory" in str(error.value.details["error"])


@settings(max_examples=150, deadline=None)
@given(data=st.data())
async def test_any_damage_is_refused_or_harmless(data: st.DataObject):
    whole = pack(sample())
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:at]
    else:
        damaged = whole[:at] + data.draw(st.binary(min_size=1, max_size=8)) + whole[at + 1 :]
    try:
        read = await contents(open_archive(damaged))
    except InvalidArchive:
        return
    # A bit that nobody looks at, such as a date: then all is as it was.
    assert [original for _, original in read] == [ORIGINAL]


def test_helpers_agree():
    assert unpack(pack(sample())) == sample()
