"""Search in one person's memories by terms and vectors."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from anyio import to_thread
from sqlalchemy import update
from sqlmodel import col

from agents.memory import store
from agents.memory.models import Memory
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger
from kb_service.embeddings.protocol import Encoder, Vectors
from kb_service.retrieval.fusion import dense_weight, fuse
from kb_service.retrieval.rerankers.lexical import RERANK_DEPTH, rerank
from kb_service.text.tokenizer import compute_terms
from kb_service.vector_index.bm25 import encode_document, encode_query

log = get_logger(__name__)


# Below this cosine, sentences have nothing to do with each other, for both built-in encoders. Both sides are encoded as
# questions: multilingual-e5-small compares sentences so, and expects passages to be longer.
_RELATED = 0.3

# A search goes on by its terms alone rather than let a run wait for a busy encoder.
_ENCODER_SECONDS = 2
# Vectors made in one search; the rest are made in the next ones.
_MADE_AT_ONCE = 64
_STORED = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory with its score for a question: 0 to 1, relative to this list."""

    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Cosines of the memories that have vectors, and the encoder's languages."""

    ids: Sequence[str]
    cosines: Sequence[float]
    languages: frozenset[str]


@dataclass(frozen=True, slots=True)
class _HitList:
    ids: list[str]
    scores: list[float]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float]]) -> Self:
        best_first = sorted(pairs, key=lambda pair: -pair[1])
        return cls([id_ for id_, _ in best_first], [score for _, score in best_first])


def cosines(question: Vectors, vectors: Vectors) -> list[float]:
    """Cosines of a question, shape ``(1, dimension)``, with unit vectors, ``(n, dimension)``."""
    return [float(value) for value in vectors @ question[0]]


def rank(question: str, memories: Sequence[Memory], dense: DenseScores | None) -> list[RankedMemory]:
    """The memories related to a question, best first; ties keep their order.

    Fused and reranked like passages; dense scores are weighted by how well the encoder knows the
    question's language, and may be None. Takes up to 0.2 ms a memory: not for an event loop.
    """
    weight = dense_weight(question, dense.languages) if dense is not None else 0.0
    related = _HitList([], [])
    if dense is not None and weight > 0:
        pairs = zip(dense.ids, dense.cosines, strict=True)
        related = _HitList.of(pair for pair in pairs if pair[1] >= _RELATED)
    fusion = fuse(related, _lexical(question, memories), weight=weight, depth=len(memories) + 1)
    texts = {memory.id: memory for memory in memories}
    features = {id_: compute_terms(texts[id_].text) for id_, _ in fusion.order[:RERANK_DEPTH]}
    ranked = rerank(question, fusion, features)
    return [RankedMemory(texts[hit.id], hit.score) for hit in ranked]


def _lexical(question: str, memories: Sequence[Memory]) -> _HitList:
    query = encode_query(question)
    query_weights = dict(zip(query.indices, query.values, strict=True))
    weights_by_memory = [_weights(memory.text) for memory in memories]
    holders = Counter(term for weights in weights_by_memory for term in query_weights if term in weights)
    rarity = {
        term: query_weights[term] * math.log1p((len(memories) - count + 0.5) / (count + 0.5))
        for term, count in holders.items()
    }
    scores = [sum(weights.get(term, 0.0) * rare for term, rare in rarity.items()) for weights in weights_by_memory]
    pairs = zip((memory.id for memory in memories), scores, strict=True)
    return _HitList.of(pair for pair in pairs if pair[1] > 0)


# Analysing a text takes longer than all else; a person's next question finds it done.
@lru_cache(maxsize=4096)
def _weights(text: str) -> dict[int, float]:
    vector = encode_document(text)
    return dict(zip(vector.indices, vector.values, strict=True))


class MemorySearcher:
    """Searches memories by terms and by an encoder's vectors; those of another model are replaced."""

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder

    async def search(self, owner_id: str, question: str) -> list[RankedMemory]:
        async with self._database.reading() as session:
            memories = await store.list_all(session, owner_id)
        return await self.rank(question, memories)

    async def rank(self, question: str, memories: Sequence[Memory]) -> list[RankedMemory]:
        if not memories or not question.strip():
            return []
        dense = await self._dense(question, memories)
        return await to_thread.run_sync(rank, question, memories, dense)

    async def _dense(self, question: str, memories: Sequence[Memory]) -> DenseScores | None:
        query_vector: Vectors | None = None
        made: list[Memory] = []
        try:
            async with asyncio.timeout(_ENCODER_SECONDS):
                query_vector = await self._encoder.embed_queries([question])
                made = await self._make_vectors(memories)
        except (AgentexError, TimeoutError) as error:
            log.warning("memory.vectors_missing", error=type(error).__name__)
        if query_vector is None:
            return None
        await self._store_vectors(made)
        ready = [memory for memory in memories if self._has_vector(memory)]
        return DenseScores(
            [memory.id for memory in ready],
            cosines(query_vector, self._stacked(ready)) if ready else [],
            self._encoder.languages,
        )

    def _has_vector(self, memory: Memory) -> bool:
        size = self._encoder.dimension * _STORED.itemsize
        is_ours = memory.vector_model == self._encoder.name
        return is_ours and memory.vector is not None and len(memory.vector) == size

    def _stacked(self, memories: Sequence[Memory]) -> Vectors:
        joined = b"".join(memory.vector or b"" for memory in memories)
        return np.frombuffer(joined, _STORED).reshape(len(memories), -1)

    async def _make_vectors(self, memories: Sequence[Memory]) -> list[Memory]:
        lacking = [memory for memory in memories if not self._has_vector(memory)][:_MADE_AT_ONCE]
        if lacking:
            vectors = await self._encoder.embed_queries([memory.text for memory in lacking])
            for memory, vector in zip(lacking, vectors, strict=True):
                memory.vector = vector.astype(_STORED).tobytes()
                memory.vector_model = self._encoder.name
        return lacking

    async def _store_vectors(self, memories: Sequence[Memory]) -> None:
        if not memories:
            return
        try:
            async with unit_of_work(self._database) as work:
                for memory in memories:
                    # Not where the text was changed meanwhile.
                    same = (
                        col(Memory.id) == memory.id,
                        col(Memory.owner_id) == memory.owner_id,
                        col(Memory.text) == memory.text,
                    )
                    values = {"vector": memory.vector, "vector_model": memory.vector_model}
                    await work.session.exec(update(Memory).where(*same).values(**values))
        except DatabaseUnavailable:
            # The next search makes them again.
            log.warning("memory.vectors_not_stored")
