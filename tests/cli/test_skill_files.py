"""``agentex skill`` on local files, without a server."""

import base64
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import build

BAD = b"\xef\xbb\xbf# Report\n\n## Description\nMakes a report. Use it when asked.\n\n## Steps\n1. a {{y}}\n3. b\n"
MENDED = b"# SKILL: Report\n\n## Description\nMakes a report. Use it when asked.\n\n## Steps\n1. a {{y}}\n2. b\n"


def agentex(*words: object, given: bytes = b"") -> Result:
    command = ["skill", *map(str, words)]
    return CliRunner().invoke(build(), command, input=given, env={"LANG": "en_US.UTF-8"})


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
    made = agentex("new", "Daily report", "--dir", tmp_path, "--lang", language, "--format", spelling)
    assert made.exit_code == 0, made.output
    options = ("--strict", "--publish", *(["--portable"] if spelling != "native" else []))
    checked = agentex("validate", tmp_path / "daily-report", *options, "--json")
    assert checked.exit_code == 0, checked.output
    (item,) = report(checked)["items"]
    assert item["name"] == ("Daily report" if spelling == "native" else "daily-report")


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


def test_name_that_is_no_text_leaves_nothing_behind(tmp_path: Path):
    refused = agentex("new", os.fsdecode(b"x\xff"), "--dir", tmp_path)
    assert refused.exit_code == 2
    assert not any(tmp_path.iterdir())


def test_findings_are_told_by_line_and_column_in_both_languages(bad: Path):
    english, chinese = agentex("validate", bad), agentex("validate", bad, "--lang", "zh")
    assert english.exit_code == chinese.exit_code == 1
    assert f"{bad}:8:1: warning SK045" in english.stdout.replace("\n", "")
    assert f"{bad}:1:1：错误 SK002" in chinese.stdout.replace("\n", "")


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1), (("--portable",), 1), (("--publish",), 0)])
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
    assert not any(
        "{" in rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"] if rule["id"] == "SK002"
    )


def test_mends_of_a_sarif_report_lead_to_what_fix_writes(tmp_path: Path):
    """By characters, of which a byte order mark is none; it is taken away as bytes."""
    file, written = tmp_path / "报告.md", tmp_path / "report.sarif"
    file.write_bytes(BAD.replace(b"# Report", "# 报告😀".encode()).replace(b"\n", b"\r\n"))
    agentex("validate", file, "--sarif", written)
    (run,) = json.loads(written.read_text("utf-8"))["runs"]
    assert run["defaultEncoding"] == "utf-8"
    content = file.read_bytes()
    for result in [one for one in run["results"] if "fixes" in one]:
        (change,) = result["fixes"][0]["artifactChanges"]
        mended = replaced(content, change["replacements"])
        file.write_bytes(content)
        agentex("fix", file, "--code", result["ruleId"])
        assert mended == file.read_bytes(), result["ruleId"]
    assert {"SK002", "SK013", "SK045"} <= {one["ruleId"] for one in run["results"] if "fixes" in one}


def replaced(content: bytes, replacements: list[dict[str, Any]]) -> bytes:
    """What SARIF 2.1.0, 3.57, makes of a UTF-8 text: a region is of bytes or of characters."""
    text = content.decode("utf-8-sig")
    mark = content[: len(content) - len(text.encode())]
    for one in reversed(replacements):
        region, inserted = one["deletedRegion"], one.get("insertedContent", {})
        if "byteOffset" in region:
            assert "text" not in inserted
            start, end = region["byteOffset"], region["byteOffset"] + region["byteLength"]
            new = base64.b64decode(inserted.get("binary", ""))
            content = content[:start] + new + content[end:]
        else:
            start, end = region["charOffset"], region["charOffset"] + region["charLength"]
            text = text[:start] + inserted["text"] + text[end:]
            content = mark + text.encode()
    return content


@pytest.mark.parametrize(
    ("name", "uri"),
    [("日 报%#1.md", "%E6%97%A5%20%E6%8A%A5%25%231.md"), (os.fsdecode(b"x\xff.md"), "x%FF.md")],
    ids=["signs", "no UTF-8"],
)
def test_places_of_a_sarif_report_are_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, uri: str):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(BAD)
    for given, wanted in ((Path(name), uri), (tmp_path / name, f"{tmp_path.as_uri()}/{uri}")):
        said = agentex("validate", given, "--sarif", "report.sarif")
        assert said.exit_code == 1, said.output
        (run,) = json.loads(Path("report.sarif").read_text("utf-8"))["runs"]
        places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
        assert {place["artifactLocation"]["uri"] for place in places} == {wanted}


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


STANDARD = """---
name: fill-forms
description: Fills PDF forms. Use when somebody wants data put into a PDF.
version: 2.0.1
disable-model-invocation: true
---

# PDF forms

## Quick start

Run `fill`.

## Workflow

1. Ask for what is missing.

## Common mistakes

A checkbox stays empty.

## Guidelines

- Never guess.
"""


def test_fix_leaves_a_good_file_of_the_standard_alone(tmp_path: Path):
    """Its headings are its author's, and other products know fields that the standard does not."""
    file = tmp_path / "fill-forms" / "SKILL.md"
    file.parent.mkdir()
    file.write_text(STANDARD)
    checked = agentex("validate", file)
    assert (checked.exit_code, " SK0" in checked.stdout) == (0, False), checked.stdout
    assert report(agentex("fix", file, "--json"))["items"][0]["fixed"] == []
    assert file.read_text() == STANDARD
    portable = agentex("validate", file, "--portable")
    assert f"{file}:4:1: not portable AS004" in portable.stdout
    assert agentex("fix", file, "--portable").exit_code == 0
    assert agentex("validate", file, "--portable").exit_code == 0
    file.write_text(STANDARD)
    assert "AS004" in agentex("fix", file, "--code", "AS004").stdout


def test_only_a_slip_of_the_pen_is_taken_for_a_known_heading(bad: Path):
    bad.write_bytes(MENDED + b"\n## Common mistakes\nNone.\n\n## Exampels\nNone.\n")
    assert agentex("fix", bad).exit_code == 0
    assert bad.read_bytes().endswith(b"\n## Common mistakes\nNone.\n\n## Examples\nNone.\n")


def test_fix_of_standard_input_writes_to_standard_output():
    assert agentex("fix", "-", given=BAD).stdout_bytes.startswith(MENDED)


def test_fix_says_whether_it_wrote_and_gives_what_came_from_standard_input(tmp_path: Path, bad: Path):
    planned = report(agentex("fix", bad, "--dry-run", "--json"))["items"][0]
    assert (planned["written"], bool(planned["fixed"])) == (False, True)
    assert report(agentex("fix", bad, "--json"))["items"][0]["written"] is True
    assert report(agentex("fix", bad, "--json"))["items"][0]["written"] is False
    piped = report(agentex("fix", "-", "--json", given=BAD))["items"][0]
    assert (piped["written"], piped["content"]) == (False, MENDED.decode())


def test_fix_keeps_rights_and_mends_the_file_behind_a_link(tmp_path: Path, bad: Path):
    bad.chmod(0o600)
    link = tmp_path / "link.md"
    link.symlink_to(bad.name)
    assert agentex("fix", link).exit_code == 0
    assert link.is_symlink()
    assert bad.read_bytes() == MENDED
    assert stat.S_IMODE(bad.stat().st_mode) == 0o600


def test_fix_counts_what_validate_shows(tmp_path: Path):
    file = tmp_path / "a report.md"
    file.write_bytes(MENDED)
    checked = agentex("validate", file)
    shown = checked.stdout.count("a report.md:") - 1
    assert f"0 errors, {shown} warnings" in checked.stdout
    left = agentex("fix", file)
    assert f"{shown} left to you; see agentex skill validate '{file}'" in left.stdout
    portable = agentex("validate", file, "--portable")
    found = portable.stdout.count(" AS0")
    assert found > 0
    assert f"against the open standard: {found}" in portable.stdout


def test_path_that_cannot_be_looked_at_is_told(tmp_path: Path, bad: Path):
    long = tmp_path / ("x" * 300)
    for words in (("validate", long), ("fix", long), ("diff", bad, long), ("import", long)):
        told = agentex(*words)
        assert told.exit_code == 2, told.output
        assert "can't be read (File name too long)" in told.stderr


def test_one_skill_is_checked_once_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_bytes(MENDED)
    monkeypatch.chdir(tmp_path)
    items = report(agentex("validate", ".", "one", tmp_path / "one" / "SKILL.md", "--json"))["items"]
    assert [item["path"] for item in items] == ["one/SKILL.md"]


def test_linked_skill_is_of_the_folder_it_stands_in(tmp_path: Path):
    (tmp_path / "shared.md").write_text("---\nname: daily-report\ndescription: x\n---\n")
    (tmp_path / "daily-report").mkdir()
    link = tmp_path / "daily-report" / "SKILL.md"
    link.symlink_to("../shared.md")
    found = report(agentex("validate", link, "--json"))["items"][0]["diagnostics"]
    assert "AS006" not in {one["code"] for one in found}


def test_folder_of_too_many_files_is_told_and_not_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cli.commands.skills.local_files._MOST_FILES", 3)
    (tmp_path / "SKILL.md").write_bytes(MENDED)
    for name in "abc":
        (tmp_path / name).touch()
    told = agentex("validate", tmp_path)
    assert told.exit_code == 2
    assert "more than 3 files" in told.stderr


def test_difference_reads_the_pipe_of_a_shell(tmp_path: Path):
    """As ``<(git show HEAD:SKILL.md)`` gives one."""
    pipe, file = tmp_path / "pipe", tmp_path / "SKILL.md"
    os.mkfifo(pipe)
    file.write_bytes(MENDED)
    writer = threading.Thread(target=pipe.write_bytes, args=(MENDED,), daemon=True)
    writer.start()
    same = agentex("diff", pipe, file)
    assert same.stdout.strip() == "Both say the same.", same.output
    writer.join(10)


def test_difference_is_of_two_files(tmp_path: Path):
    assert "Standard input can be read once" in agentex("diff", "-", "-", given=MENDED).stderr
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(MENDED)
    several = agentex("diff", tmp_path / "one", tmp_path)
    assert several.exit_code == 2
    assert f"several skills at {tmp_path}" in several.stderr.replace("\n", "")


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
