"""Pages of a parsed document by its characters."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from ingestion.parsers.model import Element


class PageIndex:
    """Where the pages of a document begin in its text."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self._offsets: list[int] = []
        self._pages: list[int] = []
        for element in elements:
            if element.page is not None:
                self._add(element.char_start, element.page)
                for offset, page in element.later_pages:
                    self._add(element.char_start + offset, page)

    def _add(self, offset: int, page: int) -> None:
        if not self._pages or self._pages[-1] != page:
            self._offsets.append(offset)
            self._pages.append(page)

    def within(self, start: int, end: int) -> list[tuple[int, int]]:
        """Offset and number of each page that begins after ``start`` and before ``end``."""
        first, last = bisect_right(self._offsets, start), bisect_left(self._offsets, end)
        return list(zip(self._offsets[first:last], self._pages[first:last], strict=True))
