"""Conditions evaluated for an event: the verdict, and a trace that says why."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rules.language.conditions.comparison import kind_of
from rules.language.conditions.condition import Condition, ConditionGroup, ConditionNode
from rules.language.conditions.operators import LONGEST_MATCHED, OPERATORS, FailReason, OperatorName, check
from rules.language.conditions.paths import EventPath, Missing, parse_path
from rules.language.events import EventContext
from rules.language.json_bounds import write_bounded

LONGEST_TRACED_VALUE = 500

_Test = Callable[[EventContext], bool]


@dataclass(frozen=True, slots=True)
class ConditionTrace:
    """What a condition came to.

    Attributes:
        value: the value in the event as JSON, at most 500 characters; None where it is missing.
        expected: what it was compared with, as JSON of the same length.
        reason: why the condition is false.
        explanation: the same as a sentence.
        explanation_zh: the sentence in Chinese.
    """

    field: str
    operator: OperatorName
    holds: bool
    value: str | None
    expected: str
    reason: FailReason | None = None
    explanation: str = ""
    explanation_zh: str = ""


@dataclass(frozen=True, slots=True)
class GroupTrace:
    """What a group of conditions came to, and each of them, whether the verdict needed it or not."""

    holds: bool
    negate: bool
    conditions: "tuple[ConditionTrace | GroupTrace, ...]"


@dataclass(frozen=True, slots=True)
class CompiledConditions:
    """Conditions, ready for many events.

    Attributes:
        holds: the verdict for an event. It never raises, whatever JSON the event is.
        reads_previous: whether the verdict depends on the previous event.
        reads_state: whether it depends on the rule's state.
    """

    holds: _Test
    reads_previous: bool
    reads_state: bool
    _nodes: Sequence[ConditionNode]

    def trace(self, context: EventContext) -> GroupTrace:
        """The verdict with that of each condition."""
        return _trace_all(self._nodes, context, negate=False)


def compile_conditions(nodes: Sequence[ConditionNode]) -> CompiledConditions:
    """Compile conditions that were validated; without any, the verdict is true."""
    conditions = list(_leaves(nodes))
    paths = [parse_path(condition.field) for condition in conditions]
    has_change = any(condition.operator is OperatorName.CHANGED for condition in conditions)
    return CompiledConditions(
        holds=_compile_all(nodes, negate=False),
        reads_previous=has_change or any(path.root == "previous" for path in paths),
        reads_state=any(path.root == "state" for path in paths),
        _nodes=nodes,
    )


def _leaves(nodes: Sequence[ConditionNode]) -> Iterator[Condition]:
    for node in nodes:
        if isinstance(node, ConditionGroup):
            yield from _leaves(node.conditions)
        else:
            yield node


def _alternatives(nodes: Sequence[ConditionNode]) -> list[list[int]]:
    """The places of the nodes between the ORs: AND binds tighter."""
    alternatives: list[list[int]] = []
    for place, node in enumerate(nodes):
        if place == 0 or node.logic == "OR":
            alternatives.append([])
        alternatives[-1].append(place)
    return alternatives


def _compile_all(nodes: Sequence[ConditionNode], *, negate: bool) -> _Test:
    tests = [_compile(node) for node in nodes]
    alternatives = [[tests[place] for place in places] for places in _alternatives(nodes)]
    if len(alternatives) <= 1:
        required = alternatives[0] if alternatives else []
        if len(required) == 1 and not negate:
            return required[0]
        return lambda context: all(test(context) for test in required) is not negate
    return lambda context: any(all(test(context) for test in alternative) for alternative in alternatives) is not negate


def _compile(node: ConditionNode) -> _Test:
    if isinstance(node, ConditionGroup):
        return _compile_all(node.conditions, negate=node.negate)
    path, operator = parse_path(node.field), OPERATORS[node.operator]
    operand = operator.prepare(node.value)
    if operator.reads == "value":
        read, compare = path.read, operator.compare

        def test(context: EventContext) -> bool:
            met = read(context)
            return not isinstance(met, Missing) and compare(met, operand) is None

        return test
    return lambda context: check(operator, path.read(context), path.read_previous(context), operand) is None


def _trace_all(nodes: Sequence[ConditionNode], context: EventContext, *, negate: bool) -> GroupTrace:
    traces = tuple(
        _trace_all(node.conditions, context, negate=node.negate)
        if isinstance(node, ConditionGroup)
        else _trace(node, context)
        for node in nodes
    )
    alternatives = _alternatives(nodes)
    holds = not nodes or any(all(traces[place].holds for place in places) for places in alternatives)
    return GroupTrace(holds is not negate, negate, traces)


def _trace(condition: Condition, context: EventContext) -> ConditionTrace:
    path, operator = parse_path(condition.field), OPERATORS[condition.operator]
    met = path.read(context)
    reason = check(operator, met, path.read_previous(context), operator.prepare(condition.value))
    value = None if isinstance(met, Missing) else write_bounded(met, LONGEST_TRACED_VALUE)
    expected = write_bounded(condition.value, LONGEST_TRACED_VALUE)
    if reason is None:
        return ConditionTrace(condition.field, condition.operator, holds=True, value=value, expected=expected)
    english, chinese = _explain(reason, condition, path, met)
    return ConditionTrace(
        field=condition.field,
        operator=condition.operator,
        holds=False,
        value=value,
        expected=expected,
        reason=reason,
        explanation=english,
        explanation_zh=chinese,
    )


def _explain(reason: FailReason, condition: Condition, path: EventPath, met: object) -> tuple[str, str]:
    operator = condition.operator
    if isinstance(met, Missing) and reason is FailReason.MISSING:
        return f"The event has no {met.absent}", f"事件没有 {met.absent}"
    if reason is FailReason.WRONG_TYPE:
        kind = kind_of(met)
        return (
            f"{path.text} is a {kind} that {operator} can't compare with this value",
            f"{path.text} 是 {kind}，{operator} 无法与该值比较",
        )
    return _SENTENCES.get(reason, (f"{operator} is not true of the value", f"该值不满足 {operator}"))


_SENTENCES = {
    FailReason.UNCOMPARABLE_NUMBER: (
        "The number is not finite or has more than 1,200 digits",
        "数字非有限或超过 1200 位",
    ),
    FailReason.TOO_LONG: (
        f"The text has more than {LONGEST_MATCHED:,} characters",
        f"文本超过 {LONGEST_MATCHED:,} 个字符",
    ),
    FailReason.NO_PREVIOUS: (
        "There is no previous event of this source and type to compare with",
        "没有同一来源和类型的上一个事件可供比较",
    ),
}
