"""The encoder that runs in the engine, and the messages to it."""

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

import numpy as np

from kb_service.embeddings.catalog import EmbeddingModel
from kb_service.embeddings.protocol import Vectors
from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import FLOAT32, INGEST_SECONDS, QUERY_SECONDS, WireMessage, encodable


class EmbedRequest(WireMessage):
    """Texts to encode; queries are cut and have priority, passages are encoded whole and share time by account."""

    model: str
    account: str = ""
    role: Literal["query", "passage"]
    texts: list[str]

    @property
    def is_passage(self) -> bool:
        return self.role == "passage"


class EmbedReply(WireMessage):
    """A ``float32`` matrix, little endian, row by row."""

    dimension: int
    data: bytes


def pack_vectors(vectors: Vectors) -> EmbedReply:
    """Serialise a matrix."""
    return EmbedReply(dimension=vectors.shape[1], data=vectors.astype(FLOAT32).tobytes())


def join_vectors(replies: Sequence[EmbedReply], dimension: int) -> Vectors:
    """The rows of all replies, in order; shape (0, dimension) for none."""
    data = b"".join(reply.data for reply in replies)
    return np.frombuffer(data, dtype=FLOAT32).astype(np.float32).reshape(-1, dimension)


# One request takes the built-in model about two seconds, and has enough texts to sort by length.
_MOST_TEXTS = 256
# Large models take seconds per passage and are shared by documents: a request should take a sixth of its time limit.
_FIRST_CHARACTERS = 48_000
_REQUEST_SECONDS = INGEST_SECONDS / 6


class EngineEncoder:
    """An ``Encoder`` that runs in the engine process."""

    def __init__(self, engine: EngineClient, model: EmbeddingModel) -> None:
        self._engine = engine
        self._model = model
        self._characters = _FIRST_CHARACTERS

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def languages(self) -> frozenset[str]:
        return self._model.languages

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode questions with priority over passages; cut at the model's window."""
        parts = [texts[at : at + _MOST_TEXTS] for at in range(0, len(texts), _MOST_TEXTS)]
        replies = [await self._embed(part, "query", QUERY_SECONDS) for part in parts]
        return join_vectors(replies, self.dimension)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        """Encode passages; one longer than the model's window becomes the mean of windows."""
        replies: list[EmbedReply] = []
        done = 0
        while done < len(texts):
            part = self._next_part(texts[done : done + _MOST_TEXTS])
            replies.append(await self._embed_part(part, account))
            done += len(part)
        return join_vectors(replies, self.dimension)

    def _next_part(self, texts: Sequence[str]) -> Sequence[str]:
        lengths = accumulate(len(text) for text in texts)
        return texts[: max(1, sum(length <= self._characters for length in lengths))]

    async def _embed_part(self, texts: Sequence[str], account: str) -> EmbedReply:
        started = time.monotonic()
        is_answered = False
        try:
            reply = await self._embed(texts, "passage", INGEST_SECONDS, account)
            is_answered = True
            return reply
        finally:
            seconds = time.monotonic() - started
            # An absent engine or caller says nothing about the speed.
            if is_answered or seconds >= INGEST_SECONDS:
                pace = sum(map(len, texts)) / max(seconds, 0.001)
                self._characters = int(_REQUEST_SECONDS * pace)

    async def _embed(
        self, texts: Sequence[str], role: Literal["query", "passage"], seconds: float, account: str = ""
    ) -> EmbedReply:
        readables = [encodable(text) for text in texts]
        request = EmbedRequest(model=self.name, role=role, texts=readables, account=account)
        return await self._engine.call("embed", request, EmbedReply, timeout_seconds=seconds)
