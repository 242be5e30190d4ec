"""Edits of single items of a skill's sections: what the form does not know stays where it is."""

import dataclasses
from difflib import unified_diff

from skills.diagnostics import Finding
from skills.editor.fields import edit_fields
from skills.parser.parse import parse
from skills.schema import ParsedSkill, Step

TEXT = """# SKILL: Bees

## Description

Counts bees. Use when somebody asks how many.

## When to use

- count the bees
- how many bees <!-- asked in spring -->

<!-- The next are from the survey. -->

- the hive is loud

## Inputs

Asked by the beekeeper.

| name | type | team | description |
|---|---|---|---|
| hive | string | core | which one |
| day | date | field | when |

After the table.

## Steps

Do these in order:

1. **Open**: Lift the lid.
   <!-- with gloves -->
2. **Count**: Look at {{hive}}.
3. **Close**: Put it back.

## Rules

* Be calm
* Wear white
"""


def read(text: str) -> ParsedSkill:
    draft = parse(text.encode())
    assert not isinstance(draft, Finding)
    return draft.model


def changed_lines(field: str, value: object) -> list[str]:
    """The lines that an edit takes out and puts in, with ``-`` and ``+`` before them."""
    after = edit_fields(TEXT.encode(), {field: value}).decode()  # type: ignore[dict-item]
    lines = unified_diff(TEXT.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


MODEL = read(TEXT)


def test_changed_item_leaves_its_neighbours_and_remarks():
    triggers = MODEL.trigger_conditions
    assert changed_lines("trigger_conditions", ("count all bees", *triggers[1:])) == [
        "-- count the bees",
        "+- count all bees",
    ]
    assert changed_lines("constraints", (*MODEL.constraints, "Ask first")) == ["+* Ask first"]


def test_changed_step_leaves_words_before_the_steps_and_the_others():
    first, second, third = MODEL.steps
    assert changed_lines("steps", (first, dataclasses.replace(second, title="Count twice"), third)) == [
        "-2. **Count**: Look at {{hive}}.",
        "+2. **Count twice**: Look at {{hive}}.",
    ]


def test_steps_that_come_and_go_are_counted_anew():
    first, second, third = MODEL.steps
    new = Step(0, "Wait", "An hour.", 0, 0)
    more = edit_fields(TEXT.encode(), {"steps": (first, new, second, third)}).decode()
    assert "Do these in order:\n\n1. **Open**: Lift the lid.\n   <!-- with gloves -->\n2. **Wait**: An hour.\n" in more
    assert "3. **Count**: Look at {{hive}}.\n4. **Close**: Put it back.\n\n## Rules" in more
    left = edit_fields(TEXT.encode(), {"steps": (second, third)}).decode()
    assert "1. **Count**: Look at {{hive}}.\n2. **Close**: Put it back.\n" in left


def test_row_of_a_table_keeps_the_columns_that_no_input_has():
    hive, day = MODEL.input_params
    assert changed_lines("input_params", (dataclasses.replace(hive, description="which hive"), day)) == [
        "-| hive | string | core | which one |",
        "+| hive | string | core | which hive |",
    ]
    added = dataclasses.replace(day, name="until")
    assert changed_lines("input_params", (hive, day, added)) == ["+| `until` | date |  | when |"]


def test_section_is_written_anew_where_its_form_can_not_say_the_value():
    hive, day = MODEL.input_params
    after = edit_fields(TEXT.encode(), {"input_params": (dataclasses.replace(hive, default="a", required=False), day)})
    assert read(after.decode()).input_params[0].default == "a"
