"""Text recognition of unstructured's strategy ``ocr_only``, page by page; runs in its process."""

import re
from importlib import import_module
from typing import Any

_CJK = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_LINE_IN_CJK = re.compile(f"(?<=[{_CJK}])\\s*\n\\s*(?=[{_CJK}])")
_pages: list[int] = []


def use_text_of_tesseract() -> None:
    """Have the text of a page taken as Tesseract gives it.

    The library compares Tesseract's words with its text and drops the paragraphs in which none is found again: all those
    in Chinese, whose text has no blanks. Of pictures with several pages it reads the first alone.
    """
    vars(import_module("unstructured.partition.pdf"))["_partition_pdf_or_image_with_ocr_from_image"] = _read_pages


def has_recognised() -> bool:
    """Whether a page was read in this process."""
    return bool(_pages)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a page, each in a line."""
    parts = (" ".join(_LINE_IN_CJK.sub("", part.strip()).split()) for part in re.split(r"\n\s*\n", text))
    return [part for part in parts if part]


def _read_pages(image: Any, *, ocr_languages: str, page_number: int, **_: object) -> list[object]:  # noqa: ANN401 - Pillow is not imported here
    """In place of the library's function of that signature; ``image`` is Pillow's, of one page or more."""
    elements, tesseract = import_module("unstructured.documents.elements"), import_module("unstructured_pytesseract")
    turned = import_module("PIL.ImageOps").exif_transpose
    read: list[object] = []
    for number, page in enumerate(import_module("PIL.ImageSequence").Iterator(image), start=page_number):
        _pages.append(number)
        text = tesseract.image_to_string(turned(page), lang=ocr_languages)
        read += [
            elements.Text(text=paragraph, metadata=elements.ElementMetadata(page_number=number))
            for paragraph in paragraphs(text)
        ]
    return read
