"""An embedding model of LlamaIndex over a knowledge base's own encoder; importing it loads LlamaIndex."""

from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding, Embedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ingestion.splitters.base import PassageEmbedder


class EncoderEmbedding(BaseEmbedding):
    """Vectors of the encoder, on the thread that asks for them; a text that repeats in a batch is encoded once."""

    _embed: PassageEmbedder = PrivateAttr()

    def __init__(self, embed: PassageEmbedder) -> None:
        super().__init__(model_name="knowledge base")
        self._embed = embed

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def get_text_embedding_batch(self, texts: list[str], show_progress: bool = False, **_kwargs: Any) -> list[Any]:  # noqa: ANN401 - LlamaIndex's signature
        """The vectors of a batch as rows of one array: lists of numbers, as LlamaIndex makes them, take eight times as much."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        vectors = self._embed(list(places)) if places else np.empty((0, 0), np.float32)
        return [vectors[places[text]] for text in texts]

    def _get_text_embedding(self, text: str) -> Embedding:
        return self._embed([text])[0].tolist()

    def _get_query_embedding(self, query: str) -> Embedding:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> Embedding:
        return self._get_text_embedding(query)
