"""E-mail messages (.eml): subject, sender, recipients, date and text."""

from collections.abc import Iterator, Sequence
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import cast

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ATTACHMENTS, ParsedDocument
from ingestion.parsers.text import plain
from ingestion.parsers.text.charset import DecodedText, codec_for_label, decode
from ingestion.parsers.text_cleanup import clean, flow
from ingestion.parsers.web import html

_SHOWN = ("From", "To", "Cc", "Date")
_TEXTS = frozenset({"text/plain", "text/html"})
_LONGEST_HEADER = 20_000
_DEEPEST = 20
_ENCRYPTED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a message; remote content is not fetched, attachments are neither read nor stored.

    The subject is the level-1 heading. Of alternative bodies the HTML one is read, or the plain one where that has no
    text. A forwarded message follows under its own subject, one level deeper. An encrypted message is
    ``password_protected``.
    """
    message = BytesParser().parsebytes(path.read_bytes())
    reader = _EmlReader(DocumentBuilder(limits), limits)
    reader.read(message, 0)
    return reader.finish()


def add_head(out: DocumentBuilder, subject: str, lines: Sequence[tuple[str, str]], level: int) -> None:
    """Add a message's subject as heading and its other headers as one paragraph."""
    out.add("heading", flow(subject), level=level)
    out.add("paragraph", "\n".join(f"{name}: {flow(value)}" for name, value in lines if value))


def add_plain(out: DocumentBuilder, text: str) -> None:
    """Add a plain-text body."""
    for kind, block, _ in plain.blocks(clean(text)):
        # A line such as "Section 4" in a mail is no heading of what follows.
        out.add("paragraph" if kind == "heading" else kind, block)


class _EmlReader:
    def __init__(self, out: DocumentBuilder, limits: ParseLimits) -> None:
        self._out = out
        self._limits = limits
        self._warnings: set[str] = set()
        self._has_text = False
        self._is_encrypted = False

    def read(self, message: Message, depth: int) -> None:
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        headers = {name.title(): str(value) for name, value in reversed(list(message.raw_items()))}
        texts = {name: self._header(headers.get(name, "")) for name in ("Subject", *_SHOWN)}
        lines = [(name, texts[name]) for name in _SHOWN]
        add_head(self._out, texts["Subject"], lines, depth + 1)
        if any(map(_is_attached, message.walk())):
            self._warnings.add(ATTACHMENTS)
        for part, *others in _bodies(message):
            if part.get_content_type() == "message/rfc822":
                for inner in _parts(part):
                    self.read(inner, depth + 1)
            else:
                # The first of them that has text.
                any(map(self._add_body, (part, *others)))

    def finish(self) -> ParsedDocument:
        if not self._has_text:
            raise ParseFailure(FailureReason.PASSWORD_PROTECTED if self._is_encrypted else FailureReason.EMPTY_TEXT)
        return self._out.finish(warnings=tuple(sorted(self._warnings)))

    def _add_body(self, part: Message) -> bool:
        kind = part.get_content_type()
        self._is_encrypted |= kind in _ENCRYPTED
        data = part.get_payload(decode=True)
        if part.get_content_maintype() != "text" or not isinstance(data, bytes):
            return False
        decoded = self._decoded(data, str(part.get_param("charset", "")))
        before = len(self._out)
        if kind == "text/html":
            self._out.extend(html.read(decoded.text, self._limits))
        else:
            add_plain(self._out, decoded.text)
        has_text = len(self._out) > before
        self._has_text |= has_text
        return has_text

    def _decoded(self, data: bytes, charset: str) -> DecodedText:
        decoded = decode(data, declared=codec_for_label(charset) if charset.isascii() and charset else None)
        self._warnings.update(decoded.warnings)
        return decoded

    def _header(self, raw: str) -> str:
        """A header's text: encoded words decoded, undeclared encodings detected."""
        raw = raw[:_LONGEST_HEADER]
        if not raw.isascii():
            return self._decoded(raw.encode("ascii", "surrogateescape"), "").text
        try:
            parts = decode_header(raw)
        except (HeaderParseError, ValueError):
            return raw
        return "".join(
            part if isinstance(part, str) else self._decoded(part, charset or "").text for part, charset in parts
        )


def _bodies(message: Message) -> Iterator[Sequence[Message]]:
    """The parts to read (the best alternative, the first of related parts), each with alternatives if it has no text."""
    waiting: list[tuple[Message, Sequence[Message]]] = [(message, ())]
    while waiting:
        part, others = waiting.pop()
        kind = part.get_content_type()
        inner = _parts(part)
        if _is_attached(part):
            continue
        if kind == "multipart/alternative":
            waiting += _best(inner, others)
        elif kind in ("multipart/related", "multipart/signed"):
            waiting += [(nested, others) for nested in inner[:1]]
        elif kind.startswith("multipart/"):
            waiting += [(nested, ()) for nested in reversed(inner)]
        else:
            yield (part, *others)


def _is_attached(part: Message) -> bool:
    is_message = part.get_content_type() == "message/rfc822"
    return part.get_content_disposition() == "attachment" and not is_message


def _parts(message: Message) -> list[Message]:
    payload: object = message.get_payload()
    parts = cast("list[object]", payload) if isinstance(payload, list) else []
    return [part for part in parts if isinstance(part, Message)]


def _best(alternatives: Sequence[Message], others: Sequence[Message]) -> list[tuple[Message, Sequence[Message]]]:
    """The last readable part, and the others: senders put the richest last."""
    readable = [part for part in alternatives if part.get_content_type() in _TEXTS or part.is_multipart()]
    plainer = [part for part in reversed(readable[:-1]) if not part.is_multipart()]
    return [(part, (*plainer, *others)) for part in readable[-1:]]
