"""Markdown from the blocks of services."""

import re
from collections.abc import Iterable, Sequence

_LIKE_A_MARK = re.compile(r"^(\s{0,3})(#{1,6}(?=\s)|>|`{3,}|~{3,})", re.MULTILINE)
_FENCES = re.compile(r"`{3,}")
_HIGHEST = 6


def heading(level: int, text: str) -> str:
    """A heading; empty without text."""
    line = " ".join(text.split())
    return f"{'#' * max(1, min(level, _HIGHEST))} {line}" if line else ""


def paragraph(text: str) -> str:
    """A text that begins no heading, quotation or code by accident."""
    return _LIKE_A_MARK.sub(r"\1\\\2", text).strip()


def fence(text: str, language: str = "") -> str:
    """A block of code, whatever fences are in it."""
    longest = max(map(len, _FENCES.findall(text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text}\n{mark}"


def prefixed(text: str, first: str, rest: str) -> str:
    """Lines with what belongs before the first and before the others: marks of lists and quotations."""
    lines = text.splitlines() or [""]
    return "\n".join([f"{first}{lines[0]}".rstrip(), *(f"{rest}{line}".rstrip() for line in lines[1:])])


def quoted(text: str) -> str:
    """A quotation."""
    return prefixed(text, "> ", "> ")


def link(text: str, url: str) -> str:
    """A link of the web; of another address only the text."""
    is_usable = url.startswith(("http://", "https://")) and not re.search(r"[\s<>()]", url)
    return f"[{text}]({url})" if is_usable and text.strip() else text


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head; empty without rows."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows]
    lines = [f"| {' | '.join([*row, *([''] * (width - len(row)))])} |" for row in cells]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def joined(parts: Iterable[tuple[str, bool]]) -> str:
    """Parts one below the other, items of lists (the second value) without an empty line between them."""
    lines: list[str] = []
    was_item = False
    for part, is_item in parts:
        if part:
            if lines:
                lines.append("\n" if is_item and was_item else "\n\n")
            lines.append(part)
            was_item = is_item
    return "".join(lines)


def list_item(mark: str, text: str, below: str) -> str:
    """An item of a list, and what is inside it."""
    first = prefixed(text, mark, " " * 3)
    return f"{first}\n{prefixed(below, ' ' * 3, ' ' * 3)}" if below else first


def styled(text: str, *, is_code: bool, is_bold: bool) -> str:
    """A run of text with its style, where Markdown can express it."""
    if not text.strip() or text != text.strip():
        return text
    if is_code and "`" not in text:
        return f"`{text}`"
    return f"**{text}**" if is_bold else text
