"""What an agent may remember about the person it works for: the port of long-term memory."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """Something that was remembered.

    Attributes:
        source: Who wrote it: ``user``, ``agent`` or ``distilled``.
    """

    text: str
    source: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SaveResult:
    """What became of a fact that was to be remembered; ``is_new`` is False for one known before."""

    memory_id: str
    is_new: bool


class NotStatedByUser(ValueError):
    """A fact that the user did not say in this conversation: it may come from a document."""


class SecretInMemory(ValueError):
    """A fact about a password or a key, which agents do not note."""


class LongTermMemory(Protocol):
    """The memories of one person, who allowed the run to use them."""

    async def recall(self, about: str, *, most: int) -> tuple[MemoryHit, ...]:
        """What is remembered about something, best first; nothing that has nothing to do with it.

        Raises:
            core.errors.DatabaseUnavailable: the memories can't be read.
        """
        ...

    async def save(self, text: str) -> SaveResult:
        """Remember a fact that the user stated; one that is known already stays as it is.

        Raises:
            NotStatedByUser: the user said nothing of the kind.
            SecretInMemory: it is about a password or a key.
            core.errors.InvalidRequest: it is empty or too long.
            core.errors.MemoryFull: no more memories are kept for this person.
        """
        ...
