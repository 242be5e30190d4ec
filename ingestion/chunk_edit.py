"""Edits of a chunk, its vectors included."""

import asyncio
from dataclasses import dataclass
from typing import Any

from anyio import to_thread

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.requests import InvalidRequest
from core.errors.server import VectorIndexUnavailable
from core.logging import get_logger
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import CHARACTERS_PER_TOKEN, Piece
from ingestion.vectorize import PointOrigin, embed_points, empty_window_points
from kb_service.documents import chunks
from kb_service.documents.chunks import LocatedChunk
from kb_service.embedding_spaces import EmbeddingSpace, EmbeddingSpaces
from kb_service.knowledge_bases.service import CHUNK_SIZES
from kb_service.models import Chunk
from kb_service.text.tokenizer import pack_terms
from kb_service.vector_index.protocol import ChunkPoint, index_scope

log = get_logger(__name__)

MAX_TOKENS = CHUNK_SIZES.stop - 1
MAX_CHARACTERS = MAX_TOKENS * CHARACTERS_PER_TOKEN
# The encoder has just answered, so a timeout is short: on SQLite all other writers wait.
_UPSERT_SECONDS = 10


@dataclass(frozen=True)
class ChunkEdit:
    """Changes to a chunk, None for none; ``version`` is the one that the editor saw, None skips the check."""

    version: int | None
    content: str | None = None
    enabled: bool | None = None


async def edit_chunk(database: Database, spaces: EmbeddingSpaces, place: LocatedChunk, edit: ChunkEdit) -> Chunk:
    """Change a chunk; when this returns, searches find it by its new text.

    The text is embedded first; then row and points are written in one transaction, which locks the row against other
    edits. A crash between the two leaves the old text with the new vectors: the same request repairs it.

    Raises:
        InvalidRequest: no text, or more of it than a passage may have.
        Conflict: the passage was edited since the editor read it.
    """
    if edit.version is not None:
        chunks.require_version(place.chunk, edit.version)
    values: dict[str, Any] = {} if edit.enabled is None else {"enabled": edit.enabled}
    points: list[ChunkPoint] = []
    model = place.knowledge_base.embedding_model
    if edit.content is not None and edit.content != place.chunk.content:
        space = spaces.of(model)
        piece = await to_thread.run_sync(_piece, place, edit.content, space)
        points = await _points(space, place, piece)
        terms = await to_thread.run_sync(pack_terms, piece.text)
        values |= {"content": piece.text, "token_count": piece.token_count, "terms": terms}
        values["version"] = place.chunk.version + 1
    if not values:
        return place.chunk
    async with unit_of_work(database) as work:
        row = await chunks.update_chunk(work, place, values)
        if points:
            await _upsert(spaces.of(model), points)
    log.info("chunk.changed", chunk_id=row.id, fields=sorted(values))
    return row


def _piece(place: LocatedChunk, content: str, space: EmbeddingSpace) -> Piece:
    chunk = place.chunk
    tokens = space.counter.count(content)
    if not 0 < tokens <= MAX_TOKENS:
        error = f"Write 1 to {MAX_TOKENS} tokens; this has {tokens}"
        raise InvalidRequest("content", error, f"应为 1 到 {MAX_TOKENS} 个 token，现有 {tokens} 个")
    return Piece(
        content,
        tuple(chunk.heading_path),
        chunk.page,
        chunk.char_start,
        chunk.char_end,
        tokens,
        chunk.position,
        SPLITTERS[place.knowledge_base.splitter].windows(content, space.counter),
    )


async def _points(space: EmbeddingSpace, place: LocatedChunk, piece: Piece) -> list[ChunkPoint]:
    knowledge_base, document = place.knowledge_base, place.document
    origin = PointOrigin(
        index_scope(knowledge_base.id, knowledge_base.generation), document.id, place.chunk.revision, document.name
    )
    before = await to_thread.run_sync(SPLITTERS[knowledge_base.splitter].windows, place.chunk.content, space.counter)
    points = await embed_points(space, [(origin, piece)])
    surplus = range(len(piece.windows), len(before))
    return points + empty_window_points(origin, piece.index, surplus)


async def _upsert(space: EmbeddingSpace, points: list[ChunkPoint]) -> None:
    try:
        async with asyncio.timeout(_UPSERT_SECONDS):
            await space.index.upsert(points)
    except TimeoutError as error:
        raise VectorIndexUnavailable(reason="the vector index is too slow") from error
