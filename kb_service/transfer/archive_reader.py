"""Reader of knowledge base archives: checks the whole file, then reads shard by shard."""

import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from anyio import to_thread
from pydantic import BaseModel, ValidationError

from core.errors.base import AgentexError
from core.errors.requests import InvalidArchive
from core.settings import Settings as AppSettings
from kb_service import document_names
from kb_service.documents.permissions import MOST_RESTRICTED
from kb_service.questions import MAX_EXPECTED, MAX_QUESTIONS, QuestionDraft, validate_draft
from kb_service.transfer import arrays, member_names
from kb_service.transfer.archive_format import (
    FORMAT,
    FORMAT_VERSION,
    MAX_DOCUMENTS,
    SHARD_DOCUMENTS,
    SHARD_POINTS,
    ArchivePart,
    ChunkEntry,
    Counts,
    DocumentContent,
    DocumentEntry,
    Extent,
    KnowledgeBaseSettings,
    Manifest,
    PointEntry,
    QuestionEntry,
)
from kb_service.transfer.arrays import NumberedPoint

_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_LONGEST_COMMENT = 65_535
_UNSET = 0xFFFFFFFF
# An entry takes about 70 bytes; even two per document would be many.
_MAX_DIRECTORY_BYTES = 64 * 2**20
_MAX_ENTRIES = 3 * MAX_DOCUMENTS
_MOST_RATIO = 100
_RATIO_FROM_BYTES = 64 * 2**20
# By the last part of the name. Members are read whole, so these bound the memory that an archive can take.
_MAX_PART_BYTES = {
    "manifest.json": 2**20,
    "questions.jsonl": 64 * 2**20,
    "documents.jsonl": 16 * 2**20,
    "chunks.jsonl": 256 * 2**20,
    "points.npy": 16 * 2**20,
    "dense.npy": 256 * 2**20,
    "sparse_indices.npy": 64 * 2**20,
    "sparse_values.npy": 64 * 2**20,
}
_STORED_OR_DEFLATED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True)
class ArchiveReadLimits:
    """Limits of an archive, in bytes."""

    original_bytes: int
    unpacked_bytes: int


def open_checked(file: BinaryIO, limits: ArchiveReadLimits) -> zipfile.ZipFile:
    """Open an archive whose directory keeps to the format and to the limits."""
    try:
        if _directory_bytes(file) > _MAX_DIRECTORY_BYTES:
            raise InvalidArchive("the directory is too large")
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise InvalidArchive("not a zip file, or not a whole one") from error
    _check(archive.infolist(), limits)
    return archive


def _directory_bytes(file: BinaryIO) -> int:
    """The size of the directory according to the end record, before reading it whole."""
    size = file.seek(0, 2)
    tail_from = max(0, size - _END_BYTES - _LONGEST_COMMENT)
    file.seek(tail_from)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0:
        raise zipfile.BadZipFile
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    if directory_bytes != _UNSET:
        return directory_bytes
    locator = tail_from + at - _LOCATOR_BYTES
    file.seek(max(0, locator))
    record = file.read(_LOCATOR_BYTES)
    if not record.startswith(_LOCATOR):
        return directory_bytes
    (end64,) = struct.unpack_from("<Q", record, 8)
    file.seek(end64)
    record = file.read(_END64_BYTES)
    if not record.startswith(_END64):
        raise zipfile.BadZipFile
    return struct.unpack_from("<Q", record, 40)[0]


def _check(members: Iterable[zipfile.ZipInfo], limits: ArchiveReadLimits) -> None:
    names: set[str] = set()
    unpacked = packed = 0
    for member in members:
        if not member_names.is_known(member.filename) or member.filename in names:
            raise InvalidArchive("it has a part of an unknown name, or one twice")
        names.add(member.filename)
        if member.flag_bits & 1 or member.compress_type not in _STORED_OR_DEFLATED:
            raise InvalidArchive("a part is encrypted or packed in an unknown way")
        if member.file_size > _limit_of(member.filename, limits):
            raise InvalidArchive(f"{member.filename} is too large")
        unpacked += member.file_size
        packed += member.compress_size
    if len(names) > _MAX_ENTRIES:
        raise InvalidArchive("it has too many parts")
    too_dense = unpacked > _RATIO_FROM_BYTES and unpacked > _MOST_RATIO * packed
    if unpacked > limits.unpacked_bytes or too_dense:
        raise InvalidArchive("it holds too much")


def _limit_of(name: str, limits: ArchiveReadLimits) -> int:
    if name.startswith("originals/"):
        return limits.original_bytes
    return _MAX_PART_BYTES[name.rpartition("/")[2]]


_BLOCK = 2**20
# Text compresses to a third or a quarter, vectors hardly at all.
_UNPACKED = 4
_MAX_QUESTION_LINES = MAX_QUESTIONS * MAX_EXPECTED
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)

P = TypeVar("P", bound=ArchivePart)


class _FormatHeader(BaseModel):
    format: str
    version: int


class ArchiveReader:
    """An open, checked archive. Its methods block and are for threads; ``contents`` is not.

    Raises:
        InvalidArchive: wrong format or version, a limit exceeded, or not what its manifest says. Chunks and vectors are
            checked when they are read.
    """

    def __init__(self, file: BinaryIO, limits: ArchiveReadLimits) -> None:
        self._zip = open_checked(file, limits)
        self._sizes = {member.filename: member.file_size for member in self._zip.infolist()}
        self.manifest = self._read_manifest()
        self._check_documents()
        self.questions = self._read_questions()

    @property
    def settings(self) -> KnowledgeBaseSettings:
        return self.manifest.knowledge_base

    @property
    def counts(self) -> Counts:
        return self.manifest.counts

    @property
    def extent(self) -> Extent:
        return Extent(self.counts.documents, self.counts.original_bytes)

    def _read_manifest(self) -> Manifest:
        content = self._read(member_names.MANIFEST)
        try:
            head = _FormatHeader.model_validate_json(content)
            if head.format != FORMAT:
                raise InvalidArchive("not the file of a knowledge base")
            if head.version != FORMAT_VERSION:
                raise InvalidArchive(f"format version {head.version}; this server reads version {FORMAT_VERSION}")
            return Manifest.model_validate_json(content)
        except ValidationError as error:
            raise InvalidArchive(f"manifest.json: {_first(error)}") from error

    def _check_documents(self) -> None:
        counts, last, chunks, size = self.counts, 0, 0, 0
        names_of_open: set[str] = set()
        number = restricted = 0
        for shard in range(counts.shards):
            for entry in self._documents(shard):
                is_double = not entry.restricted and entry.name in names_of_open
                if entry.number <= last or is_double:
                    raise InvalidArchive("a document is there twice, or out of order")
                _check_name(entry.name)
                if self._sizes.get(member_names.original(entry.number)) != entry.file_size:
                    raise InvalidArchive(f"the file of {entry.name} is missing or of another size")
                if bool(entry.chunk_count) and not entry.is_indexed:
                    raise InvalidArchive(f"{entry.name} has chunks and is not indexed")
                number, restricted = number + 1, restricted + entry.restricted
                if not entry.restricted:
                    names_of_open.add(entry.name)
                last, chunks, size = (entry.number, chunks + entry.chunk_count, size + entry.file_size)
        if restricted > MOST_RESTRICTED:
            raise InvalidArchive("it has too many restricted documents")
        if (number, chunks, size) != (counts.documents, counts.chunks, counts.original_bytes):
            raise InvalidArchive("the manifest's counts are not what the file holds")
        expected = 2 + counts.documents + counts.shards * (2 + len(arrays.NAMES))
        if len(self._sizes) != expected:
            raise InvalidArchive("it has parts that belong to nothing")

    def _read_questions(self) -> list[QuestionDraft]:
        passages: dict[tuple[str, tuple[int, ...]], list[dict[str, str]]] = defaultdict(list)
        lines = self._lines(member_names.QUESTIONS, QuestionEntry, at_most=_MAX_QUESTION_LINES)
        for entry in lines:
            if any(member_names.original(number) not in self._sizes for number in entry.restricted_to):
                raise InvalidArchive("a saved question is about a document that is not there")
            question = passages[entry.question, tuple(entry.restricted_to)]
            question.append({"document": entry.document, "text": entry.text})
        if len(passages) > MAX_QUESTIONS:
            raise InvalidArchive("it has too many questions")
        try:
            return [
                validate_draft(QuestionDraft(text, expected, [str(number) for number in ties]))
                for (text, ties), expected in passages.items()
            ]
        except AgentexError as error:
            raise InvalidArchive("a saved question can't be used") from error

    async def contents(self, is_wanted: Callable[[str], bool] = lambda _key: True) -> AsyncGenerator[DocumentContent]:
        """The wanted documents in file order; the key is the document's number.

        Raises:
            InvalidArchive: chunks or vectors are invalid.
        """
        for shard in range(self.counts.shards):
            entries = await to_thread.run_sync(lambda number=shard: self._documents(number))
            numbers = {entry.number for entry in entries if is_wanted(str(entry.number))}
            if not numbers:
                continue
            chunks, points = await to_thread.run_sync(self._shard, shard, entries)
            for entry in entries:
                if entry.number in numbers:
                    yield DocumentContent(
                        key=str(entry.number),
                        entry=entry,
                        original=self._original(entry.number),
                        chunks=chunks[entry.number],
                        points=points[entry.number],
                    )

    def _documents(self, shard: int) -> list[DocumentEntry]:
        entries = list(self._lines(member_names.documents(shard), DocumentEntry, at_most=SHARD_DOCUMENTS))
        if sum(entry.chunk_count for entry in entries[:-1]) > SHARD_POINTS:
            raise InvalidArchive("a shard holds more than one may")
        return entries

    def _shard(
        self, shard: int, entries: list[DocumentEntry]
    ) -> tuple[dict[int, list[ChunkEntry]], dict[int, list[PointEntry]]]:
        sizes = {entry.number: entry.chunk_count for entry in entries}
        chunks: dict[int, list[ChunkEntry]] = {number: [] for number in sizes}
        lines = self._lines(member_names.chunks(shard), ChunkEntry, at_most=sum(sizes.values()))
        for chunk in lines:
            mine = chunks.get(chunk.document)
            if mine is None or chunk.position != len(mine):
                raise InvalidArchive("a chunk is out of order, or of no document here")
            mine.append(chunk)
        if any(len(chunks[number]) != size for number, size in sizes.items()):
            raise InvalidArchive("chunks are missing, or there are too many")
        return chunks, self._points(shard, sizes)

    def _points(self, shard: int, sizes: dict[int, int]) -> dict[int, list[PointEntry]]:
        contents = {name: self._read(member_names.array(shard, name)) for name in arrays.NAMES}
        numbered: list[NumberedPoint] = arrays.unpack(contents, self.manifest.dimension)
        points: dict[int, list[PointEntry]] = {number: [] for number in sizes}
        for item in numbered:
            if item.point.chunk >= sizes.get(item.document, 0):
                raise InvalidArchive("a point is of no chunk here")
            points[item.document].append(item.point)
        return points

    async def _original(self, number: int) -> AsyncIterator[bytes]:
        try:
            with self._zip.open(member_names.original(number)) as member:
                while block := await to_thread.run_sync(member.read, _BLOCK):
                    yield block
        except _BROKEN as error:
            raise InvalidArchive("the file of a document is damaged") from error

    def _lines(self, name: str, shape: type[P], *, at_most: int) -> Iterator[P]:
        lines = self._read(name).split(b"\n")
        if lines.pop() or len(lines) > at_most:
            raise InvalidArchive(f"{name}: another number of lines than there must be")
        try:
            yield from map(shape.model_validate_json, lines)
        except ValidationError as error:
            raise InvalidArchive(f"{name}: {_first(error)}") from error

    def _read(self, name: str) -> bytes:
        if name not in self._sizes:
            raise InvalidArchive(f"{name} is missing")
        try:
            content = self._zip.read(name)
        except _BROKEN as error:
            raise InvalidArchive(f"{name} is damaged") from error
        if len(content) != self._sizes[name]:
            raise InvalidArchive(f"{name} is damaged")
        return content


def archive_limits(settings: AppSettings) -> ArchiveReadLimits:
    """The archive limits of this server."""
    return ArchiveReadLimits(
        original_bytes=settings.max_upload_bytes, unpacked_bytes=_UNPACKED * settings.max_import_bytes
    )


def _check_name(name: str) -> None:
    try:
        cleaned = document_names.clean_name(name)
    except AgentexError:
        cleaned = ""
    if cleaned != name:
        raise InvalidArchive("a document's name can't be used")


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    return f"{field}: {problem['msg']}" if field else str(problem["msg"])
