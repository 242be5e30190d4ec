"""Differences between two versions of a skill."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills.diff.semantic import compare_skills, compare_text
from skills.schema import Param, ParsedSkill, SkillFormat, Step

_SKILL = ParsedSkill(
    name="Review",
    description="Reviews code.",
    format=SkillFormat.NATIVE,
    slug="review",
    body="",
    content_sha256="",
    token_estimate=1,
)
_PATH = Param(name="path", type="string", required=False, line=5)


def _steps(*texts: str) -> tuple[Step, ...]:
    places = count(1)
    return tuple(
        Step(index=index, title=text[:1], instruction=text, line=index, end_line=index)
        for text, index in zip(texts, places, strict=False)
    )


def _breaks(before: Param, after: Param) -> tuple[str, ...]:
    difference = compare_skills(replace(_SKILL, input_params=(before,)), replace(_SKILL, input_params=(after,)))
    reasons = tuple(reason for change in difference.params_changed for reason in change.breaking)
    assert difference.breaking is bool(reasons)
    return reasons


def test_a_skill_does_not_differ_from_itself():
    difference = compare_skills(_SKILL, _SKILL)
    assert difference.is_empty
    assert not difference.breaking


def test_a_parameter_that_only_moved_is_no_change():
    before, after = (replace(_SKILL, input_params=(replace(_PATH, line=n),)) for n in (5, 9))
    assert compare_skills(before, after).is_empty


@pytest.mark.parametrize(
    ("after", "reasons"),
    [
        (replace(_PATH, description="Where"), ()),
        (replace(_PATH, required=True), ("required",)),
        (replace(_PATH, type="integer"), ("retyped",)),
        (replace(_PATH, type="enum", enum=("a", "b")), ("retyped", "narrowed")),
        (replace(_PATH, pattern="^a"), ("narrowed",)),
        (replace(_PATH, max=10), ("narrowed",)),
        (replace(_PATH, min=1), ("narrowed",)),
        (replace(_PATH, default="x"), ()),
    ],
)
def test_a_changed_parameter_breaks_callers_when_right_inputs_may_be_refused(after: Param, reasons: tuple[str, ...]):
    assert _breaks(_PATH, after) == reasons


def test_a_parameter_that_takes_more_than_before_breaks_nobody():
    assert _breaks(replace(_PATH, type="integer"), replace(_PATH, type="number")) == ()
    assert _breaks(replace(_PATH, enum=("a",)), replace(_PATH, enum=("a", "b"))) == ()
    assert _breaks(replace(_PATH, required=True), _PATH) == ()
    assert _breaks(replace(_PATH, max=5), replace(_PATH, max=9)) == ()


def test_a_removed_parameter_breaks_and_an_added_one_only_when_it_is_required():
    with_path = replace(_SKILL, input_params=(_PATH,))
    needed = replace(_SKILL, input_params=(replace(_PATH, required=True),))
    assert compare_skills(with_path, _SKILL).breaking
    assert compare_skills(with_path, _SKILL).params_removed == (_PATH,)
    assert not compare_skills(_SKILL, with_path).breaking
    assert compare_skills(_SKILL, needed).breaking


@pytest.mark.parametrize(
    ("before", "after", "widens"),
    [
        (("a",), ("a", "b"), True),
        (("a", "b"), ("a",), False),
        (("a",), None, True),
        (None, ("a",), False),
        (None, None, False),
        ((), ("a",), True),
        (("a",), (), False),
    ],
)
def test_tools_are_widened_when_the_skill_may_use_one_that_it_might_not_before(
    before: tuple[str, ...] | None, after: tuple[str, ...] | None, widens: bool
):
    difference = compare_skills(replace(_SKILL, tools=before), replace(_SKILL, tools=after))
    assert difference.widens_tools is difference.breaking is widens
    assert difference.is_empty is (before == after)


def test_texts_and_lists_are_compared():
    after = replace(_SKILL, description="New.", trigger_conditions=("x",), not_for=("y",), constraints=("z",))
    difference = compare_skills(_SKILL, after)
    assert difference.values["description"].after == "New."
    assert set(difference.values) == {"description"}
    assert {key: change.added for key, change in difference.lists.items()} == {
        "trigger_conditions": ("x",),
        "not_for": ("y",),
        "constraints": ("z",),
    }
    assert not difference.breaking


def test_a_step_put_in_front_changes_no_other_step():
    before = replace(_SKILL, steps=_steps("Read it", "Judge it", "Write it"))
    after = replace(_SKILL, steps=_steps("Ask", "Read it", "Judge it", "Write it"))
    (change,) = compare_skills(before, after).steps
    assert change.before is None
    assert change.after is not None
    assert change.after.instruction == "Ask"


def test_steps_that_changed_places_or_words_or_went_are_named():
    before = replace(_SKILL, steps=_steps("Read it", "Judge it", "Write it", "Xylophone"))
    after = replace(_SKILL, steps=_steps("Judge it", "Read it", "Write all of it"))
    moved, reworded, gone = compare_skills(before, after).steps
    assert (moved.fields, moved.after and moved.after.instruction) == (("index",), "Read it")
    assert reworded.fields == ("instruction",)
    assert (gone.before and gone.before.instruction, gone.after) == ("Xylophone", None)


def test_a_text_diff_has_the_changed_lines_and_three_around():
    before = "".join(f"{number}\n" for number in range(20)).encode()
    after = before.replace(b"10\n", b"ten\n")
    assert compare_text(before, after, ("v1", "v2")) == (
        "--- v1\n+++ v2\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_missing_last_line_end_is_said():
    assert compare_text(b"a", b"a\n").endswith("-a\n\\ No newline at end of file\n+a\n")


_LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\u2028\n", "d\r\n", "\n"]), max_size=30)


@given(_LINES, _LINES)
def test_applying_a_text_diff_to_the_old_bytes_gives_the_new_ones(old: list[str], new: list[str]):
    before, after = "".join(old).encode(), "".join(new).encode()
    assert _applied(before, compare_text(before, after)) == after


def test_large_files_are_compared_in_one_hunk():
    before = b"".join(f"{number}\n".encode() for number in range(9000))
    after = before.replace(b"\n4000\n", b"\n4000\nx\n").replace(b"\n5000\n", b"\n")
    diff = compare_text(before, after)
    assert diff.count("@@") == 2
    assert _applied(before, diff) == after


def _applied(before: bytes, diff: str) -> bytes:
    lines = before.decode().split("\n")
    lines = [f"{line}\n" for line in lines[:-1]]
    result: list[str] = []
    place = 0
    for line in diff.split("\n")[2:-1]:
        if line.startswith("@@"):
            first, length = (
                map(int, line.split()[1][1:].split(",")) if "," in line.split()[1] else (int(line.split()[1][1:]), 1)
            )
            start = first - 1 if length else first
            result.extend(lines[place:start])
            place = start
        elif line.startswith("+"):
            result.append(f"{line[1:]}\n")
        else:
            assert lines[place] == f"{line[1:]}\n"
            if line.startswith(" "):
                result.append(lines[place])
            place += 1
    return "".join([*result, *lines[place:]]).encode()
