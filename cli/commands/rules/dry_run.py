"""``agentex rule test``: what a rule would do at an event; nothing is executed or stored."""

from datetime import datetime
from typing import Annotated

import typer
from pydantic import Field

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.rules.definitions import parameter_lines
from cli.commands.rules.manage import PATH, find, moment_text
from cli.commands.rules.rule_files import read_object, read_rule
from cli.commands.rules.trace import VerdictRecord, in_language, show_verdicts, status_text
from cli.commands.skills.local_files import STDIN
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from core.errors.requests import InvalidRequest

EventOption = Annotated[
    str | None, typer.Option("--event", metavar="FILE|-", help='The event as JSON: {"type": ..., "data": {...}}.')
]
LogOption = Annotated[str | None, typer.Option("--log", metavar="ID", help="The event of this entry of its log.")]
DraftOption = Annotated[
    str | None, typer.Option("--file", metavar="FILE|-", help="The rule as this JSON has it, not as it is stored.")
]


class _ActionPreview(Record):
    type: str
    target: str = ""
    rendered_params: JsonObject = Field(default_factory=dict)
    missing: list[str] = Field(default_factory=list[str])
    missing_zh: list[str] = Field(default_factory=list[str])
    awaits_results: bool = False


class _DryRunActions(Record):
    actions: list[_ActionPreview]


class _Cooldown(Record):
    key: str = ""
    holds_back: bool = False
    rests_until: datetime | None = None


class _DryRunRecord(Record):
    conditions_met: bool
    would_execute: bool
    triggered: bool = True
    status: str = ""
    problem: str = ""
    problem_zh: str = ""
    conditions: list[VerdictRecord] = Field(default_factory=list[VerdictRecord])
    cooldown: _Cooldown = _Cooldown()
    dry_run_result: _DryRunActions

    @property
    def is_faultless(self) -> bool:
        """Whether it would act, and each action could."""
        return self.would_execute and not any(action.missing for action in self.dry_run_result.actions)


@client_command
async def try_rule(
    output: Output,
    client: ApiClient,
    rule: Annotated[
        str | None, typer.Argument(metavar="RULE", help="Its name or id; its state and cooldowns count.")
    ] = None,
    file: DraftOption = None,
    event: EventOption = None,
    log: LogOption = None,
) -> ExitCode:
    """Test a rule with an event; nothing is executed or stored.

    Shows each condition with the value that it met, the actions with their texts filled in, and what is missing.
    The exit code is 1 where the rule would not act, or an action lacks something.
    """
    _check(rule, file, event, log)
    body: JsonObject = {} if log is None else {"log_id": log}
    if event is not None:
        body["test_event"] = read_object(event, messages.NO_EVENT)
    path = f"{PATH}/test"
    if file is not None:
        draft = read_rule(file)
        draft.pop("version", None)
        body = {**draft, **body}
    if rule is not None:
        row = await find(client, rule)
        if file is None:
            path = f"{PATH}/{row.id}/test"
        else:
            body["rule_id"] = row.id
    report = client.read(_DryRunRecord, await client.call("POST", path, body=body))
    _show(output, report)
    return ExitCode.OK if report.is_faultless else ExitCode.FAILED


def _check(rule: str | None, file: str | None, event: str | None, log: str | None) -> None:
    if rule is None and file is None:
        raise CommandFailed(InvalidRequest("rule", "none"), messages.RULE_OR_FILE)
    if (event is None) == (log is None):
        raise CommandFailed(InvalidRequest("event", "exactly one"), messages.EVENT_OR_LOG)
    if rule is None and log is not None:
        raise CommandFailed(InvalidRequest("rule", "none"), messages.LOG_NEEDS_RULE)
    if file == STDIN and event == STDIN:
        raise CommandFailed(InvalidRequest("event", "named twice"), messages.STDIN_ONCE)


def _show(output: Output, report: _DryRunRecord) -> None:
    output.emit(report.to_json())
    output.print(output.render(messages.CONDITIONS), "bold")
    show_verdicts(output, report.conditions)
    output.print(f"\n{output.render(messages.ACTIONS)}", "bold")
    for number, action in enumerate(report.dry_run_result.actions, 1):
        _show_action(output, number, action)
    output.print("")
    if not report.triggered:
        output.print(output.render(messages.NOT_TRIGGERED), "yellow")
    if report.problem:
        output.print(in_language(output, report.problem, report.problem_zh), "red")
    cooldown = report.cooldown
    if cooldown.holds_back:
        key = f" ({cooldown.key})" if cooldown.key else ""
        output.print(output.render(messages.HELD_BACK, key=key, until=moment_text(cooldown.rests_until)), "yellow")
    if report.is_faultless:
        output.print(output.render(messages.WOULD_ACT), "green")
    elif report.would_execute:
        output.print(output.render(messages.WOULD_FAIL), "red")
    else:
        # A rule that the event does not concern decides all the same, and that is no reason.
        reason = "" if report.status == "pending" else f" ({status_text(output, report.status)})"
        output.print(output.render(messages.WOULD_NOT_ACT, reason=reason), "yellow")


def _show_action(output: Output, number: int, action: _ActionPreview) -> None:
    target = f" {action.target}" if action.target else ""
    output.print(f"{number}. {action.type}{target}")
    for line in parameter_lines(action.rendered_params):
        output.print(line)
    if action.awaits_results:
        output.print(f"   {output.render(messages.AWAITS_RESULTS)}", "dim")
    for place, reason in enumerate(action.missing):
        chinese = action.missing_zh[place] if place < len(action.missing_zh) else ""
        text = output.render(messages.MISSING, reason=in_language(output, reason, chinese))
        output.print(f"   {text}", "red")
