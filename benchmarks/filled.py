"""Fills a running Agentex's knowledge base past its encoder: for searches among many chunks.

Rows, words and points are what an ingestion would write; only the dense vectors are drawn, each
near one of a few hundred encoded passages, because encoding a hundred thousand takes an hour.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.generated import paragraphs
from benchmarks.product import Product
from core.db.database import Database, open_database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.settings import Settings
from ingestion.splitters.base import Piece
from ingestion.vectorize import PointOrigin, embed_points
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.factory import open_encoder
from kb_service.embeddings.protocol import Vectors
from kb_service.engine_client.client import EngineClient
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus
from kb_service.text.token_counter import token_counter
from kb_service.text.tokenizer import pack_terms
from kb_service.vector_index.factory import open_vector_index
from kb_service.vector_index.protocol import point_id

_PER_DOCUMENT = 10
_DOCUMENTS_AT_ONCE = 100
_ENCODED = 256
_NOISE = 0.6


class _Drawing:
    """Stands in for the encoder: vectors at a typical distance from real ones."""

    def __init__(self, real: Vectors) -> None:
        self._real = real
        self._source = np.random.default_rng(1)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        near = self._real[self._source.integers(0, len(self._real), len(texts))]
        noise = self._source.standard_normal(near.shape).astype(np.float32)
        drawn = near + _NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


async def fill(product: Product, kb_id: str, texts: Sequence[str]) -> None:
    """Add a chunk for each text, ten to a document."""
    settings = Settings(_env_file=None, data_dir=product.data_dir)
    database, engine = open_database(settings), EngineClient(settings.effective_engine_socket)
    index = open_vector_index(settings, engine, model=DEFAULT.name, dimension=DEFAULT.dimension)
    try:
        real = await open_encoder(engine).embed_passages(paragraphs(_ENCODED, seed=9))
        encoder: Any = _Drawing(real)
        space = EmbeddingSpace(DEFAULT, encoder, index, token_counter())
        size = _DOCUMENTS_AT_ONCE * _PER_DOCUMENT
        for start in range(0, len(texts), size):
            await _add(database, space, kb_id, texts[start : start + size])
    finally:
        await index.close()
        await engine.close()
        await database.close()


async def _add(database: Database, space: EmbeddingSpace, kb_id: str, texts: Sequence[str]) -> None:
    documents: list[Document] = []
    chunks: list[Chunk] = []
    points: list[Any] = []
    for start in range(0, len(texts), _PER_DOCUMENT):
        part = texts[start : start + _PER_DOCUMENT]
        document = _document(kb_id, len(part))
        pieces = await asyncio.to_thread(_pieces, part)
        documents.append(document)
        chunks += [_chunk(document, piece) for piece in pieces]
        points += await embed_points(space, [(PointOrigin.of(document), piece) for piece in pieces])
    await space.index.upsert(points)
    async with unit_of_work(database) as work:
        work.session.add_all(documents)
        await work.session.flush()
        work.session.add_all(chunks)


def _document(kb_id: str, count: int) -> Document:
    id_ = new_id()
    return Document(
        id=id_,
        knowledge_base_id=kb_id,
        name=f"{id_}.txt",
        file_type="text",
        media_type="text/plain",
        file_size=1,
        sha256="0" * 64,
        storage_key=id_,
        status=DocumentStatus.COMPLETED.value,
        stage=DocumentStage.DONE.value,
        progress=100,
        active_revision=1,
        chunk_count=count,
        completed_at=utc_now(),
    )


def _pieces(texts: Sequence[str]) -> list[Piece]:
    return [
        Piece(
            index=number,
            text=text,
            heading_path=(),
            page=None,
            char_start=0,
            char_end=len(text),
            token_count=150,
        )
        for number, text in enumerate(texts)
    ]


def _chunk(document: Document, piece: Piece) -> Chunk:
    return Chunk(
        id=point_id(document.id, document.revision, piece.index),
        document_id=document.id,
        knowledge_base_id=document.knowledge_base_id,
        revision=document.revision,
        position=piece.index,
        content=piece.text,
        char_end=piece.char_end,
        token_count=piece.token_count,
        terms=pack_terms(piece.text),
    )
