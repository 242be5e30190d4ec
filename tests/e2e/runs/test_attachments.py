"""Images for messages over HTTP: sent, answered, read by their signed link."""

import io
import re
from datetime import UTC, datetime

import httpx
import pytest
from PIL import Image

from core.errors.auth import NotAuthenticated
from core.errors.base import AgentexError
from core.errors.requests import CorruptImage, EmptyFile, FileTooLarge, InvalidRequest, UnsupportedFileType
from tests.fixtures.http.client import Api, check_error
from tests.fixtures.product.server import Server, one_shape

PATH = "/agent/attachments"


def image_of(kind: str = "PNG", size: tuple[int, int] = (30, 20)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, "teal").save(written, kind)
    return written.getvalue()


def send(caller: Api, content: bytes, name: str = "a.png", kind: str = "image/png"):
    return caller.request("POST", PATH, files={"file": (name, content, kind)})


@pytest.fixture
def image(someone: Api) -> dict[str, object]:
    answer = send(someone, image_of())
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_image_is_answered_with_its_facts_and_a_link(someone: Api, image: dict[str, object]):
    assert image.keys() == {
        "attachmentId", "mimeType", "url", "expiresAt", "size", "width", "height"
    }  # fmt: skip
    assert (image["mimeType"], image["width"], image["height"]) == ("image/png", 30, 20)
    left = datetime.fromisoformat(str(image["expiresAt"])) - datetime.now(UTC)
    assert 86_000 < left.total_seconds() < 86_500
    assert str(image["url"]).startswith(f"/api/v1{PATH}/{image['attachmentId']}/content?")


def test_link_works_without_a_login_and_is_no_page(server: Server, image: dict[str, object]):
    answer = server.http.get(str(image["url"]))

    assert answer.status_code == 200
    assert Image.open(io.BytesIO(answer.content)).size == (30, 20)
    assert len(answer.content) == image["size"]
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["cache-control"] == "no-store"
    disposition = f'attachment; filename="{image["attachmentId"]}.png"'
    assert answer.headers["content-disposition"] == disposition


def altered(url: str) -> list[str]:
    last = "1" if url.endswith("0") else "0"
    return [
        url[:-1] + last,
        re.sub(r"expires=\d+", "expires=99999999999", url),
        re.sub(r"[0-9a-f-]{36}", "0" * 8 + "-0000-4000-8000-" + "0" * 12, url),
        re.sub(r"[0-9a-f-]{36}", "..%2f..%2fetc", url),
        re.sub(r"signature=.*", "signature=é", url),
        re.sub(r"signature=.*", "signature=", url),
    ]


def test_altered_link_opens_nothing(server: Server, image: dict[str, object]):
    for url in altered(str(image["url"])):
        answer = server.http.get(url)
        assert answer.status_code in {401, 403}, f"{url}: {answer.text}"


def test_link_without_signature_or_with_nonsense_is_refused(server: Server, image: dict[str, object]):
    url = str(image["url"])
    for changed in (
        url.partition("?")[0],
        url.partition("&")[0],
        url.replace("expires=", "expires=x"),
    ):
        check_error(server.http.get(changed), InvalidRequest)


def test_type_is_that_of_the_bytes_whatever_is_declared(server: Server, someone: Api):
    for kind in ("PNG", "JPEG", "WEBP", "GIF"):
        answer = send(someone, image_of(kind), name="page.html", kind="text/html").json()
        assert answer["mimeType"] == f"image/{kind.lower()}"
        got = server.http.get(answer["url"])
        assert got.headers["content-type"] == answer["mimeType"]
        assert ".html" not in got.headers["content-disposition"]


@one_shape
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", EmptyFile),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", UnsupportedFileType),
        (b"%PDF-1.7", UnsupportedFileType),
        (image_of()[:50], CorruptImage),
        (image_of() + b"\0" * 11 * 2**20, FileTooLarge),
    ],
)
def test_what_is_no_image_is_refused_and_leaves_nothing(
    server: Server, someone: Api, content: bytes, code: type[AgentexError]
):
    rows, files = server.count("attachment", owner_id=someone.user_id), server.files
    check_error(send(someone, content), code)
    assert server.count("attachment", owner_id=someone.user_id) == rows
    assert server.files <= files


def test_body_that_is_no_form_with_one_file_is_refused(someone: Api):
    for options in ({"json": {}}, {"files": {"other": ("a", image_of())}}, {"data": {"file": "x"}}):
        someone.refused(InvalidRequest, "POST", PATH, **options)


def test_nobody_sends_without_a_login(server: Server):
    answer: httpx.Response = send(server.api(), image_of())
    check_error(answer, NotAuthenticated)
