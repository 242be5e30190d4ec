"""Points of documents in a backup: where they are read and written, and their bytes."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Protocol

from kb_service.engine_client.protocol import MalformedFrame, pack_frame, unpack_frame
from kb_service.vector_index.engine_index import UpsertRequest, pack_points, unpack_points
from kb_service.vector_index.protocol import ChunkPoint

_POINTS_PER_FRAME = 1024


class PointStore(Protocol):
    """What backups use of a ``VectorIndex``."""

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """See ``VectorIndex.points``."""
        ...

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """See ``VectorIndex.upsert``."""
        ...

    async def count(self) -> int:
        """The number of points."""
        ...


PointStores = Mapping[str, PointStore]
"""The points by embedding model."""


class MalformedPoints(Exception):
    """Bytes that hold no points of the model."""


def points_to_bytes(model: str, points: Sequence[ChunkPoint]) -> Iterator[bytes]:
    """The points, in the same order whenever the same are given."""
    ordered = sorted(points, key=lambda point: point.id)
    for start in range(0, len(ordered), _POINTS_PER_FRAME):
        yield pack_frame(pack_points(model, ordered[start : start + _POINTS_PER_FRAME]))


def count_points(content: bytes) -> int:
    """The number of points; MalformedPoints for other bytes."""
    return sum(len(frame.ids) for frame in _frames(content))


def points_from_bytes(content: bytes, dimension: int) -> Iterator[list[ChunkPoint]]:
    """The points, some at a time.

    Raises:
        MalformedPoints: the bytes are others, or vectors have another length.
    """
    for frame in _frames(content):
        try:
            yield unpack_points(frame, dimension)
        except ValueError as error:
            raise MalformedPoints from error


def _frames(content: bytes) -> Iterator[UpsertRequest]:
    file = BytesIO(content)
    while file.tell() < len(content):
        try:
            yield unpack_frame(file, UpsertRequest)
        except MalformedFrame as error:
            raise MalformedPoints from error
