"""The verdict ``portable`` is that of the open standard's reference validator, both ways."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skills.diagnostics import RULES
from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.schema import Severity, SkillReport
from tests.skills.diagnostic_examples import Case, all_cases
from tests.skills.test_portability import FILES, refusals

_GOOD = "name: notes\ndescription: Writes notes.\n"


def is_cut(report: SkillReport) -> bool:
    """Whether the validator may have read half a text and taken that."""
    return any(one.code == "AS002" and "cuts" in one.message for one in report.diagnostics)


def file(fields: str) -> bytes:
    return f"---\n{_GOOD}{fields}---\n\n# Notes\n".encode()


@pytest.mark.parametrize(
    "metadata",
    [
        "  tags:\n    - a\n    - b\n",
        "  version: 1.0\n",
        "  author:\n    name: anna\n",
        "  draft: true\n  since: 2026-01-01\n  none:\n",
    ],
)
def test_metadata_that_is_no_text_is_portable_and_told(metadata: str):
    content = file(f"metadata:\n{metadata}")

    report = lint(content, LintContext(folder="notes"))

    assert refusals(content, "notes") == []
    assert report.portable
    found = [one for one in report.diagnostics if one.code == "AS012"]
    assert {(one.severity, bool(one.fix)) for one in found} == {(Severity.INFO, True)}


@pytest.mark.parametrize("fields", ["metadata: text\n", "metadata:\n  - a\n", "metadata:\n"])
def test_metadata_that_is_no_mapping_is_portable_too(fields: str):
    assert refusals(file(fields), "notes") == []
    assert lint(file(fields), LintContext(folder="notes")).portable


@pytest.mark.parametrize("name", ["发布说明", "заметки", "é-1", "claude-notes", "skill-abcdef"])
def test_a_name_of_any_script_is_portable(name: str):
    content = f"---\nname: {name}\ndescription: Writes notes in <b>.\n---\n".encode()

    assert refusals(content, name) == []
    assert lint(content, LintContext(folder=name)).portable


@pytest.mark.parametrize("name", ["Notes", "a--b", "-a", "a-", "a_b", "x" * 65, "Заметки", "ＡＢ"])
def test_a_name_of_another_form_is_not(name: str):
    content = f"---\nname: {name}\ndescription: Writes notes.\n---\n".encode()

    assert refusals(content, name)
    assert not lint(content, LintContext(folder=name)).portable


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_every_example_has_the_verdict_of_the_reference_validator(case: Case):
    folder = case.folder or "release-notes"

    report = lint(case.content, LintContext(folder=folder))

    if report.parsed is not None and not is_cut(report):
        assert report.portable is (refusals(case.content, folder) == []), report.diagnostics


@given(FILES, st.sampled_from(["notes", "1"]))
@example("---\nname: notes\ndescription: a\nmetadata:\n  a:\n    - b\n---\n", "notes")
def test_any_frontmatter_has_the_verdict_of_the_reference_validator(content: str, folder: str):
    report = lint(content.encode(), LintContext(folder=folder))

    if not is_cut(report):
        assert report.portable is (refusals(content.encode(), folder) == []), report.diagnostics


def test_what_other_readers_may_refuse_is_told_without_a_verdict():
    assert {code for code, rule in RULES.items() if rule.portability and not rule.blocks_portability()} == {
        *("AS010", "AS011", "AS012"),
    }
