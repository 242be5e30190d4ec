"""Conditions and actions of rules in words."""

import json
from collections.abc import Iterator, Sequence

from pydantic import Field, JsonValue

from cli.client.schemas import JsonObject, Record
from cli.ui.i18n import rules as messages
from cli.ui.output import Output

_INDENT = "  "


class ConditionRecord(Record):
    """A condition, or a group of them."""

    field: str = ""
    operator: str = ""
    value: JsonValue = None
    logic: str = "AND"
    negate: bool = False
    conditions: "list[ConditionRecord]" = Field(default_factory=lambda: [])  # noqa: PIE807 - typed by the field


class ActionRecord(Record):
    """An action of a rule."""

    type: str
    target: str | None = None
    params: JsonObject = Field(default_factory=dict)
    on_error: str = "continue"


def condition_lines(output: Output, conditions: Sequence[ConditionRecord], depth: int = 0) -> Iterator[str]:
    """Conditions, one a line, groups indented."""
    if not conditions and not depth:
        yield output.render(messages.NO_CONDITIONS)
    for place, condition in enumerate(conditions):
        logic = "" if place == 0 else f"{condition.logic} "
        beginning = f"{_INDENT * depth}{logic}"
        if condition.conditions:
            yield f"{beginning}{'NOT ' if condition.negate else ''}("
            yield from condition_lines(output, condition.conditions, depth + 1)
            yield f"{_INDENT * depth})"
        else:
            yield f"{beginning}{condition.field} {condition.operator} {_operand(condition)}".rstrip()


def _operand(condition: ConditionRecord) -> str:
    # Some operators need none.
    return "" if condition.value is None and "value" not in condition.model_fields_set else json_text(condition.value)


def action_lines(actions: Sequence[ActionRecord]) -> Iterator[str]:
    """Actions with their parameters, which follow indented."""
    for number, action in enumerate(actions, 1):
        target = f" {action.target}" if action.target else ""
        on_error = "" if action.on_error == "continue" else f" (on_error: {action.on_error})"
        yield f"{number}. {action.type}{target}{on_error}"
        yield from parameter_lines(action.params)


def parameter_lines(params: JsonObject) -> Iterator[str]:
    """Parameters, one a line; texts as they are."""
    for name, value in params.items():
        if value in (None, [], {}):
            continue
        text = value if isinstance(value, str) else json_text(value)
        yield f"   {name}: " + text.replace("\n", "\n" + " " * 6)


def json_text(value: JsonValue) -> str:
    """A value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False)
