"""Preview of how a knowledge base would split a document."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from core.errors.requests import PreviewBusy, UnreadableFile
from core.settings import Settings
from core.threads import StopFlag, run_stoppable
from core.types.document_parsers import BUILT_IN
from ingestion.parsers.conversion.converter import open_converter
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import ExternalParsers
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ParserPool, parse_limits
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.parsers.text.charset import no_text_failure
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.encoding import blocking_embed
from kb_service.embeddings.protocol import Encoder
from kb_service.knowledge_bases.service import Splitting
from kb_service.text.token_counter import TokenCounter

PREVIEW_SECONDS = 20
"""The longest a preview takes as a rule, once it has the lock."""
SLOW_PREVIEW_SECONDS = 180
"""The same for a parser that is not ours, which loads a library or asks a service, and for a splitter that encodes text."""

_LOCK_SECONDS = 10


@dataclass(frozen=True)
class SplitRequest:
    """A document and its split settings; at most ``most`` pieces are returned, all are counted.

    ``account`` is whose share of the encoder it takes, where the splitter encodes text.
    """

    document: ParseRequest
    splitting: Splitting
    counter: TokenCounter
    encoder: Encoder
    account: str
    most: int


@dataclass(frozen=True)
class SplitPreview:
    """The first pieces of a document, and figures over all of them; ``windows``: number of dense windows."""

    pieces: Sequence[Piece]
    total: int
    windows: int
    mean_tokens: float
    max_tokens: int
    characters: int
    pages: int | None
    warnings: Sequence[str]


class SplitPreviewer:
    """Makes previews, one at a time, in its own parser child, started at the first; stores nothing."""

    def __init__(self, settings: Settings) -> None:
        recognition = OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or ""))
        self._parser = ParserPool(
            1, recognition=recognition, converter=open_converter(settings), external=ExternalParsers(settings)
        )
        self._lock = asyncio.Lock()
        self._limits = parse_limits(settings)

    async def preview(self, request: SplitRequest) -> SplitPreview:
        """Parse and split one file; UnreadableFile, or PreviewBusy while others are made. Cancellation ends it at once."""
        try:
            async with asyncio.timeout(_LOCK_SECONDS):
                await self._lock.acquire()
        except TimeoutError as error:
            raise PreviewBusy from error
        try:
            seconds = _longest(request)
            async with asyncio.timeout(seconds):
                return await self._preview(request, seconds)
        except TimeoutError as error:
            raise unreadable_file(ParseFailure(FailureReason.PARSE_TIMEOUT)) from error
        except ParseFailure as failure:
            raise unreadable_file(failure) from failure
        finally:
            self._lock.release()

    async def close(self) -> None:
        await self._parser.close()

    async def _preview(self, request: SplitRequest, seconds: float) -> SplitPreview:
        limits = replace(self._limits, seconds=min(seconds, self._limits.seconds), recognition_seconds=seconds)
        document = replace(request.document, limits=limits)
        (parsed,) = await self._parser.parse_each([document])
        if isinstance(parsed, ParseFailure):
            raise parsed
        preview = await run_stoppable(partial(_split, request, parsed))
        if not preview.total:
            raise no_text_failure(parsed.warnings, document.encoding)
        return preview


def _longest(request: SplitRequest) -> float:
    is_slow = request.document.parser != BUILT_IN or SPLITTERS[request.splitting.splitter].encodes
    return SLOW_PREVIEW_SECONDS if is_slow else PREVIEW_SECONDS


def _split(request: SplitRequest, parsed: ParsedDocument, stop: StopFlag) -> SplitPreview:
    splitting = request.splitting
    sizes = SplitSizes(splitting.chunk_size, splitting.chunk_overlap)
    embed = blocking_embed(request.encoder, stop, account=request.account)
    split = SPLITTERS[splitting.splitter].splitter(embed)
    pieces = stop.until(split(parsed, sizes=sizes, counter=request.counter))
    first = list(islice(pieces, request.most))
    counts = [(piece.token_count, len(piece.windows)) for piece in first]
    counts += [(piece.token_count, len(piece.windows)) for piece in pieces]
    tokens = [count for count, _ in counts]
    return SplitPreview(
        pieces=first,
        total=len(counts),
        windows=sum(windows for _, windows in counts),
        mean_tokens=sum(tokens) / len(tokens) if tokens else 0.0,
        max_tokens=max(tokens, default=0),
        characters=len(parsed.text),
        pages=parsed.pages,
        warnings=parsed.warnings,
    )


def unreadable_file(failure: ParseFailure) -> UnreadableFile:
    """The error for a file that is read while its sender waits."""
    return UnreadableFile(
        reason=failure.reason.value,
        message=failure.message,
        message_zh=failure.message_zh,
        next_action=failure.next_action,
        next_action_zh=failure.next_action_zh,
    )
