"""The rules that an event concerns, found in dictionaries instead of by asking each rule."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from rules.language.conditions.evaluation import CompiledConditions, compile_conditions
from rules.language.definition import RuleDefinition
from rules.language.events import EventContext, RuleEvent
from rules.language.templates import Template, compile_template

_Order = tuple[datetime, UUID]
_Bucket = tuple[UUID, str, UUID | None]


@dataclass(frozen=True, slots=True)
class IndexedRule:
    """A rule, ready to meet events.

    Attributes:
        owner_id: whose events it sees.
        created_at: the older of two rules comes first, then the one of the lesser id.
        cooldown_key: the template of the key that cooldowns and previous events are kept under.
    """

    rule_id: UUID
    owner_id: UUID
    created_at: datetime
    definition: RuleDefinition
    conditions: CompiledConditions
    cooldown_key: Template | None

    @property
    def order(self) -> _Order:
        """Its place among all rules."""
        return self.created_at, self.rule_id

    @property
    def bucket(self) -> _Bucket:
        """Where the index keeps it."""
        trigger = self.definition.trigger_config
        return self.owner_id, trigger.event_type, trigger.source_id


def compile_rule(rule_id: UUID, owner_id: UUID, created_at: datetime, definition: RuleDefinition) -> IndexedRule:
    """Make a rule ready for an index."""
    return IndexedRule(
        rule_id=rule_id,
        owner_id=owner_id,
        created_at=created_at,
        definition=definition,
        conditions=compile_conditions(definition.conditions),
        cooldown_key=compile_template(definition.cooldown_key) if definition.cooldown_key else None,
    )


class RuleIndex:
    """All rules by owner, event type and source. A change costs no more than its own rule."""

    def __init__(self) -> None:
        self._rules: dict[UUID, IndexedRule] = {}
        self._buckets: dict[_Bucket, list[IndexedRule]] = {}

    def __len__(self) -> int:
        """How many rules there are, those that are switched off included."""
        return len(self._rules)

    def __iter__(self) -> Iterator[IndexedRule]:
        """All rules, the oldest first."""
        return iter(sorted(self._rules.values(), key=_order_of))

    def put(self, rule: IndexedRule) -> None:
        """Add a rule, or replace the one of its id."""
        self.remove(rule.rule_id)
        self._rules[rule.rule_id] = rule
        if rule.definition.enabled:
            insort(self._buckets.setdefault(rule.bucket, []), rule, key=_order_of)

    def remove(self, rule_id: UUID) -> None:
        """Remove a rule, if it is there."""
        rule = self._rules.pop(rule_id, None)
        if rule is None or not rule.definition.enabled:
            return
        bucket = self._buckets[rule.bucket]
        del bucket[bisect_left(bucket, rule.order, key=_order_of)]
        if not bucket:
            del self._buckets[rule.bucket]

    def candidates(self, owner_id: UUID, event: RuleEvent) -> list[IndexedRule]:
        """The owner's rules that are switched on and whose trigger fits the event, the oldest first."""
        of_any = self._buckets.get((owner_id, event.type, None), [])
        if event.source_id is None:
            return list(of_any)
        of_source = self._buckets.get((owner_id, event.type, event.source_id), [])
        if of_any and of_source:
            return sorted([*of_any, *of_source], key=_order_of)
        return list(of_any or of_source)

    def matches(
        self, owner_id: UUID, event: RuleEvent, context_of: Callable[[IndexedRule], EventContext] | None = None
    ) -> list[IndexedRule]:
        """The candidates whose conditions are true, in the same order.

        Args:
            context_of: the event with a rule's state and previous event; by default the event alone. It is asked only for
                rules whose conditions read them.
        """
        plain = EventContext(event)
        matches: list[IndexedRule] = []
        for rule in self.candidates(owner_id, event):
            conditions = rule.conditions
            reads_more = context_of is not None and (conditions.reads_previous or conditions.reads_state)
            context = context_of(rule) if context_of is not None and reads_more else plain
            if conditions.holds(context):
                matches.append(rule)
        return matches


def _order_of(rule: IndexedRule) -> _Order:
    return rule.order
