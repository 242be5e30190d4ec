"""What a picture's header says of its size before anything of it is decoded."""

import io
from struct import error as StructError
from typing import IO

from PIL import Image

from core.errors import ImageTooLarge
from ingestion.parsers.limits import Limits

# WebP is not among them: its header is read by a library in C, which belongs in the jail.
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
# Headers stand in front, after a camera's remarks; a whole file may be made of remarks that take
# seconds to go through.
_HEAD_BYTES = 256 * 1024
DAMAGE = (OSError, SyntaxError, ValueError, IndexError, KeyError, EOFError, StructError)
"""What bad bytes raise in Pillow, those of a header that is not over among them."""


def check_picture(file: IO[bytes], limits: Limits) -> None:
    """Refuse a picture that says itself that it has too many pixels.

    One that is damaged passes, or whose size stands further behind: reading it fails in the
    parser's jail, with a reason of its own.

    Args:
        file: The uploaded bytes; where it stands afterwards is not said.
        limits: Bound of ``image_pixels``.

    Raises:
        ImageTooLarge: It has.
        OSError: The disk that it lies on can't be read.
    """
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    # The size is checked here, and not as Pillow does with a warning.
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(head), formats=_FORMATS) as image:
            is_beyond = has_too_many_pixels(image, limits)
    except DAMAGE:
        return
    if is_beyond:
        raise ImageTooLarge(max_pixels=limits.image_pixels)


def has_too_many_pixels(image: Image.Image, limits: Limits) -> bool:
    """Whether an opened picture has more than may be decoded."""
    return image.width * image.height > limits.image_pixels
