"""The download of a document: byte for byte, and nothing that a browser would run."""

import pytest

from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound
from core.errors.requests import InvalidRequest, NoSuchPart
from tests.fixtures.http.client import Api, check_error

HTML = b"<html><body><h1>Zebra</h1><script>alert(1)</script><p>sleeps at noon</p></body></html>"


def content_path(kb: str, document_id: str) -> str:
    return f"/knowledge-bases/{kb}/documents/{document_id}/content"


def test_file_comes_back_as_an_attachment_that_nothing_runs(user: Api):
    kb = user.create_kb()
    document_id = user.upload(kb, '斑马 & "lions".html', HTML)
    answer = user.request("GET", content_path(kb, document_id))
    assert (answer.status_code, answer.content) == (200, HTML)
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=utf-8''%E6%96%91%E9%A9%AC")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-length"] == str(len(HTML))


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-5", 206, HTML[:6]),
        ("bytes=-7", 206, HTML[-7:]),
        ("bytes=80-", 206, HTML[80:]),
        ("bytes=0-1,3-4", 206, None),
    ],
)
def test_part_of_a_file_can_be_asked_for(user: Api, asked: str, status: int, part: bytes | None):
    kb = user.create_kb()
    document_id = user.upload(kb, "a.html", HTML)
    answer = user.request("GET", content_path(kb, document_id), headers={"Range": asked})
    assert answer.status_code == status
    assert part is None or answer.content == part


def test_part_that_there_is_not_is_refused_in_the_envelope(user: Api):
    kb = user.create_kb()
    path = content_path(kb, user.upload(kb, "a.html", HTML))
    for asked in ("bytes=9999-", "bytes=90000-90001"):
        answer = user.request("GET", path, headers={"Range": asked})
        assert check_error(answer, NoSuchPart) == {"field": "Range"}
        assert answer.headers["content-range"] == f"bytes */{len(HTML)}"
    for asked in ("bytes=x-y", "lines=1-2", "bytes=", "bytes=5-2", "²", "bytes=²-"):
        headers = {"Range": asked.encode("latin-1")}
        user.refused(InvalidRequest, "GET", path, headers=headers)


def test_replaced_file_is_the_one_that_comes(user: Api):
    kb = user.create_kb()
    document_id = user.ingest(kb, "a.md", "# Old\n\ntext")
    assert user.ingest(kb, "a.md", "# New\n\ntext") == document_id
    assert user.request("GET", content_path(kb, document_id)).text == "# New\n\ntext"


def test_file_is_there_for_readers_and_for_nobody_else(user: Api, other: Api):
    public, private = user.create_kb(is_public=True), user.create_kb()
    shared = user.upload(public, "a.md", "# A\n\ntext")
    secret = user.upload(private, "a.md", "# A\n\nsecret")
    assert other.request("GET", content_path(public, shared)).status_code == 200
    code = KnowledgeBaseNotFound
    other.refused(code, "GET", content_path(private, secret))
    other.refused(DocumentNotFound, "GET", content_path(public, secret))
    user.delete(f"/knowledge-bases/{public}/documents/{shared}")
    user.refused(DocumentNotFound, "GET", content_path(public, shared))
