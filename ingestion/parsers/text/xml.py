"""XML of any vocabulary: titles, paragraphs, tables, like records, and values by their names."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.office.xml import name, read_xml
from ingestion.parsers.text import json
from ingestion.parsers.text.charset import codec_for_label, decode
from ingestion.parsers.text_cleanup import flow
from ingestion.parsers.web import html

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{2,40})""")
_INCLUSION = "{http://www.w3.org/2001/XInclude}"
# Names of DocBook, DITA, JATS, TEI, RSS, Atom and XHTML; any other is told by its content.
_HEADINGS = frozenset({"title", "head", "heading", "h1", "h2", "h3", "h4", "h5", "h6"})
_PARAGRAPHS = frozenset({"p", "para", "simpara", "paragraph"})
_CODE = frozenset({"programlisting", "screen", "pre", "codeblock", "code"})
_TABLES = frozenset({"table", "informaltable", "tgroup"})
_ROWS = frozenset({"row", "tr"})
_CELLS = frozenset({"entry", "td", "th"})
_HTML = re.compile(r"<(?:p|div|br|ul|ol|table|h[1-6]|a)\b[^<>]{0,500}>", re.IGNORECASE)
_LONGEST_HEADING = 200
_LONGEST_CELL = 200
_MOST_COLUMNS = 100
_DEEPEST = 250


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read XML of any vocabulary and encoding; nothing is included, resolved or fetched.

    Elements with text between their children are paragraphs, short ``title`` elements headings at their depth, records
    with the same fields a table; other values become lines such as ``server.port: 80``. A document type or an
    inclusion is refused as ``unsafe_xml``.
    """
    data = path.read_bytes()
    match = _DECLARED.search(data[:1024])
    decoded = decode(data, declared=codec_for_label(match[1].decode("ascii")) if match else None)
    if not decoded.text.strip():
        raise ParseFailure(FailureReason.EMPTY_TEXT)
    builder = DocumentBuilder(limits)
    root = read_xml(decoded.text.lstrip("\ufeff \t\r\n"))
    if any(node.tag.startswith(_INCLUSION) for node in root.iter()):
        raise ParseFailure(FailureReason.UNSAFE_XML)
    _XmlReader(builder, limits).read(root)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


class _XmlReader:
    """Walks the tree in document order; values accumulate until a block of another kind comes."""

    def __init__(self, out: DocumentBuilder, limits: ParseLimits) -> None:
        self._out = out
        self._limits = limits
        self._values: list[list[str]] = []

    def read(self, root: Element) -> None:
        waiting = [(root, "", 0)]
        while waiting:
            node, path, depth = waiting.pop()
            if depth > _DEEPEST:
                raise ParseFailure(FailureReason.TOO_COMPLEX)
            if not self._add_block(node, depth):
                self._add_values(node, path)
                # Values of one record stay together as far as the size of a block allows.
                waiting += [
                    (inner, f"{path}.{name(inner)}" if path else name(inner), depth + 1) for inner in reversed(node)
                ]
        self._flush()

    def _add_block(self, node: Element, depth: int) -> bool:
        kind = name(node).lower()
        if kind in _TABLES:
            return self._add_table([_cells(row) for row in _rows(node)])
        if kind in _HEADINGS and len(node) <= 3:
            text = flow(_flat_text(node))
            if 0 < len(text) <= _LONGEST_HEADING:
                level = int(kind[1]) if kind[1:].isdigit() else max(1, depth)
                self._flush()
                self._out.add("heading", text, level=level)
                return True
        if kind in _CODE:
            self._flush()
            self._out.add("code", _flat_text(node))
            return True
        if _is_mixed(node) or (kind in _PARAGRAPHS and len(node) == 0):
            self._flush()
            self._out.add("paragraph", flow(_flat_text(node)))
            return True
        return self._add_table(_records(node))

    def _add_table(self, rows: list[list[str]]) -> bool:
        if not rows:
            return False
        self._flush()
        self._out.add_table(rows)
        return True

    def _add_values(self, node: Element, path: str) -> None:
        text = node.text.strip() if node.text else ""
        lines = [
            f"{path or name(node)}.{key}: {flow(value)}"
            for key, value in node.attrib.items()
            if not key.startswith("{") and value.strip()
        ]
        if text and _HTML.search(text):
            self._flush()
            self._out.extend(html.read(text, self._limits))
        elif text:
            lines.append(f"{path or name(node)}: {flow(text)}")
        if lines:
            self._values.append(lines)

    def _flush(self) -> None:
        groups, self._values = self._values, []
        for block in json.blocks(groups):
            self._out.add("code", block)


def _is_mixed(node: Element) -> bool:
    if not len(node):
        return False
    return bool((node.text or "").strip()) or any((inner.tail or "").strip() for inner in node)


def _records(node: Element) -> list[list[str]]:
    """Child records of short fields as rows under the fields' names; otherwise nothing."""
    if len(node) < 2 or len({inner.tag for inner in node}) > 1:
        return []
    columns: dict[str, None] = {}
    records: list[dict[str, str]] = []
    for inner in node:
        record = _fields(inner)
        if record is None:
            return []
        columns.update(dict.fromkeys(record))
        if len(columns) > _MOST_COLUMNS:
            return []
        records.append(record)
    if not columns:
        return []
    return [[*columns], *([record.get(key, "") for key in columns] for record in records)]


def _fields(node: Element) -> dict[str, str] | None:
    """The fields of a record, from attributes and children; None for other elements."""
    if (node.text or "").strip():
        return None
    fields = {key: value for key, value in node.attrib.items() if not key.startswith("{")}
    for inner in node:
        text = flow(inner.text or "")
        key = name(inner)
        is_repeated = key in fields
        if len(inner) or len(text) > _LONGEST_CELL or is_repeated or (inner.tail or "").strip():
            return None
        fields[key] = text
    return fields


def _rows(table: Element) -> Iterator[Element]:
    return (node for node in table.iter() if name(node).lower() in _ROWS)


def _cells(row: Element) -> list[str]:
    return [flow(_flat_text(cell)) for cell in row if name(cell).lower() in _CELLS]


def _flat_text(node: Element) -> str:
    return "".join(node.itertext())
