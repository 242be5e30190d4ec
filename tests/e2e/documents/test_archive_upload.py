"""Upload of archives over HTTP: good members become documents, bad ones are named."""

import io
import json
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import (
    ArchiveLimits,
    CorruptArchive,
    EmptyFile,
    FileTypeMismatch,
    InvalidRequest,
    UnsupportedFileType,
)
from tests.fixtures.files.sample_files import MADE, zipped
from tests.fixtures.http.client import Api, check_error, check_success, eventually
from tests.fixtures.product.cli_commands import commands_of
from tests.fixtures.product.server import Server, one_shape

GUIDE = "# Guide 指南\n\nThe lighthouse keeper counts the ships. 灯塔看守数船。\n"


@pytest.fixture
def kb(someone: Api) -> str:
    return someone.create_kb()


def send(api: Api, kb_id: str, name: str, content: bytes, **fields: str) -> Any:
    return api.request(
        "POST",
        f"/knowledge-bases/{kb_id}/documents/archive",
        files={"file": (name, content, "application/zip")},
        data=fields,
    )


def refusals(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        item["path"]: item["error"]["details"].get("reason", item["error"]["code"])
        for item in answer["items"]
        if item["error"]
    }


def test_each_readable_member_becomes_a_document_that_is_found(someone: Api, kb: str):
    content = zipped(
        {
            "handbook/guide.md": GUIDE,
            "handbook/deep/report.odt": MADE["report.odt"],
            "空 name.txt": "Plain words about an anchor.",
            "handbook/empty/": "",
        }
    )
    answer = check_success(send(someone, kb, "Papers.zip", content))
    assert (answer["taken_in"], answer["refused"]) == (3, 0)
    assert [item["name"] for item in answer["items"]] == [
        "Papers.zip › handbook › guide.md",
        "Papers.zip › handbook › deep › report.odt",
        "Papers.zip › 空 name.txt",
    ]
    for item in answer["items"]:
        assert someone.wait(kb, item["document"]["id"])["status"] == "completed"
    hit = someone.search(kb, "lighthouse keeper")[0]
    assert hit["document_name"] == "Papers.zip › handbook › guide.md"


def mixed() -> bytes:
    """An archive of one good member and a dozen bad ones."""
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("good.md", GUIDE)
        archive.writestr("../../agentex-canary.md", GUIDE)
        archive.writestr("/etc/agentex-canary.md", GUIDE)
        archive.writestr("C:/agentex-canary.md", GUIDE)
        archive.writestr("a/..\\..\\agentex-canary.md", GUIDE)
        archive.writestr(link, "/etc/passwd")
        archive.writestr("dup.md", "one")
        archive.writestr("dup.md", "two")
        archive.writestr("Case.md", "one")
        archive.writestr("case.md", "two")
        archive.writestr("inner.zip", zipped({"x.md": GUIDE}))
        archive.writestr("run.exe", b"MZ\x90\x00")
        archive.writestr("empty.md", b"")
        archive.writestr("fake.pdf", b"<html>")
        archive.writestr(".hidden.md", GUIDE)
        archive.writestr("__MACOSX/._good.md", GUIDE)
    return buffer.getvalue()


def test_bad_members_are_named_and_the_good_ones_go_in(server: Server, someone: Api, kb: str):
    with pytest.warns(UserWarning, match="Duplicate"):
        content = mixed()
    answer = check_success(send(someone, kb, "mixed.zip", content))
    assert [item["name"] for item in answer["items"] if item["document"]] == ["mixed.zip › good.md"]
    assert refusals(answer) == {
        "../../agentex-canary.md": "unsafe_name",
        "/etc/agentex-canary.md": "unsafe_name",
        "C:/agentex-canary.md": "unsafe_name",
        "a/..\\..\\agentex-canary.md": "unsafe_name",
        "link.md": "link",
        "dup.md": "duplicate_name",
        "Case.md": "duplicate_name",
        "case.md": "duplicate_name",
        "inner.zip": UnsupportedFileType.code,
        "run.exe": UnsupportedFileType.code,
        "empty.md": EmptyFile.code,
        "fake.pdf": FileTypeMismatch.code,
        ".hidden.md": "hidden",
        "__MACOSX/._good.md": "hidden",
    }
    for item in answer["items"]:
        if item["error"]:
            assert item["error"]["message"]
            assert item["error"]["message_zh"]
    assert server.count("document", knowledge_base_id=kb) == 1
    assert not list(server.settings.data_dir.parent.rglob("*canary*"))


def test_same_archive_again_changes_nothing_and_a_changed_member_is_replaced(server: Server, someone: Api, kb: str):
    first = check_success(send(someone, kb, "a.zip", zipped({"a.md": GUIDE, "b.md": GUIDE})))
    ids = [item["document"]["id"] for item in first["items"]]
    for document_id in ids:
        someone.wait(kb, document_id)
    files = server.files
    again = check_success(send(someone, kb, "a.zip", zipped({"a.md": GUIDE, "b.md": GUIDE})))
    assert [item["document"]["outcome"] for item in again["items"]] == ["unchanged"] * 2
    eventually(lambda: server.files == files, what="the copies are gone")
    changed = zipped({"a.md": GUIDE, "b.md": GUIDE + "\nMore."})
    third = check_success(send(someone, kb, "a.zip", changed))
    assert [item["document"]["outcome"] for item in third["items"]] == ["unchanged", "replaced"]
    assert [item["document"]["id"] for item in third["items"]] == ids
    refused = check_success(send(someone, kb, "a.zip", zipped({"a.md": "other"}), on_conflict="refuse"))
    assert refusals(refused) == {"a.md": DocumentNameTaken.code}


def lying(content: bytes, size: int) -> bytes:
    """The archive with another unpacked size of its only member in both places."""
    start, directory = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content = content[: start + 22] + struct.pack("<I", size) + content[start + 26 :]
    return content[: directory + 24] + struct.pack("<I", size) + content[directory + 28 :]


def encrypted(content: bytes) -> bytes:
    """The archive with its only member marked as encrypted."""
    start, directory = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content = content[: start + 6] + b"\x01" + content[start + 7 :]
    return content[: directory + 8] + b"\x01" + content[directory + 9 :]


def test_damaged_locked_and_lying_members_are_refused(server: Server, someone: Api, kb: str):
    before = server.files
    good = zipped({"a.md": GUIDE * 50})
    damaged = good[:60] + bytes([good[60] ^ 0xFF]) + good[61:]
    for content, reason in (
        (damaged, "corrupt"),
        (lying(good, 100), "corrupt"),
        (encrypted(good), "password_protected"),
    ):
        answer = check_success(send(someone, kb, "a.zip", content))
        assert refusals(answer) == {"a.md": reason}
    eventually(lambda: server.files <= before, what="no file is left")
    assert server.count("document", knowledge_base_id=kb) == 0


BOMBS = {
    "many.zip": lambda: zipped({f"{n}.md": b"" for n in range(20_000)}),
    "ratio.zip": lambda: zipped({"zeros.txt": bytes(40_000_000)}),
    "total.zip": lambda: zipped({f"{n}.txt": bytes(8_000_000) for n in range(28)}),
    # Each member is small enough to pass alone.
    "sum.zip": lambda: zipped({f"{n}.txt": bytes(4_000_000) for n in range(5)}),
}


@one_shape
@pytest.mark.parametrize("name", BOMBS)
def test_archive_bomb_is_refused_as_a_whole_before_it_is_unpacked(server: Server, someone: Api, kb: str, name: str):
    before = server.files
    details = check_error(send(someone, kb, name, BOMBS[name]()), ArchiveLimits)
    assert details == {"max_files": 2_000, "max_bytes": 200 * 2**20, "max_ratio": 100}
    assert server.files <= before
    assert someone.ingest(kb, "ok.md", GUIDE)


@one_shape
@pytest.mark.parametrize("content", [b"PK", b"PK\x03\x04" + bytes(100), zipped({"a.md": GUIDE})[:-30], GUIDE.encode()])
def test_file_that_is_no_whole_archive_is_refused(someone: Api, kb: str, content: bytes):
    check_error(send(someone, kb, "a.zip", content), CorruptArchive)


def test_empty_file_is_refused_as_such(someone: Api, kb: str):
    check_error(send(someone, kb, "a.zip", b""), EmptyFile)


def office(part: str) -> bytes:
    return zipped({"[Content_Types].xml": "<Types/>", "_rels/.rels": "<r/>", part: "<x/>"})


OFFICE = {
    "docx": office("word/document.xml"),
    "xlsx": office("xl/workbook.xml"),
    "pptx": office("ppt/presentation.xml"),
    "odt": MADE["report.odt"],
    "odp": MADE["talk.odp"],
    "ods": MADE["list.ods"],
    "epub": MADE["book.epub"],
}


@one_shape
@pytest.mark.parametrize("kind", OFFICE)
def test_document_that_is_a_zip_file_inside_is_no_archive(someone: Api, kb: str, kind: str):
    content = OFFICE[kind]
    named = check_error(send(someone, kb, f"a.{kind}", content), UnsupportedFileType)
    assert named["extension"] == f".{kind}"
    renamed = check_error(send(someone, kb, "a.zip", content), FileTypeMismatch)
    assert renamed["detected"] == kind
    for details in (named, renamed):
        assert details["next_action"].endswith("/documents")
        assert details["next_action_zh"]
    assert someone.get(f"/knowledge-bases/{kb}/documents")["total"] == 0


@one_shape
def test_archive_of_office_files_and_of_folders_named_like_their_parts_is_one(someone: Api, kb: str):
    parts = {"word/a.md": GUIDE, "xl/b.md": GUIDE, "mimetype": "text", "c.odt": MADE["report.odt"]}
    answer = check_success(send(someone, kb, "a.zip", zipped(parts)))
    assert (answer["taken_in"], list(refusals(answer))) == (3, ["mimetype"])


@one_shape
def test_archive_sent_as_a_document_is_told_where_to_go(someone: Api, kb: str):
    response = someone.send_file(kb, "a.zip", zipped({"a.md": GUIDE}))
    details = check_error(response, UnsupportedFileType)
    assert "/documents/archive" in details["next_action"]
    assert "/documents/archive" in details["next_action_zh"]
    other = check_error(someone.send_file(kb, "a.7z", b"7z"), UnsupportedFileType)
    assert "zip" in other["next_action"]


def test_names_of_a_chinese_windows_are_read(someone: Api, kb: str):
    names = ["说明文档/第一章 总则.md", "说明文档/第二章 用户管理办法.md"]
    answer = check_success(send(someone, kb, "旧.zip", without_mark(names)))
    assert [item["path"] for item in answer["items"]] == names
    assert answer["items"][0]["name"] == "旧.zip › 说明文档 › 第一章 总则.md"


def without_mark(names: list[str]) -> bytes:
    """An archive of documents whose names are in GBK and not marked as UTF-8."""
    placeholders = [f"{n}".rjust(len(name.encode("gbk")), "x") for n, name in enumerate(names)]
    content = zipped(dict.fromkeys(placeholders, GUIDE))
    for placeholder, name in zip(placeholders, names, strict=True):
        content = content.replace(placeholder.encode(), name.encode("gbk"))
    return content


def test_command_line_ingests_an_archive(
    server: Server,
    someone: Api,
    kb: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    path = tmp_path / "Papers.zip"
    path.write_bytes(zipped({"part/guide.md": GUIDE, "run.exe": b"MZ\x90\x00"}))
    with commands_of("ingest", server, someone, tmp_path, monkeypatch) as ingest:
        for counts in ({"completed": 1, "skipped": 1}, {"present": 1, "skipped": 1}):
            said = ingest(str(path), "--kb", kb, "--json")
            assert said.exit_code == 0, said.output
            answer = json.loads(said.stdout)
            assert answer["counts"] == counts
    files = {file["path"]: file for file in answer["files"]}
    assert files[f"{path}/part/guide.md"]["name"] == "Papers.zip › part › guide.md"
    assert "not supported" in files[f"{path}/run.exe"]["reason"]


def test_command_line_says_what_to_do_with_a_document_named_as_an_archive(
    server: Server, someone: Api, kb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.zip"
    path.write_bytes(OFFICE["docx"])
    with commands_of("ingest", server, someone, tmp_path, monkeypatch) as ingest:
        said = ingest(str(path), "--kb", kb, "--json")
    [file] = json.loads(said.stdout)["files"]
    assert "detected: docx" in file["reason"]
    assert "Upload it as a document" in file["reason"]
    # In one language, not in both.
    assert "请" not in file["reason"]


def test_metadata_of_an_archive_is_that_of_each_document(someone: Api, kb: str):
    content = zipped({"a.md": GUIDE, "b.md": "# Other\n\ntext"})
    answer = check_success(send(someone, kb, "a.zip", content, metadata='{"team": "harbour"}'))
    ids = [item["document"]["id"] for item in answer["items"]]
    assert [someone.document(kb, id_)["metadata"] for id_ in ids] == [{"team": "harbour"}] * 2
    refused = send(someone, kb, "c.zip", zipped({"c.md": GUIDE}), metadata="no JSON")
    check_error(refused, InvalidRequest)
    assert someone.get(f"/knowledge-bases/{kb}/documents")["total"] == 2


def test_archive_of_somebody_else_is_not_found(server: Server, someone: Api, user: Api):
    foreign = user.create_kb()
    answer = send(someone, foreign, "a.zip", zipped({"a.md": GUIDE}))
    check_error(answer, KnowledgeBaseNotFound)
    assert server.count("document", knowledge_base_id=foreign) == 0


@pytest.fixture(autouse=True)
def gone_afterwards(server: Server) -> Iterator[None]:
    yield
    assert not list(server.settings.data_dir.parent.rglob("*canary*"))
