"""Child process that re-encodes an image (``python -m agents.attachments.reencode_main``).

Reads an image on standard input; writes one line of JSON and the new image to standard output.
Only pixels pass: no EXIF, comments, profiles or trailing data.
"""

import io
import json
import sys
from struct import error as StructError

from PIL import Image, ImageOps

from ingestion.parsers.sandbox import limits as sandbox_limits

MOST_PIXELS = 50_000_000
LONGEST_SIDE = 4096
SECONDS = 20
_MEMORY_BYTES = 768 * 2**20
# The longest side that models take without making it smaller themselves.
SHOWN_SIDE = 1568
FOR_MODELS = "for-models"
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_DAMAGE = (OSError, SyntaxError, ValueError, IndexError, KeyError, EOFError, StructError)
_OPTIONS: dict[str, dict[str, int | bool]] = {"PNG": {}, "JPEG": {"quality": 90}, "WEBP": {"quality": 90}, "GIF": {}}


class TooManyPixels(Exception):
    """More pixels than are decoded."""


def reencode(content: bytes, *, for_models: bool = False) -> tuple[str, tuple[int, int], bytes]:
    """The first frame, upright, at most ``LONGEST_SIDE`` wide and high: format, width and height, bytes.

    For models at most ``SHOWN_SIDE``, as a JPEG on white, which every protocol takes and which can't be large. Images
    of more than ``MOST_PIXELS`` are not decoded; damaged ones raise the errors of ``_DAMAGE``.
    """
    # The size is checked here, before decoding, and not as Pillow does with a warning.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
        # A JPEG with several pictures is a format of its own to Pillow.
        kind = "JPEG" if image.format in {"JPEG", "MPO"} else str(image.format)
        if image.width * image.height > MOST_PIXELS:
            raise TooManyPixels
        side = SHOWN_SIDE if for_models else LONGEST_SIDE
        image.thumbnail((side, side))
        image.load()
        picture = _plain(ImageOps.exif_transpose(image), kind)
    if for_models:
        kind, picture = "JPEG", _on_white(picture)
    written = io.BytesIO()
    picture.save(written, kind, **_OPTIONS[kind])
    return kind, picture.size, written.getvalue()


def _plain(image: Image.Image, kind: str) -> Image.Image:
    transparency = image.info.get("transparency")
    if kind == "GIF" and image.mode in {"P", "L"}:
        plain = image.copy()
    elif image.mode.startswith("I"):
        plain = image.convert("I").point(lambda value: value / 256).convert("L")
    elif image.has_transparency_data and kind != "JPEG":
        plain, transparency = image.convert("RGBA"), None
    else:
        plain, transparency = image.convert("L" if image.mode in {"1", "L"} else "RGB"), None
    plain.info = {} if transparency is None else {"transparency": transparency}
    return plain


def _on_white(image: Image.Image) -> Image.Image:
    drawn = image.convert("RGBA")
    white = Image.new("RGBA", drawn.size, "white")
    white.alpha_composite(drawn)
    return white.convert("RGB")


def answer(content: bytes, *, for_models: bool = False) -> tuple[dict[str, object], bytes]:
    """The JSON line's fields and the new image."""
    try:
        kind, (width, height), drawn = reencode(content, for_models=for_models)
    except (TooManyPixels, MemoryError):
        return {"fault": "too_many_pixels"}, b""
    except _DAMAGE:
        return {"fault": "damaged"}, b""
    return {"mime_type": f"image/{kind.lower()}", "width": width, "height": height}, drawn


if __name__ == "__main__":
    # Import plugins now: later imports would fail in the sandbox.
    Image.preinit()
    Image.init()
    sandbox_limits.enter_sandbox()
    sandbox_limits.limit_processor_time(SECONDS)
    sandbox_limits.limit_memory(_MEMORY_BYTES)
    fields, drawn = answer(sys.stdin.buffer.read(), for_models=FOR_MODELS in sys.argv)
    sys.stdout.buffer.write(json.dumps(fields).encode() + b"\n" + drawn)
    sys.stdout.buffer.flush()
