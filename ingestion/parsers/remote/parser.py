"""The external parser of a parsing service: it sends the file there and has the parser child read the answer."""

import asyncio
from pathlib import Path
from typing import Protocol

from core.settings import Settings
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import ProgressListener, file_ending
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.remote.service_client import SentFile, ServiceFinding
from ingestion.parsers.sandbox.client import ParserChild
from ingestion.parsers.sandbox.folders import document_folder
from ingestion.parsers.sandbox.protocol import ParseRequest

_PREFIX = "agentex-answer-"


class ParsingService(Protocol):
    """One kind of service."""

    @property
    def answer_type(self) -> str:
        """Media type of its answers (``ingestion.parsers.ANSWERS``)."""
        ...

    async def convert(self, document: SentFile, strategy: str, answer: Path, limits: ParseLimits) -> None:
        """Write what the service answers to a document into a file, as it is.

        Raises:
            ParseFailure: the service refuses or fails on the document, or its answer is longer than ``limits.archive_bytes``.
            ParserServiceUnavailable: it does not answer; the document is tried again later.
        """
        ...

    async def check(self) -> ServiceFinding:
        """Whether the service answers and takes the key."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class RemoteParser:
    """An ``ExternalParser`` behind a service.

    What a service answers may be anything: it is read in a parser child, with the limits of any document. Documents are sent
    at once; their answers are read one after the other.
    """

    def __init__(self, service: ParsingService, settings: Settings) -> None:
        self._service = service
        self._seconds = settings.parser_service_seconds
        self._child = ParserChild()

    async def parse(self, request: ParseRequest, listener: ProgressListener) -> ParsedDocument:
        """Have the service read one file; see ``ExternalParser.parse``. Cancellation closes the connection at once."""
        # The services tell no progress within one document.
        del listener
        document = SentFile(request.path, f"document.{file_ending(request)}", request.media_type)
        async with document_folder(_PREFIX) as folder:
            answer = folder / "answer.json"
            try:
                async with asyncio.timeout(self._seconds):
                    await self._service.convert(document, request.strategy, answer, request.limits)
            except TimeoutError as error:
                raise ParseFailure(FailureReason.PARSE_TIMEOUT) from error
            return await self._child.parse(answer, self._service.answer_type, limits=request.limits)

    async def close(self) -> None:
        await asyncio.gather(self._service.close(), self._child.close())
