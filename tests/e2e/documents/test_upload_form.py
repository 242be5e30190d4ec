"""Misspelt fields of an upload's form: refused and named."""

from typing import Any

import pytest

from core.errors.requests import InvalidRequest, RequestTooLarge
from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api
from tests.fixtures.http.multipart import CONTENT_TYPE, body, connection, file_part, head, part, read_status
from tests.fixtures.product.server import Server, one_shape

NOTE = b"# Note\n\nThe heron stands in the reeds.\n"
OTHER = b"# Note\n\nThe stork stands on the roof.\n"
END = body()


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


@pytest.mark.parametrize("door", ["", "/batch", "/archive"])
def test_misspelt_field_of_an_upload_is_refused_and_nothing_replaced(user: Api, kb: str, server: Server, door: str):
    name, content = ("note.zip", zipped({"note.md": OTHER})) if door else ("note.md", OTHER)
    name, content = ("note.md", OTHER) if door == "/batch" else (name, content)
    document = user.upload(kb, "note.md", NOTE)
    user.wait(kb, document)
    files = server.files
    path = f"/knowledge-bases/{kb}/documents{door}"
    details = user.refused(
        InvalidRequest,
        "POST",
        path,
        files={"file": (name, content)},
        data={"on_conflit": "refuse"},
    )
    assert details["field"] == "on_conflit"
    assert details["error"].endswith("use file, metadata, on_conflict, parser, strategy")
    [row] = user.get(f"/knowledge-bases/{kb}/documents")["items"]
    assert (row["id"], row["revision"]) == (document, 1)
    assert server.files == files


def test_form_that_is_wrong_at_its_end_leaves_none_of_its_files(user: Api, kb: str, server: Server):
    files = server.files
    path = f"/knowledge-bases/{kb}/documents/batch"
    many = [file_part(f"{number}.md", NOTE * 9000 + b"%d" % number) for number in range(6)]

    def refused(*parts: bytes, end: bytes = END) -> dict[str, Any]:
        content = b"".join([*parts, end])
        headers = {"Content-Type": CONTENT_TYPE}
        return user.refused(InvalidRequest, "POST", path, content=content, headers=headers)

    assert refused(*many, part('; name="on_conflit"', b"refuse"))["field"] == "on_conflit"
    # A field holds for the files behind it: here for none, and the names would be replaced.
    late = refused(*many, part('; name="on_conflict"', b"refuse"))
    assert late["field"] == "on_conflict"
    assert late["error"] == "Send this field before the files that it is for"
    assert refused(*many, end=b"")["error"] == "The multipart body can't be read"
    assert refused(*(file_part(f"{n}.md", NOTE) for n in range(1001)))["error"] == (
        "Send at most 1000 files in a request"
    )
    assert user.get(f"/knowledge-bases/{kb}/documents")["total"] == 0
    assert server.files == files


def test_batch_beyond_what_is_kept_of_a_form_is_refused_by_its_declared_size(server: Server, user: Api, kb: str):
    path = f"/api/v1/knowledge-bases/{kb}/documents/batch"
    length = 4 * 1024**3 + 1
    sent = {"Host": "x", "Content-Type": CONTENT_TYPE, "Content-Length": str(length)}
    with connection(server) as link:
        link.sendall(head("POST", path, {**sent, "Authorization": user.headers["Authorization"]}))
        assert read_status(link) == RequestTooLarge.status


@one_shape
def test_two_files_where_one_is_wanted_are_refused_in_words(user: Api, kb: str):
    parts = [("file", ("a.md", NOTE)), ("file", ("b.md", OTHER))]
    path = f"/knowledge-bases/{kb}/documents"
    details = user.refused(InvalidRequest, "POST", path, files=parts)
    assert details == {
        "field": "file",
        "error": "Send one file in a request",
        "error_zh": "一个请求最多发送 1 个文件",
    }


@one_shape
def test_file_under_another_name_is_refused_too(user: Api, kb: str):
    parts = [("file", ("a.md", NOTE)), ("files", ("b.md", OTHER))]
    path = f"/knowledge-bases/{kb}/documents/batch"
    assert user.refused(InvalidRequest, "POST", path, files=parts)["field"] == "files"


@one_shape
@pytest.mark.parametrize("path", ["/knowledge-bases/import", "/skills/import", "/agent/attachments", "QUESTIONS"])
def test_misspelt_field_of_another_form_is_refused(user: Api, kb: str, path: str):
    path = path.replace("QUESTIONS", f"/knowledge-bases/{kb}/questions/import")
    files = {"file": ("a.bin", NOTE)}
    details = user.refused(InvalidRequest, "POST", path, files=files, data={"nam": "Other"})
    assert details["field"] == "nam"


@one_shape
def test_name_that_is_no_text_is_refused_in_words(user: Api, kb: str):
    body = b'--x\r\nContent-Disposition: form-data; name="\\ud800"\r\n\r\nv\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    path = f"/knowledge-bases/{kb}/documents"
    user.refused(InvalidRequest, "POST", path, content=body, headers=headers)
