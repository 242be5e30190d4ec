"""Jupyter notebooks: the text of cells and of their outputs, without pictures."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text import plain
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text.json import Members, load
from ingestion.parsers.text.markdown import SIMPLIFIED, add_markdown
from ingestion.parsers.text_cleanup import clean
from ingestion.parsers.web import html

# Colours of a terminal, which programs write into their output.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# What Python says of an object that has no words of its own, such as a drawn figure.
_OBJECTS = re.compile(r"\[?\s*(?:<[^<>\n]{0,300}>[\s,]*)+\]?\s*$")
_LONGEST_OBJECT = 1_000
_FORMATTED = ("text/markdown", "text/latex", "text/html")

Node = dict[str, object]


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a notebook of version 3 or 4.

    Markdown cells give their blocks, code cells their source and the text of their outputs: what was printed, the
    value, the name and message of an error. Pictures, widgets and attachments are left out. A file that holds no list
    of cells is damaged.
    """
    decoded = decode(path.read_bytes())
    reader = _NotebookReader(DocumentBuilder(limits), limits)
    for cell in _cells(_node(load(decoded.text))):
        reader.read(cell)
    warnings = decoded.warnings + ((SIMPLIFIED,) if reader.is_simplified else ())
    return reader.out.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=warnings)


def _cells(notebook: Node) -> Iterator[Node]:
    """The cells of the notebook, of version 3 those of its worksheets."""
    holders = [notebook] if "cells" in notebook else [_node(sheet) for sheet in _items(notebook.get("worksheets"))]
    if not holders or not all(isinstance(holder.get("cells"), list) for holder in holders):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    for holder in holders:
        yield from map(_node, _items(holder["cells"]))


class _NotebookReader:
    def __init__(self, out: DocumentBuilder, limits: ParseLimits) -> None:
        self.out = out
        self.is_simplified = False
        self._limits = limits

    def read(self, cell: Node) -> None:
        kind = cell.get("cell_type")
        source = _text(cell.get("source", cell.get("input")))
        if kind == "code":
            self.out.add("code", source)
            for output in _items(cell.get("outputs")):
                self._add_output(_node(output))
        elif kind == "heading":
            self.out.add("heading", source, level=_level(cell.get("level")))
        elif kind == "markdown":
            self._add_markdown(source)
        else:
            self._add_plain(source)

    def _add_output(self, output: Node) -> None:
        if "ename" in output:
            self._add_plain(f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}")
        elif output.get("output_type") == "stream":
            self.out.add("code", _printed(_text(output.get("text"))))
        else:
            # Version 3 has no ``data``: its keys are ``text``, ``html``, ``png``.
            data = _node(output["data"]) if "data" in output else {f"text/{key}": output[key] for key in output}
            self._add_value(data)

    def _add_value(self, data: Node) -> None:
        """Add the plain form of a value; a formatted one only if there is none."""
        words = _printed(_text(data.get("text/plain", data.get("text/text"))))
        is_drawn = len(words) <= _LONGEST_OBJECT and _OBJECTS.match(words) is not None
        form = next((name for name in _FORMATTED if name in data), "")
        if words.strip() and not is_drawn:
            self.out.add("code", words)
        elif form == "text/markdown":
            self._add_markdown(_text(data[form]))
        elif form == "text/html":
            self.out.extend(html.read(_text(data[form]), self._limits))
        elif form:
            self._add_plain(_text(data[form]))

    def _add_markdown(self, text: str) -> None:
        self.is_simplified |= not add_markdown(self.out, clean(text), self._limits)

    def _add_plain(self, text: str) -> None:
        for _, block, _ in plain.blocks(clean(text)):
            self.out.add("paragraph", block)


def _printed(text: str) -> str:
    """What a terminal shows: without colours, of a line that was written over its last state."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def _node(value: object) -> Node:
    return dict(value) if isinstance(value, Members) else {}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    """A text, which notebooks store whole or as a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(part for part in _items(value) if isinstance(part, str))


def _level(value: object) -> int:
    # Numbers come as they are written.
    return int(value) if isinstance(value, str) and value in "123456" and len(value) == 1 else 1
