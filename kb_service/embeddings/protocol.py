"""The protocol of encoders."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Texts in, L2-normalised ``float32`` vectors of shape ``(len(texts), dimension)`` out."""

    @property
    def name(self) -> str:
        """The model's name in the catalogue, e.g. ``all-MiniLM-L6-v2``."""
        ...

    @property
    def dimension(self) -> int:
        """Length of one vector."""
        ...

    @property
    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes the model was trained for; fusion weighs the dense leg by them."""
        ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Encode questions with priority over passages; EngineUnavailable when nothing answers."""
        ...

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> Vectors:
        """Encode text that is to be indexed; accounts get equal shares of a local encoder."""
        ...
