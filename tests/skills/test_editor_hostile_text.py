"""The skill editor with hostile texts: read back as meant, or refused by name."""

import dataclasses
from collections.abc import Callable
from itertools import takewhile
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors.requests import SkillNotEditable
from skills.editor import fields as field_editor
from skills.editor import render, roundtrip
from skills.lint.linter import lint
from skills.schema import Example, Param, ParsedSkill, SkillFormat, Step

_PIECES = (
    *("---", "***", "## b", "### c", "# d", " #", "#", "===", "- ", "* ", "1. ", "3) ", "> ", "|"),
    *("- default: 3", "- 必填: 否", "default: x", "min 3", "```", "~~~", "`", "``", "**", "__"),
    *("<!--", "-->", "<b>", "[a]: http://x", "![x](y)", "\\", "\\#", "{{x}}", "Tool: `t`"),
    *(
        "使用工具：`t`",
        "Condition: y",
        "条件：y",
        "Input: i",
        "输出：o",
        "none",
        "无",
        "-",
        ":",
        "：",
    ),
    *(
        ",",
        "、",
        "(",
        ")",
        '"',
        "'",
        "\n",
        "\n\n",
        "\n    ",
        "\t",
        " ",
        "  \n",
        "\r",
        "\x85",
        "\u2028",
    ),
    *(
        "\u00a0",
        "\ufeff",
        "\x00",
        "\ud800",
        "a",
        "b",
        "描述",
        "## 描述",
        "SKILL: x",
        "[",
        "1",
        "true",
    ),
)
_NASTY = st.lists(st.sampled_from(_PIECES), max_size=5).map("".join)
_WORDS = st.sampled_from(["a", "Reads files.", "写日报", "a b, c"])
_TEXT = st.one_of(_WORDS, _NASTY, st.text(max_size=8))
_TEXTS = st.lists(_TEXT, max_size=3).map(tuple)
_OR_NONE = st.none() | _TEXT
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=3,
)
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "enum", "date", "file", "x")
_PARAMS = st.builds(
    Param,
    name=st.sampled_from(["p", "q", "输入"]) | _TEXT,
    type=st.sampled_from(_TYPES),
    required=st.booleans(),
    line=st.just(0),
    default=_ANY,
    description=_TEXT,
    enum=st.none() | st.lists(_ANY, min_size=1, max_size=3).map(tuple),
    items=st.none() | st.sampled_from(["string", "integer", "x"]),
    example=_ANY,
    min=st.none() | st.floats() | st.integers(),
    max=st.none() | st.integers(),
    pattern=st.none() | st.sampled_from(["[", "a`b", "\\`", "x{2,}", '"', "a" * 129]) | _TEXT,
)
_STEPS = st.builds(
    Step,
    index=st.just(0),
    title=st.none() | _TEXT,
    instruction=_TEXT,
    line=st.just(0),
    end_line=st.just(0),
    tools=_TEXTS | st.just(("t",)),
    condition=_OR_NONE,
)
_EXAMPLES = st.builds(Example, text=_TEXT, title=_OR_NONE, input=_OR_NONE, output=_OR_NONE)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": _TEXT,
    "description": _TEXT,
    "trigger_conditions": _TEXTS,
    "not_for": _TEXTS,
    "input_params": st.lists(_PARAMS, max_size=2).map(tuple),
    "steps": st.lists(_STEPS, max_size=3).map(tuple),
    "outputs": _TEXTS,
    "examples": st.lists(_EXAMPLES, max_size=2).map(tuple),
    "constraints": _TEXTS,
    "tools": st.none() | _TEXTS,
    "metadata": st.dictionaries(st.sampled_from(["category", "a:b", "版本"]) | _TEXT, _TEXT, max_size=2),
}
_Written = TypeVar("_Written", str, bytes)
_PLAIN = ParsedSkill("n", "d", SkillFormat.NATIVE, "", "", "", 0)
_CHANGES = st.sampled_from(sorted(_VALUES)).flatmap(lambda field: st.tuples(st.just(field), _VALUES[field]))


@st.composite
def _models(draw: st.DrawFn) -> ParsedSkill:
    """A plain model with a few hostile fields: with all of them hostile nearly none could be written."""
    fields = draw(st.sets(st.sampled_from(sorted(_VALUES)), min_size=1, max_size=3))
    return dataclasses.replace(_PLAIN, **{field: draw(_VALUES[field]) for field in sorted(fields)})


def _said(content: bytes) -> dict[str, Any]:
    parsed = lint(content).parsed
    assert parsed is not None
    return roundtrip.field_values(parsed)


def _tried(write: Callable[[], _Written]) -> tuple[_Written | None, str]:
    """What was written, or else which field was refused."""
    try:
        return write(), ""
    except SkillNotEditable as refused:
        return None, str(refused.details["field"]).partition(".")[0]


@settings(max_examples=250, deadline=None)
@given(_models())
def test_a_model_is_written_so_that_it_reads_back_or_refused_by_the_name_of_a_field(
    model: ParsedSkill,
):
    values = roundtrip.field_values(model)
    text, refused = _tried(lambda: render.render(model))
    if text is None:
        assert values[refused] != getattr(_PLAIN, refused)
        return
    chinese = render.is_chinese(model.name + model.description)
    assert _said(text.encode()) == {
        key: render.complete_value(key, value, chinese=chinese) for key, value in values.items()
    }


_NATIVE = (
    "# SKILL: a #\r\n\r\n## Description\r\nReads. Use when asked.\r\n\r\n## Mystery\r\n{odd}\r\n\r\n"
    "## Steps\r\n3. x\r\n   y\r\n\r\n## Tags\r\n- t\r\n\r\n## Metadata\r\n- author: me\r\n"
)
_FREE = (
    "---\nname: a\ndescription: >\n  Reads.\nlicense: MIT # short\nmetadata:\n  x: 1\n  # kept\n"
    "  y: two\n---\n\n# A\n\n{odd}\n\n## Mystery\n\ntext\n"
)
_HYBRID = _FREE.replace("# A\n", "# SKILL: A\n") + "\n## 约束\n- 一\n\n## Version\n3\n"
_FLOW = "---\n{name: a, description: b, metadata: {x: 1, y: 2}, z: 3}\n---\n\n# A\n\n{odd}\n"
_ODD = st.lists(st.sampled_from([piece for piece in _PIECES if piece not in {"\x00", "\ud800"}]), max_size=4)


@settings(max_examples=250, deadline=None)
@given(st.sampled_from([_NATIVE, _FREE, _HYBRID, _FLOW]), _ODD.map("".join), _CHANGES)
def test_an_edit_changes_its_field_and_nothing_else_or_is_refused_by_name(file: str, odd: str, change: tuple[Any, Any]):
    content = file.replace("{odd}", odd).encode()
    field, value = change
    before = _said(content)
    edited, refused = _tried(lambda: field_editor.edit_fields(content, {field: value}))
    if edited is None:
        assert refused == field
        return
    after = _said(edited)
    wanted = roundtrip.without_places(field, value)
    said = [render.complete_value(field, wanted, chinese=chinese) for chinese in (False, True)]
    assert after.pop(field) in said
    del before[field]
    assert after == before
    assert _is_in_place(content, edited, field)


def _is_in_place(content: bytes, edited: bytes, field: str) -> bool:
    """Whether all bytes outside of the field's sections, the title and the frontmatter are the same."""
    parsed = lint(content).parsed
    assert parsed is not None
    keys = {field, "title"} if field == "name" else {field}
    spans = [(section.start, section.end) for section in parsed.sections if section.key in keys]
    above = content.find(b"\n---\n")
    if field in {"name", "description", "tools", "metadata"} and above > 0:
        spans.append((0, above + 1))
    same = takewhile(lambda pair: pair[0] == pair[1], zip(content, edited, strict=False))
    if edited.endswith(content[len(list(same)) :]):
        # Something was only put in between.
        return True
    starts, ends = zip(*spans, strict=True)
    before, behind = content[: min(starts)], content[max(ends) :]
    return edited.startswith(before) and edited.endswith(behind)


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("description", "a\n\n## b", "description"),
        ("description", "```\nopen", "description"),
        ("constraints", ("a", "none"), "constraints.1"),
        ("steps", (Step(1, "x\ny", "z", 0, 0),), "steps.0.title"),
        ("examples", (Example("a"), Example("b\n\n### c")), "examples.1.text"),
        ("metadata", {"b": "c", "a:b": "c"}, "metadata.a:b"),
        ("metadata", {"a": ""}, "metadata.a"),
        ("input_params", (Param("p", "string", True, 0, pattern="["),), "input_params.0.pattern"),
        (
            "input_params",
            (Param("p", "string", True, 0, description="x\n- default: 3"),),
            "input_params.0.description",
        ),
    ],
)
def test_what_can_not_be_written_is_refused_by_its_part(field: Any, value: Any, part: str):
    model = (
        dataclasses.replace(_PLAIN, **{field: value}, constraints=("x",))
        if (field != "constraints")
        else dataclasses.replace(_PLAIN, constraints=value)
    )
    with pytest.raises(SkillNotEditable) as refused:
        render.render(model)
    assert refused.value.details["field"] == part
    content = b"# SKILL: n\n\n## Rules\n- x\n"
    with pytest.raises(SkillNotEditable) as refused:
        field_editor.edit_fields(content, {field: value})
    assert refused.value.details["field"] == part


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("name", "C #", "# SKILL: C # #\n"),
        ("constraints", ("---", "***", "b"), "\n* ---\n- ***\n- b\n"),
        ("steps", (Step(1, None, "### x\n\ny", 0, 0),), "\n1. ### x\n\n   y\n"),
        ("steps", (Step(1, "T", "do", 0, 0, ("t",), "x"),), "\ndo\n\nCondition: x\n\nTool: `t`\n"),
        (
            "examples",
            (Example("", "T #", "i", "o"),),
            "### Example 1: T # #\n\nInput: i\n\nOutput: o",
        ),
        ("input_params", (Param("p", "string", True, 0, pattern="a`"),), 'pattern: "a`")'),
    ],
)
def test_what_markdown_can_say_otherwise_is_written_so(field: Any, value: Any, line: str):
    text = render.render(dataclasses.replace(_PLAIN, **{field: value}))
    assert line in text
    assert line in field_editor.edit_fields(b"# SKILL: n\n", {field: value}).decode()


def test_what_spills_into_other_sections_is_refused_by_its_own_part():
    steps = (Step(1, "a ", "x", 0, 0), Step(2, None, "## Description\n\ny", 0, 0))

    with pytest.raises(SkillNotEditable) as refused:
        render.render(dataclasses.replace(_PLAIN, steps=steps))

    assert str(refused.value.details["field"]).startswith("steps.")


def test_pairs_of_metadata_are_changed_where_they_stand():
    content = _HYBRID.replace("{odd}", "text").encode()
    wanted = {"license": "MIT", "x": "2", "y": "two", "version": "4", "new": "n"}

    edited = field_editor.edit_fields(content, {"metadata": wanted}).decode()

    assert edited == (
        "---\nname: a\ndescription: >\n  Reads.\nlicense: MIT # short\nmetadata:\n"
        '  x: "2"\n  # kept\n  y: two\n  new: "n"\n---\n\n# SKILL: A\n\ntext\n\n## Mystery\n\n'
        "text\n\n## 约束\n- 一\n\n## Version\n4\n"
    )
    without = field_editor.edit_fields(edited.encode(), {"metadata": {"y": "two"}}).decode()
    assert "license" not in without
    assert "## Version" not in without
    assert "metadata:\n  # kept\n  y: two\n---" in without
    assert "metadata" not in field_editor.edit_fields(without.encode(), {"metadata": {}}).decode()


def test_what_was_read_and_is_sent_back_changes_nothing():
    for file in (
        _NATIVE,
        _FREE,
        _HYBRID,
        _FLOW,
        "# SKILL: a\n\n## Description\nUse when asked twice.\n",
    ):
        content = file.replace("{odd}", "odd").encode()
        parsed = lint(content).parsed
        assert parsed is not None
        everything: Any = {field: getattr(parsed, field) for field in field_editor.FIELDS}

        assert field_editor.edit_fields(content, everything) == content
