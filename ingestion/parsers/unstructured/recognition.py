"""Text recognition of unstructured's strategy ``ocr_only``, page by page; runs in its process."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

_CJK = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_BLANK_IN_CJK = re.compile(f"(?<=[{_CJK}])\\s+(?=[{_CJK}])")
_pages: list[int] = []


class Paragraph(NamedTuple):
    """Text of a page, and the corners of its box in pixels from the page's top left."""

    text: str
    left: int
    top: int
    right: int
    bottom: int

    @property
    def points(self) -> tuple[tuple[int, int], ...]:
        """The four corners, as unstructured orders them."""
        return (self.left, self.top), (self.left, self.bottom), (self.right, self.bottom), (self.right, self.top)


def use_text_of_tesseract() -> None:
    """Have the text of a page taken as Tesseract gives it.

    The library compares Tesseract's words with its text and drops the paragraphs in which none is found again: all those
    in Chinese, whose text has no blanks. Of pictures with several pages it reads the first alone.
    """
    vars(import_module("unstructured.partition.pdf"))["_partition_pdf_or_image_with_ocr_from_image"] = _read_pages


def has_recognised() -> bool:
    """Whether a page was read in this process."""
    return bool(_pages)


def paragraphs(data: Mapping[str, Sequence[Any]]) -> Iterator[Paragraph]:
    """The paragraphs of a page, each in a line.

    Args:
        data: columns of Tesseract's TSV, by their names.

    Source: tesseract-ocr.github.io, Command Line Usage, "TSV output": a row is a page, block, paragraph, line or word, and
    only a word has text.
    """
    names = ("block_num", "par_num", "text", "left", "top", "width", "height")
    for _, rows in groupby(zip(*(data[name] for name in names), strict=True), itemgetter(0, 1)):
        words = [row for row in rows if str(row[2]).strip()]
        if not words:
            continue
        yield Paragraph(
            _BLANK_IN_CJK.sub("", " ".join(str(word[2]).strip() for word in words)),
            min(word[3] for word in words),
            min(word[4] for word in words),
            max(word[3] + word[5] for word in words),
            max(word[4] + word[6] for word in words),
        )


def _read_pages(image: Any, *, ocr_languages: str, page_number: int, **_: object) -> list[object]:  # noqa: ANN401 - Pillow is not imported here
    """In place of the library's function of that signature; ``image`` is Pillow's, of one page or more."""
    tesseract, turned = import_module("unstructured_pytesseract"), import_module("PIL.ImageOps").exif_transpose
    read: list[object] = []
    for number, page in enumerate(import_module("PIL.ImageSequence").Iterator(image), start=page_number):
        _pages.append(number)
        upright = turned(page)
        data = tesseract.image_to_data(upright, lang=ocr_languages, output_type=tesseract.Output.DICT)
        read += [_element(paragraph, upright.size, number) for paragraph in paragraphs(data)]
    return read


def _element(paragraph: Paragraph, size: tuple[int, int], page: int) -> object:
    elements, coordinates = (import_module(f"unstructured.documents.{name}") for name in ("elements", "coordinates"))
    place = elements.CoordinatesMetadata(points=paragraph.points, system=coordinates.PixelSpace(*size))
    metadata = elements.ElementMetadata(page_number=page, coordinates=place)
    return elements.Text(text=paragraph.text, metadata=metadata)
