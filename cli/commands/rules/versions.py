"""``agentex rule versions`` and ``restore``."""

from datetime import datetime
from typing import Annotated

import typer
from pydantic import Field

from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.command import client_command
from cli.commands.rules.definitions import ActionRecord, ConditionRecord
from cli.commands.rules.manage import PATH, RuleArgument, RuleDetailRecord, find, moment_text
from cli.errors import ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output


class _SavedTrigger(Record):
    event_type: str = ""


class _SavedDefinition(Record):
    name: str = ""
    trigger_config: _SavedTrigger = _SavedTrigger()
    conditions: list[ConditionRecord] = Field(default_factory=list[ConditionRecord])
    actions: list[ActionRecord] = Field(default_factory=list[ActionRecord])


class _RuleVersionRecord(Record):
    version: int
    definition: _SavedDefinition
    created_at: datetime


@client_command
async def versions(output: Output, client: ApiClient, rule: RuleArgument) -> ExitCode:
    """List the versions of a rule, the newest first."""
    row = await find(client, rule)
    pages = client.pages(f"{PATH}/{row.id}/versions")
    listed = [client.read(_RuleVersionRecord, item) async for page in pages for item in page]
    output.emit({"items": [item.to_json() for item in listed], "total": len(listed)})
    columns = (messages.VERSION, messages.SAVED, messages.NAME, messages.EVENT, messages.CONDITION_COUNT,
               messages.ACTION_TYPES)  # fmt: skip
    output.table(columns, [_row(item) for item in listed])
    return ExitCode.OK


def _row(item: _RuleVersionRecord) -> tuple[str, ...]:
    definition = item.definition
    return (
        str(item.version),
        moment_text(item.created_at),
        definition.name,
        definition.trigger_config.event_type,
        str(len(definition.conditions)),
        ", ".join(action.type for action in definition.actions),
    )


@client_command
async def restore(
    output: Output,
    client: ApiClient,
    rule: RuleArgument,
    version: Annotated[int, typer.Argument(min=1, help="The number of an earlier version.")],
) -> ExitCode:
    """Make an earlier version the newest; the rule stays switched on or off."""
    row = await find(client, rule)
    answer = await client.call("POST", f"{PATH}/{row.id}/versions/{version}/restore")
    restored = client.read(RuleDetailRecord, answer)
    output.emit(restored.to_json())
    output.say(messages.RESTORED, name=restored.name, version=version, new=restored.version)
    return ExitCode.OK
