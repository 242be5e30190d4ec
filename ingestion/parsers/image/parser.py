"""Pictures (PNG, JPEG, TIFF, WebP, BMP, HEIC, AVIF), read by text recognition."""

import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path

from PIL import Image, ImageOps

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image import ocr, preprocess
from ingestion.parsers.image.ocr import MAX_SIDE, GreyImage, OcrEngine, OcrResult
from ingestion.parsers.image.photos import is_decodable, photo_kind, register_decoder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.preflight import DAMAGE, has_too_many_pixels
from ingestion.parsers.sandbox.progress import track_progress

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_HEAD_BYTES = 32
_MOST_DPI = 10_000
# Pixels; a picture too long for Tesseract, such as a whole chat, is read in strips, cut at a row without letters.
_STRIP, _STRIP_END = 8_000, 2_000


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the text of a picture, or of each page of a TIFF file.

    Its size is checked before anything is decoded. Of an animation the first picture is read; metadata (place, camera)
    is ignored.
    """
    builder = DocumentBuilder(limits)
    with OcrEngine(limits) as recogniser:
        pages = [_read(recogniser, picture) for picture in _pictures(path, limits)]
    for number, readings in enumerate(pages, 1):
        for text, boxes in chain.from_iterable(reading.placed_paragraphs(number) for reading in readings):
            builder.add("paragraph", text, page=number, boxes=boxes)
    warnings = ocr.warnings(chain.from_iterable(pages))
    return builder.finish(pages=len(pages), warnings=warnings)


def _read(recogniser: OcrEngine, image: Image.Image) -> list[OcrResult]:
    return [
        preprocess.read(recogniser, _picture(strip)).within(top / image.height, strip.height / image.height)
        for top, strip in _strips(image)
    ]


def _strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The picture in strips of a height that Tesseract can read, with the row at which each begins.

    ParseFailure ``image_too_large`` for a wide one.
    """
    if image.width > MAX_SIDE:
        raise ParseFailure(FailureReason.IMAGE_TOO_LARGE)
    top = 0
    if image.height > MAX_SIDE:
        while image.height - top > _STRIP:
            bottom = _gap(image, top + _STRIP - _STRIP_END)
            yield top, image.crop((0, top, image.width, bottom))
            top = bottom
    yield top, image.crop((0, top, *image.size)) if top else image


def _gap(image: Image.Image, start: int) -> int:
    """The middle of the longest run of most uniform rows from ``start`` on."""
    pixels = image.crop((0, start, image.width, start + _STRIP_END)).tobytes()
    rows = (pixels[at : at + image.width] for at in range(0, len(pixels), image.width))
    contrasts = [max(row) - min(row) for row in rows]
    plain = min(contrasts)
    longest = gap = place = 0
    for contrast, run in groupby(contrasts):
        length = len(list(run))
        if contrast == plain and length > longest:
            longest, gap = length, place + length // 2
        place += length
    return start + gap


def _picture(grey: Image.Image) -> GreyImage:
    return GreyImage(grey.tobytes(), grey.width, grey.height, grey.width, _dpi(grey))


def _dpi(image: Image.Image) -> int:
    """The resolution in a picture's metadata; 0 if implausible."""
    try:
        dpi = float(image.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, ZeroDivisionError):
        return 0
    return round(dpi) if 0 < dpi < _MOST_DPI else 0


def _pictures(path: Path, limits: ParseLimits) -> Iterator[Image.Image]:
    formats = _formats(path)
    with _damage_named(), Image.open(path, formats=formats) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    if count > limits.pages:
        raise ParseFailure(FailureReason.TOO_MANY_PAGES)
    for number in track_progress(range(count), count):
        with _damage_named(), Image.open(path, formats=formats) as image:
            if number:
                image.seek(number)
            picture = _grey(image, limits)
        yield picture


def _formats(path: Path) -> tuple[str, ...]:
    """Pillow's names of what a file may be; a decoder is loaded for those that need it only."""
    with path.open("rb") as file:
        kind = photo_kind(file.read(_HEAD_BYTES))
    if kind is None:
        return _FORMATS
    if not is_decodable(kind):
        raise ParseFailure(FailureReason.DECODER_MISSING, kind)
    return register_decoder()


@contextmanager
def _damage_named() -> Generator[None]:
    """Convert Pillow's errors for damaged pictures to ``corrupt_image``."""
    # Checked here instead of by Pillow, which only warns.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except DAMAGE as error:
        raise ParseFailure(FailureReason.CORRUPT_IMAGE) from error


def _grey(image: Image.Image, limits: ParseLimits) -> Image.Image:
    """Decode one picture, upright and on white; ParseFailure ``image_too_large``."""
    if has_too_many_pixels(image, limits):
        raise ParseFailure(FailureReason.IMAGE_TOO_LARGE)
    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.has_transparency_data:
        white = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(white, upright.convert("RGBA"))
    return upright.convert("L")
