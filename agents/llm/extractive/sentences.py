"""Quotable units of a passage: sentences, list items, table rows, code."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kb_service.text.tokenizer import is_cjk_dominant, sentences, tokenize

UnitKind = Literal["sentence", "item", "row", "code", "heading"]

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_RULE = re.compile(r"^\s*(?:[-=*_]{3,}|\|?[\s:|-]*-[\s:|-]*\|?)\s*$")
# "9.6.14. Using LVM", "第 4 章 认证", "Table 14.2. Settings": numbers that no sentence begins with.
_NUMBERED = re.compile(
    r"^\s*(?:\d{1,3}(?:\.\d{1,3})+\.?|[A-Z]\.\d{1,3}(?:\.\d{1,3})*\.|第\s*\d+\s*[章节節篇部]"
    r"|[图圖表例]\s*\d+(?:[.\-]\d+)*[.:：]?"
    r"|(?:Chapter|Section|Part|Appendix|Figure|Table|Example)\s+[\dA-Z]+(?:[.\-]\d+)*[.:]?)\s+\S"
)
_LONGEST_HEADING = 120
_UNDERLINE = re.compile(r"^\s*(?:={3,}|-{3,}|\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*)\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,2}[）)])\s+")
_CRUMBS = re.compile(r"\s(?:>|»|›|→|\|)\s")
_CLOSERS = "”’」』）》】)]\"'"
_TERMINAL = tuple(".!?。！？…:：;；")
# A cut after one of these was no end of a sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ff]ig|[Nn]o|[Ss]t"
    r"|[Vv]ol|[Ss]ec|[Cc]h|[Ii]nc|[Ll]td|[Cc]o|[A-Z])\.$"
)
_FEWEST_TOKENS: dict[UnitKind, int] = {"sentence": 3, "item": 3, "row": 2, "code": 1, "heading": 1}
_LONGEST_EXTENSION = 600
_MOST_ITEMS = 6


@dataclass(frozen=True, slots=True)
class QuotableUnit:
    """One quotable piece; ``label`` is the heading or label above it, ``opens`` whether it is the first one there."""

    text: str
    kind: UnitKind
    block: int
    label: str = ""
    opens: bool = False

    @property
    def introduces(self) -> bool:
        return self.kind != "code" and self.text.endswith((":", "："))


def quotable_units(text: str, heading_path: tuple[str, ...]) -> list[QuotableUnit]:
    """The units of a passage that can stand alone, in order.

    Headings, rules, breadcrumbs and labels are dropped. A unit that ends with a colon is joined with the code or list
    it introduces, or dropped if nothing follows.
    """
    headings = {_plain(heading) for heading in heading_path}
    units = list(_labelled(_units(text, headings), headings))
    merged: list[QuotableUnit] = []
    index = 0
    while index < len(units):
        unit, index = _with_introduced(units, index)
        if not unit.introduces and _is_substantial(unit):
            merged.append(unit)
    return merged


def _labelled(units: Iterable[QuotableUnit], headings: set[str]) -> Iterator[QuotableUnit]:
    label, opens = "", True
    for unit in units:
        if _is_content(unit, headings):
            yield replace(unit, label=label, opens=opens)
            opens = False
        elif not _CRUMBS.search(unit.text):
            label, opens = unit.text, True


def _units(text: str, headings: set[str]) -> Iterator[QuotableUnit]:
    for number, (kind, lines) in enumerate(_blocks(text)):
        if kind != "code" and len(lines) == 1 and _is_heading(lines[0], headings):
            yield QuotableUnit(lines[0].strip(" #"), "heading", number)
        elif kind == "code":
            yield QuotableUnit("\n".join(lines), "code", number)
        elif kind == "row":
            yield QuotableUnit(lines[0].strip().strip("|").strip(), "row", number)
        elif kind == "heading":
            yield QuotableUnit(lines[0].strip(" #"), "heading", number)
        else:
            for sentence in _whole_sentences(_join(lines)):
                yield QuotableUnit(sentence, kind, number)


def _is_heading(line: str, headings: set[str]) -> bool:
    """Whether a one-line paragraph repeats its heading, or is numbered like a heading."""
    if _plain(line) in headings:
        return True
    has_end = line.rstrip(_CLOSERS).endswith(_TERMINAL)
    return not has_end and len(line) <= _LONGEST_HEADING and _NUMBERED.match(line) is not None


def _blocks(text: str) -> Iterator[tuple[UnitKind, list[str]]]:
    """Consecutive lines of one kind; headings and rules only separate."""
    open_kind: UnitKind = "sentence"
    lines: list[str] = []
    in_code = False
    every = text.splitlines()
    for line, following in zip(every, [*every[1:], ""], strict=True):
        kind = _line_kind(line, following)
        if _FENCE.match(line) or (not in_code and (kind is None or kind != "sentence")):
            if lines:
                yield open_kind, lines
            lines = []
        if _FENCE.match(line):
            in_code = not in_code
            open_kind = "code" if in_code else "sentence"
        elif in_code:
            lines.append(line)
        elif kind is None:
            open_kind = "sentence"
        elif kind in ("row", "heading"):
            yield kind, [line]
            open_kind = "sentence"
        else:
            open_kind = kind if kind != "sentence" or not lines else open_kind
            lines.append(line)
    if lines:
        yield open_kind, lines


def _line_kind(line: str, following: str) -> UnitKind | None:
    if not line.strip() or _RULE.match(line):
        return None
    if _HEADING.match(line) or _UNDERLINE.match(following):
        return "heading"
    if line.lstrip().startswith("|"):
        return "row"
    return "item" if _ITEM.match(line) else "sentence"


def _join(lines: list[str]) -> str:
    text = _ITEM.sub("", lines[0]).strip()
    for line in lines[1:]:
        stripped = line.strip()
        glue = "" if is_cjk_dominant(text[-1:]) and is_cjk_dominant(stripped[:1]) else " "
        text = f"{text}{glue}{stripped}"
    return text


def _whole_sentences(text: str) -> list[str]:
    whole: list[str] = []
    for raw in sentences(text):
        sentence = raw.strip()
        if whole and sentence[0] in _CLOSERS and not sentence.startswith('"'):
            closers = sentence[: len(sentence) - len(sentence.lstrip(_CLOSERS))]
            whole[-1] += closers
            sentence = sentence[len(closers) :].strip()
        if not sentence:
            continue
        if whole and (sentence[0].islower() or _ABBREVIATION.search(whole[-1])):
            whole[-1] = f"{whole[-1]} {sentence}"
        else:
            whole.append(sentence)
    return whole


def _with_introduced(units: list[QuotableUnit], index: int) -> tuple[QuotableUnit, int]:
    unit, after = units[index], index + 1
    if not unit.introduces:
        return unit, after
    text, items = unit.text, 0
    while after < len(units) and units[after].kind in ("code", "item"):
        following = units[after]
        piece = f"```\n{following.text}\n```" if following.kind == "code" else f"- {following.text}"
        items += 1
        if len(text) + len(piece) > _LONGEST_EXTENSION or items > _MOST_ITEMS:
            text = f"{text}\n- …" if items > 1 else text
            break
        text = f"{text}\n{piece}"
        after += 1
        if following.kind == "code":
            break
    return replace(unit, text=text), after


def _is_content(unit: QuotableUnit, headings: set[str]) -> bool:
    if unit.kind == "code":
        return True
    if unit.kind == "heading":
        return False
    if _plain(unit.text) in headings:
        return False
    has_end = unit.text.rstrip(_CLOSERS + "*_`").endswith(_TERMINAL)
    if unit.kind == "sentence" and not has_end:
        # Without end punctuation, a line is a label or breadcrumbs unless it is long.
        return not _CRUMBS.search(unit.text) and _is_substantial(unit, factor=2)
    return True


def _is_substantial(unit: QuotableUnit, *, factor: int = 1) -> bool:
    return len(tokenize(unit.text)) >= factor * _FEWEST_TOKENS[unit.kind]


def _plain(text: str) -> str:
    return " ".join(tokenize(text)) or text.strip()
