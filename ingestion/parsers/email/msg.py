"""Outlook messages (.msg): subject, sender, recipients, date and text."""

# olefile has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

import olefile

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.email.eml import add_head, add_plain
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ATTACHMENTS, ParsedDocument
from ingestion.parsers.office.rtf_tokens import page_codec
from ingestion.parsers.text.charset import decode
from ingestion.parsers.web import html

# Property numbers of MS-OXPROPS.
_SUBJECT, _BODY, _HTML = 0x0037, 0x1000, 0x1013
_SENDER, _SENDER_ADDRESS, _TO, _CC = 0x0C1A, 0x5D01, 0x0E04, 0x0E03
_SENT, _CODE_PAGE = 0x0039, 0x3FFD
_ATTACHED = "__attach_version1.0_"
_PROPERTIES = "__properties_version1.0"
_HEAD = 32
_ENTRY = struct.Struct("<HHIQ")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_DAMAGE = (OSError, ValueError, IndexError, KeyError, TypeError, OverflowError, struct.error)


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a message saved by Outlook; its attachments are neither read nor stored.

    The subject is the level-1 heading. The HTML body is preferred to the plain one.
    """
    try:
        # Otherwise a truncated message would be read as if complete.
        strict = olefile.DEFECT_INCORRECT
        with olefile.OleFileIO(str(path), raise_defects=strict) as file:
            message = _Message(file, limits)
            has_attachments = any(entry[0].startswith(_ATTACHED) for entry in file.listdir())
    except _DAMAGE as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error
    builder = DocumentBuilder(limits)
    sender = " ".join(filter(None, (message.text(_SENDER), message.address())))
    lines = [("From", sender), ("To", message.text(_TO)), ("Cc", message.text(_CC))]
    add_head(builder, message.text(_SUBJECT), [*lines, ("Date", message.sent())], 1)
    before = len(builder)
    markup = message.markup()
    if markup:
        builder.extend(html.read(markup, limits))
    if len(builder) == before:
        add_plain(builder, message.text(_BODY))
    if len(builder) == before:
        raise ParseFailure(FailureReason.EMPTY_TEXT)
    return builder.finish(warnings=(ATTACHMENTS,) if has_attachments else ())


class _Message:
    def __init__(self, file: "olefile.OleFileIO[str]", limits: ParseLimits) -> None:
        self._file = file
        self._limits = limits
        if not file.exists(_PROPERTIES):
            raise ParseFailure(FailureReason.CORRUPT_FILE)
        fixed = self._stream(_PROPERTIES)[_HEAD:]
        whole = len(fixed) // _ENTRY.size * _ENTRY.size
        entries = _ENTRY.iter_unpack(fixed[:whole])
        self._numbers = {number: value for _, number, _, value in entries}
        self._codec = page_codec(self._numbers.get(_CODE_PAGE, 0) & 0xFFFF)
        self._texts = {number: self._text(number) for number in (_SUBJECT, _BODY, _SENDER, _SENDER_ADDRESS, _TO, _CC)}
        self._markup = self._read_markup()

    def text(self, number: int) -> str:
        return self._texts[number]

    def address(self) -> str:
        address = self.text(_SENDER_ADDRESS)
        return f"<{address}>" if address and address != self.text(_SENDER) else ""

    def sent(self) -> str:
        """The time of sending in ISO 8601, UTC."""
        ticks = self._numbers.get(_SENT, 0)
        if not 0 < ticks < 2**62:
            return ""
        try:
            return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(" ", "minutes")
        except OverflowError:
            return ""

    def markup(self) -> str:
        return self._markup

    def _read_markup(self) -> str:
        data = self._property(_HTML, 0x0102)
        return html.decode_page(data).text if data else self._text(_HTML)

    def _text(self, number: int) -> str:
        wide = self._property(number, 0x001F)
        if wide:
            return wide.decode("utf-16-le", "replace").strip()
        narrow = self._property(number, 0x001E)
        return decode(narrow, declared=self._codec).text.strip() if narrow else ""

    def _property(self, number: int, kind: int) -> bytes:
        name = f"__substg1.0_{number:04X}{kind:04X}"
        return self._stream(name) if self._file.exists(name) else b""

    def _stream(self, name: str) -> bytes:
        if self._file.get_size(name) > self._limits.part_bytes:
            raise ParseFailure(FailureReason.ARCHIVE_LIMITS)
        with self._file.openstream(name) as stream:
            return bytes(stream.read())
