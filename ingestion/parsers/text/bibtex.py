"""Bibliographies (BibTeX): each entry with its fields."""

import re
from collections.abc import Iterator
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text.json_lines import DAMAGED_RECORDS
from ingestion.parsers.text.tex import plain_text
from ingestion.parsers.text_cleanup import clean

_ENTRY = re.compile(r"@[ \t]*([A-Za-z]+)\s*([{(])")
_BORDER = re.compile(r"\n[ \t]*@[ \t]*[A-Za-z]+\s*[{(]")
_KEY = re.compile(r"\s*([^\s,{}\"=]{1,200})\s*(?:,|$)")
_FIELD = re.compile(r"\s*+(?:,\s*+)?([A-Za-z][\w:.-]{0,60})\s*=\s*")
_BARE = re.compile(r"[^\s,#{}\"]+")
_MARKUP = re.compile(r"[\\{}$~&%\n]|--|``|\s{2}")
_JOIN = re.compile(r"\s*#\s*")
_ENDS = re.compile(r"[{})\"]")
_CLOSING = {"{": "}", "(": ")", '"': '"'}
_PERCENT = re.compile(r"(?<!\\)%")
_ADDRESSES = frozenset({"url", "doi", "eprint"})
_LONGEST_VALUE = 1_000_000
_NO_RECORDS = frozenset({"comment", "preamble"})
_MONTHS = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May", "jun": "June", "jul": "July",
    "aug": "August", "sep": "September", "oct": "October", "nov": "November", "dec": "December",
}  # fmt: skip
# What programs note for themselves: places of files, times of changes.
_PRIVATE = frozenset({"file", "owner", "timestamp", "date-added", "date-modified", "bdsk-file-1", "bdsk-url-1"})


class _Damaged(Exception):
    """The entry does not end, or a field has no value."""


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the entries of a bibliography; each is a paragraph of its title, key and kind, and a line per field.

    Abbreviations (``@string``) are written out and TeX's accents read; comments are left out. An entry that does not end
    is kept as it is written, with the warning ``damaged_records``; a file mostly of such entries, or with none, is
    damaged.
    """
    decoded = decode(path.read_bytes())
    reader = _BibReader(clean(decoded.text), DocumentBuilder(limits), limits)
    reader.read()
    if decoded.text.strip("\ufeff \n\r\t") and (not reader.count or 2 * reader.damaged > reader.count):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    warnings = decoded.warnings + ((DAMAGED_RECORDS,) if reader.damaged else ())
    return reader.out.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=warnings)


class _BibReader:
    def __init__(self, text: str, out: DocumentBuilder, limits: ParseLimits) -> None:
        self.out = out
        self.count = 0
        self.damaged = 0
        self._text = text
        self._limits = limits
        self._strings = dict(_MONTHS)

    def read(self) -> None:
        place, most = 0, -1
        while match := _ENTRY.search(self._text, place):
            self.count += 1
            if most < match.end():
                # An entry never runs into the next one: one missing brace loses no other entry.
                border = _BORDER.search(self._text, match.end())
                most = border.start() if border else len(self._text)
            try:
                end = _end(self._text, match.end(), most, match[2])
                self._add(match[1].lower(), self._text[match.end() : end])
                place = end + 1
            except _Damaged:
                self.damaged += 1
                self.out.add("code", self._text[match.start() : most])
                place = most

    def _add(self, kind: str, body: str) -> None:
        if kind in _NO_RECORDS:
            return
        if kind == "string":
            self._strings |= {name.lower(): value for name, value in self._fields(body, 0)}
            return
        key = _KEY.match(body)
        fields = dict(self._fields(body, key.end() if key else 0))
        texts = {
            name.lower(): value.strip() if name.lower() in _ADDRESSES else self._plain(value)
            for name, value in fields.items()
            if name.lower() not in _PRIVATE
        }
        title = texts.pop("title", "")
        lines = [title, f"{key[1] if key else ''} ({kind})".strip()]
        lines += [f"{name}: {value}" for name, value in texts.items() if value]
        self.out.add("paragraph", "\n".join(filter(None, lines)))

    def _plain(self, value: str) -> str:
        # Not a comment in a field, as it is in TeX.
        source = _PERCENT.sub(r"\\%", value)
        return plain_text(source, self._limits) if _MARKUP.search(value) else value.strip()

    def _fields(self, body: str, place: int) -> Iterator[tuple[str, str]]:
        while match := _FIELD.match(body, place):
            value, place = self._value(body, match.end())
            yield match[1], value
        if body[place:].strip(" \t\n,"):
            raise _Damaged

    def _value(self, body: str, place: int) -> tuple[str, int]:
        """A value, its parts put together, and the place behind it."""
        parts: list[str] = []
        while True:
            part, place = self._part(body, place)
            parts.append(part)
            if sum(map(len, parts)) > _LONGEST_VALUE:
                # Abbreviations made of abbreviations double with each step.
                raise _Damaged
            join = _JOIN.match(body, place)
            if join is None:
                return "".join(parts), place
            place = join.end()

    def _part(self, body: str, place: int) -> tuple[str, int]:
        mark = body[place : place + 1]
        if mark in ("{", '"'):
            end = _end(body, place + 1, len(body), mark)
            return body[place + 1 : end], end + 1
        bare = _BARE.match(body, place)
        if bare is None:
            raise _Damaged
        return self._strings.get(bare[0].lower(), bare[0]), bare.end()


def _end(text: str, start: int, most: int, mark: str) -> int:
    """Place of the sign that ends what ``mark`` began; braces within are balanced."""
    depth = 0
    closing = _CLOSING[mark]
    for match in _ENDS.finditer(text, start, most):
        if match[0] == "{":
            depth += 1
        elif not depth and match[0] == closing:
            return match.start()
        elif match[0] == "}":
            depth -= 1
        if depth < 0:
            break
    raise _Damaged
