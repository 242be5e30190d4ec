"""Stored bytes of a skill as text, with a map from lines and columns to byte offsets."""

import re
from dataclasses import dataclass

from skills.diagnostics import Finding
from skills.schema import TextEdit

LARGEST = 256 * 1024
"""Bytes that a skill may have."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class SkillSource:
    """The stored bytes and their normalised text: no byte order mark, each line ended by ``\\n``.

    Line numbers are those of the stored file; ``starts`` maps them to offsets in ``content``. The last line is empty if
    the text ends with a line end.
    """

    content: bytes
    text: str
    lines: list[str]
    starts: list[int]
    newline: str

    @property
    def has_mark(self) -> bool:
        return self.content.startswith(_BOM)

    def line(self, number: int) -> str:
        """A line by its number from 1; empty behind the last one."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def offset(self, line: int, column: int = 1) -> int:
        """The byte offset of a character, line and column from 1; the end behind the last line."""
        if line > len(self.starts):
            return len(self.content)
        return self.starts[line - 1] + len(self.lines[line - 1][: column - 1].encode())

    def line_start(self, line: int) -> int:
        """The offset of a line's first byte; the first line includes the byte order mark."""
        return 0 if line <= 1 else self.offset(line)

    def edit(self, line: int, column: int, length: int, replacement: str) -> TextEdit:
        end = self.offset(line, column + length)
        return TextEdit(self.offset(line, column), end, replacement)

    def edit_lines(self, first: int, last: int, replacement: str) -> TextEdit:
        """The replacement of whole lines, their ends included.

        ``replacement`` uses ``\\n``; the file's own line ends are written, and one is added behind a last line without
        an end.
        """
        start = self.offset(first)
        unended = start == len(self.content) and bool(self.lines[-1])
        text = f"\n{replacement}" if unended and replacement else replacement
        return TextEdit(start, self.offset(last + 1), text.replace("\n", self.newline))


def read(content: bytes) -> SkillSource | Finding:
    """Decode a skill's bytes, or say why not: too large (SK052), not UTF-8 or with a NUL (SK015)."""
    if len(content) > LARGEST:
        return Finding("SK052", 1, facts={"size": len(content), "limit": LARGEST})
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # "utf-8-sig" counts from behind the mark.
        skipped = len(_BOM) if content.startswith(_BOM) else 0
        return _unreadable(content, skipped + error.start)
    if (nul := content.find(b"\0")) >= 0:
        return _unreadable(content, nul, variant="nul")
    starts, newline = [0], "\n"
    if b"\r" in content:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    starts.extend(end.end() for end in _LINE_END.finditer(content))
    if first := _LINE_END.search(content):
        newline = first[0].decode()
    if content.startswith(_BOM):
        starts[0] = len(_BOM)
    return SkillSource(content, text, text.split("\n"), starts, newline)


def _unreadable(content: bytes, place: int, *, variant: str = "") -> Finding:
    before = content[:place].removeprefix(_BOM)
    ends = list(_LINE_END.finditer(before))
    line = before[ends[-1].end() :] if ends else before
    column = len(line.decode("utf-8", "replace")) + 1
    return Finding("SK015", len(ends) + 1, column, facts={"byte": place + 1}, variant=variant)


def apply_edits(content: bytes, edits: tuple[TextEdit, ...]) -> bytes:
    """The bytes with some spans replaced; they must be disjoint, in order and inside the file."""
    parts: list[bytes] = []
    place = 0
    for edit in edits:
        if not place <= edit.start <= edit.end <= len(content):
            raise ValueError("The edits overlap or leave the file.")
        parts += content[place : edit.start], edit.replacement.encode()
        place = edit.end
    return b"".join([*parts, content[place:]])
