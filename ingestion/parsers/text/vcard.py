"""Contacts (vCard 2.1 to 4.0): names, addresses and notes, without pictures and keys."""

import quopri
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import codec_for_label, decode
from ingestion.parsers.text_cleanup import clean, flow

_LABELS = {
    "NICKNAME": "Nickname",
    "ORG": "Organisation",
    "TITLE": "Title",
    "ROLE": "Role",
    "EMAIL": "E-mail",
    "TEL": "Telephone",
    "IMPP": "Messages",
    "ADR": "Address",
    "URL": "Web",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "LANG": "Language",
    "RELATED": "Related",
    "CATEGORIES": "Categories",
    "NOTE": "Note",
}
_PROPERTY = re.compile(r"(?:[\w-]{1,80}\.)?([A-Za-z-]{1,60})((?:;(?:[^\":;]|\"[^\"]*\")*)*):(.*)$", re.DOTALL)
_PARAMETER = re.compile(r";([^\";]*(?:\"[^\"]*\"[^\";]*)*)")
_PARTS = re.compile(r"(?<!\\)(?:\\\\)*;")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = "QUOTED-PRINTABLE"
# What a type says of the value's form and not of its place.
_FORM_WORDS = frozenset({"PREF", "INTERNET", "VOICE", "X400"})
# The order in which people say a name: prefix, given, middle, family, suffix.
_EASTERN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SPOKEN_ORDER = (3, 1, 2, 0, 4)


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    parameters: tuple[str, ...]
    value: str

    def parts(self) -> list[str]:
        """The parts between semicolons."""
        parts: list[str] = []
        start = 0
        for match in _PARTS.finditer(self.value):
            parts.append(self.value[start : match.end() - 1])
            start = match.end()
        return [_unescaped(part).strip() for part in [*parts, self.value[start:]]]


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the contacts of a file; each is a heading with its name and a paragraph with a line per property.

    Pictures, sounds and keys are left out. A file that holds no contact, or whose last one does not end, is damaged.
    """
    decoded = decode(path.read_bytes())
    builder = DocumentBuilder(limits)
    count = 0
    for card in _cards(_unfolded(clean(decoded.text).lstrip("\ufeff"))):
        count += 1
        _add_card(builder, card)
    if not count and decoded.text.strip():
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def _unfolded(text: str) -> Iterator[str]:
    """The lines, continued ones put together; version 2.1 continues quoted-printable lines by ``=``."""
    parts: list[str] = []
    for line in text.split("\n"):
        if parts and parts[-1].endswith("=") and _QUOTED in parts[0].upper():
            parts.append(f"\n{line}")
        elif parts and line[:1] in (" ", "\t"):
            parts.append(line[1:])
        else:
            yield "".join(parts)
            parts = [line]
    yield "".join(parts)


def _cards(lines: Iterator[str]) -> Iterator[list[_Property]]:
    card: list[_Property] | None = None
    for line in lines:
        match = _PROPERTY.match(line)
        if match is None:
            continue
        name = match[1].upper()
        if name == "BEGIN":
            if card is not None:
                raise ParseFailure(FailureReason.CORRUPT_FILE)
            card = []
        elif name == "END" and card is not None:
            yield card
            card = None
        elif card is not None and (name in _LABELS or name in ("FN", "N", "PRODID")):
            card.append(_property(name, match[2], match[3]))
    if card is not None:
        raise ParseFailure(FailureReason.CORRUPT_FILE)


def _property(name: str, head: str, value: str) -> _Property:
    parameters = tuple(part[1] for part in _PARAMETER.finditer(head))
    if any(parameter.upper().rpartition("=")[2] == _QUOTED for parameter in parameters):
        charset = next((p.partition("=")[2] for p in parameters if p.upper().startswith("CHARSET=")), "")
        raw = quopri.decodestring(value.encode("utf-8", "replace"))
        value = clean(decode(raw, declared=codec_for_label(charset) if charset.isascii() and charset else None).text)
    return _Property(name, parameters, value)


def _add_card(out: DocumentBuilder, card: list[_Property]) -> None:
    full = next((_unescaped(item.value) for item in card if item.name == "FN" and item.value.strip()), "")
    names = next((item.parts() for item in card if item.name == "N"), list[str]())
    lines = [_line(item) for item in card if item.name in _LABELS]
    out.add("heading", flow(full or _spoken(names)), level=1)
    out.add("paragraph", "\n".join(filter(None, lines)))


def _spoken(names: Sequence[str]) -> str:
    """A name as people say it; Chinese, Japanese and Korean ones begin with the family and have no blanks."""
    if _EASTERN.search("".join(names[:2])):
        return "".join(names[:2])
    return " ".join(names[place] for place in _SPOKEN_ORDER if place < len(names) and names[place])


def _line(item: _Property) -> str:
    separator = ", " if item.name in ("ADR", "ORG") else "; "
    value = flow(separator.join(filter(None, item.parts())))
    places = ", ".join(_places(item))
    label = f"{_LABELS[item.name]} ({places})" if places else _LABELS[item.name]
    return f"{label}: {value}" if value else ""


def _places(item: _Property) -> Iterator[str]:
    """The words of ``TYPE`` that say which of several addresses it is, such as home or work."""
    for parameter in item.parameters:
        key, equals, values = parameter.partition("=")
        words = values if equals else key
        if not equals or key.strip().upper() == "TYPE":
            yield from (
                word.strip().lower()
                for word in words.strip('"').split(",")
                if word.strip().upper() not in _FORM_WORDS | {_QUOTED, ""}
            )


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
