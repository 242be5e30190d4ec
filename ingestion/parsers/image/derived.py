"""Pictures derived from another one, with the way back to its places."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image

from ingestion.parsers.boxes import PageRectangle
from ingestion.parsers.image.ocr import OcrLine

_MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class DerivedPicture:
    """A picture that was turned or resized.

    Attributes:
        original: Size of the picture that it was derived from, in pixels.
        angle: Degrees by which it was turned to the left about its middle, which stayed the middle.
        scale: Its pixels per pixel of the original.
    """

    image: Image.Image
    original: tuple[int, int]
    angle: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, image: Image.Image) -> "DerivedPicture":
        return cls(image, image.size)

    def upside_down(self) -> "DerivedPicture":
        turned = self.image.transpose(Image.Transpose.ROTATE_180)
        return DerivedPicture(turned, self.original, self.angle + 180, self.scale)

    def turned(self, angle: float, paper: int) -> "DerivedPicture":
        """Turned to the left by some degrees, its corners filled with a shade."""
        image = self.image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=paper)
        return DerivedPicture(image, self.original, self.angle + angle, self.scale)

    def resized(self, size: tuple[int, int]) -> "DerivedPicture":
        image = self.image.resize(size, Image.Resampling.LANCZOS)
        return DerivedPicture(image, self.original, self.angle, self.scale * size[0] / self.image.width)

    def lines_in_original(self, line: OcrLine) -> Iterator[OcrLine]:
        """A line as it stands in the original; one that is tilted there in parts, whose upright boxes follow it."""
        width, height = self.image.size
        left, top, right, bottom = line.sides
        sides = PageRectangle(left * width, top * height, right * width, bottom * height)
        for part in _parts(sides, self.angle):
            yield line._replace(sides=self._in_original(part))

    def _in_original(self, sides: PageRectangle) -> PageRectangle:
        corners = [self._point(x, y) for x in (sides.left, sides.right) for y in (sides.top, sides.bottom)]
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        return PageRectangle(min(xs), min(ys), max(xs), max(ys))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        """A point of this picture in shares of the original; see ``PIL.Image.Image.rotate`` for the direction."""
        sine, cosine = math.sin(math.radians(self.angle)), math.cos(math.radians(self.angle))
        x, y = (x - self.image.width / 2) / self.scale, (y - self.image.height / 2) / self.scale
        width, height = self.original
        return (cosine * x - sine * y) / width + 0.5, (sine * x + cosine * y) / height + 0.5


def _parts(sides: PageRectangle, angle: float) -> Iterator[PageRectangle]:
    """A line cut along its length, so that no part rises or falls by more than its own thickness."""
    width, height = sides.right - sides.left, sides.bottom - sides.top
    length, thickness = max(width, height), max(1.0, min(width, height))
    rise = length * abs(math.sin(math.radians(angle)))
    # The sine of 180 degrees is not quite zero.
    count = max(1, min(_MOST_PARTS, math.ceil(rise / thickness - 1e-6)))
    for number in range(count):
        a, b = number / count, (number + 1) / count
        if width >= height:
            yield sides._replace(left=sides.left + a * width, right=sides.left + b * width)
        else:
            yield sides._replace(top=sides.top + a * height, bottom=sides.top + b * height)
