"""Several parser children: one document that takes its whole time holds up no other."""

import asyncio
from collections.abc import Sequence

from core.settings import Settings
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ParserChild, ProgressListener, ignore_progress
from ingestion.parsers.sandbox.protocol import ParseRequest


def parse_limits(settings: Settings) -> ParseLimits:
    """What the operator allows a document."""
    return ParseLimits(
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

    def __init__(self, size: int, *, recognition: OcrSettings | None = None) -> None:
        self._children = [ParserChild(recognition=recognition) for _ in range(size)]
        # Last in, first out: a worker with little to do keeps one child warm, not all.
        self._idle: asyncio.LifoQueue[ParserChild] = asyncio.LifoQueue()
        for child in self._children:
            self._idle.put_nowait(child)

    async def parse_each(
        self, requests: Sequence[ParseRequest], *, heard: ProgressListener = ignore_progress
    ) -> list[ParsedDocument | ParseFailure]:
        """Parse small files, or one of any size, in the next idle child; see ``ParserChild``."""
        child = await self._idle.get()
        try:
            return await child.parse_each(requests, heard=heard)
        finally:
            self._idle.put_nowait(child)

    async def close(self) -> None:
        """Kill all children and wait for their end."""
        await asyncio.gather(*(child.close() for child in self._children))
