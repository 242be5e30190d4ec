"""What an uploaded picture's header says is checked before anything is kept or decoded."""

import io
import struct
import time

import pytest
from PIL import Image

from core.errors.requests import ImageTooLarge
from ingestion.parsers.limits import Limits
from ingestion.parsers.preflight import check_picture
from tests.fixtures.hostile import TABLE, UPLOAD_SECONDS
from tests.fixtures.made_files import DATA

SMALL = Limits(image_pixels=100)


def picture(kind: str, side: int) -> bytes:
    written = io.BytesIO()
    Image.new("L", (side, side)).save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP"])
def test_picture_with_too_many_pixels_is_refused_and_one_with_as_many_is_not(kind: str):
    check_picture(io.BytesIO(picture(kind, 10)), SMALL)
    with pytest.raises(ImageTooLarge) as caught:
        check_picture(io.BytesIO(picture(kind, 11)), SMALL)
    assert caught.value.details == {"max_pixels": 100}


def test_bound_is_the_parsers_own():
    with pytest.raises(ImageTooLarge) as caught:
        check_picture(io.BytesIO(TABLE["flood.png"].make()), Limits())
    assert caught.value.details == {"max_pixels": 50_000_000}


@pytest.mark.parametrize("cut", [8, 20, 30, 200, 3000])
def test_damaged_picture_is_left_to_the_parser(cut: int):
    whole = (DATA / "notice.png").read_bytes()
    check_picture(io.BytesIO(whole[:cut]), Limits())
    check_picture(io.BytesIO(whole[:12] + bytes(4) + whole[16:cut]), Limits())


def test_header_behind_a_hundred_megabytes_of_remarks_keeps_nobody_waiting():
    remark = struct.pack(">I", 0) + b"reMa" + bytes(4)
    head = b"\x89PNG\r\n\x1a\n"
    started = time.monotonic()
    check_picture(io.BytesIO(head + remark * (100 * 2**20 // len(remark))), Limits())
    assert time.monotonic() - started < UPLOAD_SECONDS
