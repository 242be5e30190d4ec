"""Number formats of Excel cells: which numbers are dates, times or percentages."""

import math
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum
from xml.etree.ElementTree import Element

from ingestion.parsers.office.xml import child, name, read_xml


class _Kind(Enum):
    """What a number stands for."""

    PLAIN = 0
    PERCENT = 1
    DATE = 2
    TIME = 3
    MOMENT = 4
    ELAPSED = 5


# Built-in formats (ECMA-376 part 1, 18.8.30), those of Chinese, Japanese and Korean included.
_BUILT_IN: dict[int, _Kind] = {
    9: _Kind.PERCENT,
    10: _Kind.PERCENT,
    22: _Kind.MOMENT,
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 55), 57, 58), _Kind.DATE),
    **dict.fromkeys((18, 19, 20, 21, *range(32, 36), 45, 47, 55, 56), _Kind.TIME),
    46: _Kind.ELAPSED,
}
# What stands for itself in a format: quoted, escaped, in brackets, or a blank's width.
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|[_*].')
# Hours, minutes or seconds that are counted on: a sum of working hours and the like.
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no time zone
_FIRST_DAY_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_DAYS = 2_958_466  # the year 10000


class NumberFormats:
    """Renders stored numbers by the format of their style.

    Args:
        kinds: what each style shows, by its index.
        is_1904: whether days are counted from 1904 on.
    """

    def __init__(self, kinds: Iterable[_Kind], *, is_1904: bool) -> None:
        self._kinds: dict[str, _Kind] = {
            str(index): kind for index, kind in enumerate(kinds) if kind != _Kind.PLAIN
        }
        self._first_day = _FIRST_DAY_1904 if is_1904 else _FIRST_DAY

    @classmethod
    def read(cls, styles: bytes | None, *, is_1904: bool) -> "NumberFormats":
        """The formats of a workbook's styles part."""
        if styles is None:
            return cls((), is_1904=is_1904)
        root = read_xml(styles)
        own: dict[int, _Kind] = {
            _number(node, "numFmtId"): _kind(node.get("formatCode", ""))
            for node in _children(root, "numFmts")
        }
        ids = (_number(node, "numFmtId") for node in _children(root, "cellXfs"))
        kinds = [own.get(one) or _BUILT_IN.get(one, _Kind.PLAIN) for one in ids]
        return cls(kinds, is_1904=is_1904)

    def render(self, value: str, style: str) -> str:
        """A number as text: dates and times in ISO 8601, sums of hours as such, at most 15 significant digits."""
        kind = self._kinds.get(style)
        if kind is None and value.isdigit():
            return value
        try:
            number = float(value)
        except ValueError:
            return value
        if not math.isfinite(number):
            return value
        if kind is None:
            return f"{number:.15g}"
        if kind == _Kind.PERCENT:
            return f"{number * 100:.12g}%"
        if kind == _Kind.ELAPSED:
            return _elapsed(number)
        return self._moment(number, kind) if 0 <= number < _DAYS else f"{number:.15g}"

    def _moment(self, days: float, kind: _Kind) -> str:
        # Excel keeps the day 29 February 1900, which never was.
        is_early = self._first_day is _FIRST_DAY and 0 < days < 60
        try:
            moment = self._first_day + timedelta(days=int(days) + is_early)
        except OverflowError:
            return f"{days:.15g}"
        moment += timedelta(seconds=round((days % 1) * 86_400))
        if kind == _Kind.TIME and days < 1:
            return moment.strftime("%H:%M:%S")
        has_time = kind != _Kind.DATE and (moment.hour or moment.minute or moment.second)
        return moment.isoformat(" ", "minutes") if has_time else moment.date().isoformat()


def _elapsed(days: float) -> str:
    if abs(days) >= _DAYS:
        return f"{days:.15g}"
    minutes, seconds = divmod(round(abs(days) * 86_400), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{'-' if days < 0 else ''}{hours}:{minutes:02}:{seconds:02}"


def _kind(code: str) -> _Kind:
    if _ELAPSED.search(code.partition(";")[0]):
        return _Kind.ELAPSED
    bare = _LITERAL.sub("", code.partition(";")[0]).lower()
    if "general" in bare:
        return _Kind.PLAIN
    has_date = "y" in bare or "d" in bare or (("m" in bare) and "h" not in bare and "s" not in bare)
    has_time = "h" in bare or "s" in bare
    if has_date:
        return _Kind.MOMENT if has_time else _Kind.DATE
    if has_time:
        return _Kind.TIME
    return _Kind.PERCENT if "%" in bare else _Kind.PLAIN


def _children(root: Element, wanted: str) -> Iterable[Element]:
    found = child(root, wanted)
    return [node for node in found if name(node) in ("numFmt", "xf")] if found is not None else []


def _number(node: Element, attribute: str) -> int:
    value = node.get(attribute, "")
    return int(value) if value.isdigit() and len(value) < 9 else 0
