"""Documents in messages: parsed in a sandboxed child process, and stored as passages."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter, ValidationError

from core.settings import Settings
from core.text.sanitize import strip_hidden
from ingestion.page_index import PageIndex
from ingestion.parsers import FORMATS, run_preflight
from ingestion.parsers.conversion.availability import conversion_state
from ingestion.parsers.conversion.converter import open_converter
from ingestion.parsers.conversion.formats import CONVERTED_FORMATS
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ParserPool, parse_limits
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.preview import unreadable_file
from ingestion.splitters import heading_recursive
from ingestion.splitters.base import SplitSizes
from kb_service.text.token_counter import token_counter

MOST_CHARACTERS = 40_000
"""Characters of one document that are kept for a conversation, from its beginning."""
READ_SECONDS = 30
"""How long a document may take, waiting for others included: the caller waits for it."""
_PARSE_SECONDS = 20
_AT_ONCE = 2
_SIZES = SplitSizes(chunk_size=300, chunk_overlap=0)
_ALL_FORMATS = (*FORMATS, *CONVERTED_FORMATS)
_BY_MEDIA_TYPE = {form.media_type: form.endings.split()[0] for form in _ALL_FORMATS}
_SUFFIXES = frozenset(suffix for form in _ALL_FORMATS for suffix in form.suffixes)
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class DocumentPassage:
    """A passage of an attached document, with its place in the extracted text.

    Attributes:
        later_pages: Offset, counted as ``char_start`` is, and number of each page that begins within the passage.
    """

    text: str
    heading_path: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    later_pages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AttachedDocument:
    """A document of a message; ``is_cut`` if only its beginning is here."""

    name: str
    mime_type: str
    passages: tuple[DocumentPassage, ...]
    is_cut: bool = False

    def shortened(self, most: int) -> "AttachedDocument":
        """As many passages from the beginning as have so many characters; at least one."""
        passages: list[DocumentPassage] = []
        for passage in self.passages:
            most -= len(passage.text)
            if passages and most < 0:
                return replace(self, passages=tuple(passages), is_cut=True)
            passages.append(passage)
        return self

    def to_bytes(self) -> bytes:
        """The stored form."""
        return _STORED.dump_json(self)


_STORED = TypeAdapter(AttachedDocument)


def from_bytes(content: bytes) -> AttachedDocument | None:
    """The document of a stored form; None for other bytes."""
    try:
        return _STORED.validate_json(content)
    except ValidationError:
        return None


class DocumentParser:
    """Parses documents of messages, a few at a time; the children are started at the first."""

    def __init__(self, settings: Settings) -> None:
        recognition = OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or ""))
        self._pool = ParserPool(_AT_ONCE, recognition=recognition, converter=open_converter(settings))
        self._support = FormatSupport(conversion_state(settings))
        self._limits = replace(
            parse_limits(settings),
            seconds=min(_PARSE_SECONDS, settings.parse_timeout_seconds),
            recognition_seconds=_PARSE_SECONDS,
        )

    async def close(self) -> None:
        await self._pool.close()

    async def parse(self, content: bytes, filename: str, mime_type: str) -> AttachedDocument:
        """The beginning of a document's text, in passages.

        Raises:
            EmptyFile, UnsupportedFileType, FileTypeMismatch, TextRecognitionMissing: No parser reads these bytes.
            ArchiveLimits, ImageTooLarge and others: It says of itself that it is too large.
            UnreadableFile: It has no text, is damaged or takes too long.
        """
        name = _file_name(content, filename, mime_type)
        detected = detect_type(name, content[:HEAD_BYTES], len(content), self._support)
        try:
            async with asyncio.timeout(READ_SECONDS):
                await asyncio.to_thread(run_preflight, detected.name, BytesIO(content), self._limits)
                parsed = await self._parse(content, detected.name)
                return await asyncio.to_thread(_cut, parsed, name, detected.name)
        except TimeoutError as error:
            raise unreadable_file(ParseFailure(FailureReason.PARSE_TIMEOUT)) from error
        except ParseFailure as failure:
            raise unreadable_file(failure) from failure

    async def _parse(self, content: bytes, media_type: str) -> ParsedDocument:
        # Cleaned up by the thread that made it, also when this is cancelled.
        folder = await asyncio.to_thread(TemporaryDirectory, prefix="agentex-message-")
        try:
            path = Path(folder.name) / "document"
            await asyncio.to_thread(path.write_bytes, content)
            (outcome,) = await self._pool.parse_each([ParseRequest(path, media_type, self._limits)])
        finally:
            await asyncio.to_thread(folder.cleanup)
        if isinstance(outcome, ParseFailure):
            raise outcome
        return outcome


def _file_name(content: bytes, filename: str, mime_type: str) -> str:
    """A name whose ending says how the document is read: its own, else that of its media type."""
    base = strip_hidden(filename.replace("\\", "/").rpartition("/")[2]).strip()
    base = "".join(character for character in base if character.isprintable())[-_LONGEST_NAME:]
    if Path(base.lower()).suffix in _SUFFIXES:
        return base
    ending = "pdf" if content.startswith(b"%PDF-") else _BY_MEDIA_TYPE.get(mime_type.partition(";")[0].strip().lower())
    if ending is None and Path(base).suffix and not mime_type.startswith("text/"):
        # No parser for this ending: refused by its name.
        return base
    return f"{base or 'document'}.{ending or 'txt'}"


def _cut(parsed: ParsedDocument, name: str, media_type: str) -> AttachedDocument:
    passages = tuple(_passages(parsed))
    if not passages:
        raise ParseFailure(FailureReason.EMPTY_TEXT)
    document = AttachedDocument(name, media_type, passages)
    is_whole = not parsed.text[passages[-1].char_end :].strip()
    document = document.shortened(MOST_CHARACTERS)
    return replace(document, is_cut=document.is_cut or not is_whole)


def _passages(parsed: ParsedDocument) -> Iterator[DocumentPassage]:
    room, pages = MOST_CHARACTERS, PageIndex(parsed.elements)
    for piece in heading_recursive.split(parsed, sizes=_SIZES, counter=token_counter()):
        if room <= 0:
            return
        room -= len(piece.text)
        headings = tuple(map(strip_hidden, piece.heading_path))
        start, end = piece.char_start, piece.char_end
        later = tuple(pages.within(start, end))
        yield DocumentPassage(strip_hidden(piece.text), headings, piece.page, start, end, later)
