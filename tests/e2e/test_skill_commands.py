"""``agentex skill`` against the real product: from a folder on this machine to others' agents."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.client import Api
from tests.fixtures.commands import Command, commands_of
from tests.fixtures.server import Server


@pytest.fixture
def author(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def skill(
    embedded: Server, author: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Command]:
    """Runs ``agentex skill`` with the key of an author, in an empty folder."""
    with commands_of("skill", embedded, author, tmp_path, monkeypatch) as run:
        yield run


def made(skill: Command) -> Path:
    assert skill("new", "Daily report").exit_code == 0
    folder = Path("daily-report")
    (folder / "references").mkdir()
    (folder / "references" / "style.md").write_text("Short sentences.\n")
    (folder / ".DS_Store").write_bytes(b"\0")
    return folder


def test_folder_becomes_a_skill_that_agents_get_once_it_is_reviewed(skill: Command, author: Api):
    folder = made(skill)
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
    assert skill("review", "daily-report").exit_code == 2
    assert skill("review", "Daily Report", "--approve").exit_code == 0
    assert author.get(f"/skills/{row['id']}")["trusted"]


def test_changed_folder_becomes_the_next_version(skill: Command, author: Api):
    folder = made(skill)
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


def test_package_that_leaves_and_comes_back_is_the_same(skill: Command, author: Api):
    folder = made(skill)
    skill("import", str(folder))
    assert skill("export", "daily-report", "report.zip").exit_code == 0
    with zipfile.ZipFile("report.zip") as archive:
        assert archive.namelist() == ["daily-report/SKILL.md", "daily-report/references/style.md"]
    assert skill("export", "daily-report", "report.zip").exit_code == 2
    back = json.loads(
        skill("import", "report.zip", "--on-conflict", "new_version", "--json").stdout
    )
    assert [item["outcome"] for item in back["items"]] == ["unchanged"]


def test_published_skill_is_everybodys_until_it_is_withdrawn(skill: Command, embedded: Server):
    skill("import", str(made(skill)), "--approve")
    reader = embedded.person()
    assert skill("publish", "daily-report").exit_code == 0
    (seen,) = [
        one
        for one in reader.get("/skills", include_public=True, page_size=100)["items"]
        if one["slug"] == "daily-report" and one["access"] != "owner"
    ][-1:]
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
    skill("import", str(made(skill)), "--approve")
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
    assert skill("import", "nowhere.md").exit_code == 2


def test_unknown_skill_names_those_that_there_are(skill: Command, author: Api):
    skill("import", str(made(skill)))
    unknown = skill("show", "../users/me")
    assert unknown.exit_code == 5
    assert "daily-report" in unknown.stderr
    assert skill("show", f"{author.name}/daily-report").stdout.startswith("# SKILL: Daily report")
    assert skill("delete", "daily-report").exit_code == 2
    assert skill("delete", "daily-report", "--yes").exit_code == 0
    assert author.get("/skills")["total"] == 0
