"""The encoder as the API and the worker see it: a client of the engine."""

from collections.abc import Sequence
from typing import Literal

from kb_service.embeddings.catalogue import EmbeddingModel
from kb_service.embeddings.messages import EmbedReply, EmbedRequest, join_vectors
from kb_service.embeddings.protocol import Vectors
from kb_service.engine_client import EngineClient
from kb_service.wire import INGEST_SECONDS, QUERY_SECONDS, readable

# One request keeps the engine busy for about two seconds, far below the time limit, and gives
# it enough texts to sort by length.
_TEXTS_PER_REQUEST = 256


class RemoteEncoder:
    """An ``Encoder`` whose work is done by the engine process."""

    def __init__(self, engine: EngineClient, model: EmbeddingModel) -> None:
        self._engine = engine
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Length of one vector."""
        return self._model.dimension

    @property
    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes the model was trained for."""
        return self._model.languages

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode questions, ahead of passages that wait; cut at the model's window."""
        return await self._embed(texts, "query", QUERY_SECONDS)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        """Encode passages; one longer than the model's window becomes the mean of windows."""
        return await self._embed(texts, "passage", INGEST_SECONDS, account)

    async def _embed(
        self,
        texts: Sequence[str],
        role: Literal["query", "passage"],
        seconds: float,
        account: str = "",
    ) -> Vectors:
        replies: list[EmbedReply] = []
        for start in range(0, len(texts), _TEXTS_PER_REQUEST):
            part = [readable(text) for text in texts[start : start + _TEXTS_PER_REQUEST]]
            request = EmbedRequest(model=self.name, role=role, texts=part, account=account)
            replies.append(
                await self._engine.call("embed", request, EmbedReply, timeout_seconds=seconds)
            )
        return join_vectors(replies, self.dimension)
