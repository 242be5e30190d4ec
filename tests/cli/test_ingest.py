"""``agentex ingest``: which files are sent, and resuming after an interruption."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands.ingest.local_files import document_name, find_files, sha256
from cli.commands.ingest.run import IngestState, grouped
from ingestion.parsers import file_type as detection
from tests.cli.conftest import Agentex
from tests.fixtures.product.processes import wait_until
from tests.fixtures.servers.contract_server import Contract


@pytest.fixture
def base(server: Contract) -> str:
    return server.add_base("Docs")


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A folder of five documents, with what does not belong to them."""
    top = tmp_path / "manual"
    (top / "part" / "deep").mkdir(parents=True)
    (top / ".git").mkdir()
    for name in ("a.md", "part/b.html", "part/deep/c.txt", "part/README", "中文.md"):
        (top / name).write_text(f"words of {name}")
    (top / ".git" / "config").write_text("hidden")
    (top / ".hidden.md").write_text("hidden")
    (top / "song.mp3").write_bytes(b"ID3\x04")
    (top / "empty.md").write_text("")
    return top


NAMES = {"a.md", "part › b.html", "part › deep › c.txt", "part › README.txt", "中文.md"}


def names(server: Contract) -> set[str]:
    return {document["name"] for document in server.documents.values()}


def test_ingest_sends_a_folder_to_the_bottom_and_leaves_out_the_rest(
    agentex: Agentex, server: Contract, base: str, manual: Path
):
    said = agentex("ingest", str(manual), "--kb", "docs", "--json")
    assert said.code == 0
    assert names(server) == NAMES
    assert said.json["counts"] == {"completed": 5, "skipped": 4}
    assert said.err == ""
    reasons = {Path(file["path"]).name: file["reason"] for file in said.json["files"] if file["status"] == "skipped"}
    assert reasons == {
        ".git": "hidden",
        ".hidden.md": "hidden",
        "song.mp3": "This file type is not supported. "
        "Export or convert it to a transcript (srt, vtt or txt) and upload that",
        "empty.md": "The uploaded file is empty",
    }


@pytest.mark.parametrize(("language", "words"), [("en", "save it as docx"), ("zh", "另存为 docx")])
def test_ingest_says_what_to_save_a_file_as_that_no_office_program_wrote(
    agentex: Agentex, server: Contract, base: str, tmp_path: Path, language: str, words: str
):
    old = tmp_path / "report.doc"
    old.write_text("Not written by Word.")
    said = agentex("ingest", str(old), "--kb", "Docs", "--lang", language, "--json")
    assert said.code == 1
    assert server.uploads == 0
    (file,) = said.json["files"]
    assert words in file["reason"]
    assert "soffice --headless --convert-to docx" in file["reason"]


def test_ingest_leaves_to_the_server_whether_old_office_files_are_read(
    agentex: Agentex, server: Contract, base: str, tmp_path: Path
):
    old = tmp_path / "report.doc"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    said = agentex("ingest", str(old), "--kb", "Docs", "--json")
    assert (said.code, server.uploads) == (0, 1)


def test_ingest_sends_nothing_twice(agentex: Agentex, server: Contract, base: str, manual: Path):
    agentex("ingest", str(manual), "--kb", "Docs")
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.code == 0
    assert server.uploads == 5
    assert said.json["counts"]["present"] == 5


def test_ingest_says_what_became_of_the_files(agentex: Agentex, server: Contract, base: str, manual: Path):
    server.fails = {"a.md"}
    said = agentex("ingest", str(manual), "--kb", "Docs")
    assert said.code == 1
    assert "4 ingested" in said.out
    assert "1 failed" in said.out
    assert "a.md: No text was found. Run OCR first." in said.out
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs", "--lang", "zh")
    assert "未找到文本。请先进行 OCR。" in said.out


def test_ingest_sends_a_failed_document_again_in_place_of_the_old(
    agentex: Agentex, server: Contract, base: str, manual: Path
):
    server.fails = {"a.md"}
    agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    again = agentex("ingest", str(manual / "a.md"), "--kb", "Docs", "--lang", "zh")
    assert "已重试 1 个此前失败或已取消的文档。" in again.out
    server.fails = set()
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    assert said.code == 0
    assert "1 documents that had failed or been cancelled were tried again." in said.out
    assert "replaced" not in said.out
    assert [document["status"] for document in server.documents.values()] == ["completed"]


def test_ingest_waits_for_a_document_that_an_earlier_run_sent(
    agentex: Agentex, server: Contract, base: str, manual: Path
):
    server.steps = 4
    said = agentex("ingest", str(manual), "--kb", "Docs", "--no-wait", "--json")
    assert said.json["counts"]["uploaded"] == 5
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.json["counts"]["completed"] == 5
    assert server.uploads == 5


def test_ingest_follows_more_documents_than_a_page_has(agentex: Agentex, server: Contract, base: str, tmp_path: Path):
    (tmp_path / "many").mkdir()
    for number in range(130):
        (tmp_path / "many" / f"{number}.txt").write_text(f"number {number}")
    server.steps = 3
    said = agentex("ingest", str(tmp_path / "many"), "--kb", "Docs", "--json")
    assert said.json["counts"] == {"completed": 130}


def test_a_changed_file_replaces_its_document_and_says_so(agentex: Agentex, server: Contract, base: str, manual: Path):
    agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    (manual / "a.md").write_text("new words")
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    assert said.code == 0
    assert "1 documents were replaced" in said.out
    assert len(server.documents) == 1


def test_a_changed_file_can_go_beside_its_older_version(agentex: Agentex, server: Contract, base: str, manual: Path):
    agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    (manual / "a.md").write_text("new words")
    command = ("ingest", str(manual / "a.md"), "--kb", "Docs", "--on-conflict", "keep_both")
    for _ in range(2):
        assert agentex(*command).code == 0
        assert names(server) == {"a.md", "a (2).md"}
    assert server.uploads == 2


def test_files_of_one_name_in_one_run_stand_beside_each_other(
    agentex: Agentex, server: Contract, base: str, tmp_path: Path
):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.md").write_text(f"words of {folder}")
    paths = [str(tmp_path / folder) for folder in ("x", "y")]
    for _ in range(2):
        assert agentex("ingest", *paths, "--kb", "Docs").code == 0
        assert names(server) == {"same.md", "same (2).md"}
    assert server.uploads == 2
    (tmp_path / "y" / "same.md").write_text("new words of y")
    assert agentex("ingest", *paths, "--kb", "Docs").code == 0
    by_name = {document["name"]: document["sha256"] for document in server.documents.values()}
    assert by_name["same.md"] == sha256(tmp_path / "x" / "same.md")


def test_a_new_version_that_fails_is_told_with_its_reason(agentex: Agentex, server: Contract, base: str, manual: Path):
    agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    (manual / "a.md").write_text("new words")
    server.fails = {"a.md"}
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs")
    assert said.code == 1
    assert "No text was found" in said.out


def test_ingest_takes_globs_and_each_file_once(agentex: Agentex, server: Contract, base: str, manual: Path):
    said = agentex("ingest", f"{manual}/**/*.md", f"{manual}/a.md", "--kb", "Docs", "--json")
    assert said.code == 1  # the empty file was asked for by name
    assert names(server) == {"a.md", "中文.md"}
    assert server.uploads == 2


def test_a_file_named_by_the_person_fails_where_in_a_folder_it_is_skipped(agentex: Agentex, base: str, manual: Path):
    said = agentex("ingest", str(manual / "song.mp3"), "--kb", "Docs")
    assert said.code == 1
    assert "song.mp3" in said.out


def test_links_that_lead_out_of_a_folder_are_left_out_and_named(
    agentex: Agentex, server: Contract, base: str, manual: Path, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret words")
    (manual / "link.md").symlink_to(outside / "secret.md")
    (manual / "part" / "folder").symlink_to(outside)
    (manual / "inner.md").symlink_to("part/deep/c.txt")
    (manual / "again").symlink_to("part")
    (manual / "loop.md").symlink_to("loop.md")
    said = agentex("ingest", str(manual), "--kb", "docs", "--json")
    assert said.code == 0
    reasons = {Path(file["path"]).name: file["reason"] for file in said.json["files"] if file["status"] == "skipped"}
    leads_out = "a link that leads out of the folder"
    assert (reasons["link.md"], reasons["folder"]) == (leads_out, leads_out)
    assert reasons["loop.md"] == "can't be read"
    assert not {"inner.md", "again"} & set(reasons)
    # What a link within the folder leads to is there once, under either name.
    assert len(names(server)) == len(NAMES)
    assert not any("secret" in name or "link" in name for name in names(server))


def test_pipes_in_a_folder_are_left_out_and_do_not_hold_the_run_up(
    agentex: Agentex, server: Contract, base: str, manual: Path
):
    os.mkfifo(manual / "pipe.md")
    os.mkfifo(manual / "pipe.zip")
    said = agentex("ingest", str(manual), "--kb", "docs", "--json")
    assert said.code == 0
    assert names(server) == NAMES
    reasons = {Path(file["path"]).name: file["reason"] for file in said.json["files"]}
    assert reasons["pipe.md"] == reasons["pipe.zip"] == "can't be read"


def test_links_that_lead_out_of_the_folder_of_a_pattern_are_left_out_and_named(
    agentex: Agentex, server: Contract, base: str, manual: Path, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret words")
    (manual / "link.md").symlink_to(outside / "secret.md")
    (manual / "folder").symlink_to(outside)
    (manual / "inner.md").symlink_to("a.md")
    (manual / "loop.md").symlink_to("loop.md")
    (manual / "empty.md").unlink()
    said = agentex("ingest", f"{manual}/**/*.md", f"{manual}/*/*.md", "--kb", "docs", "--json")
    assert said.code == 0
    left_out = {file["path"] for file in said.json["files"] if file["status"] == "skipped"}
    assert {f"{manual}/link.md", f"{manual}/folder/secret.md"} <= left_out
    assert "secret.md" not in names(server)
    assert len(names(server) & {"a.md", "inner.md"}) == 1


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("**", "part/deep/c.txt"),
        ("**/*.*", "part/deep/c.txt"),
        ("**/**/*", "a.md"),
        ("***/*", "part/b.html"),
        ("p*", "part/deep/c.txt"),
        ("*/d**p", "part/deep/c.txt"),
    ],
)
def test_patterns_pass_over_hidden_files_and_walk_in_no_circle(manual: Path, pattern: str, wanted: str):
    for name in ("up", "again"):
        (manual / "part" / name).symlink_to(manual)
    found = find_files([f"{manual}/{pattern}"])
    paths = {file.path.relative_to(manual) for file in found.files}
    assert Path(wanted) in paths
    assert not any(part.startswith(".") for path in paths for part in path.parts)


def test_hidden_files_are_found_by_a_pattern_that_says_so(manual: Path):
    found = find_files([f"{manual}/.h*"])
    assert [file.name for file in found.files] == [".hidden.md"]


def test_links_that_are_named_are_followed(agentex: Agentex, server: Contract, base: str, manual: Path, tmp_path: Path):
    (tmp_path / "real.md").write_text("words")
    link, folder = tmp_path / "link.md", tmp_path / "linked"
    link.symlink_to(tmp_path / "real.md")
    folder.symlink_to(manual)
    assert agentex("ingest", str(link), str(folder), "--kb", "Docs").code == 0
    assert names(server) == {"link.md", *NAMES}


def test_a_hidden_file_is_sent_when_named(agentex: Agentex, server: Contract, base: str, manual: Path):
    assert agentex("ingest", str(manual / ".hidden.md"), "--kb", "Docs").code == 0
    assert names(server) == {".hidden.md"}


def test_two_files_of_one_name_and_content_are_one_document(
    agentex: Agentex, server: Contract, base: str, tmp_path: Path
):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.md").write_text("same")
    paths = [str(tmp_path / folder) for folder in ("x", "y")]
    said = agentex("ingest", *paths, "--kb", "Docs", "--json")
    assert said.json["counts"] == {"completed": 1, "present": 1}


@pytest.mark.parametrize("content", ["too large"])
def test_a_refused_file_does_not_hold_the_others_up(
    agentex: Agentex, server: Contract, base: str, manual: Path, content: str
):
    (manual / "a.md").write_text(content)
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.code == 1
    assert said.json["counts"] == {"completed": 4, "failed": 1, "skipped": 4}


def test_a_full_disk_of_the_server_ends_the_run(agentex: Agentex, server: Contract, base: str, manual: Path):
    (manual / "a.md").write_text("disk full")
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.code == 1
    assert said.json["code"] == 50701
    said = agentex("ingest", str(manual), "--kb", "Docs")
    assert "The storage is full" in said.err
    assert "not done yet" in said.out


def test_a_lost_answer_does_not_make_two_documents(agentex: Agentex, server: Contract, base: str, manual: Path):
    server.broken_uploads = 1
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs", "--json")
    assert said.code == 0
    assert len(server.documents) == 1
    assert said.json["counts"]["completed"] == 1


def test_a_document_deleted_meanwhile_does_not_hang_the_run(
    agentex: Agentex, server: Contract, base: str, manual: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cli.commands.ingest.run._QUIET_SECONDS", 0.5)
    server.steps = 10**6
    upload = server.add_document

    def add_and_lose(*arguments, **fields):
        document_id = upload(*arguments, **fields)
        document = server.documents.pop(document_id)
        server.documents = _Losing({document_id: document})
        return document_id

    server.add_document = add_and_lose
    said = agentex("ingest", str(manual / "a.md"), "--kb", "Docs", "--json")
    assert said.code == 1
    assert "deleted" in said.json["files"][0]["reason"]


class _Losing(dict):
    """Gives a document once, to the answer of its upload, and then has it no more."""

    def __getitem__(self, key):
        return self.pop(key)


def test_ingest_needs_a_path_that_is_there(agentex: Agentex, base: str, tmp_path: Path):
    assert agentex("ingest", str(tmp_path / "nowhere"), "--kb", "Docs").code == 2
    assert agentex("ingest", str(tmp_path / "*.none"), "--kb", "Docs").code == 2
    (tmp_path / "void").mkdir()
    assert agentex("ingest", str(tmp_path / "void"), "--kb", "Docs").code == 2


def test_ingest_creates_the_knowledge_base_only_when_told(agentex: Agentex, server: Contract, manual: Path):
    said = agentex("ingest", str(manual), "--kb", "New")
    assert said.code == 5
    assert "--create" in said.err
    assert agentex("ingest", str(manual), "--kb", "New", "--create", "--json").code == 0
    assert [one["name"] for one in server.bases.values()] == ["New"]


def test_ingest_into_anothers_knowledge_base_is_refused_before_anything_is_sent(
    agentex: Agentex, server: Contract, manual: Path
):
    server.add_base("Theirs", can_write=False)
    said = agentex("ingest", str(manual), "--kb", "Theirs", "--json")
    assert said.code == 1
    assert said.json["code"] == 40303
    assert server.uploads == 0


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(
    agentex: Agentex,
    server: Contract,
    base: str,
    manual: Path,
    process: Callable[..., subprocess.Popen[str]],
):
    server.steps = 10**6
    child = process("ingest", str(manual), "--kb", "Docs", "--json")
    wait_until(lambda: server.uploads == 5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert json.loads(out)["interrupted"] is True
    server.steps = 1
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.json["counts"]["completed"] == 5
    assert server.uploads == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_read_is_named(agentex: Agentex, base: str, manual: Path):
    (manual / "a.md").chmod(0)
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert any(file["reason"] == "can't be read" for file in said.json["files"])


def test_names_keep_their_end_when_they_are_too_long():
    name = document_name("/".join(["章节"] * 100 + ["page.html"]))
    assert len(name.encode()) <= 250
    assert name.startswith("…")
    assert name.endswith("› page.html")


def test_names_are_those_that_the_server_would_make_of_them():
    assert document_name("a\u200b/b\x07 /e\u0301.md") == "a › b › é.md"


def test_each_state_has_a_word_for_the_summary():
    from cli.commands.ingest.command import _COUNTS

    assert set(_COUNTS) == set(IngestState)


def test_picture_is_left_to_the_server_and_an_archive_is_sent_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detection, "is_installed", lambda: False)
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (tmp_path / "b.ZIP").write_bytes(b"PK")
    found = find_files([str(tmp_path)])
    assert [file.name for file in found.files] == ["a.png"]
    assert [file.name for file in found.archives] == ["b.ZIP"]
    assert found.left_out == []


def test_small_files_go_together_and_large_ones_alone(agentex: Agentex, server: Contract, base: str, tmp_path: Path):
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text(f"number {number}")
    (tmp_path / "large.txt").write_text("many words " * 10_000)
    said = agentex("ingest", str(tmp_path), "--kb", "Docs", "--json")
    assert said.json["counts"] == {"completed": 201}
    assert sorted(server.batches) == [8, 32, 32, 32, 32, 32, 32]
    paths = [path for method, path in server.requests if method == "POST"]
    assert sum(path.endswith("/documents") for path in paths) == 1


def test_a_batch_whose_answer_was_lost_is_sent_again_with_one_effect(
    agentex: Agentex, server: Contract, base: str, manual: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("cli.commands.ingest.run.UPLOADS_AT_ONCE", 1)
    server.broken_uploads = 2
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert said.code == 0
    assert server.batches == [5, 5, 5]
    assert names(server) == NAMES
    assert said.json["counts"] == {"completed": 5, "skipped": 4}


def test_files_of_a_batch_go_alone_where_one_of_them_can_not_be_read(
    agentex: Agentex,
    server: Contract,
    base: str,
    manual: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    def hashed(path: Path) -> str:
        digest = sha256(path)
        # Between the look at it and the upload.
        if path.name == "a.md":
            path.unlink()
        return digest

    monkeypatch.setattr("cli.commands.ingest.run.sha256", hashed)
    monkeypatch.setattr("cli.commands.ingest.run.UPLOADS_AT_ONCE", 1)
    said = agentex("ingest", str(manual), "--kb", "Docs", "--json")
    assert names(server) == NAMES - {"a.md"}
    assert said.json["counts"] == {"completed": 4, "failed": 1, "skipped": 4}
    assert server.batches == []


@dataclass(frozen=True)
class Sized:
    """What is to be grouped."""

    number: int
    size: int | None

    @property
    def is_small(self) -> bool:
        return self.size is not None and self.size <= 64 * 1024


@given(st.lists(st.none() | st.integers(0, 200_000), max_size=200), st.integers(1, 8))
def test_groups_hold_all_files_in_their_order_and_stay_small(sizes: list[int | None], senders: int):
    items = [Sized(number, size) for number, size in enumerate(sizes)]
    groups = list(grouped(items, senders))
    for group in groups:
        assert len(group) == 1 or all(one.is_small for one in group)
        assert sum(one.size or 0 for one in group if one.is_small) <= 512 * 1024
        assert 1 <= len(group) <= 32
    sent = [one for group in groups for one in group]
    assert sorted(one.number for one in sent) == list(range(len(items)))
    assert [one for one in sent if one.is_small] == [one for one in items if one.is_small]
    assert len(groups) >= min(senders, len(items))
