"""Allowed tools that are blank, and those that leave no tool at all."""

import pytest

from skills.editor.fields import edit_fields
from skills.lint.linter import lint
from skills.schema import ParsedSkill, Severity, SkillReport


def skill(field: str, body: str = "Do it.\n") -> bytes:
    return f"---\nname: notes\ndescription: Writes notes. Use when asked.\n{field}---\n\n{body}".encode()


def model(report: SkillReport) -> ParsedSkill:
    assert report.parsed is not None
    return report.parsed


def warnings(report: SkillReport) -> list[int]:
    return [one.line for one in report.diagnostics if (one.code, one.severity) == ("SK047", Severity.WARNING)]


@pytest.mark.parametrize("blank", ["", " ''", ' ""', " ~", " null", ' "  "', " # Read", "\n  -", "\n  - ''\n  - ~"])
def test_blank_allowed_tools_are_no_restriction(blank: str):
    report = lint(skill(f"allowed-tools:{blank}\n"))

    assert (model(report).tools, warnings(report)) == (None, [])


def test_behind_blank_allowed_tools_the_section_counts():
    report = lint(skill("allowed-tools:\n", "## Tools\n- `read_page`\n"))

    assert model(report).tools == ("read_page",)


@pytest.mark.parametrize("field", ["none", "无", "[]", "{}", "{Read: true}", '"-"', '","', '"`"', "[none]", "N/A"])
def test_a_field_that_leaves_no_tool_is_told(field: str):
    report = lint(skill(f"allowed-tools: {field}\n"))

    assert (model(report).tools, warnings(report)) == ((), [4])


@pytest.mark.parametrize("body", ["none", "`none`", "- 无", "- !", "### Group", "没有。"])
def test_a_section_that_leaves_no_tool_is_told(body: str):
    report = lint(f"# SKILL: Notes\n\n## Description\nWrites notes.\n\n## Tools\n\n{body}\n".encode())

    assert (model(report).tools, warnings(report)) == ((), [6])


@pytest.mark.parametrize("tools", ["Bash(git:*)", "Bash(git log:*), Write(docs/*)", "*Read"])
def test_tools_of_which_none_can_be_enforced_are_told(tools: str):
    report = lint(skill(f"allowed-tools: '{tools}'\n"))

    assert warnings(report) == [4]
    assert tools.split(",")[0].split("(")[0] in " ".join(one.message for one in report.diagnostics)


@pytest.mark.parametrize("tools", ["Read", "Read Bash(git:*)", "mcp__*", "*"])
def test_a_tool_that_is_left_is_no_news(tools: str):
    report = lint(skill(f"allowed-tools: '{tools}'\n"))

    assert model(report).tools
    assert warnings(report) == []


def test_an_editor_writes_no_tools_in_words():
    content = edit_fields(skill("allowed-tools: Read\n"), {"tools": []})

    assert b'allowed-tools: "none"\n' in content
    assert model(lint(content)).tools == ()
    freed = edit_fields(content, {"tools": None})
    assert model(lint(freed)).tools is None
