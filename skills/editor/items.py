"""Edits of single items of a section: what stands between them, comments and prose, stays where it is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from skills.editor import render
from skills.editor.table_rows import param_row
from skills.parser.outline import DraftSection
from skills.parser.source import SkillSource
from skills.schema import Param, Step, TextEdit

ITEM_FIELDS = frozenset({"trigger_conditions", "not_for", "input_params", "steps", "outputs", "constraints"})
"""Fields whose values stand one after the other in their section."""

Item = str | Param | Step

_MARKER = re.compile(r"^(?P<indent> {0,3})(?P<mark>[-*+]|(?P<number>\d{1,9})[.)])(?P<gap>[ \t]+)")
_STEP_HEADING = re.compile(r"^### +(?P<number>\d{1,9})\. +")
_TITLE_COLON = re.compile(r"^\S+\s+\*\*[^*]+\*\*：")


@dataclass(frozen=True)
class _ItemLines:
    """The lines of an item, and those between it and the next one."""

    own: list[str]
    after: list[str]


@dataclass(frozen=True)
class _Form:
    """The language of the section, and the head of its table."""

    chinese: bool
    head: str


def description_edit(source: SkillSource, section: DraftSection, old: str, new: str) -> TextEdit | None:
    """The replacement of a description's own lines; None where they do not stand together in its section."""
    if not section.blocks or not old or not new:
        return None
    first, last = section.blocks[0].start, section.blocks[-1].end
    texts = old.split("\n")
    for line in range(first, last - len(texts) + 2):
        if [source.line(line + place).strip() for place in range(len(texts))] == [text.strip() for text in texts]:
            return source.edit_lines(line, line + len(texts) - 1, f"{new}\n")
    return None


def item_edit(
    source: SkillSource, section: DraftSection, old: Sequence[Item], new: Sequence[Item], *, chinese: bool
) -> TextEdit | None:
    """The replacement of the items that differ, in the form of those that stand there; None where there is no telling.

    Whoever applies it reads the result: an item may have been taken for another one.

    Args:
        old: the items as they were read from the section, with their lines.
        new: as they are to be read.
    """
    if not section.blocks or not old or not new:
        return None
    first, last = section.blocks[0].start, section.blocks[-1].end
    lines = [source.line(number) for number in range(first, last + 1)]
    starts = _starts(old, lines, first)
    if starts is None:
        return None
    pieces = _pieces(old, starts, lines, first)
    head = lines[starts[0] - 2] if starts[0] > 1 and _is_row(lines[starts[0]]) else ""
    written = _written(pieces, old, new, _Form(chinese, head))
    if written is None:
        return None
    body = [line for piece in written for line in (*piece.own, *piece.after)]
    text = "\n".join([*lines[: starts[0]], *body]).rstrip("\n")
    return source.edit_lines(first, last, f"{text}\n")


def _starts(old: Sequence[Item], lines: Sequence[str], first: int) -> list[int] | None:
    """Where each item begins, counted from the section's first line."""
    starts: list[int] = []
    for item in old:
        if not isinstance(item, str):
            place = item.line - first
        else:
            head, after = item.split("\n", 1)[0].strip(), starts[-1] + 1 if starts else 0
            places = (n for n in range(after, len(lines)) if _MARKER.sub("", lines[n]).strip() == head)
            place = next(places, -1)
        if place < 0 or place >= len(lines) or (starts and place <= starts[-1]):
            return None
        starts.append(place)
    return starts


def _pieces(old: Sequence[Item], starts: Sequence[int], lines: list[str], first: int) -> list[_ItemLines]:
    pieces: list[_ItemLines] = []
    for item, start, following in zip(old, starts, [*starts[1:], len(lines)], strict=True):
        end = start + 1
        if isinstance(item, Step):
            end = min(max(end, item.end_line - first + 1), following)
        else:
            while end < following and lines[end].startswith((" ", "\t")) and lines[end].strip():
                end += 1
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        pieces.append(_ItemLines(lines[start:end], lines[end:following]))
    return pieces


def _written(
    pieces: Sequence[_ItemLines], old: Sequence[Item], new: Sequence[Item], form: _Form
) -> list[_ItemLines] | None:
    """The pieces of the new items; None where the form of one is not known."""
    written: list[_ItemLines] = []
    moved = False
    keys = ([repr(_without_place(item)) for item in items] for items in (old, new))
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind == "equal":
            written += pieces[i1:i2]
            continue
        moved = moved or i2 - i1 != j2 - j1
        for at, to in zip_longest(range(i1, i2), range(j1, j2)):
            if to is None:
                if any(line.strip() for line in pieces[at].after):
                    written.append(_ItemLines([], pieces[at].after))
            elif at is not None:
                own = _own_lines(new[to], pieces[at].own, form, old[at])
                if own is None:
                    return None
                written.append(_ItemLines(own, pieces[at].after))
            elif not _insert(written, new[to], pieces, i1, form):
                return None
    return _numbered(written, pieces) if moved else written


def _insert(written: list[_ItemLines], item: Item, pieces: Sequence[_ItemLines], place: int, form: _Form) -> bool:
    """Add a new item behind the last one, before what follows that one; false where its form is not known."""
    near = pieces[max(0, place - 1)]
    model = near if _has_mark(near) else next(filter(_has_mark, reversed(pieces)), near)
    own = _own_lines(item, model.own, form)
    if own is None:
        return False
    gap = [""] if not _is_row(model.own[0]) and _has_blank_lines(pieces) else []
    if not written:
        written.append(_ItemLines(own, gap))
        return True
    last = written.pop()
    written += (_ItemLines(last.own, []), _ItemLines([*gap, *own], last.after))
    return True


def _has_mark(piece: _ItemLines) -> bool:
    return _MARKER.match(piece.own[0]) is not None or piece.own[0].startswith(("#", "|"))


def _has_blank_lines(pieces: Sequence[_ItemLines]) -> bool:
    return any(not line.strip() for piece in pieces for line in (*piece.own, *piece.after))


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _own_lines(item: Item, model: Sequence[str], form: _Form, old: Item | None = None) -> list[str] | None:
    """An item in the form of another one, in whose place it may stand; its number is that one's."""
    if _is_row(model[0]):
        if not isinstance(item, Param) or not form.head:
            return None
        row = (old, model[0]) if isinstance(old, Param) else None
        return [param_row(item, form.head, old=row, chinese=form.chinese)]
    heading = _STEP_HEADING.match(model[0])
    if heading and isinstance(item, Step):
        if not item.title:
            return None
        body = ["", *item.instruction.split("\n")] if item.instruction else []
        return [f"{heading[0]}{item.title}", *body]
    marker = _MARKER.match(model[0])
    if marker is None:
        return item.split("\n") if isinstance(item, str) and not model[0].startswith("#") else None
    head, *more = _text(item, model[0], form.chinese).split("\n")
    indent = " " * len(marker[0].expandtabs())
    return [f"{marker[0]}{head}", *(f"{indent}{line}" if line else "" for line in more)]


def _text(item: Item, model: str, chinese: bool) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, Param):
        return render.param_line(item, chinese=chinese)
    colon = "：" if _TITLE_COLON.match(model) else ": "
    return f"**{item.title}**{colon}{item.instruction}".rstrip() if item.title else item.instruction


def _numbered(written: Sequence[_ItemLines], pieces: Sequence[_ItemLines]) -> list[_ItemLines]:
    """The new pieces, counted on from the number of the first old one."""
    first = _number(pieces[0].own)
    if first is None:
        return list(written)
    number = int(first[1]["number"])
    counted: list[_ItemLines] = []
    for piece in written:
        numbered = _number(piece.own)
        if numbered is None:
            counted.append(piece)
            continue
        place, match = numbered
        line, own = piece.own[place], [*piece.own]
        own[place] = f"{line[: match.start('number')]}{number}{line[match.end('number') :]}"
        counted.append(_ItemLines(own, piece.after))
        number += 1
    return counted


def _number(own: Sequence[str]) -> tuple[int, re.Match[str]] | None:
    """The line of an item that has its number, and where."""
    place = next((n for n, line in enumerate(own) if line.strip()), None)
    if place is None:
        return None
    match = _MARKER.match(own[place]) or _STEP_HEADING.match(own[place])
    return (place, match) if match and match["number"] else None


def _without_place(item: Item) -> object:
    if isinstance(item, Param):
        return (item.name, item.type, item.required, item.default, item.description, item.enum, item.items,
                item.example, item.min, item.max, item.pattern)  # fmt: skip
    return (item.title, item.instruction, item.tools, item.condition) if isinstance(item, Step) else item
