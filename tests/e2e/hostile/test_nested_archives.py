"""Archives inside archives over HTTP: the inner ones are never unpacked."""

import time

from core.errors.requests import UnsupportedFileType
from tests.fixtures.files.hostile_documents import GOOD_SECONDS, UPLOAD_SECONDS, nested_zip, ok
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.product.server import Server, one_shape


@one_shape
def test_archives_within_an_archive_are_named_and_none_is_unpacked(server: Server, someone: Api):
    kb = someone.create_kb()
    before = server.files
    started = time.monotonic()
    answer = someone.request(
        "POST",
        f"/knowledge-bases/{kb}/documents/archive",
        files={"file": ("nested.zip", nested_zip(), "application/zip")},
    )
    assert time.monotonic() - started < UPLOAD_SECONDS
    told = check_success(answer)
    assert (told["taken_in"], told["refused"]) == (0, 8)
    assert {item["error"]["code"] for item in told["items"]} == {UnsupportedFileType.code}
    assert server.count("document", knowledge_base_id=kb) == 0
    assert server.files <= before
    good = someone.upload(kb, "ok.docx", ok())
    assert someone.wait(kb, good, seconds=GOOD_SECONDS)["status"] == "completed"
