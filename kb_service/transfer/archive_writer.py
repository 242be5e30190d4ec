"""Streaming writer of knowledge base archives: memory holds one shard at a time."""

import io
import zipfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from anyio import to_thread

from kb_service.transfer import arrays, member_names
from kb_service.transfer.archive_format import (
    SHARD_DOCUMENTS,
    SHARD_POINTS,
    ArchivePart,
    ChunkEntry,
    Counts,
    DocumentContent,
    DocumentEntry,
    Manifest,
)
from kb_service.transfer.arrays import NumberedPoint
from kb_service.transfer.export_source import KnowledgeBaseSource

# Fast, and within a tenth of the best for text; vectors hardly compress.
_LEVEL = 1
_ZIP64_FROM_BYTES = 2**30
# Constant, so that equal content gives equal bytes.
_MOMENT = (1980, 1, 1, 0, 0, 0)


@dataclass
class _Shard:
    """Documents that are written together."""

    documents: list[DocumentEntry] = field(default_factory=list[DocumentEntry])
    chunks: list[ChunkEntry] = field(default_factory=list[ChunkEntry])
    points: list[NumberedPoint] = field(default_factory=list[NumberedPoint])

    def add(self, content: DocumentContent) -> None:
        self.documents.append(content.entry)
        self.chunks += content.chunks
        self.points += [NumberedPoint(content.entry.number, point) for point in content.points]

    @property
    def is_full(self) -> bool:
        return len(self.documents) >= SHARD_DOCUMENTS or len(self.points) >= SHARD_POINTS


class _Sink(io.RawIOBase):
    """A file object that buffers the archive's output until it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: memoryview | bytes, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] # any buffer, which has no name before Python 3.12
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return and clear the buffer."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


class _ArchiveWriter:
    """An archive in the making; every call returns the bytes that are ready to be sent."""

    def __init__(self, dimension: int) -> None:
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        self._dimension = dimension
        self.documents = self.chunks = self.points = self.shards = self.original_bytes = 0

    async def write_original(self, content: DocumentContent) -> AsyncGenerator[bytes]:
        info = _info(member_names.original(content.entry.number))
        is_large = content.entry.file_size > _ZIP64_FROM_BYTES
        with self._zip.open(info, "w", force_zip64=is_large) as member:
            async for block in content.original:
                await to_thread.run_sync(member.write, block)
                self.original_bytes += len(block)
                yield self._sink.take()
        yield self._sink.take()

    def write_shard(self, shard: _Shard) -> bytes:
        number = self.shards
        self._add(member_names.documents(number), _lines(shard.documents))
        self._add(member_names.chunks(number), _lines(shard.chunks))
        for name, content in arrays.pack(shard.points, self._dimension).items():
            self._add(member_names.array(number, name), content)
        self.shards += 1
        self.documents += len(shard.documents)
        self.chunks += len(shard.chunks)
        self.points += len(shard.points)
        return self._sink.take()

    def finish(self, manifest: Manifest, questions: Iterable[ArchivePart]) -> bytes:
        self._add(member_names.QUESTIONS, _lines(questions))
        self._add(member_names.MANIFEST, manifest.model_dump_json(indent=2).encode())
        self._zip.close()
        return self._sink.take()

    def _add(self, name: str, content: bytes) -> None:
        self._zip.writestr(_info(name), content, compresslevel=_LEVEL)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _lines(parts: Iterable[ArchivePart]) -> bytes:
    return b"".join(part.model_dump_json(exclude_none=True).encode() + b"\n" for part in parts)


async def write_archive(source: KnowledgeBaseSource, *, product: str) -> AsyncGenerator[bytes]:
    """The archive of a knowledge base, in blocks; ``product`` is the software's version, for people.

    If reading fails midway, the blocks sent so far are an incomplete file that an import rejects.
    """
    archive, shard = _ArchiveWriter(source.dimension), _Shard()
    async with aclosing(source.contents()) as contents:
        async for content in contents:
            async for block in archive.write_original(content):
                if block:
                    yield block
            shard.add(content)
            if shard.is_full:
                yield await to_thread.run_sync(archive.write_shard, shard)
                shard = _Shard()
    if shard.documents:
        yield await to_thread.run_sync(archive.write_shard, shard)
    questions = await source.questions()
    counts = Counts(
        documents=archive.documents,
        chunks=archive.chunks,
        points=archive.points,
        questions=len(questions),
        original_bytes=archive.original_bytes,
        shards=archive.shards,
    )
    manifest = Manifest(product=product, knowledge_base=source.settings, dimension=source.dimension, counts=counts)
    yield await to_thread.run_sync(archive.finish, manifest, questions)
