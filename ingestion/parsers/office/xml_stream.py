"""Reading XML piece by piece, without a tree: for parts of any length; no document type."""

from collections.abc import Iterable, Iterator
from typing import Protocol
from xml.parsers import expat

from ingestion.parsers.errors import FailureReason, ParseFailure


class Handler(Protocol):
    """What is told about the elements; names come without their prefixes."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; the attributes keep their prefixes."""
        ...

    def end(self, name: str) -> None:
        """An element ends."""
        ...

    def text(self, data: str) -> None:
        """Text within the element begun last and not ended."""
        ...


def stream_xml(blocks: Iterable[bytes | str], handler: Handler) -> Iterator[None]:
    """Read a document block by block; gives control back after each.

    Args:
        blocks: Its bytes, or its text (then what it says of its encoding does not count).
        handler: Told about each element in document order.

    Raises:
        ParseFailure: ``unsafe_xml`` for a document type, ``corrupt_file``.
    """
    reader = expat.ParserCreate()
    reader.buffer_text = True
    reader.buffer_size = 65_536
    local: dict[str, str] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        known = local.get(name)
        if known is None:
            known = local[name] = name.rpartition(":")[2]
        handler.start(known, attributes)

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
