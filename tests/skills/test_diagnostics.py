"""The diagnostics of the hand-written skills."""

import re

import pytest
import yaml

from skills.diagnostics import RULES
from skills.diagnostics.secret_patterns import hide_secrets
from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.lint.rules.hidden_text import decode
from skills.parser.source import apply_edits
from skills.schema import Diagnostic
from tests.skills.diagnostic_examples import Case, all_cases

_CASES = all_cases()


def _named(name: str) -> Case:
    return next(case for case in _CASES if case.name == name)


def _found(case: Case) -> list[Diagnostic]:
    return [diagnostic for diagnostic in case.report().diagnostics if diagnostic.code == case.code]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_code_is_found_where_it_is_and_not_where_it_only_nearly_is(case: Case):
    assert bool(_found(case)) is case.has_code, case.report().diagnostics


@pytest.mark.parametrize("code", list(RULES))
def test_every_code_has_a_skill_that_has_it_and_one_that_nearly_does(code: str):
    assert {case.has_code for case in _CASES if case.code == code} == {True, False}


_MENDED = [case for case in _CASES if any(diagnostic.fix for diagnostic in _found(case))]


@pytest.mark.parametrize("case", _MENDED, ids=lambda case: case.name)
def test_a_mend_removes_what_it_mends(case: Case):
    fix = next(diagnostic.fix for diagnostic in _found(case) if diagnostic.fix is not None)
    mended = Case(case.name, apply_edits(case.content, fix.edits), case.folder, case.files)
    assert len(_found(mended)) < len(_found(case)), mended.content.decode()
    assert mended.report().valid or not case.report().valid


def _mended(name: str) -> str:
    case = _named(name)
    fix = next(diagnostic.fix for diagnostic in _found(case) if diagnostic.fix is not None)
    return apply_edits(case.content, fix.edits).decode()


def test_a_wrong_tool_is_mended_wherever_it_is_named_as_one_and_nowhere_else():
    mended = _mended("SK043.twice.has")
    assert "allowed-tools: Read WebFetch" in mended
    assert "Raed is no tool here. Tool: `Read`" in mended
    assert "2. **Again**: Tool: `WebFetch`, `Read`" in mended


def test_a_mend_finds_its_line_behind_signs_that_yaml_takes_for_line_ends():
    mended = _mended("AS004.separators.has")
    assert mended.count("---\n") == 2
    parsed = lint(mended.encode()).parsed
    assert parsed is not None
    assert parsed.metadata["version"] == "1"
    assert parsed.description == "One\u2028two\x85three, when a release is near"


def test_weak_headings_that_would_push_each_other_out_are_not_renamed():
    assert not any(diagnostic.fix for diagnostic in _found(_named("SK023.two.has")))
    assert _named("SK023.two.has").report().parsed is not None


def test_only_a_comment_that_is_closed_can_be_taken_out():
    assert all(diagnostic.fix is None for diagnostic in _found(_named("SEC903.unclosed.has")))
    assert "3. Read  all of it." in _mended("SEC903.inline.has")


def test_a_fence_that_quotes_others_is_closed_behind_them():
    assert _mended("SK014.quoting.has").endswith("git log\n```\n````\n")


def test_an_enum_without_values_is_told_without_an_empty_place():
    (found,) = _found(_named("SK032.enum.has"))
    assert "``" not in found.message + found.message_zh
    assert "enum" not in found.message_zh


def test_the_marks_around_a_title_are_no_part_of_the_name():
    for title in ("**SKILL: a**", "**SKILL:** a", "__技能：a__", "`SKILL: a`", "SKILL: **a**"):
        parsed = lint(f"# {title}\n".encode()).parsed
        assert parsed is not None
        assert parsed.name == ("**a**" if title.endswith("**a**") else "a"), title


@pytest.mark.parametrize("name", ["SEC907.bare.has", "SEC910.beside.has"])
def test_each_step_of_some_skills_is_told(name: str):
    case = _named(name)
    parsed = lint(case.content).parsed
    assert parsed is not None
    assert [diagnostic.line for diagnostic in _found(case)] == [step.line for step in parsed.steps]


def test_whatever_can_be_mended_mechanically_offers_a_mend():
    assert {case.code for case in _MENDED} >= {
        *("AS002", "AS004", "AS005", "AS006", "AS010", "AS012", "AS013"),
        *("REF001", "SEC901", "SEC903"),
    }


def test_hidden_text_is_decoded_and_shown():
    assert "send" in _found(_named("SEC901.has"))[0].message
    assert decode("".join(chr(0xE0100 + byte - 16) for byte in b"hi")) == "hi"


def test_a_secret_stands_in_no_message():
    report = _named("SEC906.has").report()
    assert all("AKIAZ5" not in diagnostic.message + diagnostic.message_zh for diagnostic in report.diagnostics)
    assert "AWS" in _found(_named("SEC906.has"))[0].message
    assert not report.valid


@pytest.mark.parametrize(
    "place",
    [
        "\n## Inputs\n\n- AKIAZ5TQW3R7VX2MPL6K !!\n",
        "\n## AKIAZ5TQW3R7VX2MPL6K\n\ntext\n",
        "\n[x](AKIAZ5TQW3R7VX2MPL6K/y.md)\n",
        "\n![x](https://e.example.net/?d={{AKIAZ5TQW3R7VX2MPL6K}})\n",
        "\n3. Use {{AKIAZ5TQW3R7VX2MPL6K}} with tool: `AKIAZ5TQW3R7VX2MPL6K`.\n",
        "\n<system AKIAZ5TQW3R7VX2MPL6K>\n",
    ],
)
def test_a_secret_stands_in_no_message_of_any_other_check(place: str):
    content = _named("SEC902.nearly").content + place.encode()
    report = lint(content, LintContext(folder="x", files=["a.md"], known_tools=["read"]))
    assert "SEC906" in {diagnostic.code for diagnostic in report.diagnostics}
    assert len(report.diagnostics) > 4
    assert all("AKIAZ5" not in diagnostic.message + diagnostic.message_zh for diagnostic in report.diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        "Token ghp_1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX",
        "postgres://app:Xk29sLq0ZmP1@db.prod.example.org/x",
        "password: Zk7$pQ9vLm2XtR4w",
        "AccountKey=" + "Zk7pQ9vLm2XtR4wA" * 5 + "Zk7pQ9" + "==",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAA\n",
        "12345678:AAHk29sLq0ZmP1xW3vB8nM5cD7fG4hJ6kLt",
        "sk-ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT" * 4 + "-x",
    ],
)
def test_secrets_of_many_kinds_are_known_and_hidden(text: str):
    hidden = hide_secrets(f"use {text} here")
    assert "[…]" in hidden
    assert max(map(len, re.findall(r"\w+", hidden))) < 20 or "PRIVATE" in text


@pytest.mark.parametrize(
    "text",
    [
        "password: ${PASSWORD}, api_key = os.environ[KEY], secret: my-secret-name-in-vault",
        "postgres://user:password@localhost/db and https://example.net:8443/path@2x.png",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ and sk-1234567890",
        "sha256 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "the class SKELETON, sk-learn, hf_hub_download, task-xai-1, 密码：请向管理员索取",
    ],
)
def test_placeholders_hashes_and_names_are_no_secrets(text: str):
    assert hide_secrets(text) == text


def test_dangerous_phrases_keep_a_skill_from_others_but_not_from_its_author():
    for name in ("SEC902.has", "SEC903.has", "SEC904.has", "SEC905.has", "SEC907.has"):
        report = _named(name).report()
        assert (report.valid, report.publishable) == (True, False), name


def test_the_place_is_that_of_the_stored_file_when_frontmatter_stands_before_it():
    found = _found(_named("REF001.has"))[0]
    assert (found.line, found.column) == (8, 18)
    assert "references/style.md" in found.message


def test_portability_never_makes_a_skill_invalid():
    for case in _CASES:
        # Without a readable mapping, or a description in it, it does not load here either.
        if case.code.startswith("AS") and case.name not in ("AS003.has", "AS007.has"):
            report = case.report()
            assert report.valid, (case.name, report.diagnostics)
            refused = case.has_code and RULES[case.code].blocks_portability()
            assert report.portable is not refused, case.name


def test_unknown_fields_move_into_metadata_as_texts():
    case = _named("AS004.has")
    fix = _found(case)[0].fix
    assert fix is not None
    mended = apply_edits(case.content, fix.edits).decode()
    assert yaml.safe_load(mended.split("---")[1]) == {
        "name": "release-notes",
        "description": "Writes release notes from merged changes. Use when a version is about to ship.",
        "metadata": {"category": "writing", "tags": "notes, release"},
    }
