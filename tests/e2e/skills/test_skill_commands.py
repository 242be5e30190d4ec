"""``agentex skill`` against the real product."""

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.product.cli_commands import Command, commands_of
from tests.fixtures.product.server import Server


@pytest.fixture
def author(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def skill(embedded: Server, author: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Runs ``agentex skill`` with the key of an author, in an empty folder."""
    with commands_of("skill", embedded, author, tmp_path, monkeypatch) as run:
        yield run


def make_skill_folder(skill: Command) -> Path:
    assert skill("new", "Daily report").exit_code == 0
    folder = Path("daily-report")
    (folder / "references").mkdir()
    (folder / "references" / "style.md").write_text("Short sentences.\n")
    (folder / ".DS_Store").write_bytes(b"\0")
    return folder


def test_folder_becomes_a_skill_that_agents_get_once_it_is_reviewed(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    planned = skill("import", str(folder), "--dry-run")
    assert planned.exit_code == 0, planned.output
    assert author.get("/skills")["total"] == 0
    done = skill("import", str(folder))
    assert "created\tdaily-report (1)" in done.stdout
    (row,) = author.get("/skills")["items"]
    detail = author.get(f"/skills/{row['id']}")
    assert detail["content"].encode() == (folder / "SKILL.md").read_bytes()
    assert [file["path"] for file in detail["files"]] == ["references/style.md"]
    assert skill("list").stdout.splitlines()[1].split("\t")[-1] == "not reviewed"
    shown = skill("review", "daily-report")
    assert (shown.exit_code, "# SKILL: Daily report" in shown.stdout) == (0, True)
    assert "references/style.md" in shown.stderr
    assert "agentex skill review daily-report --version 1 --approve" in shown.stderr
    assert skill("review", "daily-report", "--approve", "--reject").exit_code == 2
    assert "Version 1" in skill("review", "Daily Report", "--approve").stdout
    assert "No version" in skill("review", "daily-report").stdout
    assert author.get(f"/skills/{row['id']}")["trusted"]


def test_changed_folder_becomes_the_next_version(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    skill("import", str(folder), "--approve")
    again = ("import", str(folder), "--on-conflict", "new_version")
    assert "unchanged" in skill(*again).stdout
    with (folder / "SKILL.md").open("a") as file:
        file.write("- Be brief.\n")
    assert "new version\tdaily-report (2)" in skill(*again).stdout
    assert "已跳过" in skill("import", str(folder), "--on-conflict", "skip", "--lang", "zh").stdout
    older = skill("export", "daily-report", "old.md", "--version", "1")
    assert older.exit_code == 0, older.output
    assert "-- Be brief." in skill("diff", str(folder), "old.md").stdout


def test_import_onto_a_public_skill_is_shown_and_approved_as_it_was_read(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    skill("import", str(folder), "--approve")
    skill("publish", "daily-report")
    for rule in ("- Be brief.\n", "- Be long.\n"):
        with (folder / "SKILL.md").open("a") as file:
            file.write(rule)
        skill("import", str(folder), "--on-conflict", "new_version")
    assert "- Be long." in skill("review", "daily-report").stdout
    stale = skill("review", "daily-report", "--version", "2", "--approve")
    assert (stale.exit_code, "version: 3" in stale.stderr) == (1, True)
    assert not author.get("/skills")["items"][0]["trusted"]
    assert "版本 3" in skill("review", "daily-report", "--approve", "--lang", "zh").stdout
    assert author.get("/skills")["items"][0]["trusted"]
    # Others count the public skills of this server.
    skill("publish", "daily-report", "--withdraw")


def test_unread_import_is_not_published_and_the_review_is_named(skill: Command, embedded: Server):
    skill("import", str(make_skill_folder(skill)))
    reader = embedded.person()
    for command in (("publish",), ("share", "--user", reader.name)):
        refused = skill(command[0], "daily-report", *command[1:])
        assert refused.exit_code == 1
        assert "agentex skill review daily-report --approve" in refused.stderr


def test_package_that_leaves_and_comes_back_is_the_same(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    skill("import", str(folder))
    assert skill("export", "daily-report", "report.zip").exit_code == 0
    with zipfile.ZipFile("report.zip") as archive:
        assert archive.namelist() == ["daily-report/SKILL.md", "daily-report/references/style.md"]
    assert skill("export", "daily-report", "report.zip").exit_code == 2
    back = json.loads(skill("import", "report.zip", "--on-conflict", "new_version", "--json").stdout)
    assert [item["outcome"] for item in back["items"]] == ["unchanged"]


def test_published_skill_is_everybodys_until_it_is_withdrawn(skill: Command, author: Api, embedded: Server):
    skill("import", str(make_skill_folder(skill)), "--approve")
    reader = embedded.person()
    assert skill("publish", "daily-report").exit_code == 0
    (seen,) = [
        item
        for item in reader.get("/skills", include_public=True, page_size=100)["items"]
        if item["owner"]["username"] == author.name
    ]
    assert seen["slug"] == "daily-report"
    assert reader.get(f"/skills/{seen['id']}")["name"] == "Daily report"
    assert skill("publish", "daily-report", "--withdraw").exit_code == 0
    assert reader.request("GET", f"/skills/{seen['id']}").status_code == 404


def test_skill_with_errors_is_not_published_and_says_where(skill: Command, author: Api):
    author.post("/skills", {"content": "# SKILL: Broken\n\n## Steps\n1. Do it.\n"})
    refused = skill("publish", "broken")
    assert refused.exit_code == 1
    assert "broken:1:1: error SK005" in refused.stdout
    assert not author.get("/skills")["items"][0]["is_public"]


def test_skill_is_shared_with_people_and_taken_back(skill: Command, embedded: Server):
    skill("import", str(make_skill_folder(skill)), "--approve")
    reader = embedded.person()
    shared = skill("share", "daily-report", "--user", reader.name)
    assert shared.exit_code == 0, shared.output
    assert reader.name in shared.stdout
    assert reader.get("/skills")["items"][0]["slug"] == "daily-report"
    assert skill("share", "daily-report", "--user", reader.name, "--remove").exit_code == 0
    assert reader.get("/skills")["total"] == 0


def test_refused_file_names_its_reason(skill: Command, tmp_path: Path):
    Path("evil.zip").write_bytes(b"PK\x05\x06nothing")
    refused = skill("import", "evil.zip")
    assert refused.exit_code == 1
    assert "refused" in refused.stdout
    Path("title.md").write_text("# Title\n\ntext\n")
    faulty = skill("import", "title.md")
    assert "created\ttitle (1)\terror: 2" in faulty.stdout
    assert "agentex skill review title --approve" in faulty.stderr
    assert skill("import", "nowhere.md").exit_code == 2


def test_folder_is_packed_whatever_its_files_are_dated(skill: Command, author: Api):
    """Also as some tools for reproducible builds date them: before the first year of zip."""
    folder = make_skill_folder(skill)
    os.utime(folder / "SKILL.md", (0, 0))
    done = skill("import", str(folder))
    assert done.exit_code == 0, done.output
    assert author.get("/skills")["total"] == 1


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("../secret.txt", "leads out of the skill's folder"),
        ("../elsewhere", "leads out of the skill's folder"),
        ("missing.md", "can't be read"),
    ],
)
def test_link_out_of_the_folder_or_to_nothing_is_not_packed(skill: Command, author: Api, target: str, words: str):
    folder = make_skill_folder(skill)
    Path("secret.txt").write_text("s3cret")
    Path("elsewhere").mkdir()
    Path("elsewhere", "more.md").write_text("s3cret")
    (folder / "linked").symlink_to(target)
    refused = skill("import", str(folder))
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert "linked" in refused.stderr
    assert author.get("/skills")["total"] == 0


def test_link_within_the_folder_is_packed_as_what_it_leads_to(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    (folder / "references" / "again.md").symlink_to("style.md")
    assert skill("import", str(folder)).exit_code == 0
    (row,) = author.get("/skills")["items"]
    files = author.get(f"/skills/{row['id']}")["files"]
    assert [file["path"] for file in files] == ["references/again.md", "references/style.md"]


def test_import_of_several_sends_nothing_before_it_knows_that_all_are_there(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    refused = skill("import", str(folder), "nowhere.md")
    assert (refused.exit_code, "nowhere.md" in refused.stderr) == (2, True)
    assert author.get("/skills")["total"] == 0


def test_import_of_several_tells_which_one_failed(skill: Command, author: Api):
    folder = make_skill_folder(skill)
    Path("bad").mkdir()
    Path("bad", "SKILL.md").symlink_to("/etc/hostname")
    done = skill("import", "bad", str(folder))
    assert done.exit_code == 2
    assert "created\tdaily-report (1)" in done.stdout
    assert "bad\tfailed" in done.stdout
    assert "leads out of the skill's folder" in done.stdout
    told = json.loads(skill("import", "bad", str(folder), "--json").stdout)
    assert [item["outcome"] for item in told["items"]] == ["failed", "created"]
    assert told["items"][0]["error"]["code"]


def test_refused_approval_is_told_of_the_skill_that_was_imported(skill: Command, author: Api):
    """Of two versions of one skill the older one waits no more."""
    folder = make_skill_folder(skill)
    Path("newer.md").write_text((folder / "SKILL.md").read_text() + "- Be brief.\n")
    both = ("import", str(folder), "newer.md", "--on-conflict", "new_version", "--approve")
    older, newer = json.loads(skill(*both, "--json").stdout)["items"]
    assert (older["outcome"], bool(older["error"]["message"])) == ("created", True)
    assert (newer["outcome"], newer["error"]) == ("new_version", None)


def test_options_that_would_do_nothing_are_refused(skill: Command, author: Api):
    skill("import", str(make_skill_folder(skill)))
    refused = skill("export", "daily-report", "report.md", "--profile", "codex")
    assert (refused.exit_code, Path("report.md").exists()) == (2, False)
    assert "--profile" in refused.stderr
    assert skill("export", "daily-report", "r.zip", "--profile", "codex").exit_code == 0
    both = skill("share", "daily-report", "--role", "developer", "--remove", "--write")
    assert both.exit_code == 2
    assert "--remove" in both.stderr


def test_unknown_skill_names_those_that_there_are(skill: Command, author: Api):
    skill("import", str(make_skill_folder(skill)))
    unknown = skill("show", "../users/me")
    assert unknown.exit_code == 5
    assert "daily-report" in unknown.stderr
    assert skill("show", f"{author.name}/daily-report").stdout.startswith("# SKILL: Daily report")
    assert skill("delete", "daily-report").exit_code == 2
    assert skill("delete", "daily-report", "--yes").exit_code == 0
    assert author.get("/skills")["total"] == 0
