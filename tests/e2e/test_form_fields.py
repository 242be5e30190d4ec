"""A misspelt field of an upload's form is refused and named: passed over, it would cost a document."""

import pytest

from core.errors import ErrorCode
from tests.fixtures.client import Api
from tests.fixtures.made_files import zipped
from tests.fixtures.server import Server

NOTE = b"# Note\n\nThe heron stands in the reeds.\n"
OTHER = b"# Note\n\nThe stork stands on the roof.\n"


@pytest.fixture
def kb(user: Api) -> str:
    return user.create_kb()


@pytest.mark.parametrize("door", ["", "/batch", "/archive"])
def test_misspelt_field_of_an_upload_is_refused_and_nothing_replaced(
    user: Api, kb: str, server: Server, door: str
):
    name, content = ("note.zip", zipped({"note.md": OTHER})) if door else ("note.md", OTHER)
    name, content = ("note.md", OTHER) if door == "/batch" else (name, content)
    document = user.upload(kb, "note.md", NOTE)
    user.wait(kb, document)
    files = server.files
    path = f"/knowledge-bases/{kb}/documents{door}"
    details = user.refused(
        ErrorCode.INVALID_REQUEST,
        "POST",
        path,
        files={"file": (name, content)},
        data={"on_conflit": "refuse"},
    )
    assert details["field"] == "on_conflit"
    assert details["error"].endswith("use file, metadata, on_conflict")
    [row] = user.get(f"/knowledge-bases/{kb}/documents")["items"]
    assert (row["id"], row["revision"]) == (document, 1)
    assert server.files == files


def test_field_behind_the_files_of_a_small_batch_is_seen_before_they_are_taken(user: Api, kb: str):
    parts = [("file", ("a.md", NOTE)), ("file", ("b.md", OTHER)), ("on_conflit", (None, "refuse"))]
    path = f"/knowledge-bases/{kb}/documents/batch"
    details = user.refused(ErrorCode.INVALID_REQUEST, "POST", path, files=parts)
    assert details["field"] == "on_conflit"
    assert user.get(f"/knowledge-bases/{kb}/documents")["total"] == 0


def test_file_under_another_name_is_refused_too(user: Api, kb: str):
    parts = [("file", ("a.md", NOTE)), ("files", ("b.md", OTHER))]
    path = f"/knowledge-bases/{kb}/documents/batch"
    assert user.refused(ErrorCode.INVALID_REQUEST, "POST", path, files=parts)["field"] == "files"


@pytest.mark.parametrize(
    "path", ["/knowledge-bases/import", "/skills/import", "/agent/attachments", "QUESTIONS"]
)
def test_misspelt_field_of_another_form_is_refused(user: Api, kb: str, path: str):
    path = path.replace("QUESTIONS", f"/knowledge-bases/{kb}/questions/import")
    files = {"file": ("a.bin", NOTE)}
    details = user.refused(
        ErrorCode.INVALID_REQUEST, "POST", path, files=files, data={"nam": "Other"}
    )
    assert details["field"] == "nam"


def test_name_that_is_no_text_is_refused_in_words(user: Api, kb: str):
    body = b'--x\r\nContent-Disposition: form-data; name="\\ud800"\r\n\r\nv\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    path = f"/knowledge-bases/{kb}/documents"
    user.refused(ErrorCode.INVALID_REQUEST, "POST", path, content=body, headers=headers)
