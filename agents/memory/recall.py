"""Finds what one person's memories say about something."""

import asyncio
from collections.abc import Sequence

import numpy as np
from anyio import to_thread
from sqlalchemy import update
from sqlmodel import col

from agents.memory import store
from agents.memory.models import Memory
from agents.memory.ranking import DenseLeg, RankedMemory, cosines, rank
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors import AgentexError, DatabaseUnavailable
from core.logging import get_logger
from kb_service.embeddings.protocol import Encoder, Vectors

log = get_logger(__name__)

# A search goes on by its terms alone rather than let a run wait for a busy encoder.
_ENCODER_SECONDS = 2
# Vectors made in one search; the rest are made in the next ones.
_MADE_AT_ONCE = 64
_STORED = np.dtype("<f4")


class Recaller:
    """Searches memories by their terms and by an encoder's vectors.

    Args:
        database: where memories are.
        encoder: makes vectors; those of another model are made anew.
    """

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder

    async def search(self, owner_id: str, question: str) -> list[RankedMemory]:
        """The owner's memories that have to do with a question, best first.

        Raises:
            DatabaseUnavailable: the memories can't be read.
        """
        async with self._database.reading() as session:
            memories = await store.list_all(session, owner_id)
        return await self.rank(question, memories)

    async def rank(self, question: str, memories: Sequence[Memory]) -> list[RankedMemory]:
        """Those of one owner's memories that have to do with a question, best first."""
        if not memories or not question.strip():
            return []
        dense = await self._dense(question, memories)
        return await to_thread.run_sync(rank, question, memories, dense)

    async def _dense(self, question: str, memories: Sequence[Memory]) -> DenseLeg | None:
        asked: Vectors | None = None
        made: list[Memory] = []
        try:
            async with asyncio.timeout(_ENCODER_SECONDS):
                asked = await self._encoder.embed_queries([question])
                made = await self._make_vectors(memories)
        except (AgentexError, TimeoutError) as error:
            log.warning("memory.vectors_missing", error=type(error).__name__)
        if asked is None:
            return None
        await self._store_vectors(made)
        ready = [memory for memory in memories if self._has_vector(memory)]
        return DenseLeg(
            [memory.id for memory in ready],
            cosines(asked, self._stacked(ready)) if ready else [],
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
        """Give vectors to memories that have none, or one of another model; these are told."""
        lacking = [one for one in memories if not self._has_vector(one)][:_MADE_AT_ONCE]
        if lacking:
            vectors = await self._encoder.embed_passages([one.text for one in lacking])
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
