"""Photos of telephones and the web (HEIC, AVIF), and whether they can be decoded here."""

# pi_heif has no types, and may not be installed.
# pyright: reportUnknownMemberType=false, reportMissingImports=false, reportUnknownVariableType=false

import re
from functools import cache
from importlib.util import find_spec
from typing import Literal

PhotoKind = Literal["heic", "avif"]
PHOTO_KINDS: dict[str, PhotoKind] = {"image/heic": "heic", "image/avif": "avif"}
"""By their media types."""
_HEAD = re.compile(rb".{4}ftyp(?:(hei[cxms]|hev[cxms]|mif1|msf1)|avi[fs])", re.DOTALL)
# AVIF is in Pillow's own wheels for most machines; the decoder of HEIC is the extra ``agentex[heic]``.
_MODULES: dict[PhotoKind, str] = {"heic": "pi_heif", "avif": "PIL._avif"}


def photo_kind(head: bytes) -> PhotoKind | None:
    """Which of these formats a file's first bytes show."""
    brands = _HEAD.match(head)
    if brands is None:
        return None
    return "heic" if brands[1] else "avif"


def is_decodable(kind: PhotoKind) -> bool:
    """Whether a decoder is installed, without importing it."""
    return find_spec(_MODULES[kind]) is not None


@cache
def register_decoder() -> tuple[str, ...]:
    """Have Pillow read HEIC, where its decoder is installed; returns Pillow's names of what it reads."""
    if not is_decodable("heic"):
        return ("AVIF",)
    import pi_heif  # noqa: PLC0415 - of an extra

    pi_heif.register_heif_opener()
    return ("AVIF", "HEIF")
