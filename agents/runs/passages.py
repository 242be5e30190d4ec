"""A stored chunk as the passage that agents read."""

from agents.citations import Passage
from core.text.visible import visible
from kb_service.models import Chunk
from kb_service.retrieval.found_chunks import FoundChunk


def passage_of(chunk: Chunk | FoundChunk, document_name: str, *, score: float = 0.0) -> Passage:
    """The chunk as a passage, without hidden characters.

    Args:
        chunk: with its place in the document.
        document_name: as its user knows it.
        score: of the search that found it; 0 where nothing was searched.
    """
    return Passage(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        document_name=document_name,
        knowledge_base_id=chunk.knowledge_base_id,
        revision=chunk.revision,
        content=visible(chunk.content),
        heading_path=tuple(map(visible, chunk.heading_path)),
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        score=score,
    )
