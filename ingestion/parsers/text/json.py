"""JSON: a document flattened to lines of path and value."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode

_BLOCK_CHARACTERS = 1_200

Scalar = str | None | bool


class Members(tuple[tuple[str, object], ...]):
    """The members of an object, repeated names included."""

    __slots__ = ()


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read one JSON value; each scalar becomes a line such as ``users[0].name: Ada``.

    Numbers stay as written. Blocks hold about a thousand characters and end, if they can, where a top-level member or
    item ends.
    """
    decoded = decode(path.read_bytes())
    builder = DocumentBuilder(limits)
    for block in blocks(parts(load(decoded.text))):
        builder.add("code", block)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def load(text: str) -> object:
    """A JSON text's value, objects as ``Members``, numbers as text; ParseFailure ``corrupt_file`` or ``too_complex``."""
    try:
        return json.loads(text.lstrip("\ufeff"), object_pairs_hook=Members, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        reason = FailureReason.CORRUPT_FILE if text.strip() else FailureReason.EMPTY_TEXT
        raise ParseFailure(reason) from error
    except RecursionError as error:
        raise ParseFailure(FailureReason.TOO_COMPLEX) from error


def parts(value: object) -> Iterator[list[str]]:
    """The lines of each top-level member or item; a scalar is one part."""
    children = _children(value, "")
    if children is None:
        yield list(lines("", value))
    else:
        for name, child in children:
            yield list(lines(name, child))


def lines(path: str, value: object) -> Iterator[str]:
    """One line per scalar below a value; none for empty objects and arrays."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        children = _children(value, path)
        if children is not None:
            waiting.extend(reversed(children))
        else:
            text = _scalar(cast("Scalar", value))
            yield f"{path}: {text}" if path else text


def blocks(groups: Iterable[list[str]]) -> Iterator[str]:
    """Texts of about a thousand characters, groups of several lines separated by blank lines; only longer groups are
    cut.
    """
    block: list[str] = []
    length = 0
    for group in groups:
        if block and length + sum(map(len, group)) > _BLOCK_CHARACTERS:
            yield "\n".join(block)
            block, length = [], 0
        if block and len(group) > 1:
            block.append("")
        for line in group:
            if length > _BLOCK_CHARACTERS:
                yield "\n".join(block)
                block, length = [], 0
            block.append(line)
            length += len(line)
    if block:
        yield "\n".join(block)


def _children(value: object, path: str) -> list[tuple[str, object]] | None:
    """Paths and values one level below an object or array; None for a scalar."""
    if isinstance(value, Members):
        return [(f"{path}.{name}" if path else name, child) for name, child in value]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [(f"{path}[{index}]", child) for index, child in enumerate(items)]
    return None


def _scalar(value: Scalar) -> str:
    if isinstance(value, str):
        return value
    return "null" if value is None else str(value).lower()
