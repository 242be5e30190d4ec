"""The port of long-term memory: what an agent may remember about its user."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory; ``source`` is ``user``, ``agent`` or ``distilled``."""

    text: str
    source: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The result of saving a fact; ``is_new`` is False if it was known before."""

    memory_id: str
    is_new: bool


class NotStatedByUser(ValueError):
    """A fact that the user did not say in this conversation: it may come from a document."""


class SecretInMemory(ValueError):
    """A fact about a password or a key, which agents do not note."""


class LongTermMemory(Protocol):
    """The memories of a person who allowed the run to use them."""

    async def recall(self, about: str, *, most: int) -> tuple[MemoryHit, ...]:
        """Memories related to a topic, best first."""
        ...

    async def save(self, text: str) -> SaveResult:
        """Remember a fact that the user stated; a known fact stays unchanged.

        Raises:
            NotStatedByUser: The user said nothing of the kind.
            SecretInMemory: It contains a password or key.
        """
        ...
