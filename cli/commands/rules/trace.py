"""The decisions of rules in words: conditions with the values that they met, results and problems."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import Field, JsonValue

from cli.client.schemas import Record
from cli.commands.rules.definitions import json_text
from cli.ui.i18n import rules as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output

_INDENT = "  "


class VerdictRecord(Record):
    """What a condition, or a group of them, came to."""

    holds: bool
    field: str = ""
    operator: str = ""
    value: str | None = None
    explanation: str = ""
    explanation_zh: str = ""
    negate: bool = False
    conditions: "list[VerdictRecord] | None" = None


class ActionResultRecord(Record):
    """What an action did."""

    type: str = ""
    target: str = ""
    status: str = ""
    error: str = ""
    error_zh: str = ""
    duration: int | None = None
    attempts: int = 0
    result: JsonValue = None


class RuleLogRecord(Record):
    """An entry of a rule's log."""

    id: str
    status: str
    event_id: str = ""
    event_type: str = ""
    event_source_id: str = ""
    event_data: JsonValue = None
    conditions: list[VerdictRecord] = Field(default_factory=list[VerdictRecord])
    problem: str = ""
    problem_zh: str = ""
    cooldown_key: str = ""
    actions_result: list[ActionResultRecord] = Field(default_factory=list[ActionResultRecord])
    execution_time: int = 0
    executed_at: datetime


def in_language(output: Output, english: str, chinese: str) -> str:
    """A text of the server in the output's language; in English where there is no Chinese."""
    return chinese if output.language is Language.ZH and chinese else english


def status_text(output: Output, status: str) -> str:
    """What became of a rule or an action, in words; the name itself where this version has none."""
    word: Message | None = messages.STATUSES.get(status)
    return output.render(word) if word else status


def show_verdicts(output: Output, verdicts: Sequence[VerdictRecord]) -> None:
    """Print each condition's verdict with the value that it met."""
    if not verdicts:
        output.say(messages.NO_CONDITIONS)
        return
    columns = (messages.HOLDS, messages.CONDITION, messages.VALUE_MET, messages.WHY)
    output.table(columns, _rows(output, verdicts, 0))


def _rows(output: Output, verdicts: Sequence[VerdictRecord], depth: int) -> Iterator[tuple[str, ...]]:
    for verdict in verdicts:
        word = output.render(messages.DOES_HOLD if verdict.holds else messages.DOES_NOT_HOLD)
        indent = _INDENT * depth
        if verdict.conditions is not None:
            group = messages.NEGATED_GROUP if verdict.negate else messages.GROUP
            yield word, f"{indent}{output.render(group)}", "", ""
            yield from _rows(output, verdict.conditions, depth + 1)
            continue
        met = output.render(messages.NO_VALUE) if verdict.value is None else verdict.value
        why = in_language(output, verdict.explanation, verdict.explanation_zh)
        yield word, f"{indent}{verdict.field} {verdict.operator}", met, why


def show_results(output: Output, results: Sequence[ActionResultRecord]) -> None:
    """Print what each action did."""
    for number, result in enumerate(results, 1):
        target = f" {result.target}" if result.target else ""
        facts = [status_text(output, result.status)]
        if result.duration is not None:
            facts.append(f"{result.duration} ms")
        if result.attempts > 1:
            facts.append(output.render(messages.ATTEMPTS, count=result.attempts))
        output.print(f"{number}. {result.type}{target}: {', '.join(facts)}")
        if result.error:
            output.print(f"   {in_language(output, result.error, result.error_zh)}", "red")
        elif result.result not in (None, {}):
            output.print(f"   {json_text(result.result)}")


def fault_of(output: Output, entry: RuleLogRecord) -> str:
    """What went wrong, in one line; empty where nothing did."""
    if entry.problem:
        return in_language(output, entry.problem, entry.problem_zh)
    faults = (result for result in entry.actions_result if result.error)
    first = next(faults, None)
    return "" if first is None else f"{first.type}: {in_language(output, first.error, first.error_zh)}"
