"""``docs/skills.md`` says what is so: its tables are the code's, its examples read without a finding."""

import re

import pytest

from scripts import skill_tables
from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.schema import Severity, SkillFormat
from tests.fixtures.paths import ROOT

PAGE = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```markdown\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("table", ["headings", "types", "findings"])
def test_tables_are_those_of_the_code(table: str):
    assert getattr(skill_tables, table)() in PAGE, "run python -m scripts.skill_tables"


@pytest.mark.parametrize("example", EXAMPLES, ids=["native", "chinese", "free"])
def test_every_example_is_a_valid_skill(example: str):
    report = lint(example.encode(), LintContext(known_tools=["search_knowledge_base", "Read", "Bash"]))

    assert report.valid
    assert {one.severity for one in report.diagnostics} <= {Severity.INFO}, report.diagnostics


def test_the_native_example_says_the_same_in_both_languages():
    english, chinese = (lint(text.encode()).parsed for text in EXAMPLES[:2])

    assert english is not None
    assert chinese is not None
    assert english.format is chinese.format is SkillFormat.NATIVE
    declared = [
        [(one.name, one.type, one.required, one.default) for one in model.input_params] for model in (english, chinese)
    ]
    assert declared[0] == declared[1]
    assert [one.tools for one in english.steps] == [one.tools for one in chinese.steps]
    assert english.tools == chinese.tools == ("search_knowledge_base",)


def test_the_written_form_of_an_input_is_read_whole():
    written = re.search(r"^- `name` .*$", PAGE, re.MULTILINE)
    assert written is not None
    report = lint(f"# SKILL: x\n\n## Inputs\n{written[0]}\n".encode())
    assert report.parsed is not None
    (param,) = report.parsed.input_params
    assert (param.type, param.required, param.default, param.enum) == (
        "integer",
        True,
        3,
        (1, 2, 3),
    )
    assert (param.example, param.min, param.max, param.pattern) == (2, 1, 3, r"^\d$")
