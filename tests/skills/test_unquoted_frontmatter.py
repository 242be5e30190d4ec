"""Frontmatter as people write it: texts that YAML reads only in quotes."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skills.lint.autofix import autofix
from skills.lint.linter import lint
from skills.schema import ParsedSkill, Severity, SkillReport

UNQUOTED = [
    "Use when: asked",
    '"Quick" check',
    "@lead",
    "**Bold** text",
    "[BETA] thing",
    "[BETA]",
    "{draft} of a plan",
    "`git log` in words",
    "% of tests that pass",
    "> 80 % of tests pass",
    "| separated values",
    "- a list of notes",
    "? is it good",
    "&more than notes",
    "*everything* that changed",
    "!important notes",
    "'tis the season: notes",
    "'Quick' and \"slow\"",
    "生成日报: 每天使用",
    '"Quick" and "slow"',
]


def skill(description: str, *, above: str = "", below: str = "") -> bytes:
    fields = f"name: my-skill\n{above}description: {description}\n{below}"
    return f"---\n{fields}---\n\n# Body\n\nDo it.\n".encode()


def parsed(report: SkillReport) -> ParsedSkill:
    assert report.parsed is not None
    return report.parsed


def codes(report: SkillReport) -> list[str]:
    return [diagnostic.code for diagnostic in report.diagnostics]


@pytest.mark.parametrize("description", UNQUOTED)
def test_an_unquoted_description_is_read_as_it_stands_and_its_quotes_are_a_mend(description: str):
    content = skill(description)

    report = lint(content)

    assert (parsed(report).description, parsed(report).slug, report.valid) == (description, "my-skill", True)
    (found,) = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "SK018"]
    assert (found.severity, found.line, found.column) == (Severity.WARNING, 3, 14)
    mended = autofix(content, lint, lambda fixable, _: [one for one in fixable if one.code == "SK018"])
    assert yaml.safe_load(mended.content.decode().split("---")[1])["description"] == description
    assert not {"SK018", "SK011", "SK017", "AS003", "AS013"} & set(codes(lint(mended.content)))
    assert parsed(lint(mended.content)).description == description


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("Use for: a\n  and: b", "Use for: a and: b"),
        ("Turns changes\ninto notes", "Turns changes into notes"),
        (">\nUse when: asked\nfor notes", "Use when: asked for notes"),
        ('"He says "hi" to all"', 'He says "hi" to all'),
        ('"C:\\path\\users"', "C:\\path\\users"),
        ("'It's a tool'", "It's a tool"),
    ],
)
def test_what_is_meant_by_several_lines_or_by_quotes_within_quotes_is_read(lines: str, text: str):
    report = lint(skill(lines, below="license: MIT\n"))

    assert (parsed(report).description, parsed(report).metadata["license"]) == (text, "MIT")
    assert report.valid


@pytest.mark.parametrize(
    ("field", "key", "text"),
    [
        ("license: @MIT: see LICENSE", "license", "@MIT: see LICENSE"),
        ("compatibility: Python: 3.11", "compatibility", "Python: 3.11"),
        ("argument-hint: [file] [branch]", "argument-hint", "[file] [branch]"),
        ("homepage: see: here", "homepage", "see: here"),
    ],
)
def test_any_other_field_of_one_text_is_read_too(field: str, key: str, text: str):
    report = lint(skill("Use when: asked", below=f"{field}\n"))

    assert parsed(report).metadata[key] == text
    assert codes(report).count("SK018") == 2


@pytest.mark.parametrize("tools", ["*", "Read, Bash(git: *)", "[Read, Bash(git: *)]"])
def test_allowed_tools_are_read_as_names(tools: str):
    names = parsed(lint(skill("Asks.", above=f"allowed-tools: {tools}\n"))).tools

    assert names == (("*",) if tools == "*" else ("Read", "Bash(git: *)"))


@pytest.mark.parametrize("broken", ["metadata:\n  a: b: c", "tags: [a, b", "hooks: {a", "metadata:\n\ta: b"])
def test_a_broken_field_that_is_no_text_is_an_error_and_takes_no_other_with_it(broken: str):
    report = lint(skill("Use when: asked", below=f"{broken}\n"))

    assert not report.valid
    assert not report.portable
    (found,) = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "SK011"]
    assert 4 <= found.line <= 5
    assert (parsed(report).description, parsed(report).slug) == ("Use when: asked", "my-skill")


def test_a_field_that_stands_twice_is_an_error_also_where_one_needs_quotes():
    report = lint(skill("Use when: asked", below="description: again\n"))

    assert "SK016" in codes(report)
    assert parsed(report).description == "Use when: asked"


@given(st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=40))
def test_whatever_one_line_says_is_read_or_quoted_to_the_same(text: str):
    content = skill(text)
    before = parsed(lint(content)).description

    mended = autofix(content, lint, lambda fixable, _: [one for one in fixable if one.code == "SK018"])

    assert parsed(lint(mended.content)).description == before
    assert "SK011" not in codes(lint(content))


def test_fields_with_any_key_keep_their_lines():
    text = b"---\nname: a\nx.y: k\ndescription: Use when: x\nz.y: 1\nx/z: c\n---\n# T\n\nDo.\n"
    skill_read = parsed(lint(text))
    assert (skill_read.slug, skill_read.description) == ("a", "Use when: x")
