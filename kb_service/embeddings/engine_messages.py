"""Bodies of the engine's ``embed`` operation."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kb_service.embeddings.protocol import Vectors
from kb_service.engine_client.protocol import FLOAT32, WireMessage


class EmbedRequest(WireMessage):
    """Texts to encode; queries go first and are cut, passages are encoded whole.

    Passages of different accounts get equal shares of the encoder.
    """

    model: str
    account: str = ""
    role: Literal["query", "passage"]
    texts: list[str]

    @property
    def is_passage(self) -> bool:
        """Whether the texts are to be indexed."""
        return self.role == "passage"


class EmbedReply(WireMessage):
    """A ``float32`` matrix, little endian, row by row."""

    dimension: int
    data: bytes


def pack_vectors(vectors: Vectors) -> EmbedReply:
    """Put a matrix on the wire."""
    return EmbedReply(dimension=vectors.shape[1], data=vectors.astype(FLOAT32).tobytes())


def join_vectors(replies: Sequence[EmbedReply], dimension: int) -> Vectors:
    """The rows of all replies, in order; shape (0, dimension) for none."""
    data = b"".join(reply.data for reply in replies)
    return np.frombuffer(data, dtype=FLOAT32).astype(np.float32).reshape(-1, dimension)
