"""What a rule is: a trigger, conditions, actions and a cooldown."""

import unicodedata
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from core.text.sanitize import Storable
from core.types.errors import FieldValueError
from core.types.strict import StrictJsonModel
from rules.language.action_types import MOST_ACTIONS, AnyAction
from rules.language.conditions.condition import ConditionNode, Conditions
from rules.language.schedules import LONGEST_CRON, MOST_CATCH_UP_MINUTES, CronSchedule, parse_schedule
from rules.language.templates import compile_template

SCHEDULE_EVENT = "schedule"
"""The event type of what a schedule triggers."""

LONGEST_NAME = 100
LONGEST_DESCRIPTION = 1_000
LONGEST_EVENT_TYPE = 200
MOST_COOLDOWN_MS = 30 * 24 * 3_600 * 1_000


def _check_name(name: str) -> str:
    if name != name.strip() or any(unicodedata.category(character) == "Cc" for character in name):
        words = "Use a name without control characters and without blanks at its ends"
        raise FieldValueError(words, "名称不能含控制字符，首尾不能有空格")
    return name


_Name = Annotated[Storable, AfterValidator(_check_name)]


class ScheduleTrigger(StrictJsonModel):
    """Times at which a rule is triggered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cron: Storable = Field(
        min_length=1, max_length=LONGEST_CRON, description="Minute, hour, day, month, weekday: 0 9 * * MON-FRI."
    )
    timezone: Storable = Field(default="UTC", max_length=64, validate_default=True, description="An IANA name.")
    catch_up_minutes: int = Field(
        default=0,
        ge=0,
        le=MOST_CATCH_UP_MINUTES,
        description="For how long a time that was missed is caught up on; of several only the newest is.",
    )

    @field_validator("timezone")
    @classmethod
    def _check_zone(cls, timezone: str) -> str:
        # With an expression that is always right, only the zone can be wrong.
        parse_schedule("0 0 * * *", timezone)
        return timezone

    @field_validator("cron")
    @classmethod
    def _check_cron(cls, cron: str) -> str:
        parse_schedule(cron)
        return cron

    def parse(self) -> CronSchedule:
        """Its due times."""
        return parse_schedule(self.cron, self.timezone)


class Trigger(StrictJsonModel):
    """What triggers a rule: events of a type, of a source or of any, or a schedule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event_type: _Name = Field(min_length=1, max_length=LONGEST_EVENT_TYPE, description="The exact name.")
    source_id: UUID | None = Field(default=None, description="An MCP connection or webhook source; by default any.")
    schedule: ScheduleTrigger | None = Field(default=None, description="With the event type schedule only.")

    @model_validator(mode="after")
    def _check_schedule(self) -> "Trigger":
        if (self.event_type == SCHEDULE_EVENT) != (self.schedule is not None):
            words = "schedule belongs to the event type schedule, and only to it"
            raise FieldValueError(words, "schedule 只用于事件类型 schedule，且必须填写")
        if self.schedule is not None and self.source_id is not None:
            raise FieldValueError("A schedule has no source_id", "定时触发没有 source_id")
        return self


class RuleDefinition(StrictJsonModel):
    """A rule as a person writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: _Name = Field(min_length=1, max_length=LONGEST_NAME)
    description: Storable = Field(default="", max_length=LONGEST_DESCRIPTION)
    trigger_config: Trigger
    conditions: Conditions = Field(
        default_factory=list[ConditionNode], description="All of them, as their logic joins them."
    )
    actions: list[AnyAction] = Field(min_length=1, max_length=MOST_ACTIONS, description="In this order.")
    cooldown: int = Field(
        default=0, ge=0, le=MOST_COOLDOWN_MS, description="Milliseconds after an execution without another one."
    )
    cooldown_key: Annotated[Storable, Field(max_length=1_000)] | None = Field(
        default=None, description="A template such as {{player.name}}: the cooldown counts for each of its values."
    )
    enabled: bool = True

    @field_validator("cooldown_key")
    @classmethod
    def _check_cooldown_key(cls, key: str | None) -> str | None:
        if key is not None:
            compile_template(key)
        return key
