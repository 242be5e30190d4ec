"""Context of found passages: neighbours, or the rest of their section."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection
from sqlmodel import and_, col, or_

from kb_service.models import Chunk
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.results import ContextPart, FoundChunk, FoundPassage, select_chunks

# Enough for a section of the smallest chunks; the token budget usually ends it earlier.
_SECTION_CHUNKS = 40


def with_context(
    connection: Connection, passages: Sequence[FoundPassage], request: RetrievalRequest
) -> list[FoundPassage]:
    """Add the requested context to the passages.

    No chunk is shown twice: one that is itself in the answer, or next to a better passage, ends the context of the
    others. Disabled chunks are left out. ``expand`` takes a whole section up to ``expand_tokens``, ``neighbours`` a
    number of chunks on each side; with both, the larger counts.
    """
    reach = _SECTION_CHUNKS if request.expand == "section" else request.neighbours
    if reach == 0 or not passages:
        return list(passages)
    around = _load(connection, [passage.chunk for passage in passages], reach)
    used = {passage.chunk.id for passage in passages}
    extended: list[FoundPassage] = []
    for passage in passages:
        builder = _ContextBuilder(passage.chunk, around, request)
        before, after = builder.build(used)
        extended.append(replace(passage, before=before, after=after))
    return extended


class _ContextBuilder:
    def __init__(
        self, chunk: FoundChunk, around: dict[tuple[str, int, int], FoundChunk], request: RetrievalRequest
    ) -> None:
        self._chunk = chunk
        self._around = around
        self._request = request
        self._tokens = chunk.token_count

    def build(self, used: set[str]) -> tuple[tuple[ContextPart, ...], tuple[ContextPart, ...]]:
        """The parts before and behind, added alternately so that both sides get room."""
        sides: dict[int, list[FoundChunk]] = {-1: [], 1: []}
        going = [-1, 1]
        while going:
            for step in tuple(going):
                neighbour = self._next(step, len(sides[step]) + 1)
                if neighbour is None or (neighbour.enabled and neighbour.id in used):
                    going.remove(step)
                    continue
                sides[step].append(neighbour)
                self._tokens += neighbour.token_count
                used.add(neighbour.id)
        before = [chunk for chunk in reversed(sides[-1]) if chunk.enabled]
        after = [chunk for chunk in sides[1] if chunk.enabled]
        return _parts_before(before, self._chunk), _parts_after(after, self._chunk)

    def _next(self, step: int, distance: int) -> FoundChunk | None:
        chunk = self._chunk
        place = chunk.position + step * distance
        neighbour = self._around.get((chunk.document_id, chunk.revision, place))
        if neighbour is None:
            return None
        is_near = distance <= self._request.neighbours
        return neighbour if is_near or self._is_of_section(neighbour) else None

    def _is_of_section(self, chunk: FoundChunk) -> bool:
        if self._request.expand != "section":
            return False
        path = self._chunk.heading_path
        return (
            chunk.heading_path[: len(path)] == path and self._tokens + chunk.token_count <= self._request.expand_tokens
        )


def _load(connection: Connection, chunks: Sequence[FoundChunk], reach: int) -> dict[tuple[str, int, int], FoundChunk]:
    near = [
        and_(
            col(Chunk.document_id) == chunk.document_id,
            col(Chunk.revision) == chunk.revision,
            col(Chunk.position).between(chunk.position - reach, chunk.position + reach),
        )
        for chunk in chunks
    ]
    rows = map(FoundChunk._make, connection.execute(select_chunks().where(or_(*near))))
    return {(row.document_id, row.revision, row.position): row for row in rows}


def _is_slice(chunk: FoundChunk) -> bool:
    """Whether the text equals its span of the document: not so after an edit or with a repeated table head."""
    return len(chunk.content) == chunk.char_end - chunk.char_start


def _parts_before(chunks: Sequence[FoundChunk], passage: FoundChunk) -> tuple[ContextPart, ...]:
    """In reading order, each cut where the next one (at last the passage) begins."""
    starts = [chunk.char_start for chunk in [*chunks, passage][1:]]
    parts: list[ContextPart] = []
    for chunk, start in zip(chunks, starts, strict=True):
        end = min(chunk.char_end, start) if _is_slice(chunk) else chunk.char_end
        text = chunk.content[: end - chunk.char_start] if _is_slice(chunk) else chunk.content
        if text.strip():
            parts.append(ContextPart(chunk.id, text, chunk.char_start, end))
    return tuple(parts)


def _parts_after(chunks: Sequence[FoundChunk], passage: FoundChunk) -> tuple[ContextPart, ...]:
    ends = [chunk.char_end for chunk in [passage, *chunks][: len(chunks)]]
    parts: list[ContextPart] = []
    for chunk, end in zip(chunks, ends, strict=True):
        start = max(chunk.char_start, end) if _is_slice(chunk) else chunk.char_start
        text = chunk.content[start - chunk.char_start :] if _is_slice(chunk) else chunk.content
        if text.strip():
            parts.append(ContextPart(chunk.id, text, start, chunk.char_end))
    return tuple(parts)
