"""The time of parsing and linting: linear in the file, also for hostile ones."""

import sys
import time
from collections.abc import Callable
from types import FrameType

import pytest

from skills.lint.context import LintContext
from skills.lint.linter import lint

_HEAD = "# SKILL: x\n\n## Description\nUse when slow.\n\n## Steps\n1. "


def _counted(unit: str, head: str = _HEAD) -> Callable[[int], bytes]:
    return lambda size: (head + unit * (size // len(unit))).encode()


def _numbered(unit: str, head: str) -> Callable[[int], bytes]:
    return lambda size: (head + "".join(unit % at for at in range(size // len(unit)))).encode()


def _members(between: str, size: int) -> str:
    return between.join(str(number) for number in range(size // 12))


_INPUTS = "# SKILL: x\n\n## Inputs\n"
_TABLE = f"{_INPUTS}| Name | Type | Default |\n|---|---|---|\n"
_TOOLS_OF_ONE = "# SKILL: x\n\n## Tools\n- t\n\n## Steps\n"
_BUILT: dict[str, Callable[[int], bytes]] = {
    "nested lists on one line": _counted("- "),
    "lists 50 deep": lambda size: (_HEAD + "".join("  " * (at % 50) + "- x\n" for at in range(size // 54))).encode(),
    "nested quotes": _counted(">"),
    "lines of quotes": _counted("> > > > > > a\n"),
    "brackets": _counted("["),
    "lines of brackets": _counted("[a\n"),
    "definitions": _numbered("[a%d]: /u\n", _HEAD),
    "backticks": lambda size: (_HEAD + "".join("`" * (at % 50) + " " for at in range(size // 26))).encode(),
    "stars": _counted("*"),
    "blanks": lambda size: (_HEAD + "a" + " " * size + "b").encode(),
    "blanks in a parameter": lambda size: (f"{_INPUTS}- a" + " " * size + "b (").encode(),
    "parentheses": _counted("(", f"{_INPUTS}- a "),
    "attributes": _counted("min: 1, ", f"{_INPUTS}- a ("),
    "many parameters": _numbered("- a%d (strng): x\n", _INPUTS),
    "many bad attributes": _numbered("- a (x%d): x\n", _INPUTS),
    "a long table": _numbered("| a%d | strng | x |\n", _TABLE),
    "a wide table": _counted("|-", "# SKILL: x\n\n## Inputs\n|a\n"),
    "rows with one cell": _counted("|x\n", _TABLE),
    "headings": _numbered("## stepz%d\n", _HEAD),
    "equal headings": _counted("## Steps\n"),
    "underlined headings": _counted("a\n==\n"),
    "placeholders": _numbered("{{b%d}}\n", f"{_INPUTS}- b: x\n\n## Steps\n1. "),
    "braces": _counted("{"),
    "code blocks": _counted("```\n"),
    "comments": _counted("<!-- "),
    "tools": _numbered("1. tool: `u%d`\n", _TOOLS_OF_ONE),
    "allowed tools": _numbered("- t%d\n", "# SKILL: x\n\n## Tools\n"),
    "colons": _counted("tool: "),
    "a line of tools": _counted("tool:x;"),
    "a line of different tools": _numbered("tool: `t%d`;", f"{_TOOLS_OF_ONE}1. "),
    "blanks behind a tool": lambda size: (f"{_TOOLS_OF_ONE}1. tool: `t`" + " " * size + "b").encode(),
    "allowed tools on one line": _numbered("t%d ", "---\nallowed-tools: "),
    "members of an enum": lambda size: (
        f"{_INPUTS}- a (array<integer>, enum: {_members('|', size)}, default: [{_members(',', size)}])"
    ).encode(),
    "triggers": _counted("use when ", "---\nname: x\ndescription: "),
    "when": _counted("当", "# SKILL: x\n\n## 描述\n"),
    "when, in words": _counted("当a时候b", "# SKILL: x\n\n## 描述\n"),
    "examples": _counted("input: x\n", "# SKILL: x\n\n## Examples\n"),
    "open frontmatter": _counted("a: b\n", "---\n"),
    "carriage returns": _counted("a\r"),
    "metadata": _numbered("- k%d: v\n", "# SKILL: x\n\n## Metadata\n"),
    "links": _numbered("[a](b%d) ", _HEAD),
    "base64": _counted("QUJD", _HEAD),
    "hidden signs": _counted("\u200b", _HEAD),
    "role tags": _counted("<system>", _HEAD),
    "words": _counted("ignore all previous ", _HEAD),
}


def _calls(content: bytes) -> int:
    """How many functions are called for it: a count that no other load disturbs."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        lint(content, LintContext(known_tools=["a"]))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("build", _BUILT.values(), ids=_BUILT)
def test_work_grows_with_the_file_and_not_faster(build: Callable[[int], bytes]):
    lint(build(1000))

    assert _calls(build(16_000)) < 5.5 * _calls(build(4_000)) + 2000


@pytest.mark.parametrize("build", _BUILT.values(), ids=_BUILT)
def test_time_grows_with_the_file_and_not_with_its_square(build: Callable[[int], bytes]):
    """What no call shows: patterns that try again and again. The square would take 256 times as
    long for 16 times the size."""
    small, large = (min(_seconds(build(size)) for _ in range(2)) for size in (2_000, 32_000))

    assert large < 70 * small + 0.3


def _seconds(content: bytes) -> float:
    started = time.process_time()
    lint(content, LintContext(known_tools=["a"]))
    return time.process_time() - started


@pytest.mark.parametrize("what", ["a line of different tools", "members of an enum"])
def test_what_only_the_largest_files_show_takes_no_square_either(what: str):
    """The square would take 64 times as long for 8 times the size."""
    small = max(_seconds(_BUILT[what](25_000)) for _ in range(2))

    assert min(_seconds(_BUILT[what](200_000)) for _ in range(2)) < 14 * small + 0.2


def test_steps_that_are_all_misnumbered_are_numbered_anew_by_one_mend():
    steps = "".join(f"{2 * number % 97 + 1}. Do a thing.\n\n" for number in range(5_000))
    report = lint(f"# SKILL: x\n\n## Description\n\nDoes it.\n\n## Steps\n\n{steps}".encode())

    edits = [
        len(diagnostic.fix.edits) for diagnostic in report.diagnostics if diagnostic.fix and diagnostic.code == "SK045"
    ]
    assert len(edits) == 1
    assert edits[0] > 4_000


def test_a_file_of_many_findings_names_a_few_of_each_and_counts_the_others():
    report = lint(_BUILT["equal headings"](16_000))

    found = [diagnostic for diagnostic in report.diagnostics if diagnostic.code == "SK022"]
    assert len(found) == 50
    empty = 16_000 // len("## Steps\n") - 1
    assert f"({empty - 50} more of this kind.)" in found[-1].message
