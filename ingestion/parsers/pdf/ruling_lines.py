"""The rules (straight lines) that a PDF's page draws; with ``pdf_lines`` what knows PDFium."""

# PDFium's raw functions have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
from pypdfium2 import raw

# A drawing or a map has more, and is no table; looking at all of it would take seconds.
_MOST_OBJECTS = 4_000
_MOST_SEGMENTS = 20_000
_FORM_DEPTH = 3
# Points by which a rule may be off its axis.
_SLANT = 0.7

_Matrix = tuple[float, float, float, float, float, float]
_Point = tuple[float, float]
_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class RulingLine:
    """A horizontal or vertical line, in points from the lower left of the page.

    Attributes:
        at: Its place across: y of a horizontal one, x of a vertical one.
        start: Where it begins along its axis.
        end: Where it ends.
    """

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class RulingLines:
    """All rules of a page, borders of filled rectangles included."""

    horizontal: tuple[RulingLine, ...]
    vertical: tuple[RulingLine, ...]


class _TooMany(Exception):
    """The page draws more than tables."""


def read_ruling_lines(page: pypdfium2.PdfPage) -> RulingLines:
    """The rules of a page; none where it draws so much that it is no table."""
    horizontal: list[RulingLine] = []
    vertical: list[RulingLine] = []
    try:
        for (x0, y0), (x1, y1) in _strokes(page.raw, _IDENTITY, [_MOST_OBJECTS, _MOST_SEGMENTS]):
            if abs(y1 - y0) <= _SLANT:
                horizontal.append(RulingLine((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x1 - x0) <= _SLANT:
                vertical.append(RulingLine((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    except _TooMany:
        return RulingLines((), ())
    return RulingLines(tuple(horizontal), tuple(vertical))


def _strokes(
    parent: object, matrix: _Matrix, left: list[int], depth: int = 0
) -> Iterator[tuple[_Point, _Point]]:
    """The straight strokes of what a page or a form shows; ``left`` is what may still be read."""
    is_form = depth > 0
    count = raw.FPDFFormObj_CountObjects if is_form else raw.FPDFPage_CountObjects
    get = raw.FPDFFormObj_GetObject if is_form else raw.FPDFPage_GetObject
    for index in range(count(parent)):
        one = get(parent, index)
        kind = raw.FPDFPageObj_GetType(one)
        if kind == raw.FPDF_PAGEOBJ_PATH:
            _spend(left, 0, 1)
            if _is_visible(one):
                yield from _segments(one, _composed(_matrix(one), matrix), left)
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _FORM_DEPTH:
            yield from _strokes(one, _composed(_matrix(one), matrix), left, depth + 1)


def _segments(path: object, matrix: _Matrix, left: list[int]) -> Iterator[tuple[_Point, _Point]]:
    count = raw.FPDFPath_CountSegments(path)
    _spend(left, 1, count)
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = _placed((x.value, y.value), matrix)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield before, point
        if raw.FPDFPathSegment_GetClose(segment):
            yield point, start
        before = point


def _spend(left: list[int], what: int, count: int) -> None:
    left[what] -= count
    if left[what] < 0:
        raise _TooMany


def _is_visible(path: object) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    return bool(fill.value or stroke.value)


def _matrix(one: object) -> _Matrix:
    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(one, found):
        return _IDENTITY
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _composed(first: _Matrix, second: _Matrix) -> _Matrix:
    """What applies the first one and then the second."""
    a, b, c, d, e, f = first
    k, l, m, n, o, p = second  # noqa: E741 - as matrices are written
    return (
        a * k + b * m,
        a * l + b * n,
        c * k + d * m,
        c * l + d * n,
        e * k + f * m + o,
        e * l + f * n + p,
    )


def _placed(point: _Point, matrix: _Matrix) -> _Point:
    (x, y), (a, b, c, d, e, f) = point, matrix
    return a * x + c * y + e, b * x + d * y + f
