"""The file that unstructured's process has written, as a parsed document; its contents are a stranger's."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

from core.logging import get_logger
from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import text_box
from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image.ocr import RECOGNISED
from ingestion.parsers.model import Kind, ParsedDocument
from ingestion.parsers.sandbox.protocol import ParseRequest, max_reply_bytes

_log = get_logger(__name__)

_KINDS = frozenset(cast("tuple[str, ...]", get_args(Kind)))
_NEEDED = frozenset({"no_network", "own_folder_only"})
_PDF = "application/pdf"


def document_of(path: Path, request: ParseRequest) -> ParsedDocument:
    """Read a result; not for the event loop.

    Raises:
        ParseFailure: the one that it names, or what is wrong with it.
    """
    try:
        result = _load(path, max_reply_bytes(request.limits))
        _warn_of_confinement(frozenset(map(str, result["active"])))
        if "reason" in result:
            raise ParseFailure(FailureReason(result["reason"]), str(result.get("detail", ""))[:100])
        blocks = cast("Sequence[Sequence[Any]]", result["blocks"])
        return _document(blocks, request, is_recognised=result.get("recognised") is True)
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise ParseFailure(FailureReason.PARSER_CRASHED, "result") from error


def _load(path: Path, most: int) -> Mapping[str, Any]:
    # A link that a hostile document had made in place of the file is not followed.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ParseFailure(FailureReason.OUTPUT_TOO_LARGE)
    return cast("Mapping[str, Any]", json.loads(content))


def _document(blocks: Sequence[Sequence[Any]], request: ParseRequest, *, is_recognised: bool) -> ParsedDocument:
    builder = DocumentBuilder(request.limits)
    pages = 0
    for kind, content, level, page, sides in blocks:
        if kind not in _KINDS or (page is not None and not (isinstance(page, int) and page > 0)):
            raise ValueError(kind)
        pages = max(pages, page or 0)
        if pages > request.limits.pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        if isinstance(content, str):
            builder.add(kind, content, level=max(0, int(level)), page=page, boxes=_boxes(sides, page))
        else:
            builder.add_table(([str(cell) for cell in row] for row in content), page=page, boxes=_boxes(sides, page))
    if not len(builder) and request.media_type == _PDF and not is_recognised:
        raise ParseFailure(FailureReason.NO_TEXT_LAYER)
    warnings = (RECOGNISED,) if is_recognised else ()
    return builder.finish(encoding=request.encoding, pages=pages or None, warnings=warnings)


def _boxes(sides: Sequence[Any] | None, page: int | None) -> list[TextBox]:
    box = text_box([float(side) for side in sides], page) if sides is not None else None
    return [box] if box is not None else []


@cache
def _warn_of_confinement(active: frozenset[str]) -> None:
    """Warn once that this system does not keep documents from the network or from other files."""
    if not active >= _NEEDED:
        _log.warning("unstructured.not_confined", holds=sorted(active))
