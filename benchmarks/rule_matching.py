"""The rules that an event concerns, and their conditions: ``python -m benchmarks.rule_matching``.

5,000 rules of 200 event types and 10 sources, and events that arrive 1,000 times a second on one core. The baseline asks every
rule of the list whether its trigger fits, then evaluates the same conditions. The last row has all rules on one event type,
which no index can help: each condition is evaluated for each event.
"""

import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from benchmarks.table import Row, percentile, show
from rules.language.definition import RuleDefinition
from rules.language.events import EventContext, RuleEvent
from rules.language.matching import IndexedRule, RuleIndex, compile_rule

_RULES, _TYPES, _SOURCES = 5_000, 200, 10
_EVENTS, _PER_SECOND = 500, 1_000
_ROUNDS = 3
_OWNER = UUID(int=1)
_START = datetime(2026, 1, 1, tzinfo=UTC)

_Match = Callable[[RuleEvent], object]


def _rule(number: int, types: int, chance: random.Random) -> IndexedRule:
    trigger: dict[str, Any] = {"event_type": f"type_{chance.randrange(types)}"}
    if chance.random() < 0.8:
        trigger["source_id"] = str(UUID(int=chance.randrange(_SOURCES) + 1))
    conditions = [
        {"field": "player.health_percent", "operator": "<", "value": chance.randrange(100)},
        {"field": "player.name", "operator": "!=", "value": "admin"},
        {"field": "player.name", "operator": "matches", "value": "^p[0-9]+$"},
    ]
    action = {"type": "notify", "params": {"title": "Health", "text": "{{player.name}}"}}
    body = {
        "name": f"Rule {number}",
        "trigger_config": trigger,
        "conditions": conditions[: chance.randint(1, 3)],
        "actions": [action],
    }
    created_at = _START + timedelta(seconds=number)
    return compile_rule(UUID(int=number), _OWNER, created_at, RuleDefinition.model_validate(body))


def _events(types: int, chance: random.Random) -> list[RuleEvent]:
    return [
        RuleEvent(
            id=str(number),
            type=f"type_{chance.randrange(types)}",
            source_id=UUID(int=chance.randrange(_SOURCES) + 1),
            time=_START,
            data={"player": {"name": f"p{number}", "health_percent": chance.randrange(100), "items": list(range(20))}},
        )
        for number in range(_EVENTS)
    ]


def _loop(rules: Sequence[IndexedRule]) -> _Match:
    def match(event: RuleEvent) -> object:
        context = EventContext(event)
        matches: list[IndexedRule] = []
        for rule in rules:
            trigger = rule.definition.trigger_config
            if not rule.definition.enabled or rule.owner_id != _OWNER or trigger.event_type != event.type:
                continue
            if trigger.source_id in {None, event.source_id} and rule.conditions.holds(context):
                matches.append(rule)
        return matches

    return match


def _measure(match: _Match, events: Sequence[RuleEvent]) -> tuple[float, float]:
    """Seconds of work for an event, and the 99th percentile of those from its arrival to its answer.

    Events arrive ``_PER_SECOND`` times a second on one core, however long the answers take. What counts is the processor time
    of this thread: other programs on the machine take none of it.
    """
    free_at, total, waits = 0.0, 0.0, list[float]()
    for number, event in enumerate(events):
        arrival = number / _PER_SECOND
        started = time.thread_time()
        match(event)
        took = time.thread_time() - started
        total += took
        free_at = max(free_at, arrival) + took
        waits.append(free_at - arrival)
    return total / len(events), percentile(waits, 0.99)


def _row(what: str, types: int, *, events: int) -> Row:
    chance = random.Random(30)
    rules = [_rule(number, types, chance) for number in range(_RULES)]
    index = RuleIndex()
    for rule in rules:
        index.put(rule)
    sample = _events(types, chance)[:events]

    def of_index(event: RuleEvent) -> object:
        return index.matches(_OWNER, event)

    of_loop = _loop(rules)
    if any(of_index(event) != of_loop(event) for event in sample[:20]):
        raise SystemExit("the index and the loop disagree")

    sides: tuple[list[tuple[float, float]], list[tuple[float, float]]] = [], []
    for _ in range(_ROUNDS):
        for side, match in zip(sides, (of_index, of_loop), strict=True):
            side.append(_measure(match, sample))
    ours, theirs = (min(side) for side in sides)
    return Row(what, _words(*ours), _words(*theirs), theirs[0] / ours[0])


def _words(work: float, wait: float) -> str:
    return f"{1e6 * work:,.0f} µs an event, p99 {1000 * wait:,.1f} ms"


def run() -> list[Row]:
    """Rules spread over event types, and all on a single type."""
    return [
        _row(f"matching {_RULES:,} rules of {_TYPES} event types at {_PER_SECOND:,} events/s", _TYPES, events=_EVENTS),
        _row(f"the same, all of a single event type, {_SOURCES} sources", 1, events=50),
    ]


if __name__ == "__main__":
    show(run())
