"""The protocol of in-process encoders that work in steps."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from typing import Protocol

from kb_service.embeddings.protocol import Vectors

_MOST_LANES = 4

WorkUnit = Callable[[], None]
"""A piece of work that needs no order: any thread may do it, beside others of its kind."""


class LocalEncoder(Protocol):
    """Encodes in steps, so that urgent work can go first."""

    @property
    def backend(self) -> str:
        """Runtime and number format, e.g. ``openvino-bf16``; recorded with the vectors."""
        ...

    @property
    def is_brisk(self) -> bool:
        """Whether any question takes only milliseconds."""
        ...

    def encode_in_steps(
        self, texts: Sequence[str], *, whole: bool
    ) -> Generator[Sequence[WorkUnit] | None, None, Vectors]:
        """Encode, pausing before each step.

        Args:
            whole: True for passages, which may exceed the model's window; False for questions, which are cut at it.

        Yields:
            Units that must be done before the generator goes on, or None for a mere pause.

        Returns:
            ``float32`` of shape (len(texts), dimension), rows of length 1 (the generator's value).
        """
        ...


def lane_count(threads: int) -> int:
    """How many batches are encoded at a time on so many threads.

    One thread per batch is cheapest: two take half as much processor time again, and one spins while another program
    has its core. But each lane takes 20 MB, so on large machines a lane has several threads.
    """
    return min(threads, _MOST_LANES)


def encode_at_once(
    encoder: LocalEncoder, texts: Sequence[str], *, whole: bool, pool: Executor | None = None
) -> Vectors:
    """Encode at once; ``pool`` runs the units, None for the caller's own thread."""
    steps = encoder.encode_in_steps(texts, whole=whole)
    while True:
        try:
            units = next(steps) or ()
        except StopIteration as stop:
            return stop.value
        # Listed, so that a unit's error is raised here.
        list(map(_do, units) if pool is None else pool.map(_do, units))


def _do(unit: WorkUnit) -> None:
    unit()
