"""Rules as requests give them and as answers show them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field, JsonValue

from api.http.responses import RequestModel, ResponseModel, Text
from core.auth.principal import Access
from core.json_access import as_list, as_object, as_text
from rules.access import RuleView
from rules.language.action_types import AnyAction
from rules.language.conditions.condition import ConditionNode, Conditions
from rules.language.definition import LONGEST_DESCRIPTION, LONGEST_NAME, MOST_COOLDOWN_MS, RuleDefinition, Trigger
from rules.models import EventDrop, EventDropReason, FiringStatus, RuleFiring

EXAMPLE: dict[str, Any] = {
    "name": "低血量警告",
    "description": "当玩家血量低于20%时发送警告",
    "trigger_config": {"event_type": "player_damage", "source_id": "9f1c7c1e-6f0a-4a53-8a57-1f3c5a0f6f10"},
    "conditions": [{"field": "player.health_percent", "operator": "<", "value": 20, "logic": "AND"}],
    "actions": [
        {
            "type": "mcp_call",
            "target": "chat_send_player",
            "params": {"playerName": "{{player.name}}", "message": "⚠️ 警告：你的血量低于20%！"},
            "on_error": "continue",
        }
    ],
    "cooldown": 10000,
    "enabled": True,
}
"""The rule of seed 002, section 10.3."""


class RuleBody(RuleDefinition, RequestModel):
    """A rule: when an event comes and the conditions hold, the actions are carried out as its owner."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [EXAMPLE]})


class RuleChangeBody(RequestModel):
    """What may be changed; what is left out stays. An empty ``cooldown_key`` removes it.

    With the ``version`` that was read, only if nobody changed the rule since.
    """

    name: Text | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    description: Text | None = Field(default=None, max_length=LONGEST_DESCRIPTION)
    trigger_config: Trigger | None = None
    conditions: Conditions | None = None
    actions: list[AnyAction] | None = None
    cooldown: int | None = Field(default=None, ge=0, le=MOST_COOLDOWN_MS)
    cooldown_key: Text | None = Field(default=None, max_length=1000)
    enabled: bool | None = None
    version: int | None = Field(default=None, ge=1)

    def changes(self) -> dict[str, JsonValue]:
        """The fields of the definition that are given."""
        changes: dict[str, JsonValue] = self.model_dump(mode="json", exclude_none=False, exclude={"version"})
        changes = {name: value for name, value in changes.items() if value is not None}
        if changes.get("cooldown_key") == "":
            changes["cooldown_key"] = None
        return changes


class RuleEnabledBody(RequestModel):
    """Whether a rule is switched on."""

    enabled: bool = Field(examples=[True])


class RuleItem(ResponseModel):
    """A rule in a list; ``due_at`` is the next time of a schedule.

    ``access`` says how far it is open to the caller: ``read`` to see and try it, ``write`` also to switch it, or ``owner``.
    """

    id: str
    owner_id: str
    owner_name: str
    access: Access
    source_name: str | None = Field(description="Of the trigger's source; null for none, or a deleted one")
    name: str
    description: str
    trigger_config: Trigger
    enabled: bool
    trigger_count: int
    last_triggered_at: datetime | None
    due_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


class RuleDetail(RuleItem):
    """A rule."""

    conditions: list[ConditionNode]
    actions: list[AnyAction]
    cooldown: int
    cooldown_key: str | None


class ConditionVerdict(ResponseModel):
    """What a condition came to; ``value`` is what it met as JSON, at most 500 characters, null where it is missing.

    ``expected`` is what that was compared with, as JSON too; null in entries of older versions.
    ``reason`` says why it does not hold, ``explanation`` the same as a sentence.
    """

    field: str
    operator: str
    holds: bool
    value: str | None
    expected: str | None = None
    reason: str | None
    explanation: str
    explanation_zh: str


class GroupVerdict(ResponseModel):
    """What a group of conditions came to."""

    holds: bool
    negate: bool
    conditions: "list[ConditionVerdict | GroupVerdict]"


Verdicts = list[ConditionVerdict | GroupVerdict]


class RuleLogAnswer(ResponseModel):
    """A rule at an event: the decision with each condition's verdict, and what its actions did.

    ``execution_time`` is in milliseconds. ``problem`` says why a key or a state could not be made. A result of
    an action that did not work has ``error`` and ``error_zh``; entries of older versions have no Chinese.
    """

    id: str
    event_id: str
    event_type: str
    event_source_id: str
    event_time: str
    event_data: JsonValue
    conditions_met: bool
    conditions: Verdicts
    problem: str
    problem_zh: str
    cooldown_key: str
    actions_result: list[JsonValue]
    status: FiringStatus
    rule_version: int
    execution_time: int
    executed_at: datetime


class EventDropAnswer(ResponseModel):
    """How many events of a source were dropped for a reason: ``too_large``, ``signature``, ``unusable``, ``backlog`` or
    ``rate``.

    ``undecidable`` ones were accepted, and no rule could be asked about them.
    """

    source_id: str
    reason: EventDropReason
    count: int
    last_at: datetime


def drop_answer(row: EventDrop) -> EventDropAnswer:
    """A number of dropped events."""
    return EventDropAnswer.model_validate(row.model_dump())


def rule_item(view: RuleView) -> RuleItem:
    """A rule as lists show it."""
    trigger: JsonValue = view.rule.definition.get("trigger_config")
    return RuleItem.model_validate({**_fields(view), "trigger_config": trigger})


def rule_detail(view: RuleView) -> RuleDetail:
    """A rule with all that it says."""
    return RuleDetail.model_validate({**_fields(view), **view.rule.definition})


def _fields(view: RuleView) -> Mapping[str, object]:
    names = {"owner_name": view.owner_name, "source_name": view.source_name}
    return {**view.rule.model_dump(), **names, "access": view.access}


def verdicts_of(trace: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Each condition's verdict, out of what a decision keeps."""
    return as_list(as_object(trace.get("conditions")).get("conditions"))


def log_answer(row: RuleFiring) -> RuleLogAnswer:
    """An entry of a rule's log."""
    event, trace = row.event, as_object(row.trace)
    return RuleLogAnswer.model_validate(
        {
            **row.model_dump(),
            "event_id": as_text(event.get("id")),
            "event_type": as_text(event.get("type")),
            "event_source_id": as_text(event.get("source_id")),
            "event_time": as_text(event.get("time")),
            "event_data": event.get("data"),
            "conditions": verdicts_of(trace),
            "problem": as_text(trace.get("problem")),
            "problem_zh": as_text(trace.get("problem_zh")),
            "cooldown_key": row.key,
        }
    )
