"""Documents that rows of a query become."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from kb_service.document_names import document_name

RowFormat = Literal["markdown", "text", "html"]
Field = tuple[str, str]

_ENDINGS: Mapping[RowFormat, str] = {"markdown": ".md", "text": ".txt", "html": ".html"}
# Longer values, and those of several lines, get a heading of their own.
_LONGEST_CELL = 120
_LONGEST_TITLE = 200
_LONGEST_ATTRIBUTE = 1000
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")
_BRACES: Mapping[str, str] = {"{{": "{", "}}": "}"}


@dataclass(frozen=True)
class QueryRow:
    """A row of a query; None for NULL.

    Args:
        keys: the values that tell it from others.
        title: of its document; may be empty.
        fingerprint: what changes with the row, None if that is its contents.
        attributes: metadata by column.
        contents: texts by column.
    """

    keys: tuple[str, ...]
    title: str
    fingerprint: str | None
    attributes: Mapping[str, str | None]
    contents: Mapping[str, str | None]

    @property
    def key(self) -> str:
        """The key of its item."""
        return self.keys[0] if len(self.keys) == 1 else json.dumps(self.keys, ensure_ascii=False)

    @property
    def label(self) -> str:
        """What its document is called."""
        return " ".join((self.title.strip() or "-".join(self.keys)).split())[:_LONGEST_TITLE]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of its document: NULL is empty, and what is too long for metadata is left out."""
        values = {name: value or "" for name, value in self.attributes.items()}
        return {name: value for name, value in values.items() if len(value) <= _LONGEST_ATTRIBUTE}


@dataclass(frozen=True)
class RowLayout:
    """How a row becomes a document; without a template each column is in a table, or has a heading.

    Args:
        version: changes with the settings, so that all documents are made anew.
    """

    format: RowFormat
    template: str
    version: str

    def name(self, row: QueryRow) -> str:
        """The name of the row's document."""
        stem = row.label.replace("/", "-").replace("\\", "-").strip(" .") or "row"
        return document_name([stem + _ENDINGS[self.format]])

    def document(self, row: QueryRow) -> bytes:
        """The row's document."""
        body = _fill(self.template, row.contents) if self.template else self._body(row)
        if self.format == "html":
            head = f'<meta charset="utf-8"><title>{html.escape(row.label)}</title>'
            body = f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n{body}\n</body></html>\n"
        return body.encode(errors="replace")

    def fingerprint(self, row: QueryRow, document: bytes) -> str:
        """What changes with the row, or with the settings."""
        if row.fingerprint is not None:
            parts = [self.version, row.fingerprint]
        else:
            parts = [self.version, row.label, sha256(document).hexdigest(), json.dumps(row.metadata)]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _body(self, row: QueryRow) -> str:
        fields = [(name, value.strip()) for name, value in row.contents.items() if value and value.strip()]
        is_alone = len(row.contents) == 1
        blocks = [value for _, value in fields] if is_alone else _BLOCKS[self.format](fields)
        return "\n\n".join([_heading(self.format, 1, row.label), *blocks]) + "\n"


def template_columns(template: str) -> list[str]:
    """The columns that a template names."""
    names = (match.group(1) for match in _PLACE.finditer(template))
    return list(dict.fromkeys(name.strip() for name in names if name))


def _fill(template: str, values: Mapping[str, str | None]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        return _BRACES[match.group()] if name is None else values[name.strip()] or ""

    return _PLACE.sub(value, template)


def _heading(format_: RowFormat, level: int, text: str) -> str:
    if format_ == "html":
        return f"<h{level}>{html.escape(text)}</h{level}>"
    return f"{'#' * level} {text}" if format_ == "markdown" else text


def _is_short(value: str) -> bool:
    return len(value) <= _LONGEST_CELL and "\n" not in value


def _markdown(fields: Sequence[Field]) -> list[str]:
    rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in fields if _is_short(value)]
    table = ["\n".join(["| | |", "| --- | --- |", *rows])] if rows else []
    long = [f"## {name}\n\n{value}" for name, value in fields if not _is_short(value)]
    return [*table, *long]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _text(fields: Sequence[Field]) -> list[str]:
    short = [f"{name}: {value}" for name, value in fields if _is_short(value)]
    long = [f"{name}\n\n{value}" for name, value in fields if not _is_short(value)]
    return ["\n".join(short), *long] if short else long


def _html(fields: Sequence[Field]) -> list[str]:
    # What the columns hold is HTML.
    rows = [f"<tr><th>{html.escape(name)}</th><td>{value}</td></tr>" for name, value in fields if _is_short(value)]
    table = [f"<table>\n{chr(10).join(rows)}\n</table>"] if rows else []
    long = [f"<h2>{html.escape(name)}</h2>\n{value}" for name, value in fields if not _is_short(value)]
    return [*table, *long]


_BLOCKS = {"markdown": _markdown, "text": _text, "html": _html}
