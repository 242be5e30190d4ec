"""Reads the file of a knowledge base: checked as a whole first, then shard by shard."""

import zipfile
import zlib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import BinaryIO, TypeVar

from anyio import to_thread
from pydantic import BaseModel, ValidationError

from core.errors import AgentexError, InvalidArchive
from core.settings import Settings as AppSettings
from kb_service import documents
from kb_service.documents.permissions import MOST_RESTRICTED
from kb_service.evaluation.questions import MAX_EXPECTED, MAX_QUESTIONS, QuestionDraft, checked
from kb_service.transfer import arrays, names
from kb_service.transfer.archive_format import (
    FORMAT,
    FORMAT_VERSION,
    SHARD_DOCUMENTS,
    SHARD_POINTS,
    ChunkEntry,
    Content,
    Counts,
    DocumentEntry,
    Extent,
    Manifest,
    Part,
    PointEntry,
    QuestionEntry,
    Settings,
)
from kb_service.transfer.arrays import NumberedPoint
from kb_service.transfer.directory import Limits, open_checked

_BLOCK = 2**20
# Text is packed to a third or a quarter, vectors hardly at all.
_UNPACKED = 4
_MAX_QUESTION_LINES = MAX_QUESTIONS * MAX_EXPECTED
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)

P = TypeVar("P", bound=Part)


class _Head(BaseModel):
    format: str
    version: int


class Archive:
    """The file of a knowledge base, open and checked.

    Its methods block and are for threads; ``contents`` is not.

    Args:
        file: seekable; the caller closes it.
        limits: how much it may hold.

    Raises:
        InvalidArchive: it is of another format or version, breaks a limit, or does not hold what
            its manifest says. What chunks and vectors hold is checked when they are read.
    """

    def __init__(self, file: BinaryIO, limits: Limits) -> None:
        self._zip = open_checked(file, limits)
        self._sizes = {member.filename: member.file_size for member in self._zip.infolist()}
        self.manifest = self._read_manifest()
        self._check_documents()
        self.questions = self._read_questions()

    @property
    def settings(self) -> Settings:
        """The settings that travelled."""
        return self.manifest.knowledge_base

    @property
    def counts(self) -> Counts:
        """How much there is."""
        return self.manifest.counts

    @property
    def extent(self) -> Extent:
        """How many documents there are, and how large."""
        return Extent(self.counts.documents, self.counts.original_bytes)

    def _read_manifest(self) -> Manifest:
        content = self._read(names.MANIFEST)
        try:
            head = _Head.model_validate_json(content)
            if head.format != FORMAT:
                raise InvalidArchive("not the file of a knowledge base")
            if head.version != FORMAT_VERSION:
                raise InvalidArchive(
                    f"format version {head.version}; this server reads version {FORMAT_VERSION}"
                )
            return Manifest.model_validate_json(content)
        except ValidationError as error:
            raise InvalidArchive(f"manifest.json: {_first(error)}") from error

    def _check_documents(self) -> None:
        """Check what all shards say about documents against the manifest and the directory."""
        counts, last, chunks, size = self.counts, 0, 0, 0
        names_of_open: set[str] = set()
        number = restricted = 0
        for shard in range(counts.shards):
            for entry in self._documents(shard):
                is_double = not entry.restricted and entry.name in names_of_open
                if entry.number <= last or is_double:
                    raise InvalidArchive("a document is there twice, or out of order")
                _check_name(entry.name)
                if self._sizes.get(names.original(entry.number)) != entry.file_size:
                    raise InvalidArchive(f"the file of {entry.name} is missing or of another size")
                if bool(entry.chunk_count) and not entry.is_indexed:
                    raise InvalidArchive(f"{entry.name} has chunks and is not indexed")
                number, restricted = number + 1, restricted + entry.restricted
                if not entry.restricted:
                    names_of_open.add(entry.name)
                last, chunks, size = (
                    entry.number,
                    chunks + entry.chunk_count,
                    size + entry.file_size,
                )
        if restricted > MOST_RESTRICTED:
            raise InvalidArchive("it has too many restricted documents")
        if (number, chunks, size) != (counts.documents, counts.chunks, counts.original_bytes):
            raise InvalidArchive("the manifest's counts are not what the file holds")
        wanted = 2 + counts.documents + counts.shards * (2 + len(arrays.NAMES))
        if len(self._sizes) != wanted:
            raise InvalidArchive("it has parts that belong to nothing")

    def _read_questions(self) -> list[QuestionDraft]:
        passages: dict[tuple[str, tuple[int, ...]], list[dict[str, str]]] = defaultdict(list)
        lines = self._lines(names.QUESTIONS, QuestionEntry, at_most=_MAX_QUESTION_LINES)
        for entry in lines:
            if any(names.original(number) not in self._sizes for number in entry.restricted_to):
                raise InvalidArchive("a saved question is about a document that is not there")
            question = passages[entry.question, tuple(entry.restricted_to)]
            question.append({"document": entry.document, "text": entry.text})
        if len(passages) > MAX_QUESTIONS:
            raise InvalidArchive("it has too many questions")
        try:
            return [
                checked(QuestionDraft(text, expected, [str(number) for number in ties]))
                for (text, ties), expected in passages.items()
            ]
        except AgentexError as error:
            raise InvalidArchive("a saved question can't be used") from error

    async def contents(
        self, is_wanted: Callable[[str], bool] = lambda _key: True
    ) -> AsyncGenerator[Content]:
        """The documents in the order of the file; the key is the document's number.

        Args:
            is_wanted: whether the document of a key is to be read.

        Raises:
            InvalidArchive: chunks or vectors are not what they must be.
        """
        for shard in range(self.counts.shards):
            entries = await to_thread.run_sync(lambda number=shard: self._documents(number))
            wanted = {entry.number for entry in entries if is_wanted(str(entry.number))}
            if not wanted:
                continue
            chunks, points = await to_thread.run_sync(self._shard, shard, entries)
            for entry in entries:
                if entry.number in wanted:
                    yield Content(
                        key=str(entry.number),
                        entry=entry,
                        original=self._original(entry.number),
                        chunks=chunks[entry.number],
                        points=points[entry.number],
                    )

    def _documents(self, shard: int) -> list[DocumentEntry]:
        entries = list(self._lines(names.documents(shard), DocumentEntry, at_most=SHARD_DOCUMENTS))
        if sum(entry.chunk_count for entry in entries[:-1]) > SHARD_POINTS:
            raise InvalidArchive("a shard holds more than one may")
        return entries

    def _shard(
        self, shard: int, entries: list[DocumentEntry]
    ) -> tuple[dict[int, list[ChunkEntry]], dict[int, list[PointEntry]]]:
        sizes = {entry.number: entry.chunk_count for entry in entries}
        chunks: dict[int, list[ChunkEntry]] = {number: [] for number in sizes}
        lines = self._lines(names.chunks(shard), ChunkEntry, at_most=sum(sizes.values()))
        for chunk in lines:
            mine = chunks.get(chunk.document)
            if mine is None or chunk.position != len(mine):
                raise InvalidArchive("a chunk is out of order, or of no document here")
            mine.append(chunk)
        if any(len(chunks[number]) != size for number, size in sizes.items()):
            raise InvalidArchive("chunks are missing, or there are too many")
        return chunks, self._points(shard, sizes)

    def _points(self, shard: int, sizes: dict[int, int]) -> dict[int, list[PointEntry]]:
        contents = {name: self._read(names.array(shard, name)) for name in arrays.NAMES}
        found: list[NumberedPoint] = arrays.unpack(contents, self.manifest.dimension)
        points: dict[int, list[PointEntry]] = {number: [] for number in sizes}
        for one in found:
            if one.point.chunk >= sizes.get(one.document, 0):
                raise InvalidArchive("a point is of no chunk here")
            points[one.document].append(one.point)
        return points

    async def _original(self, number: int) -> AsyncIterator[bytes]:
        try:
            with self._zip.open(names.original(number)) as member:
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


def limits_of(settings: AppSettings) -> Limits:
    """What the file of a knowledge base may hold on this server."""
    return Limits(
        original_bytes=settings.max_upload_bytes,
        unpacked_bytes=_UNPACKED * settings.max_import_bytes,
    )


def _check_name(name: str) -> None:
    try:
        cleaned = documents.clean_name(name)
    except AgentexError:
        cleaned = ""
    if cleaned != name:
        raise InvalidArchive("a document's name can't be used")


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    return f"{field}: {problem['msg']}" if field else str(problem["msg"])
