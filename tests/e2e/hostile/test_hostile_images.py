"""Hostile images sent with a message: refused by name, or reduced to their pixels."""

import io
import time

import pytest
from PIL import Image

from core.errors.base import AgentexError
from core.errors.requests import CorruptImage, ImageTooLarge, UnsupportedFileType
from tests.fixtures.files.hostile_documents import TABLE, UPLOAD_SECONDS, lying_animation
from tests.fixtures.files.sample_files import CAMERA, animated, photograph
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.product.server import Server, one_shape

pytestmark = one_shape


def send(caller: Api, content: bytes):
    started = time.monotonic()
    sent = {"file": ("a.png", content, "image/png")}
    answer = caller.request("POST", "/agent/attachments", files=sent)
    assert time.monotonic() - started < UPLOAD_SECONDS
    return answer


def read_back(server: Server, caller: Api, content: bytes) -> bytes:
    """What everybody gets who has the link of a picture."""
    answer = send(caller, content)
    assert answer.status_code == 200, answer.text
    return server.http.get(answer.json()["url"]).raise_for_status().content


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_photograph_is_served_without_its_place_and_camera(server: Server, someone: Api, kind: str):
    sent = photograph(kind)
    assert CAMERA in sent
    got = read_back(server, someone, sent)
    assert CAMERA not in got
    with Image.open(io.BytesIO(got)) as image:
        assert image.format == kind
        assert not image.getexif()
        assert not image.getexif().get_ifd(0x8825)


@pytest.mark.parametrize("make", [animated, lying_animation])
def test_animated_png_is_served_as_one_still(server: Server, someone: Api, make):
    sent = make()
    assert b"acTL" in sent
    got = read_back(server, someone, sent)
    assert b"acTL" not in got
    with Image.open(io.BytesIO(got)) as image:
        assert (image.format, image.n_frames) == ("PNG", 1)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("flood.png", ImageTooLarge),
        ("trunc.png", CorruptImage),
        ("noise.webp", CorruptImage),
        ("svg_as.png", UnsupportedFileType),
    ],
)
def test_picture_that_can_not_be_drawn_is_refused_and_the_next_is_taken(
    server: Server, someone: Api, name: str, code: type[AgentexError]
):
    check_error(send(someone, TABLE[name].make()), code)
    assert read_back(server, someone, photograph("PNG"))
