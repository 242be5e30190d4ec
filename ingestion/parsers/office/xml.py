"""Reading XML parts of Office containers: no document type, hence no entities."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol
from xml.etree.ElementTree import Element, ParseError, XMLParser
from xml.parsers import expat

from ingestion.parsers.errors import FailureReason, ParseFailure

_CHUNK = 65_536


class _RootSeen(Exception):
    """The prolog is over."""


def read_xml(content: bytes | str) -> Element:
    """The root element of a part; ParseFailure ``unsafe_xml`` or ``corrupt_file``.

    The prolog is read first and a document type refused there: with none, no entity can be declared, and expat itself
    never loads anything from outside. The declared encoding of a string is ignored.
    """
    _refuse_document_type(content)
    # Safe here: entities can't have been declared.
    parser = XMLParser()  # noqa: S314
    try:
        for start in range(0, len(content), _CHUNK):
            parser.feed(content[start : start + _CHUNK])
        return parser.close()
    except ParseError as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error


def _refuse_document_type(content: bytes | str) -> None:
    def refuse(*_: object) -> None:
        raise ParseFailure(FailureReason.UNSAFE_XML)

    def stop(*_: object) -> None:
        raise _RootSeen

    reader = expat.ParserCreate()
    reader.StartDoctypeDeclHandler = refuse
    reader.StartElementHandler = stop
    try:
        for start in range(0, len(content), _CHUNK):
            reader.Parse(content[start : start + _CHUNK], False)
        reader.Parse(b"", True)
    except _RootSeen:
        return
    except expat.ExpatError as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error


def name(node: Element) -> str:
    """An element's name without its namespace (strict and transitional files differ in it)."""
    return _local(node.tag)


@lru_cache(maxsize=1024)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def child(parent: Element, tag: str) -> Element | None:
    """The first child of this name."""
    return next((node for node in parent if name(node) == tag), None)


def attribute(node: Element, attribute_name: str) -> str:
    """An attribute in the element's own namespace or in none; empty if missing."""
    space = node.tag.rpartition("}")[0]
    return node.get(f"{space}}}{attribute_name}" if space else attribute_name) or node.get(attribute_name) or ""


class Handler(Protocol):
    """Receives the elements; names come without their prefixes."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; the attributes keep their prefixes."""
        ...

    def end(self, name: str) -> None: ...

    def text(self, data: str) -> None:
        """Text directly within the current element."""
        ...


def stream_xml(blocks: Iterable[bytes | str], handler: Handler) -> Iterator[None]:
    """Read a document block by block; yields after each. ParseFailure ``unsafe_xml`` for a document type,
    ``corrupt_file``.

    Args:
        blocks: Bytes, or text, whose declared encoding is ignored.
        handler: Called for each element in document order.
    """
    reader = expat.ParserCreate()
    reader.buffer_text = True
    reader.buffer_size = 65_536
    local: dict[str, str] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        local_name = local.get(name)
        if local_name is None:
            local_name = local[name] = name.rpartition(":")[2]
        handler.start(local_name, attributes)

    reader.StartElementHandler = start
    reader.EndElementHandler = lambda name: handler.end(local[name])
    reader.CharacterDataHandler = handler.text
    reader.StartDoctypeDeclHandler = _refuse
    try:
        for block in blocks:
            reader.Parse(block, False)
            yield
        reader.Parse(b"", True)
        yield
    except expat.ExpatError as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error


def _refuse(*_: object) -> None:
    raise ParseFailure(FailureReason.UNSAFE_XML)
