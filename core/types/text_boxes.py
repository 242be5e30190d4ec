"""Boxes of a document's text: where on its pages it stands."""

from typing import Annotated, NamedTuple

from pydantic import Field

BOX_SCALE = 10_000
"""Sides of boxes are in ten-thousandths of a page's width or height."""

_Share = Annotated[int, Field(ge=0, le=BOX_SCALE)]
_Offset = Annotated[int, Field(ge=0, lt=2**31)]


class TextBox(NamedTuple):
    """An upright rectangle on a page, and the characters of a text that stand in it.

    ``start`` and ``end`` count characters, ``page`` counts from 1, as a viewer shows it: turned as its file says. ``left``
    and ``top`` are from the page's top left corner. Several boxes of the same characters show a tilted line.
    """

    start: _Offset
    end: _Offset
    page: Annotated[int, Field(ge=1, lt=2**31)]
    left: _Share
    top: _Share
    width: _Share
    height: _Share
