"""The preflight of images: the header is checked before anything is stored or decoded."""

import io
import struct
import time

import pytest
from PIL import Image

from core.errors.requests import ImageTooLarge
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.preflight import check_image
from tests.fixtures.files.hostile_documents import TABLE, UPLOAD_SECONDS
from tests.fixtures.paths import PARSER_DATA

SMALL = ParseLimits(image_pixels=100)


def picture(kind: str, side: int) -> bytes:
    written = io.BytesIO()
    Image.new("L", (side, side)).save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP"])
def test_picture_with_too_many_pixels_is_refused_and_one_with_as_many_is_not(kind: str):
    check_image(io.BytesIO(picture(kind, 10)), SMALL)
    with pytest.raises(ImageTooLarge) as caught:
        check_image(io.BytesIO(picture(kind, 11)), SMALL)
    assert caught.value.details == {"max_pixels": 100}


def test_bound_is_the_parsers_own():
    with pytest.raises(ImageTooLarge) as caught:
        check_image(io.BytesIO(TABLE["flood.png"].make()), ParseLimits())
    assert caught.value.details == {"max_pixels": 50_000_000}


@pytest.mark.parametrize("cut", [8, 20, 30, 200, 3000])
def test_damaged_picture_is_left_to_the_parser(cut: int):
    whole = (PARSER_DATA / "notice.png").read_bytes()
    check_image(io.BytesIO(whole[:cut]), ParseLimits())
    check_image(io.BytesIO(whole[:12] + bytes(4) + whole[16:cut]), ParseLimits())


def test_header_behind_a_hundred_megabytes_of_remarks_keeps_nobody_waiting():
    remark = struct.pack(">I", 0) + b"reMa" + bytes(4)
    head = b"\x89PNG\r\n\x1a\n"
    started = time.monotonic()
    check_image(io.BytesIO(head + remark * (100 * 2**20 // len(remark))), ParseLimits())
    assert time.monotonic() - started < UPLOAD_SECONDS
