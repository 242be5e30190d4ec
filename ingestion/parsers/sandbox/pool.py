"""Several parser children: one document that takes its whole time holds up no other."""

import asyncio
from collections.abc import Sequence

from core.settings import Settings
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.image.ocr import Recognition
from ingestion.parsers.limits import Limits
from ingestion.parsers.model import Parsed
from ingestion.parsers.sandbox.client import Heard, ParserChild, to_nobody
from ingestion.parsers.sandbox.protocol import Request


def limits_of(settings: Settings) -> Limits:
    """What the operator allows a document."""
    return Limits(
        seconds=settings.parse_timeout_seconds,
        memory_bytes=settings.parse_memory_bytes,
        output_characters=settings.parse_output_characters,
        recognition_seconds=settings.ocr_timeout_seconds,
    )


class ParserPool:
    """Children that parse side by side; each is started at its first document.

    Args:
        size: how many documents are parsed at a time.
        recognition: how pictures are read.
    """

    def __init__(self, size: int, *, recognition: Recognition | None = None) -> None:
        self._children = [ParserChild(recognition=recognition) for _ in range(size)]
        # Last in, first out: a worker with little to do keeps one child warm, not all.
        self._idle: asyncio.LifoQueue[ParserChild] = asyncio.LifoQueue()
        for child in self._children:
            self._idle.put_nowait(child)

    async def parse_each(
        self, requests: Sequence[Request], *, heard: Heard = to_nobody
    ) -> list[Parsed | ParseFailure]:
        """Parse small files, or one of any size, in the next idle child; see ``ParserChild``."""
        child = await self._idle.get()
        try:
            return await child.parse_each(requests, heard=heard)
        finally:
            self._idle.put_nowait(child)

    async def close(self) -> None:
        """Kill all children and wait for their end."""
        await asyncio.gather(*(child.close() for child in self._children))
