"""Preprocessing of photographed and scanned pages for text recognition.

Tesseract reads a page that lies on its side or is tilted by two degrees. It does not read pages that are upside down
(its guesses look like words and would be found), tilted by more, grainy, or in the small letters of a screen or those
of a poster.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from PIL import Image, ImageChops, ImageFilter

from ingestion.parsers.image.derived import DerivedPicture
from ingestion.parsers.image.ocr import MAX_SIDE, SURE_CONFIDENCE, GreyImage, OcrEngine, OcrResult

# Percent; a lower confidence suggests a defect of the picture.
_GOOD = 90.0
# Pixels. Measured with Chinese and English text: of lines of 14 to 50 pixels more than 99 % of the letters are read,
# of 10 pixels 96 %, of 70 95 %, of 100 78 %.
_LEAST_LINE, _BEST_LINE, _MOST_LINE = 16, 30, 50
_MOST_FACTOR = 2.0
_SMALL = 2_000
# For derived pictures: twice the limit of uploaded ones.
_MOST_PIXELS = 100_000_000
# Grain is everywhere, type leaves margins and gaps: mean deviation of a tile's pixels from their neighbours' median.
# The lowest of ten tiles has 0 on paper, and 4 and more in grain.
_GRAIN, _TILE, _OF_TILES = 3, 8, 0.1
_SAMPLE = 1_000
# Pixels; takes away grain that Tesseract reads nothing in, and no letter of fifteen pixels.
_SMOOTHING = 1.2
# Degrees; pages in photographs are not tilted by more.
_MOST_TILT, _LEAST_TILT = 12, 1.5
_FINER = (-0.5, -0.25, 0.25, 0.5)
_TILT_SIDE = 800
_CLEARER = 1.2


def read(recogniser: OcrEngine, picture: GreyImage) -> OcrResult:
    """The text of a picture, where it is hard to read the best of several tries; its lines are those of this picture."""
    plain = DerivedPicture.of(_without_grain(_image(picture)))
    straight = _straight(plain)
    tries = _Attempts(recogniser, picture.dpi, plain)
    # One long line across a page is clearer than all its text, and turns it for nothing.
    for derived in [straight] if straight is plain else [straight, plain]:
        if not tries.is_good:
            reading = tries.take(derived)
            # So is what was read of a page that is upside down.
            if 0 < reading.confidence < SURE_CONFIDENCE:
                tries.take(derived.upside_down())
    if not tries.is_good:
        resized = _resized(tries.picture, tries.best)
        if resized is not None:
            tries.take(resized)
    lines = (part for line in tries.best.lines for part in tries.picture.lines_in_original(line))
    return replace(tries.best, lines=tuple(lines))


class _Attempts:
    """Readings of a picture in several states, and the best of them; ``dpi`` is from its metadata."""

    def __init__(self, recogniser: OcrEngine, dpi: int, plain: DerivedPicture) -> None:
        self._recogniser = recogniser
        self._dpi = dpi
        self._side = 0
        self.best: OcrResult = OcrResult()
        self.picture = plain

    @property
    def is_good(self) -> bool:
        return self.best.confidence >= _GOOD

    def take(self, derived: DerivedPicture) -> OcrResult:
        is_first, image = self._side == 0, derived.image
        self._side = self._side or max(image.size)
        dpi = self._dpi * max(image.size) // self._side
        reading = self._recogniser.read(_picture(image, dpi))
        if is_first or _is_better(reading, self.best):
            self.best, self.picture = reading, derived
        return reading


def _is_better(reading: OcrResult, before: OcrResult) -> bool:
    # Uncertain words have no weight; otherwise a single certain line would beat a page.
    least = 0 if before.confidence < SURE_CONFIDENCE else _length(before) / 2
    return reading.confidence > before.confidence and _length(reading) >= least


def _length(reading: OcrResult) -> int:
    return sum(map(len, reading.paragraphs))


def _resized(picture: DerivedPicture, reading: OcrResult) -> DerivedPicture | None:
    factor, image = 1.0, picture.image
    if reading.line_height and not _LEAST_LINE <= reading.line_height <= _MOST_LINE:
        factor = min(_MOST_FACTOR, _BEST_LINE / reading.line_height)
    elif reading.confidence < SURE_CONFIDENCE and max(image.size) <= _SMALL:
        # The measured line height may be wrong.
        factor = _MOST_FACTOR
    width, height = image.size
    if factor > 1:
        room = math.sqrt(_MOST_PIXELS / (width * height))
        factor = max(1.0, min(factor, MAX_SIDE / max(width, height), room))
    if factor == 1:
        return None
    size = (max(1, round(factor * width)), max(1, round(factor * height)))
    return picture.resized(size)


def _image(picture: GreyImage) -> Image.Image:
    size = (picture.width, picture.height)
    return Image.frombuffer("L", size, picture.pixels, "raw", "L", picture.stride, 1)


def _picture(image: Image.Image, dpi: int) -> GreyImage:
    return GreyImage(image.tobytes(), image.width, image.height, image.width, dpi)


def _without_grain(image: Image.Image) -> Image.Image:
    """Smoothed if grainy: Tesseract looks for letters in grain, for 20 seconds a page."""
    left, top = (max(0, side - _SAMPLE) // 2 for side in image.size)
    part = image.crop((left, top, image.width - left, image.height - top))
    difference = ImageChops.difference(part, part.filter(ImageFilter.MedianFilter(3)))
    tiles = sorted(difference.reduce(_TILE).tobytes())
    if tiles[int(_OF_TILES * len(tiles))] < _GRAIN:
        return image
    return image.filter(ImageFilter.GaussianBlur(_SMOOTHING))


def _straight(picture: DerivedPicture) -> DerivedPicture:
    """Deskewed, if clearly tilted.

    The angle is the one whose projection changes the most from row to row, or from column to column where the page
    lies on its side: W. Postl, Detection of linear oblique structures and skew scan in digitized documents, ICPR 1986.
    """
    image = picture.image
    small = image.reduce(max(1, max(image.size) // _TILT_SIDE))
    paper = _paper(small)
    clearness = {float(angle): _clearness(small, angle, paper) for angle in range(-_MOST_TILT, _MOST_TILT + 1)}
    near = max(clearness, key=clearness.__getitem__)
    clearness |= {near + step: _clearness(small, near + step, paper) for step in _FINER}
    angle = max(clearness, key=clearness.__getitem__)
    # If all angles are alike, the page is blank.
    if abs(angle) < _LEAST_TILT or clearness[angle] <= _CLEARER * clearness[0]:
        return picture
    sine, cosine = math.sin(math.radians(abs(angle))), math.cos(math.radians(angle))
    width = image.width * cosine + image.height * sine
    height = image.width * sine + image.height * cosine
    if width * height > _MOST_PIXELS or max(width, height) > MAX_SIDE:
        return picture
    return picture.turned(angle, paper)


def _paper(image: Image.Image) -> int:
    """The most frequent shade, which fills the corners after a rotation."""
    shades = image.histogram()
    return shades.index(max(shades))


def _clearness(image: Image.Image, angle: float, paper: int) -> float:
    turned = image.rotate(angle, Image.Resampling.BILINEAR, fillcolor=paper)
    across = turned.resize((1, turned.height), Image.Resampling.BOX).tobytes()
    along = turned.resize((turned.width, 1), Image.Resampling.BOX).tobytes()
    return max(_change(across), _change(along))


def _change(profile: Sequence[int]) -> float:
    return sum((value - next_) ** 2 for value, next_ in pairwise(profile)) / len(profile)
