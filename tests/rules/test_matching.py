"""The index of rules."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from rules.language.definition import RuleDefinition
from rules.language.events import EventContext, RuleEvent
from rules.language.matching import IndexedRule, RuleIndex, compile_rule
from tests.fixtures.rules.rule_parts import body, event

OWNER, OTHER = UUID(int=100), UUID(int=101)
SOURCES = [None, UUID(int=1), UUID(int=2)]
TYPES = ["player_join", "player_leave"]
START = datetime(2026, 1, 1, tzinfo=UTC)

RULES = st.builds(
    lambda number, owner, event_type, source, is_enabled, least: rule(
        number, owner, event_type, source, is_enabled=is_enabled, least=least
    ),
    st.integers(0, 8),
    st.sampled_from([OWNER, OTHER]),
    st.sampled_from(TYPES),
    st.sampled_from(SOURCES),
    st.booleans(),
    st.integers(0, 3),
)
CHANGES = st.lists(st.tuples(st.just("put"), RULES) | st.tuples(st.just("remove"), st.integers(0, 8)), max_size=30)


def rule(
    number: int,
    owner: UUID = OWNER,
    event_type: str = "player_join",
    source: UUID | None = None,
    *,
    is_enabled: bool = True,
    least: int = 0,
    **changes: Any,
) -> IndexedRule:
    trigger = {"event_type": event_type, **({"source_id": str(source)} if source else {})}
    condition = {"field": "level", "operator": ">=", "value": least}
    definition = body(**{"trigger_config": trigger, "enabled": is_enabled, "conditions": [condition], **changes})
    created_at = START + timedelta(seconds=number % 3)
    return compile_rule(UUID(int=number), owner, created_at, RuleDefinition.model_validate(definition))


def plain_loop(rules: Iterable[IndexedRule], owner: UUID, happened: RuleEvent) -> list[UUID]:
    """What the index must find, by asking each rule."""
    return [
        entry.rule_id
        for entry in sorted(rules, key=lambda entry: (entry.created_at, entry.rule_id))
        if entry.owner_id == owner
        and entry.definition.enabled
        and entry.definition.trigger_config.event_type == happened.type
        and entry.definition.trigger_config.source_id in {None, happened.source_id}
        and entry.conditions.holds(EventContext(happened))
    ]


@given(CHANGES, st.sampled_from([OWNER, OTHER]), st.sampled_from(TYPES), st.sampled_from(SOURCES), st.integers(0, 3))
def test_the_index_finds_what_a_plain_loop_finds(
    changes: list[Any], owner: UUID, event_type: str, source: UUID | None, level: int
):
    index, rules = RuleIndex(), dict[UUID, IndexedRule]()
    for change, subject in changes:
        if change == "put":
            index.put(subject)
            rules[subject.rule_id] = subject
        else:
            index.remove(UUID(int=subject))
            rules.pop(UUID(int=subject), None)
    happened = event({"level": level}, event_type=event_type, source_id=source)
    assert [entry.rule_id for entry in index.matches(owner, happened)] == plain_loop(rules.values(), owner, happened)
    assert len(index) == len(rules)
    assert {entry.rule_id for entry in index} == rules.keys()


def test_the_order_does_not_depend_on_the_order_of_changes():
    rules = [rule(number, source=SOURCES[number // 2 % 3]) for number in range(30)]
    shuffled = random.Random(7).sample(rules, len(rules))
    first, second = RuleIndex(), RuleIndex()
    for entry in rules:
        first.put(entry)
    for entry in shuffled:
        second.put(entry)
    happened = event({"level": 1}, source_id=SOURCES[1])
    matches = first.matches(OWNER, happened)
    assert len(matches) == 20
    assert matches == second.matches(OWNER, happened) == sorted(matches, key=lambda entry: entry.order)
    assert list(first) == list(second)


def test_a_rule_that_was_replaced_is_found_by_its_new_trigger_only():
    index = RuleIndex()
    index.put(rule(1))
    index.put(rule(1, event_type="player_leave"))
    assert index.candidates(OWNER, event({})) == []
    assert len(index.candidates(OWNER, event({}, event_type="player_leave"))) == 1


def test_the_state_is_asked_for_only_where_it_is_read():
    index = RuleIndex()
    index.put(rule(1, conditions=[{"field": "state.count", "operator": "==", "value": 2}]))
    index.put(rule(2, conditions=[{"field": "level", "operator": "changed"}]))
    index.put(rule(4, conditions=[]))
    questions: list[int] = []

    def context_of(entry: IndexedRule) -> EventContext:
        questions.append(entry.rule_id.int)
        return EventContext(event({"level": 1}), {"count": 2}, {"level": 0}, has_previous=True)

    matches = index.matches(OWNER, event({"level": 1}), context_of)
    assert sorted(entry.rule_id.int for entry in matches) == [1, 2, 4]
    assert sorted(questions) == [1, 2]
    assert [entry.rule_id.int for entry in index.matches(OWNER, event({"level": 1}))] == [4]


def test_a_cooldown_key_is_ready_to_be_rendered():
    key = rule(1, cooldown_key="{{player.name}}").cooldown_key
    assert key is not None
    assert key.render_text(EventContext(event({"player": {"name": "Ada"}}))) == "Ada"
