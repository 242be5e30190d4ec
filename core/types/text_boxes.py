"""Boxes of a document's text: where on its pages it stands; without dependencies, as the process of unstructured has none of ours."""

from typing import NamedTuple

BOX_SCALE = 10_000
"""Sides of boxes are in ten-thousandths of a page's width or height."""


class TextBox(NamedTuple):
    """An upright rectangle on a page, and the characters of a text that stand in it.

    ``start`` and ``end`` count characters, ``page`` counts from 1, as a viewer shows it: turned as its file says. ``left``
    and ``top`` are from the page's top left corner. Several boxes of the same characters show a tilted line.
    """

    start: int
    end: int
    page: int
    left: int
    top: int
    width: int
    height: int
