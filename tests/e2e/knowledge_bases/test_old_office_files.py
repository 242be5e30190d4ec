"""Old Office files on a server that has LibreOffice convert them."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from core.errors.requests import FileTypeMismatch
from tests.fixtures.files.long_tail import convert, missing_programs
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.knowledge.knowledge_sources import Source
from tests.fixtures.product.server import Server, running_server

MISSING = missing_programs()
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING} (scripts/setup_programs.sh)"),
]
NOISE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(range(256)) * 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that sources may read."""
    return tmp_path_factory.mktemp("manuals").resolve()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Server]:
    variables = {"AGENTEX_PARSERS": "libreoffice", "AGENTEX_SOURCE_FOLDERS": str(folder)}
    with running_server(tmp_path_factory.mktemp("office"), variables=variables) as running:
        yield running


@pytest.fixture(scope="module")
def letter(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A document of Word 97."""
    path = tmp_path_factory.mktemp("made") / "letter.html"
    path.write_text("<h1>Pumps</h1><p>The otter pump runs at night.</p>", encoding="utf-8")
    return convert(path, "doc", "--infilter=HTML (StarWriter)").read_bytes()


@pytest.fixture
def admin(server: Server) -> Api:
    return server.admin()


def test_old_office_files_come_in_by_every_door_and_stay_as_they_are(admin: Api, letter: bytes, folder: Path):
    kb = admin.create_kb()
    sent = check_success(admin.send_file(kb, "letter.doc", letter, "application/msword"))
    bad = check_success(admin.send_file(kb, "noise.doc", NOISE, "application/msword"))
    row = admin.wait(kb, sent["id"])
    assert (row["status"], row["file_type"]) == ("completed", "doc"), row
    failed = admin.wait(kb, bad["id"])
    assert (failed["status"], failed["failure"]["reason"]) == ("failed", "corrupt_file"), failed
    (hit, *_) = admin.search(kb, "when does the otter pump run")
    assert "runs at night" in hit["content"]
    assert hit["heading_path"] == ["Pumps"]
    original = admin.request("GET", f"/knowledge-bases/{kb}/documents/{sent['id']}/content")
    assert original.content == letter

    preview = admin.request("POST", f"/knowledge-bases/{kb}/split-preview", files={"file": ("letter.doc", letter)})
    assert check_success(preview)["pieces"][0]["heading_path"] == ["Pumps"]

    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("old/letter.doc", letter)
    path = f"/knowledge-bases/{kb}/documents/archive"
    answer = check_success(admin.request("POST", path, files={"file": ("parts.zip", packed.getvalue())}))
    assert (answer["taken_in"], answer["refused"]) == (1, 0), answer
    check_error(admin.send_file(kb, "text.doc", b"no document of Word"), FileTypeMismatch)

    (folder / "letter.doc").write_bytes(letter)
    source = Source(admin, admin.create_kb(), "folder", {"path": str(folder)})
    assert source.wait()["counts"] == {"created": 1}
    assert set(source.documents()) == {"letter.doc"}
