"""The verdict ``portable`` against the reference validator of the open standard."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from skills_ref import validate

from skills.lint.context import LintContext
from skills.lint.linter import lint
from tests.skills.diagnostic_examples import Case, all_cases

_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools", "tags")
_VALUES = (
    *(
        "notes",
        '"notes"',
        "'notes'",
        "Notes",
        "a--b",
        "-a",
        "claude",
        "1",
        "1.5",
        "true",
        "null",
        "",
    ),
    *(
        "[a, b]",
        "{a: b}",
        "&x a",
        "*x",
        "!!str a",
        "a: b",
        "a --- b",
        "a # b",
        "|\n  text",
        ">\n  text",
    ),
    *(
        "\n  - a\n  - b",
        "\n  a: b",
        "\n  a: 1",
        "\n    a: b\n  c: d",
        "\n  a:\n    b: c",
        "x" * 600,
    ),
    *("y" * 1100, "<b>", "技能", "é", "\ta", "@a", "`a`", "%a", "- a", "? a", "a\n  b", '"a\\x41"'),
)
_GOOD = (("name", "notes"), ("description", "Writes notes."))
_PAIRS = st.tuples(st.sampled_from(_FIELDS), st.sampled_from(_VALUES))
FILES = st.tuples(st.sampled_from([(), _GOOD[:1], _GOOD]), st.lists(_PAIRS, max_size=4)).map(
    lambda parts: _frontmatter([*parts[0], *parts[1]])
)


def _frontmatter(pairs: Iterable[tuple[str, str]]) -> str:
    fields = "".join(f"{key}: {value}\n" for key, value in pairs)
    return f"---\n{fields}---\n# A\n"


def refusals(content: bytes, folder: str) -> list[str]:
    """What the reference validator says about a skill in a folder of this name."""
    with TemporaryDirectory() as root:
        place = Path(root) / folder
        place.mkdir()
        (place / "SKILL.md").write_bytes(content)
        return validate(place)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_what_is_called_portable_passes_the_reference_validator(case: Case):
    folder = case.folder or "release-notes"
    report = lint(case.content, LintContext(folder=folder))
    if report.portable:
        assert refusals(case.content, folder) == []


@given(FILES, st.sampled_from(["notes", "1"]))
@example('---\nname: notes\ndescription: "a\\x41"\n---\n', "notes")
@example("---\nname: notes\ndescription: a\nmetadata:\n    a: b\n---\n", "notes")
def test_any_frontmatter_that_is_called_portable_passes_the_reference_validator(content: str, folder: str):
    report = lint(content.encode(), LintContext(folder=folder))
    if report.portable:
        assert refusals(content.encode(), folder) == []


@given(FILES)
def test_what_the_reference_validator_refuses_is_told_with_a_code(content: str):
    if refusals(content.encode(), "notes"):
        codes = {diagnostic.code for diagnostic in lint(content.encode(), LintContext(folder="notes")).diagnostics}
        assert any(code.startswith("AS") for code in codes)
