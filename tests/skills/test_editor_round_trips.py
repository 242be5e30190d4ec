"""Round trips of the skill editor: a rendered skill reads back, an edit changes its field alone."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors.requests import UnreadableSkill
from skills.editor import fields as field_editor
from skills.editor import render, roundtrip
from skills.lint.autofix import autofix
from skills.lint.linter import lint
from skills.schema import Example, Param, ParsedSkill, SkillFormat, Step
from skills.slugs import slugify

_WORDS = st.from_regex(r"[A-Za-z\u4e00-\u9fa5][\w\u4e00-\u9fa5 ,，。'()/\"{}-]{0,30}[\w\u4e00-\u9fa5]", fullmatch=True)
_LINES = st.lists(_WORDS.filter(lambda text: "\n" not in text), min_size=1, max_size=3)
_NAMES = st.from_regex(r"[A-Za-z_\u4e00-\u9fa5][\w.-]{0,12}", fullmatch=True)
_PLAIN = _WORDS.filter(lambda text: text.lower().strip() not in {"none", "nothing", "null"})
_TEXTS = st.lists(_PLAIN, max_size=3).map(tuple)


def _params(name: str) -> st.SearchStrategy[Param]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "string": _PLAIN,
        "integer": st.integers(-(10**9), 10**9),
        "number": st.floats(allow_nan=False, allow_infinity=False, width=32),
        "boolean": st.booleans(),
        "array": st.lists(_PLAIN, max_size=3),
        "object": st.dictionaries(_NAMES, st.integers() | _PLAIN, max_size=2).map(_small),
        "date": st.dates().map(str),
    }

    def build(kind: str) -> st.SearchStrategy[Param]:
        value = st.none() | values[kind]
        bound = st.none() | st.integers(-1000, 1000)
        return st.builds(
            Param,
            name=st.just(name),
            type=st.just(kind),
            required=st.booleans(),
            line=st.just(0),
            default=value,
            description=st.just("") | _PLAIN,
            enum=st.none()
            if kind in {"array", "object", "boolean"}
            else st.none() | st.lists(values[kind], min_size=1, max_size=3).map(tuple),
            items=st.just("string") if kind == "array" else st.none(),
            example=value,
            min=bound,
            max=bound,
            pattern=st.sampled_from([None, "^[a-z,;]+$", r"\d{3}(-\d+)?"]),
        )

    return st.sampled_from(sorted(values)).flatmap(build)


def _small(value: dict[str, Any]) -> dict[str, Any]:
    return {key: member % 2**31 if isinstance(member, int) else member for key, member in value.items()}


_STEPS = st.lists(
    st.builds(
        lambda title, lines, tool, condition: (title, lines, tool, condition),
        st.none() | _PLAIN,
        _LINES,
        st.none() | _NAMES,
        st.none() | _PLAIN,
    ),
    max_size=4,
).map(
    lambda parts: tuple(
        Step(
            index=index,
            title=title,
            instruction="\n\n".join(
                [
                    *lines,
                    *([f"Condition: {condition}"] if condition else []),
                    *([f"Tool: `{tool}`"] if tool else []),
                ]
            ),
            line=0,
            end_line=0,
            tools=(tool,) if tool else (),
            condition=condition,
        )
        for index, (title, lines, tool, condition) in enumerate(parts, start=1)
    )
)


@st.composite
def _models(draw: st.DrawFn) -> ParsedSkill:
    names = draw(st.lists(_NAMES, unique=True, max_size=3))
    name = draw(_PLAIN)
    examples = st.builds(Example, text=_LINES.map("\n\n".join), title=st.none() | _PLAIN)
    return ParsedSkill(
        name=name,
        description=draw(_LINES.map("\n".join)),
        format=SkillFormat.NATIVE,
        slug=slugify(name),
        body="",
        content_sha256="",
        token_estimate=0,
        trigger_conditions=draw(_TEXTS.filter(bool)),
        input_params=tuple(draw(_params(name)) for name in names),
        steps=draw(_STEPS),
        outputs=draw(_TEXTS),
        examples=draw(st.lists(examples, max_size=2).map(tuple)),
        constraints=draw(_TEXTS),
        not_for=draw(_TEXTS),
        tools=draw(st.none() | st.lists(_NAMES, unique=True, max_size=3).map(tuple)),
        metadata=draw(st.dictionaries(st.sampled_from(["category", "tags", "author"]), _PLAIN)),
    )


def _said(model: ParsedSkill | None) -> dict[str, Any]:
    assert model is not None
    return roundtrip.field_values(model)


@settings(max_examples=60, deadline=None)
@given(_models())
def test_a_rendered_model_reads_back_as_itself(model: ParsedSkill):
    assert _said(lint(render.render(model).encode()).parsed) == _said(model)


@settings(max_examples=60, deadline=None)
@given(
    _models(),
    _models(),
    st.sampled_from(roundtrip.ORDER),
    st.booleans(),
)
def test_an_edit_of_a_field_changes_it_and_nothing_else(
    model: ParsedSkill, other: ParsedSkill, field: Any, windows: bool
):
    text = render.render(model)
    content = text.replace("\n", "\r\n").encode() if windows else text.encode()
    value = getattr(other, field)

    edited = field_editor.edit_fields(content, {field: value})

    changed = _said(dataclasses.replace(model, **{field: value}))
    assert _said(lint(edited).parsed) == changed
    if windows:
        assert edited.count(b"\n") == edited.count(b"\r\n")


@settings(max_examples=25, deadline=None)
@given(_models(), _models(), st.sampled_from(roundtrip.ORDER))
def test_an_edit_leaves_all_bytes_outside_of_the_sections_place_alone(
    model: ParsedSkill, other: ParsedSkill, field: Any
):
    content = render.render(model).encode()
    parsed = lint(content).parsed
    assert parsed is not None

    edited = field_editor.edit_fields(content, {field: getattr(other, field)})

    sections = [section for section in parsed.sections if section.key == field]
    if sections:
        start, end = sections[0].start, sections[0].end
        assert edited.startswith(content[:start])
        assert edited.endswith(content[end:])
    else:
        place = next(
            (at for at, pair in enumerate(zip(content, edited, strict=False)) if pair[0] != pair[1]),
            len(content),
        )
        kept = content[place:]
        assert edited.endswith(kept)


def test_an_edit_keeps_what_the_grammar_does_not_know():
    content = b"# SKILL: a\r\n\r\n## Mystery\r\nkept  \r\n\r\n## Steps\r\n* odd\r\n<!-- c -->\r\n"

    edited = field_editor.edit_fields(content, {"description": "New."})

    assert edited == content.replace(b"## Mystery", b"## Description\r\n\r\nNew.\r\n\r\n## Mystery")


def test_an_edit_of_a_doubled_section_leaves_one_of_them():
    content = b"# SKILL: a\n\n## Output\n- x\n\n## Rules\n- r\n\n## Results\n- y\n"

    edited = field_editor.edit_fields(content, {"outputs": ("z",)})

    assert edited == b"# SKILL: a\n\n## Output\n- z\n\n## Rules\n- r\n\n"


def test_the_name_and_description_of_a_free_document_are_changed_where_they_stand():
    content = b"---\nname: pdf\ndescription: >\n  Old\n  text.\nlicense: MIT\n---\n# PDF\n\nText.\n"

    edited = field_editor.edit_fields(field_editor.edit_fields(content, {"name": "PDFs"}), {"description": 'A "b".'})

    assert edited == b'---\nname: "PDFs"\ndescription: "A \\"b\\"."\nlicense: MIT\n---\n# PDF\n\nText.\n'


def test_a_field_of_a_file_that_is_no_text_is_refused():
    with pytest.raises(UnreadableSkill) as refused:
        field_editor.edit_fields(b"\xff", {"name": "x"})

    assert refused.value.details["field"] == "content"


def test_mends_of_one_place_are_applied_one_after_the_other_and_equal_ones_once():
    content = b"# SKILL: a\n\n## Workflw\n1. x\n3. y\n5. z\n"

    def report(found: bytes):
        return lint(found)

    mended = autofix(content, report, lambda found, _: found)

    assert mended.content.startswith(b"# SKILL: a\n\n## Workflow\n1. x\n2. y\n3. z\n")
    # The numbers are only looked at where a heading says that there are steps.
    assert mended.codes[0] == "SK020"
    assert mended.codes.count("SK045") == 2
    assert [diagnostic.code for diagnostic in mended.left] == [
        diagnostic.code for diagnostic in lint(mended.content).diagnostics
    ]
    one_round = autofix(content, report, lambda found, number: found if number == 0 else ())
    assert b"## Workflow\n1. x\n3. y" in one_round.content
