"""``agentex skill`` on files of this machine: no server is there."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app

BAD = b"\xef\xbb\xbf# Report\n\n## Description\nMakes a report. Use it when asked.\n\n## Steps\n1. a {{y}}\n3. b\n"
MENDED = b"# SKILL: Report\n\n## Description\nMakes a report. Use it when asked.\n\n## Steps\n1. a {{y}}\n2. b\n"


def agentex(*words: object, given: bytes = b"") -> Result:
    command = ["skill", *map(str, words)]
    return CliRunner().invoke(app, command, input=given, env={"LANG": "en_US.UTF-8"})


def report(result: Result) -> dict[str, Any]:
    return json.loads(result.stdout)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "report.md"
    file.write_bytes(BAD)
    return file


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("spelling", ["native", "agent-skills"])
def test_new_skill_passes_as_it_is(tmp_path: Path, language: str, spelling: str):
    made = agentex(
        "new", "Daily report", "--dir", tmp_path, "--lang", language, "--format", spelling
    )
    assert made.exit_code == 0, made.output
    options = ("--strict", "--publish", *(["--portable"] if spelling != "native" else []))
    checked = agentex("validate", tmp_path / "daily-report", *options, "--json")
    assert checked.exit_code == 0, checked.output
    (item,) = report(checked)["items"]
    assert item["name"] == "Daily report"


def test_new_skill_writes_over_nothing_unasked(tmp_path: Path):
    assert agentex("new", "Daily report", "--dir", tmp_path).exit_code == 0
    file = tmp_path / "daily-report" / "SKILL.md"
    file.write_text("mine")
    assert agentex("new", "Daily report", "--dir", tmp_path).exit_code == 2
    assert file.read_text() == "mine"
    assert agentex("new", "Daily report", "--dir", tmp_path, "--force").exit_code == 0


def test_name_without_latin_letters_needs_a_slug(tmp_path: Path):
    refused = agentex("new", "日报", "--dir", tmp_path, "--lang", "zh")
    assert refused.exit_code == 2
    assert "--slug" in refused.stderr
    assert agentex("new", "日报", "--slug", "../up", "--dir", tmp_path).exit_code == 2
    assert not any(tmp_path.iterdir())
    assert agentex("new", "日报", "--slug", "daily-report", "--dir", tmp_path).exit_code == 0


def test_findings_are_told_by_line_and_column_in_both_languages(bad: Path):
    english, chinese = agentex("validate", bad), agentex("validate", bad, "--lang", "zh")
    assert english.exit_code == chinese.exit_code == 1
    assert f"{bad}:8:1: warning SK045" in english.stdout.replace("\n", "")
    assert f"{bad}:1:1：错误 SK002" in chinese.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--strict",), 1), (("--portable",), 1), (("--publish",), 0)]
)
def test_options_say_how_much_is_wanted(tmp_path: Path, options: tuple[str, ...], code: int):
    file = tmp_path / "SKILL.md"
    file.write_bytes(MENDED)
    assert agentex("validate", file, *options).exit_code == code


def test_exit_code_tells_a_missing_file_from_a_bad_one(tmp_path: Path, bad: Path):
    assert agentex("validate", tmp_path / "nowhere").exit_code == 2
    assert agentex("validate", bad).exit_code == 1


def test_standard_input_and_folders_are_checked(tmp_path: Path, bad: Path):
    for name in ("one", "two"):
        (tmp_path / name / "scripts").mkdir(parents=True)
        (tmp_path / name / "SKILL.md").write_bytes(MENDED)
    (tmp_path / "one" / "scripts" / "SKILL.md").write_bytes(b"part of one")
    both = report(agentex("validate", tmp_path, "--json"))
    assert [Path(item["path"]).parent.name for item in both["items"]] == ["one", "two"]
    piped = report(agentex("validate", "-", "--json", given=BAD))
    assert (piped["valid"], piped["items"][0]["path"]) == (False, "-")


def test_sarif_report_names_rules_places_and_mends(tmp_path: Path, bad: Path):
    file = tmp_path / "report.sarif"
    assert agentex("validate", bad, "--sarif", file).exit_code == 1
    written = json.loads(file.read_text())
    assert written["version"] == "2.1.0"
    (run,) = written["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    result = next(one for one in run["results"] if one["ruleId"] == "SK013")
    assert rules[result["ruleIndex"]] == "SK013"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"] == {"byteOffset": 0, "byteLength": 3}
    assert not any(
        "{" in rule["shortDescription"]["text"]
        for rule in run["tool"]["driver"]["rules"]
        if rule["id"] == "SK002"
    )


def test_fix_mends_and_leaves_all_else(bad: Path):
    shown = agentex("fix", bad, "--dry-run")
    assert "+# SKILL: Report" in shown.stdout
    assert bad.read_bytes() == BAD
    done = report(agentex("fix", bad, "--json"))["items"][0]
    assert bad.read_bytes() == MENDED
    assert {"SK002", "SK013", "SK045"} <= set(done["fixed"])
    again = report(agentex("fix", bad, "--json"))["items"][0]
    assert (again["fixed"], bad.read_bytes()) == ([], MENDED)
    assert not list(bad.parent.glob(".*"))


def test_fix_of_one_code_mends_no_other(bad: Path):
    agentex("fix", bad, "--code", "sk013")
    assert bad.read_bytes() == BAD[3:]
    assert agentex("fix", bad, "--code", "SK999").exit_code == 2


def test_fix_of_standard_input_writes_to_standard_output():
    assert agentex("fix", "-", given=BAD).stdout_bytes.startswith(MENDED)


def test_difference_tells_what_breaks_callers(tmp_path: Path):
    before, after = tmp_path / "a.md", tmp_path / "b.md"
    head = "# SKILL: Report\n\n## Description\nMakes a report. Use it when asked.\n"
    before.write_text(f"{head}\n## Inputs\n- `topic` (string)\n")
    after.write_text(f"{head}\n## Inputs\n- `topic` (integer)\n")
    shown = agentex("diff", before, after)
    assert "-- `topic` (string)" in shown.stdout
    assert shown.exit_code == 0
    told = agentex("diff", before, after, "--json", "--fail-on-breaking")
    assert told.exit_code == 1
    assert report(told)["semantic"]["params_changed"][0]["breaking"] == ["retyped"]
    same = agentex("diff", before, before, "--fail-on-breaking")
    assert (same.exit_code, same.stdout.strip()) == (0, "Both say the same.")


def test_hostile_text_does_not_steer_the_terminal(tmp_path: Path):
    file = tmp_path / "x.md"
    file.write_bytes(b"# \x1b[31mred\x07\n\n## Sch\x1b]0;ritte\n")
    assert "\x1b" not in agentex("validate", file).stdout
