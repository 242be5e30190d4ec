"""``agentex rule list``, ``show``, ``enable``, ``disable`` and ``delete``."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from pydantic import Field

from cli.arguments import is_id
from cli.client.api import ApiClient, Query
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.rules.definitions import ActionRecord, ConditionRecord, action_lines, condition_lines
from cli.commands.rules.source_names import find_source_id
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.i18n.common import NO, YES
from cli.ui.output import Output
from cli.ui.prompts import DeletionPrompt, YesOption, delete_with_prompt
from core.errors.auth import RuleNotFound

PATH = "/api/v1/rules"
_LISTED = 12
RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="Its name or its id.")]


class _Schedule(Record):
    cron: str
    timezone: str = "UTC"


class _Trigger(Record):
    event_type: str
    source_id: str | None = None
    schedule: _Schedule | None = None


class RuleRecord(Record):
    """A rule in a list."""

    id: str
    name: str
    owner_name: str = ""
    access: str = "owner"
    source_name: str | None = None
    description: str = ""
    trigger_config: _Trigger
    enabled: bool = True
    trigger_count: int = 0
    last_triggered_at: datetime | None = None
    due_at: datetime | None = None
    version: int = 1


class RuleDetailRecord(RuleRecord):
    """A rule with all that it says."""

    conditions: list[ConditionRecord] = Field(default_factory=list[ConditionRecord])
    actions: list[ActionRecord] = Field(default_factory=list[ActionRecord])
    cooldown: int = 0
    cooldown_key: str | None = None


@client_command
async def list_rules(
    output: Output,
    client: ApiClient,
    words: Annotated[str | None, typer.Option("--search", help="Part of a name, description or event type.")] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only those that are switched on, or off.")
    ] = None,
    event_type: Annotated[str | None, typer.Option("--event", help="Of this event type.")] = None,
    source: Annotated[str | None, typer.Option(help="Of this event source or MCP connection: a name or id.")] = None,
) -> ExitCode:
    """List your rules and those shared with you, the newest first."""
    query: dict[str, str | int] = {}
    if words is not None:
        query["q"] = words
    if enabled is not None:
        query["enabled"] = str(enabled).lower()
    if event_type is not None:
        query["event_type"] = event_type
    if source is not None:
        query["source_id"] = await find_source_id(client, source)
    rules = await _all(client, query)
    output.emit({"items": [rule.to_json() for rule in rules], "total": len(rules)})
    if not rules and output.screen.is_terminal:
        output.say(messages.NO_RULES)
        return ExitCode.OK
    columns = (messages.NAME, messages.EVENT, messages.SOURCE, messages.ENABLED, messages.FIRED, messages.LAST,
               messages.OWNER, messages.ID)  # fmt: skip
    output.table(columns, [_row(output, rule) for rule in rules])
    return ExitCode.OK


@client_command
async def show(output: Output, client: ApiClient, rule: RuleArgument) -> ExitCode:
    """Show a rule: its trigger, conditions, actions and cooldown."""
    row = await find_detail(client, rule)
    output.emit(row.to_json())
    show_rule(output, row)
    return ExitCode.OK


def show_rule(output: Output, row: RuleDetailRecord) -> None:
    """Print a rule for people."""
    trigger = row.trigger_config
    facts = [
        (messages.NAME, row.name),
        (messages.ID, row.id),
        (messages.OWNER, row.owner_name),
        (messages.VERSION, str(row.version)),
        (messages.DESCRIPTION, row.description or "-"),
        (messages.EVENT, _event(trigger)),
        (messages.SOURCE, _source(output, row)),
        (messages.ENABLED, _yes(output, row.enabled)),
        (messages.COOLDOWN, _cooldown(row)),
        (messages.FIRED, str(row.trigger_count)),
        (messages.LAST, moment_text(row.last_triggered_at)),
    ]
    if row.due_at is not None:
        facts.append((messages.DUE, moment_text(row.due_at)))
    output.facts(facts)
    output.print(f"\n{output.render(messages.CONDITIONS)}", "bold")
    for line in condition_lines(output, row.conditions):
        output.print(f"  {line}")
    output.print(f"\n{output.render(messages.ACTIONS)}", "bold")
    for line in action_lines(row.actions):
        output.print(f"  {line}")


@client_command
async def enable(output: Output, client: ApiClient, rule: RuleArgument) -> ExitCode:
    """Switch a rule on."""
    return await _switch(output, client, rule, enabled=True)


@client_command
async def disable(output: Output, client: ApiClient, rule: RuleArgument) -> ExitCode:
    """Switch a rule off; events are no longer looked at."""
    return await _switch(output, client, rule, enabled=False)


async def _switch(output: Output, client: ApiClient, rule: str, *, enabled: bool) -> ExitCode:
    row = await find(client, rule)
    answer = await client.call("PUT", f"{PATH}/{row.id}/enabled", body={"enabled": enabled})
    row = client.read(RuleDetailRecord, answer)
    output.emit(row.to_json())
    output.say(messages.SWITCHED_ON if enabled else messages.SWITCHED_OFF, name=row.name)
    return ExitCode.OK


@client_command
async def delete(output: Output, client: ApiClient, rule: RuleArgument, yes: YesOption = False) -> ExitCode:
    """Delete a rule with its versions and its log."""
    row = await find(client, rule)
    words = (messages.DELETE_RULE, messages.RULE_DELETED)
    return await delete_with_prompt(output, client, DeletionPrompt(PATH, row.id, row.name), yes, words=words)


async def find(client: ApiClient, name: str) -> RuleRecord:
    """The rule with this id, or with this name in any case; one's own goes before those of others."""
    if is_id(name):
        return client.read(RuleRecord, await client.call("GET", f"{PATH}/{name}"))
    rules = await _all(client, {})
    exact = [rule for rule in rules if rule.name == name]
    matches = exact or [rule for rule in rules if rule.name.casefold() == name.strip().casefold()]
    own = [rule for rule in matches if rule.access == "owner"]
    if len(own or matches) == 1:
        return (own or matches)[0]
    names = ", ".join(rule.name for rule in (matches or rules)[:_LISTED]) or "-"
    hint = messages.RULE_AMBIGUOUS if matches else messages.RULE_UNKNOWN
    raise CommandFailed(RuleNotFound(), hint, wanted=name, names=names)


async def find_detail(client: ApiClient, name: str) -> RuleDetailRecord:
    """The same, with all that it says."""
    row = await find(client, name)
    return client.read(RuleDetailRecord, await client.call("GET", f"{PATH}/{row.id}"))


def moment_text(moment: datetime | None) -> str:
    """A moment for people."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "-"


async def _all(client: ApiClient, query: Query) -> Sequence[RuleRecord]:
    return [client.read(RuleRecord, item) async for page in client.pages(PATH, query) for item in page]


def _row(output: Output, rule: RuleRecord) -> tuple[str, ...]:
    trigger = rule.trigger_config
    return (
        rule.name,
        _event(trigger),
        _source(output, rule),
        _yes(output, rule.enabled),
        str(rule.trigger_count),
        moment_text(rule.last_triggered_at),
        rule.owner_name,
        rule.id,
    )


def _event(trigger: _Trigger) -> str:
    if trigger.schedule is None:
        return trigger.event_type
    return f"{trigger.event_type} ({trigger.schedule.cron}, {trigger.schedule.timezone})"


def _source(output: Output, rule: RuleRecord) -> str:
    trigger = rule.trigger_config
    if trigger.source_id is None:
        return "-" if trigger.schedule else output.render(messages.ANY_SOURCE)
    return rule.source_name or trigger.source_id


def _cooldown(row: RuleDetailRecord) -> str:
    if not row.cooldown:
        return "-"
    return f"{row.cooldown} ms ({row.cooldown_key})" if row.cooldown_key else f"{row.cooldown} ms"


def _yes(output: Output, value: bool) -> str:
    return output.render(YES if value else NO)


def definition_of(row: RuleDetailRecord) -> JsonObject:
    """A rule as requests have it."""
    fields = ("name", "description", "trigger_config", "conditions", "actions", "cooldown", "cooldown_key", "enabled")
    return {name: value for name, value in row.to_json().items() if name in fields and value is not None}
