"""The reranker interface."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Judges how well passages answer a query."""

    @property
    def depth(self) -> int:
        """How many passages it judges at once."""
        ...

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The relevance of each text, 0 to 1, in their order.

        Raises:
            RerankerUnavailable: no response, or one that breaks its protocol.
        """
        ...
