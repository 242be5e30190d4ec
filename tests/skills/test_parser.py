"""The parser on any bytes: a report always, and a true one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.parser.headings import STRONG
from skills.parser.source import apply_edits, read
from skills.schema import SkillFormat, SkillReport

_PIECES = st.sampled_from(
    (
        *("---\n", "# SKILL: x\n", "## 步骤\n", "## Inputs\n", "- `a` (int, default: x): y\n"),
        *("{{a}}", "1. ", "| a | b |\n|---|---|\n", "```\n", "\r", "\r\n", "\ufeff", "name: x\n"),
        *("description: [a, &b\n", "<!-- ", "\n\n", "**", "`", "(", "）", "：", "|", "\\|", "\t"),
        *("    ", "- [", "> ", "### 步骤 3：", "工具：`x`", "## Tools\n", "\n# B\n", "\n## C\n"),
        *(f"\n## {names[0]}\n\n" for names in STRONG.values()),
    )
)
_TEXTS = st.lists(_PIECES | st.text(max_size=6), max_size=40).map("".join)


@given(st.binary(max_size=400))
def test_any_bytes_give_a_report(content: bytes):
    assert isinstance(lint(content, LintContext(known_tools=["a"])), SkillReport)


@given(_TEXTS)
def test_any_text_of_the_grammars_own_pieces_gives_a_report(text: str):
    report = lint(text.encode("utf-8", "replace"))

    assert report.parsed is None or report.parsed.format in SkillFormat


@given(_TEXTS)
def test_every_character_is_found_again_at_its_line_and_column(text: str):
    content = text.encode("utf-8", "replace")
    source = read(content)
    if isinstance(source, Finding):
        return

    for number, line in enumerate(source.lines, start=1):
        start, end = source.offset(number), source.offset(number, len(line) + 1)
        assert content[start:end].decode() == line
        assert content[end : end + 1] in (b"", b"\r", b"\n")
    assert source.offset(len(source.lines) + 1) == len(content)


@given(_TEXTS)
def test_every_finding_has_a_place_in_the_file_and_every_mend_applies(text: str):
    content = text.encode("utf-8", "replace")
    lines = len(re.split(rb"\r\n?|\n", content))

    for found in lint(content, LintContext(known_tools=["a"], folder="a", files=["SKILL.md"])).diagnostics:
        assert 1 <= found.line <= found.end_line <= lines
        assert found.column >= 1
        if found.fix:
            assert apply_edits(content, found.fix.edits) != content


@given(_TEXTS)
def test_preamble_and_sections_tile_the_file(text: str):
    content = text.encode("utf-8", "replace")
    parsed = lint(content).parsed
    if parsed is None or not parsed.sections:
        return

    ends = [section.end for section in parsed.sections]
    starts = [section.start for section in parsed.sections]
    assert starts[1:] == ends[:-1]
    assert ends[-1] == len(content)
