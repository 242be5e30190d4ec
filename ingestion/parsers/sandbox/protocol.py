"""The wire between worker and parser child: length-prefixed msgpack of plain tuples."""

# msgpack has no types for its two functions.
# pyright: reportUnknownMemberType=false

import struct
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import cast

import msgpack

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import Element, Kind, LaterPages, ParsedDocument

HEADER = struct.Struct("!I")
"""Precedes each message: the number of bytes that follow."""

_BYTES_PER_CHARACTER = 4
_BYTES_PER_ELEMENT = 64
_BYTES_PER_PAGE = 16
_SLACK = 65_536


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """One document to parse; ``encoding`` is the codec of its text, None to find it out."""

    path: Path
    media_type: str
    limits: ParseLimits
    encoding: str | None = None


def max_reply_bytes(limits: ParseLimits) -> int:
    """Bytes that a reply within the limits can't exceed."""
    text = limits.output_characters * _BYTES_PER_CHARACTER
    # No page begins in two elements, so that there are no more such places than pages.
    places = limits.elements * _BYTES_PER_ELEMENT + limits.pages * _BYTES_PER_PAGE
    return text + places + _SLACK


def pack_isolation(isolation: tuple[str, ...]) -> bytes:
    """The child's first message: what isolation holds."""
    return _pack(list(isolation))


def unpack_isolation(message: bytes) -> tuple[str, ...]:
    """Inverse of ``pack_isolation``."""
    return tuple(cast("list[str]", _unpack(message)))


def pack_request(request: ParseRequest) -> bytes:
    """A request as one frame."""
    limits = list(astuple(request.limits))
    return _pack([str(request.path), request.media_type, limits, request.encoding])


def unpack_request(message: bytes) -> ParseRequest:
    """Inverse of ``pack_request``, without the header."""
    unpacked = cast("tuple[str, str, list[int], str | None]", _unpack(message))
    path, media_type, limits, encoding = unpacked
    return ParseRequest(Path(path), media_type, ParseLimits(*limits), encoding)


def pack_reply(outcome: ParsedDocument | ParseFailure) -> bytes:
    """A result as one frame; elements go without their texts, which the whole text holds."""
    if isinstance(outcome, ParseFailure):
        return _pack([outcome.reason.value, outcome.detail])
    spans = [
        (e.kind, e.level, e.page, e.char_start, e.char_end, e.later_pages) for e in outcome.elements
    ]
    facts = (outcome.encoding, outcome.encoding_confidence, outcome.pages, outcome.warnings)
    return _pack([outcome.text, spans, facts])


def pack_progress(percent: int) -> bytes:
    """How far a parse is, as one frame; such may come before its reply."""
    return _pack(percent)


def unpack_reply(message: bytes) -> ParsedDocument | ParseFailure | int:
    """Inverse of ``pack_reply``, and of ``pack_progress``, without the header."""
    unpacked = _unpack(message)
    if isinstance(unpacked, int):
        return unpacked
    parts = cast("list[object]", unpacked)
    if len(parts) == 2:
        reason, detail = cast("tuple[str, str]", parts)
        return ParseFailure(FailureReason(reason), detail)
    text, spans, facts = cast("tuple[str, list[_Span], _Facts]", parts)
    elements = (
        Element(kind, text[start:end], level, page, start, end, tuple((at, no) for at, no in later))
        for kind, level, page, start, end, later in spans
    )
    encoding, confidence, pages, warnings = facts
    return ParsedDocument(tuple(elements), text, encoding, confidence, pages, tuple(warnings))


_Span = tuple[Kind, int, int | None, int, int, LaterPages]
_Facts = tuple[str | None, float | None, int | None, list[str]]


def _pack(value: object) -> bytes:
    body = cast("bytes", msgpack.packb(value))
    return HEADER.pack(len(body)) + body


def _unpack(message: bytes) -> object:
    # Both ends are ours; the frame's own length is the bound on its parts.
    return cast("object", msgpack.unpackb(message))
