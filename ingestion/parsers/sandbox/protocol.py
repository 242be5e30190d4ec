"""Frames between worker and parser child: length-prefixed msgpack, derived from dataclasses."""

# msgpack has no types for its two functions.
# pyright: reportUnknownMemberType=false

import struct
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import msgpack

from core.types.document_parsers import AUTO_STRATEGY, BUILT_IN
from core.types.text_boxes import TextBox
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import Element, ParsedDocument

HEADER = struct.Struct("!I")
"""Precedes each message: the number of bytes that follow."""

_BYTES_PER_CHARACTER = 4
_BYTES_PER_ELEMENT = 64
_BYTES_PER_PAGE = 16
_BYTES_PER_BOX = 32
_SLACK = 65_536


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """One document to parse; a new option is a field here, read in ``main``.

    Attributes:
        encoding: None to detect it.
        parser: Which one reads it (``core.types.document_parsers``).
        strategy: How, if that parser has strategies.
        ending: Of the document's name, in lower case and without its dot.
    """

    path: Path
    media_type: str
    limits: ParseLimits = field(default_factory=ParseLimits)
    encoding: str | None = None
    parser: str = BUILT_IN
    strategy: str = AUTO_STRATEGY
    ending: str = ""


def max_reply_bytes(limits: ParseLimits) -> int:
    """Maximum size of a reply within the limits."""
    text = limits.output_characters * _BYTES_PER_CHARACTER
    # A page begins in one element only, so that there are at most as many places as pages.
    places = limits.elements * _BYTES_PER_ELEMENT + limits.pages * _BYTES_PER_PAGE + limits.boxes * _BYTES_PER_BOX
    return text + places + _SLACK


def pack_isolation(isolation: tuple[str, ...]) -> bytes:
    """The child's first message: its effective restrictions."""
    return _pack(list(isolation))


def unpack_isolation(message: bytes) -> tuple[str, ...]:
    """The inverse of ``pack_isolation``."""
    return cast("tuple[str, ...]", _unpack(message))


def pack_request(request: ParseRequest) -> bytes:
    """A request as one frame."""
    return _pack({**asdict(request), "path": str(request.path)})


def unpack_request(message: bytes) -> ParseRequest:
    """The inverse of ``pack_request``, without the header."""
    values = cast("dict[str, Any]", _unpack(message))
    values |= {"path": Path(values["path"]), "limits": ParseLimits(**values["limits"])}
    return ParseRequest(**values)


def pack_reply(outcome: ParsedDocument | ParseFailure) -> bytes:
    """A result as one frame; elements go without their texts, which the whole text contains."""
    if isinstance(outcome, ParseFailure):
        return _pack([outcome.reason.value, outcome.detail])
    spans = list(map(_span_of, outcome.elements))
    return _pack([outcome.text, spans, {name: getattr(outcome, name) for name in _FACTS}])


def pack_progress(percent: int) -> bytes:
    """Progress as one frame, before the reply."""
    return _pack(percent)


def unpack_reply(message: bytes) -> ParsedDocument | ParseFailure | int:
    """The inverse of ``pack_reply`` and ``pack_progress``, without the header."""
    unpacked = _unpack(message)
    if isinstance(unpacked, int):
        return unpacked
    parts = cast("tuple[Any, ...]", unpacked)
    if len(parts) == 2:
        return ParseFailure(FailureReason(parts[0]), parts[1])
    text, spans, facts = parts
    elements = (Element(*(*span[:_TEXT_AT], text[span[_START] : span[_END]], *span[_TEXT_AT:])) for span in spans)
    boxes = tuple(TextBox(*box) for box in facts.pop("boxes"))
    return ParsedDocument(tuple(elements), text, boxes=boxes, **facts)


# By dataclass fields, so that a new field needs no line here.
_FACTS = [part.name for part in fields(ParsedDocument) if part.name not in ("elements", "text")]
_ELEMENT = [part.name for part in fields(Element)]
_TEXT_AT = _ELEMENT.index("text")
_SPAN = [name for name in _ELEMENT if name != "text"]
_START, _END = _SPAN.index("char_start"), _SPAN.index("char_end")
_span_of = attrgetter(*_SPAN)


def _pack(value: object) -> bytes:
    body = cast("bytes", msgpack.packb(value))
    return HEADER.pack(len(body)) + body


def _unpack(message: bytes) -> object:
    # Both ends are ours; the frame's own length is the bound on its parts.
    return cast("object", msgpack.unpackb(message, use_list=False))
