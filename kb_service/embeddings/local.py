"""What an encoder offers that runs in this process."""

from collections.abc import Generator, Sequence
from typing import Protocol

from kb_service.embeddings.protocol import Vectors


class LocalEncoder(Protocol):
    """Encodes on the one thread that owns it, pausing where something more urgent may go first."""

    @property
    def backend(self) -> str:
        """Runtime and number format, e.g. ``openvino-bf16``; recorded with the vectors."""
        ...

    def encode_in_steps(
        self, texts: Sequence[str], *, whole: bool
    ) -> Generator[None, None, Vectors]:
        """Encode, pausing before each batch.

        Args:
            texts: any strings.
            whole: True for passages, which may be longer than the model's window; False for
                questions, which are cut at it.

        Returns:
            ``float32`` of shape (len(texts), dimension), rows of length 1 (the generator's value).
        """
        ...
