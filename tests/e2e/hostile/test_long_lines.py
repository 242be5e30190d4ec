"""Lines of many megabytes over HTTP: indexed or refused, and nobody waits behind them.

They are not waited for to the end: embedding their thousands of passages takes minutes.
"""

import time
from collections.abc import Iterator
from functools import partial

import pytest

from core.errors.requests import FileTooLarge, TextTooLarge
from tests.fixtures.files.hostile_documents import UPLOAD_SECONDS, ok
from tests.fixtures.http.client import Api, check_error, check_success, eventually
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server, one_shape

# No promise to users, as the seconds of the table are: what a shared machine may need for many megabytes.
_PATIENT_SECONDS = 150
# Whoever stood behind such a file would wait for minutes.
_GOOD_SECONDS = 60
_LIMIT = "/admin/system/config/max_upload_bytes"
LINES = {
    "huge_line.txt": "知识 word ".encode() * (16 * 2**20 // 12),
    "huge_line.csv": b"a,b," * (8 * 2**20 // 4),
}


@pytest.fixture
def roomy(server: Server) -> Iterator[Server]:
    """The server with the product's own limit of an upload; the others' is much smaller."""
    admin = server.admin()
    admin.put(_LIMIT, {"value": 100 * 2**20})
    yield server
    admin.delete(_LIMIT)


@pytest.fixture
def kb(someone: Api) -> Iterator[str]:
    """A knowledge base that goes at the end, and with it what is still being embedded."""
    kb_id = someone.create_kb()
    yield kb_id
    someone.delete(f"/knowledge-bases/{kb_id}")


def is_in(api: Api, kb: str, document_id: str, stage: str) -> bool:
    return api.document(kb, document_id)["stage"] == stage


def is_nowhere(server: Server, document_id: str) -> bool:
    return not server.points(document_id=document_id) + server.count("chunk", document_id=document_id)


def check_good(api: Api, kb: str, name: str) -> None:
    good = api.upload(kb, name, ok())
    assert api.wait(kb, good, seconds=_GOOD_SECONDS)["status"] == "completed"


@one_shape
@pytest.mark.parametrize("name", LINES)
def test_line_beyond_the_limit_is_refused_at_once(someone: Api, kb: str, name: str):
    started = time.monotonic()
    details = check_error(someone.send_file(kb, name, LINES[name]), FileTooLarge)
    assert time.monotonic() - started < UPLOAD_SECONDS
    assert details == {"max_bytes": MAX_UPLOAD_BYTES}


@one_shape
def test_text_beyond_what_a_document_may_have_is_refused_and_nothing_kept(roomy: Server, someone: Api, kb: str):
    answer = someone.send_file(kb, "huge_line.txt", b"a" * 64 * 2**20)
    details = check_error(answer, TextTooLarge)
    assert details == {"max_characters": roomy.settings.parse_output_characters}
    assert someone.get(f"/knowledge-bases/{kb}/documents")["total"] == 0
    check_good(someone, kb, "ok.docx")


@one_shape
@pytest.mark.parametrize(
    ("name", "stages"),
    [("huge_line.txt", ("splitting", "embedding")), ("huge_line.csv", ("parsing",))],
)
def test_line_of_many_megabytes_holds_nobody_up_and_can_be_deleted_meanwhile(
    roomy: Server, someone: Api, kb: str, other: Api, name: str, stages: tuple[str, ...]
):
    others = other.create_kb()
    started = time.monotonic()
    answer = someone.send_file(kb, name, LINES[name])
    assert time.monotonic() - started < UPLOAD_SECONDS
    sent = check_success(answer)["id"]
    for stage in stages:
        is_there = partial(is_in, someone, kb, sent, stage)
        eventually(is_there, seconds=_PATIENT_SECONDS, what=stage)
        check_good(other, others, f"ok while {stage}.docx")
    assert someone.document(kb, sent)["status"] == "processing"

    someone.delete(f"/knowledge-bases/{kb}/documents/{sent}")
    check_good(other, others, "ok afterwards.docx")
    eventually(partial(is_nowhere, roomy, sent), seconds=_PATIENT_SECONDS, what="nothing is left")
