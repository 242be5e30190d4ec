"""Uploads that are refused: the documented error, and nothing left behind."""

import io
import json
import random
import time
import unicodedata
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.base import AgentexError
from core.errors.requests import (
    EmptyFile,
    FileTooLarge,
    FileTypeMismatch,
    InvalidRequest,
    OldOfficeFile,
    UnsupportedFileType,
)
from tests.fixtures.http.client import Api, check_error, check_success, eventually
from tests.fixtures.http.multipart import BOUNDARY, CONTENT_TYPE, body, connection, file_part, head, part, read_status
from tests.fixtures.product.leftover_data import count_leftovers
from tests.fixtures.product.server import MAX_UPLOAD_BYTES, Server, one_shape

TEXT = b"# Title\n\nSome words to index.\n"


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def kb(server: Server, someone: Api) -> Iterator[str]:
    """A knowledge base in which nothing may be left."""
    kb_id = someone.create_kb()
    before = server.files
    yield kb_id
    assert server.count("document", knowledge_base_id=kb_id) == 0
    eventually(lambda: server.files <= before, what="no file is left")
    assert server.points(kb_id=kb_id) == 0


@one_shape
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("zero.txt", b"", EmptyFile),
        ("zero.pdf", b"", EmptyFile),
        ("blank.txt", b" \r\n\t\n  ", EmptyFile),
        ("bom.txt", b"\xef\xbb\xbf", EmptyFile),
        ("one.pdf", b"%", EmptyFile),
        ("exe.txt", b"MZ" + random.Random(1).randbytes(3000), UnsupportedFileType),
        ("elf.md", b"\x7fELF\x02\x01\x01" + bytes(100), UnsupportedFileType),
        ("picture.gif", b"GIF89a" + bytes(50), UnsupportedFileType),
        ("picture.md", b"\x89PNG\r\n\x1a\n" + bytes(50), FileTypeMismatch),
        ("archive.zip", zipped(a=b"1"), UnsupportedFileType),
        ("slip.zip", zipped(**{"../../slip": b"1"}), UnsupportedFileType),
        ("data.unknown", TEXT, UnsupportedFileType),
        ("noending", TEXT, UnsupportedFileType),
        ("html_as.pdf", b"<html><body>not a PDF</body></html>", FileTypeMismatch),
        ("late.pdf", b"<html>\n%PDF-1.7\n", FileTypeMismatch),
        ("wrong.pdf", b"MZ" + bytes(500), FileTypeMismatch),
        ("pdf_as.txt", b"%PDF-1.7\n1 0 obj\n", FileTypeMismatch),
        ("text_as.docx", TEXT, FileTypeMismatch),
        ("docx_as.md", zipped(**{"word/document.xml": b"<w/>"}), FileTypeMismatch),
    ],
)
def test_file_that_can_not_be_read_is_refused_at_once(
    someone: Api, kb: str, name: str, content: bytes, code: type[AgentexError]
):
    check_error(someone.send_file(kb, name, content, "application/octet-stream"), code)


@one_shape
@pytest.mark.parametrize(("name", "target"), [("old.doc", "docx"), ("old.xls", "xlsx"), ("old.ppt", "pptx")])
def test_old_office_file_is_refused_with_the_next_step_in_both_languages(someone: Api, kb: str, name: str, target: str):
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
    details = check_error(someone.send_file(kb, name, content, "application/octet-stream"), OldOfficeFile)
    assert details["extension"] == f".{name[-3:]}"
    for language in ("", "_zh"):
        assert f"--convert-to {target}" in details[f"next_action{language}"]


@one_shape
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("broken.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", "corrupt_file"),
        ("noise.pdf", b"%PDF-1.4\n" + random.Random(2).randbytes(20_000), "corrupt_file"),
        ("broken.docx", zipped(**{"word/document.xml": b"<w:document"}), "corrupt_file"),
        ("broken.json", b'{"a": [1, 2', "corrupt_file"),
        (
            "nothing.html",
            b"<html><head><script>1</script></head><body> </body></html>",
            "empty_text",
        ),
        ("comment.html", b"<!-- only a comment -->", "empty_text"),
        ("invisible.txt", "\u200b\u200b\u2060".encode() * 10, "empty_text"),
    ],
)
def test_file_without_readable_text_fails_with_a_reason_and_leaves_no_chunk(
    server: Server, someone: Api, name: str, content: bytes, reason: str
):
    kb_id = someone.create_kb()
    answer = someone.send_file(kb_id, name, content)
    if answer.status_code == EmptyFile.status:
        # Blanks of any kind may be told at the door already.
        check_error(answer, EmptyFile)
        return
    row = someone.wait(kb_id, check_success(answer)["id"])
    assert (row["status"], row["failure"]["reason"]) == ("failed", reason)
    assert row["failure"]["next_action"]
    assert row["failure"]["next_action_zh"]
    assert row["chunk_count"] == 0
    left = count_leftovers(server, kb_id)
    assert (left.documents, left.chunks, left.points) == (1, 0, 0)
    assert someone.search(kb_id, "anything") == []


@one_shape
@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("application/json", b"{}"),
        ("text/plain", TEXT),
        ("", TEXT),
        ("multipart/form-data", body(file_part("a.md", TEXT))),
        ("multipart/form-data; boundary=", body(file_part("a.md", TEXT))),
        ("multipart/form-data; boundary=other", body(file_part("a.md", TEXT))),
        ("application/x-www-form-urlencoded", b"file=a.md"),
        (CONTENT_TYPE, b""),
        (CONTENT_TYPE, b"garbage"),
        (CONTENT_TYPE, b"--" + BOUNDARY.encode()),
        (CONTENT_TYPE, body()),
        (CONTENT_TYPE, body(part('; name="note"', b"only a field"))),
        (CONTENT_TYPE, body(part('; name="file"', TEXT))),
        (CONTENT_TYPE, body(part('; name="other"; filename="a.md"', TEXT))),
        (CONTENT_TYPE, body(part("", TEXT))),
        (CONTENT_TYPE, body(file_part("a.md", TEXT), file_part("b.md", TEXT))),
        (CONTENT_TYPE, file_part("a.md", TEXT)),
        (CONTENT_TYPE, body(*(part(f'; name="f{n}"', b"x") for n in range(10_000)))),
        (CONTENT_TYPE, body(part('; name="note"', b"x" * 100_000), file_part("a.md", TEXT))),
        (CONTENT_TYPE, body(file_part("a.md", TEXT, "X-Long: " + "x" * 100_000))),
    ],
)
def test_body_that_is_not_one_file_is_refused(someone: Api, kb: str, content_type: str, content: bytes):
    headers = {"Content-Type": content_type} if content_type else {}
    path = f"/knowledge-bases/{kb}/documents"
    someone.refused(InvalidRequest, "POST", path, content=content, headers=headers)


def test_upload_over_the_limit_is_refused_by_its_declared_size(someone: Api, kb: str):
    content = b"x" * (MAX_UPLOAD_BYTES + 200_000)
    details = check_error(someone.send_file(kb, "a.txt", content), FileTooLarge)
    assert details == {"max_bytes": MAX_UPLOAD_BYTES}


def test_upload_just_over_the_limit_is_refused_by_its_real_size(someone: Api, kb: str):
    answer = someone.send_file(kb, "a.txt", b"x" * (MAX_UPLOAD_BYTES + 1))
    check_error(answer, FileTooLarge)


def test_upload_without_a_declared_size_is_cut_at_the_limit(someone: Api, kb: str):
    def blocks() -> Iterator[bytes]:
        yield file_part("a.txt", b"")[:-2]
        for _ in range(4 * MAX_UPLOAD_BYTES // 65536):
            yield b"x" * 65536

    path = f"/knowledge-bases/{kb}/documents"
    headers = {"Content-Type": CONTENT_TYPE}
    answer = someone.request("POST", path, content=blocks(), headers=headers)
    check_error(answer, FileTooLarge)


def upload_head(server: Server, caller: Api, kb_id: str, length: int | None) -> bytes:
    """The first lines of an upload; in chunks of the client's choice if it has no length."""
    chunked = {"Transfer-Encoding": "chunked"}
    return head(
        "POST",
        f"/api/v1/knowledge-bases/{kb_id}/documents",
        {
            "Host": f"{server.settings.host}:{server.settings.port}",
            **caller.headers,
            "Content-Type": CONTENT_TYPE,
            **(chunked if length is None else {"Content-Length": str(length)}),
        },
    )


def test_upload_that_declares_less_than_it_sends_is_refused(server: Server, someone: Api, kb: str):
    with connection(server) as link:
        link.sendall(upload_head(server, someone, kb, 400))
        link.sendall(body(file_part("a.txt", b"x" * 100_000)))
        assert read_status(link) == 400


def test_upload_that_declares_more_than_the_limit_is_refused_before_it_is_sent(server: Server, someone: Api, kb: str):
    with connection(server) as link:
        link.sendall(upload_head(server, someone, kb, 10**12))
        assert read_status(link) == 413


def test_upload_broken_off_half_way_is_no_crash(server: Server, someone: Api, kb: str):
    log = server.settings.data_dir / "logs" / "api.log"
    with connection(server) as link:
        link.sendall(upload_head(server, someone, kb, 1_500_000))
        link.sendall(body(file_part("a.txt", b"x" * 700_000))[:-200])
    # The same process has answered something later, so that it knows of the end.
    someone.get("/users/me")
    eventually(lambda: log.read_text().count(f"/{kb}/documents") >= 1, what="the end is logged")
    lines = [json.loads(line) for line in log.read_text().splitlines() if kb in line]
    assert [line["event"] for line in lines if line["level"] in {"error", "critical"}] == []


def unlinked(server: Server) -> set[str]:
    """The files that the API's processes hold open and that have no name any more."""
    api = psutil.Process(server.parts["api"]["pid"])
    found: set[str] = set()
    for process in (api, *api.children(recursive=True)):
        for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                found.add(f"{process.pid} {descriptor.readlink()}")
    return {name for name in found if name.endswith("(deleted)")}


@one_shape
def test_upload_byte_by_byte_that_is_given_up_leaves_no_temporary_file(server: Server, someone: Api, kb: str):
    before = unlinked(server)
    # From one megabyte on, what has arrived lies on the disk.
    start = file_part("a.txt", b"x" * 1_200_000)[:-2]
    with connection(server) as link:
        link.sendall(upload_head(server, someone, kb, None))
        link.sendall(b"%x\r\n%s\r\n" % (len(start), start))
        eventually(lambda: unlinked(server) - before, what="it lies on the disk")
        for _ in range(3):
            time.sleep(1)
            link.sendall(b"1\r\nx\r\n")
        assert unlinked(server) - before
        someone.get("/users/me")
    eventually(lambda: unlinked(server) <= before, seconds=60, what="the temporary file is gone")


def test_upload_into_an_unknown_knowledge_base_is_not_found(server: Server, someone: Api):
    before = server.files
    answer = someone.send_file(str(uuid4()), "a.md", TEXT)
    check_error(answer, KnowledgeBaseNotFound)
    # Fewer there may be: what other tests deleted is erased meanwhile.
    assert server.files <= before


NAMES = [
    "../../../../tmp/agentex-canary.md",
    "..\\..\\agentex-canary.md",
    "/etc/agentex-canary.md",
    "C:\\agentex\\canary.md",
    "%2e%2e%2fcanary.md",
    "a%2fb.md",
    "..%2f..%2fetc%2fpasswd.md",
    "nul\x00.md",
    "line\r\nX-Injected: 1.md",
    "line\nfeed.md",
    'quote\\".md',
    "semi;colon.md",
    f"{'x' * 252}.md",
    f"{'x' * 253}.md",
    f"{'字' * 2000}.md",
    f"{'x' * 5000}.md",
    "emoji 🙂👩‍👩‍👧.md",
    "\u202egpj.md",
    "zero\u200bwidth.md",
    "CON.md",
    "NUL.md",
    ".htaccess.md",
    "....md",
    "",
    "   ",
    ".md",
    "-rf.md",
    "$(id).md",
    "`id`.md",
    "<img src=x onerror=alert(1)>.md",
    "double.md.md",
    "UPPER.MD",
    "cafe\u0301.md",
    "café.md",
    "trailing.md.",
    "trailing.md ",
    "bad\udcffbyte.md",
    "tab\there.md",
]
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_any_file_name_is_cleaned_or_refused(server: Server, someone: Api):
    kb_id = someone.create_kb()
    path = f"/knowledge-bases/{kb_id}/documents"
    names: dict[str, str] = {}
    for name in NAMES:
        content = body(file_part(name, TEXT))
        headers = {"Content-Type": CONTENT_TYPE}
        answer = someone.request("POST", path, content=content, headers=headers)
        if answer.status_code != 200:
            assert answer.json()["code"] in {40001, 40011, 40013}, (name, answer.text)
            continue
        shown = check_success(answer)["name"]
        names[name] = shown
        assert 0 < len(shown.encode()) <= 255, name
        assert not set(shown) & set("/\\"), name
        assert not {unicodedata.category(c) for c in shown} & FORBIDDEN, name
        assert unicodedata.is_normalized("NFC", shown), name
        assert shown.strip(" .") == shown.rstrip(" .").lstrip(" ") or shown.startswith("."), name
    assert names["../../../../tmp/agentex-canary.md"] == "agentex-canary.md"
    assert names["C:\\agentex\\canary.md"] == "canary.md"
    assert names["cafe\u0301.md"] == names["café.md"] == "café.md"
    assert names["\u202egpj.md"] == "gpj.md"
    assert names["UPPER.MD"] == "UPPER.MD"
    assert names["$(id).md"] == "$(id).md"
    assert len(names) >= len(NAMES) - 8
    keys = {row["storage_key"] for row in server.sql("SELECT storage_key FROM document")}
    assert all(len(key) == 36 and key.replace("-", "").isalnum() for key in keys)
    assert not list(server.settings.data_dir.parent.rglob("*canary*"))
    # Equal names with equal bytes are one document.
    assert len(someone.get(path, page_size=100)["items"]) == len(set(names.values()))
    assert someone.delete(f"/knowledge-bases/{kb_id}") is None
