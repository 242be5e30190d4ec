"""Subtitles (SubRip and WebVTT): what is spoken, in paragraphs under the time they begin at."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import clean, flow

_TIMES = re.compile(
    r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}\s*-->\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}"
)
_TAGS = re.compile(r"</?[a-zA-Z][^<>\n]*>|<\d[\d:.]*>|\{\\[^{}\n]*\}")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>\n]{1,200})>")
_TURN = re.compile(r"\s*(?:[-–—]\s*\S|>>|[^\W\d_][\w .'’-]{0,40}[:：]\s*\S)")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」』)）\]]*\s*$")
# Seconds: a heading is set after the first at the end of a sentence, after the second at any place.
_SECTION = 120
_LONGEST_SECTION = 180
_PAUSE = 4


@dataclass(slots=True)
class _Cue:
    start: int
    end: int
    lines: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Section:
    """What is spoken in about two minutes, by paragraph: its speaker and its lines."""

    start: int
    end: int
    paragraphs: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read subtitles of any encoding.

    The times are metadata: a heading such as ``00:02:00 – 00:04:03`` over about two minutes, no number or time stands in
    the text. A paragraph ends with its speaker or at a pause; a WebVTT voice stands before its words, a line that is
    shown twice is read once. A text without any time is damaged.
    """
    decoded = decode(path.read_bytes())
    lines = clean(decoded.text).lstrip("\ufeff").split("\n")
    builder = DocumentBuilder(limits)
    is_vtt = lines[0].startswith("WEBVTT")
    cues = list(_vtt_cues(lines) if is_vtt else _srt_cues(lines))
    if not cues and not is_vtt and any(map(str.strip, lines)):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    for section in _sections(cues):
        _add_section(builder, section)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def _srt_cues(lines: list[str]) -> Iterator[_Cue]:
    """The cues: some programs leave out the blank lines between them, others write some within."""
    cue: _Cue | None = None
    for line in lines:
        following = _cue(line)
        if following is None:
            if cue is not None:
                cue.lines.append(line)
            continue
        if cue is not None:
            if cue.lines and cue.lines[-1].strip().isdecimal():
                cue.lines.pop()
            yield cue
        cue = following
    if cue is not None:
        yield cue


def _vtt_cues(lines: list[str]) -> Iterator[_Cue]:
    """The cues: a blank line ends one, blocks without a time are notes, styles and regions."""
    cue: _Cue | None = None
    for line in lines:
        following = _cue(line)
        if cue is not None and (following is not None or not line.strip()):
            yield cue
            cue = None
        if following is not None:
            cue = following
        elif cue is not None:
            cue.lines.append(line)
    if cue is not None:
        yield cue


def _cue(line: str) -> _Cue | None:
    match = _TIMES.match(line)
    if match is None:
        return None
    hours, minutes, seconds, *end = (int(part or 0) for part in match.groups())
    return _Cue(_seconds(hours, minutes, seconds), _seconds(*end))


def _seconds(hours: int, minutes: int, seconds: int) -> int:
    return 3600 * hours + 60 * minutes + seconds


def _sections(cues: list[_Cue]) -> Iterator[_Section]:
    section: _Section | None = None
    before: list[tuple[str, str]] = []
    for cue in cues:
        spoken = list(_spoken(cue))
        # Captions that roll up show a line again under the next time.
        fresh = _without_repeats(spoken, before)
        before = spoken or before
        if not fresh:
            continue
        if section is not None and _ends_section(section, cue):
            yield section
            section = None
        if section is None:
            section = _Section(cue.start, cue.end)
        _take(section, cue, fresh)
    if section is not None:
        yield section


def _ends_section(section: _Section, cue: _Cue) -> bool:
    length = cue.start - section.start
    is_sentence_over = _SENTENCE_END.search(section.paragraphs[-1][1][-1]) is not None
    # A file that was put together of several begins again at zero.
    return length < 0 or length >= _LONGEST_SECTION or (length >= _SECTION and is_sentence_over)


def _without_repeats(spoken: list[tuple[str, str]], before: list[tuple[str, str]]) -> list[tuple[str, str]]:
    for length in range(min(len(spoken), len(before)), 0, -1):
        if before[-length:] == spoken[:length]:
            return spoken[length:]
    return spoken


def _take(section: _Section, cue: _Cue, spoken: list[tuple[str, str]]) -> None:
    is_pause = cue.start - section.end >= _PAUSE
    for speaker, line in spoken:
        last = section.paragraphs[-1] if section.paragraphs else None
        if last is None or is_pause or speaker != last[0] or _TURN.match(line):
            section.paragraphs.append((speaker, [line]))
        else:
            last[1].append(line)
        is_pause = False
    section.end = max(section.end, cue.end)


def _spoken(cue: _Cue) -> Iterator[tuple[str, str]]:
    """Speaker, if the file names one, and text of each line."""
    speaker = ""
    for line in cue.lines:
        first, *voices = _VOICE.split(line)
        for name, text in [(speaker, first), *zip(voices[::2], voices[1::2], strict=True)]:
            speaker = flow(unescape(name))
            words = unescape(_TAGS.sub("", text)).strip()
            if words:
                yield speaker, words


def _add_section(out: DocumentBuilder, section: _Section) -> None:
    out.add("heading", f"{_clock(section.start)} – {_clock(section.end)}", level=1)
    for speaker, lines in section.paragraphs:
        text = flow("\n".join(lines))
        out.add("paragraph", f"{speaker}: {text}" if speaker else text)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
