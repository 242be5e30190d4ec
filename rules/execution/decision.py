"""The decision whether a rule fires at an event."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

import orjson
from pydantic import JsonValue

from rules.language.action_types import SetStateAction
from rules.language.definition import RuleDefinition
from rules.language.errors import RuleError
from rules.language.events import EventContext
from rules.language.matching import IndexedRule
from rules.models import LONGEST_KEY, FiringStatus

MOST_CHAIN = 5
"""Rules that may lead to one another; a rule is never led to itself."""
MOST_STATE_BYTES = 16_384


@dataclass(frozen=True)
class KeyMemory:
    """What a rule keeps for a cooldown key."""

    rests_until: datetime | None = None
    previous: JsonValue = None
    has_previous: bool = False


@dataclass(frozen=True)
class RuleDecision:
    """Whether a rule fires, and why.

    Attributes:
        status: ``PENDING`` where it fires.
        key: its cooldown key.
        rests_until: until when it rests afterwards.
        state: what the rule keeps from now on; None where that stays.
        problem: why a key or a state could not be made.
        problem_zh: the same in Chinese.
    """

    status: FiringStatus
    conditions_met: bool
    trace: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    key: str = ""
    rests_until: datetime | None = None
    state: dict[str, JsonValue] | None = None
    problem: str = ""
    problem_zh: str = ""

    @property
    def fires(self) -> bool:
        return self.status is FiringStatus.PENDING


def cooldown_key(rule: IndexedRule, context: EventContext) -> str:
    """The key that the cooldown is counted by; RuleError where the event gives none."""
    if rule.cooldown_key is None:
        return ""
    # No database takes NUL.
    return rule.cooldown_key.render_text(context).replace("\x00", "")[:LONGEST_KEY]


def decide(
    rule: IndexedRule, context: EventContext, chain: tuple[str, ...], memory: KeyMemory, now: datetime
) -> RuleDecision:
    """Decide on one event; nothing is stored.

    Args:
        context: with the rule's state, and the previous event of the same key.
        chain: the rules that led to the event.
        memory: what the rule keeps for the event's key.
    """
    definition = rule.definition
    try:
        key = cooldown_key(rule, context)
    except RuleError as error:
        return RuleDecision(
            FiringStatus.FAILED,
            conditions_met=False,
            problem=f"cooldown_key: {error}",
            problem_zh=f"cooldown_key：{error.error_zh}",
        )
    verdict = rule.conditions.trace(context)
    trace: dict[str, JsonValue] = {"conditions": asdict(verdict)}
    if not verdict.holds:
        return RuleDecision(FiringStatus.NOT_MET, conditions_met=False, trace=trace, key=key)
    if str(rule.rule_id) in chain or len(chain) >= MOST_CHAIN:
        return RuleDecision(FiringStatus.LOOP, conditions_met=True, trace=trace, key=key)
    cooldown = timedelta(milliseconds=definition.cooldown)
    if is_resting(memory.rests_until, cooldown, now):
        return RuleDecision(FiringStatus.COOLDOWN, conditions_met=True, trace=trace, key=key)
    try:
        state = next_state(definition, context)
    except RuleError as error:
        return RuleDecision(
            FiringStatus.FAILED,
            conditions_met=True,
            trace=trace,
            key=key,
            problem=f"set_state: {error}",
            problem_zh=f"set_state：{error.error_zh}",
        )
    return RuleDecision(
        FiringStatus.PENDING,
        conditions_met=True,
        trace=trace,
        key=key,
        rests_until=now + cooldown if cooldown else None,
        state=state,
    )


def is_resting(rests_until: datetime | None, cooldown: timedelta, now: datetime) -> bool:
    """Whether a cooldown lasts; of a clock that was set back it does not become longer."""
    return rests_until is not None and now < rests_until <= now + cooldown


def next_state(definition: RuleDefinition, context: EventContext) -> dict[str, JsonValue] | None:
    """The rule's state after its ``set_state`` actions; None without any.

    They belong to the decision, so that the next event already meets their result.
    """
    actions = [action for action in definition.actions if isinstance(action, SetStateAction)]
    if not actions:
        return None
    state: dict[str, JsonValue] = dict(context.state)
    for action in actions:
        rendered = action.compile_params().render(context)
        if isinstance(rendered, Mapping):
            state.update(rendered)
    # What is set to null is forgotten.
    state = {name: value for name, value in state.items() if value is not None}
    if len(orjson.dumps(state)) > MOST_STATE_BYTES:
        raise RuleError(
            f"the rule would keep more than {MOST_STATE_BYTES} bytes: set what is no longer needed to null",
            f"规则的状态超过 {MOST_STATE_BYTES} 字节：请将不再需要的值设为 null",
        )
    return state
