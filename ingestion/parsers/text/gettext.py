"""Translations (gettext's .po): each message with its translation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import codec_for_label, decode
from ingestion.parsers.text_cleanup import clean

_KEYWORD = re.compile(r'\s*(msgctxt|msgid|msgid_plural|msgstr(?:\[\d{1,3}\])?)\s*(".*)$')
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*$')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\n", "a": "", "b": "", "v": "\n", "f": "\n"}
_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]{1,40})")
_HEAD = 8192
# Of the header's lines those that say what the file is.
_HEADERS = ("Project-Id-Version", "Language", "Language-Team")
_PLACEHOLDER = "CHARSET"


@dataclass(slots=True)
class _Translation:
    """One entry: its fields by keyword, and its comments for people."""

    fields: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    comments: list[str] = field(default_factory=list[str])

    def value(self, keyword: str) -> str:
        return "".join(self.fields.get(keyword, ()))


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the messages of a .po file; each is a paragraph of context, message, translations and comments.

    Of the header the project and language are read; source references and obsolete messages are left out, and a
    translation that is marked ``fuzzy`` says so. A file without a message, or with a string that does not end, is
    damaged.
    """
    data = path.read_bytes()
    decoded = decode(data, declared=_declared(data))
    builder = DocumentBuilder(limits)
    count = 0
    for message in _messages(clean(decoded.text).lstrip("\ufeff")):
        count += 1
        builder.add("paragraph", _text(message))
    if not count and decoded.text.strip():
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def _declared(data: bytes) -> str | None:
    match = _CHARSET.search(data[:_HEAD])
    label = match[1].decode("ascii") if match else _PLACEHOLDER
    return None if label == _PLACEHOLDER else codec_for_label(label)


def _messages(text: str) -> Iterator[_Translation]:
    message, keyword = _Translation(), ""
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            if message.fields:
                yield message
                message = _Translation()
            keyword = ""
            message.comments.append(line.strip())
            if line.lstrip().startswith("#~"):
                # The comments so far are those of an obsolete message.
                message.comments.clear()
        elif match := _KEYWORD.match(line):
            keyword = match[1]
            if (keyword == "msgctxt" and message.fields) or (keyword == "msgid" and "msgid" in message.fields):
                yield message
                message = _Translation()
            message.fields[keyword] = [_string(match[2])]
        elif line.strip():
            if not keyword:
                raise ParseFailure(FailureReason.CORRUPT_FILE)
            message.fields[keyword].append(_string(line))
    if message.fields:
        yield message


def _string(line: str) -> str:
    match = _STRING.match(line)
    if match is None:
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), match[1])


def _text(message: _Translation) -> str:
    source = message.value("msgid")
    if not source and "msgctxt" not in message.fields:
        lines = message.value("msgstr").split("\n")
        return "\n".join(line for line in lines if line.startswith(tuple(f"{name}:" for name in _HEADERS)))
    mark = " (fuzzy)" if any(line.startswith("#,") and "fuzzy" in line for line in message.comments) else ""
    lines = [source, message.value("msgid_plural")]
    lines += [f"= {message.value(key).strip()}{mark}" for key in message.fields if _is_translated(message, key)]
    context = message.value("msgctxt")
    notes = [line.lstrip("#.").strip() for line in message.comments if line[1:2] in ("", " ", ".")]
    return "\n".join(
        filter(None, [f"({context})" if context else "", *lines, *(f"# {note}" for note in notes if note)])
    )


def _is_translated(message: _Translation, keyword: str) -> bool:
    return keyword.startswith("msgstr") and bool(message.value(keyword).strip())
