"""Conditions and groups of conditions as a person writes them."""

from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag, ValidationInfo, field_validator

from core.types.errors import FieldValueError
from core.types.strict import StrictJsonModel
from rules.language.conditions.operators import OPERATORS, OperatorName
from rules.language.conditions.paths import PathText, parse_path
from rules.language.errors import InvalidOperand

MOST_CONDITIONS = 50
MOST_DEPTH = 5

Logic = Literal["AND", "OR"]
_LOGIC_WORDS = "How it is joined with what stands before it; AND binds tighter than OR, and the first one's is ignored."


class Condition(StrictJsonModel):
    """A comparison of a value in the event."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: PathText = Field(description="A path into the event's data, such as player.name.")
    operator: OperatorName
    value: JsonValue = Field(default=None, validate_default=True, description="What the value is compared with.")
    logic: Logic = Field(default="AND", description=_LOGIC_WORDS)

    @field_validator("operator")
    @classmethod
    def _check_changed_path(cls, operator: OperatorName, info: ValidationInfo) -> OperatorName:
        path = info.data.get("field")
        if operator is OperatorName.CHANGED and path is not None and parse_path(path).root:
            raise InvalidOperand(
                "changed compares the event's data only; use a path such as player.name",
                "changed 只比较事件数据；请使用例如 player.name 的路径",
            )
        return operator

    @field_validator("value")
    @classmethod
    def _check_value(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        operator = info.data.get("operator")
        if operator is not None:
            OPERATORS[operator].prepare(value)
        return value


class ConditionGroup(StrictJsonModel):
    """Conditions in brackets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conditions: "list[ConditionNode]" = Field(min_length=1, max_length=MOST_CONDITIONS)
    logic: Logic = Field(default="AND", description=_LOGIC_WORDS)
    negate: bool = Field(default=False, description="Whether the group is true where its conditions are not.")


def _is_group(value: object) -> str:
    if isinstance(value, Mapping):
        return "group" if "conditions" in value else "condition"
    return "group" if isinstance(value, ConditionGroup) else "condition"


ConditionNode = Annotated[
    Annotated[Condition, Tag("condition")] | Annotated[ConditionGroup, Tag("group")], Discriminator(_is_group)
]
"""A condition or a group: what has ``conditions`` is a group."""


def _check_bounds(value: object) -> object:
    """Refuse trees that are too large before anything else reads them."""
    count, level, depth = 0, _children(value), 1
    while level:
        inner: list[object] = []
        for node in level:
            children = _children(cast(Mapping[str, object], node).get("conditions")) if _is_object(node) else []
            count += not children
            inner += children
            if count + len(inner) > 2 * MOST_CONDITIONS:
                break
        if count > MOST_CONDITIONS:
            words = f"A rule has at most {MOST_CONDITIONS} conditions, those in groups included"
            raise FieldValueError(words, f"规则最多 {MOST_CONDITIONS} 个条件（包括组内的条件）")
        depth += 1
        if inner and depth > MOST_DEPTH + 1:
            words = f"Groups of conditions are nested at most {MOST_DEPTH} levels deep"
            raise FieldValueError(words, f"条件组最多嵌套 {MOST_DEPTH} 层")
        level = inner
    return value


def _is_object(node: object) -> bool:
    return isinstance(node, Mapping)


def _children(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


ConditionGroup.model_rebuild()
Conditions = Annotated[list[ConditionNode], BeforeValidator(_check_bounds), Field(max_length=MOST_CONDITIONS)]
"""The conditions of a rule: at most 50 in all, in groups at most 5 levels deep."""
