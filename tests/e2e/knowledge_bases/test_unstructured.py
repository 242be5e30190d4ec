"""Documents read by the parser unstructured, chosen for a knowledge base, an upload and a document."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.unstructured.installation import OCR_ONLY, find_python, missing_parts
from tests.fixtures.files.long_tail import make_long_tail, missing_programs
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.paths import PARSER_DATA, ROOT
from tests.fixtures.product.server import Server, running_server

ENVIRONMENT = Path(os.environ.get("AGENTEX_TEST_UNSTRUCTURED") or ROOT / ".venv" / "unstructured").resolve()
MISSING = missing_programs()
LACKING = missing_parts(ENVIRONMENT, OCR_ONLY, OcrSettings())
# 900 MB to install, and seconds to load: never a part of every run.
pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        find_python(ENVIRONMENT) is None,
        reason=f"not installed in {ENVIRONMENT}: scripts/setup_unstructured.sh, AGENTEX_TEST_UNSTRUCTURED names another",
    ),
]
PDF_TYPE = "application/pdf"
UNSTRUCTURED = {"parser": "unstructured", "strategy": "fast"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {"AGENTEX_PARSERS": "unstructured", "AGENTEX_UNSTRUCTURED_DIR": str(ENVIRONMENT)}
    with running_server(tmp_path_factory.mktemp("unstructured"), variables=variables) as running:
        yield running


@pytest.fixture
def admin(server: Server) -> Api:
    return server.admin()


def parser_of(api: Api, kb: str, document_id: str) -> str:
    row = api.wait(kb, document_id, seconds=240)
    assert row["status"] == "completed", row
    return row["parser"]


def test_an_upload_is_read_by_it_and_found_with_headings_tables_and_pages(admin: Api):
    kb = admin.create_kb()
    content = (PARSER_DATA / "handbook.pdf").read_bytes()
    sent = check_success(admin.send_file(kb, "handbook.pdf", content, PDF_TYPE, **UNSTRUCTURED))
    assert parser_of(admin, kb, sent["id"]) == "unstructured"
    hits = admin.search(kb, "a knowledge base answers from the documents that were uploaded")
    assert (1, ["Retrieval handbook"]) in [(hit["page"], hit["heading_path"]) for hit in hits]
    assert {hit["page"] for hit in hits} <= {1, 2, 3, 4}
    # Another upload is the knowledge base's affair; so is this document again, once it is told so.
    assert parser_of(admin, kb, admin.upload(kb, "guide.md", "# Pumps\n\nThe otter pump runs.")) == "built_in"
    admin.put(f"/knowledge-bases/{kb}/documents/{sent['id']}", {"parser": "inherit"})
    assert parser_of(admin, kb, sent["id"]) == "built_in"


def test_a_knowledge_base_chooses_it_for_what_comes_and_for_what_is_made_anew(admin: Api):
    kb = admin.create_kb()
    before = admin.upload(kb, "before.md", "# Pumps\n\nThe otter pump runs.")
    assert parser_of(admin, kb, before) == "built_in"
    admin.put(f"/knowledge-bases/{kb}", UNSTRUCTURED)
    after = admin.upload(kb, "after.html", "<h1>Seals</h1><table><tr><th>Part</th></tr><tr><td>P-12</td></tr></table>")
    code = admin.upload(kb, "pump.py", "def run():\n    return 'otter'\n")
    assert parser_of(admin, kb, after) == "unstructured"
    # It reads no source code: ours do.
    assert parser_of(admin, kb, code) == "built_in"
    assert parser_of(admin, kb, before) == "built_in"
    (hit, *_) = admin.search(kb, "P-12 seals")
    assert (hit["heading_path"], hit["content"].splitlines()[-1]) == (["Seals"], "P-12")
    locked = admin.upload(kb, "locked.pdf", (PARSER_DATA / "locked.pdf").read_bytes())
    assert admin.wait(kb, locked)["failure"]["reason"] == "password_protected"
    scan = check_success(
        admin.send_file(kb, "scan.pdf", (PARSER_DATA / "handbook.pdf").read_bytes(), PDF_TYPE, parser="unstructured", strategy="hi_res")
    )  # fmt: skip
    # Its models are of Hugging Face.
    assert admin.wait(kb, scan["id"], seconds=240)["failure"]["reason"] == "parser_missing"


@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}")
def test_text_in_pictures_and_on_pages_is_recognised_chinese_among_it(admin: Api):
    kb = admin.create_kb(parser="unstructured", strategy="ocr_only")
    content = {name: (PARSER_DATA / name).read_bytes() for name in ("notice.png", "handbook.pdf")}
    picture, pages = (admin.upload(kb, name, data) for name, data in content.items())
    assert [parser_of(admin, kb, document_id) for document_id in (picture, pages)] == ["unstructured"] * 2
    assert "recognised" in admin.document(kb, picture)["warnings"]
    (hit, *_) = admin.search(kb, "备份每天凌晨两点运行")
    assert "凌晨两点运行" in hit["content"]
    (box, *_) = admin.get(f"/knowledge-bases/{kb}/documents/{picture}/chunks")["items"][0]["boxes"]
    assert box["page"] == 1
    assert 0 < box["left"] < box["left"] + box["width"] < 1
    assert admin.document(kb, pages)["pages"] == 4


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING} (scripts/setup_programs.sh)")
def test_old_workbooks_which_ours_do_not_read_come_in(admin: Api, tmp_path: Path):
    files = make_long_tail(tmp_path)
    kb = admin.create_kb()
    assert parser_of(admin, kb, admin.upload(kb, "stock.xls", files["xls"].read_bytes())) == "unstructured"
    (hit, *_) = admin.search(kb, "离心泵")
    assert "P-12 | 离心泵" in hit["content"]
