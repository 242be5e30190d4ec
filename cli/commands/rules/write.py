"""``agentex rule create``, ``update`` and ``edit``."""

import json
import os
import tempfile
from pathlib import Path

import click
from pydantic import JsonValue

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject
from cli.command import client_command
from cli.commands.rules.manage import PATH, RuleArgument, RuleDetailRecord, definition_of, find, find_detail
from cli.commands.rules.rule_files import FileArgument, parse_object, read_rule
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from cli.ui.prompts import need_terminal, usage_error

# What a rule has where its text says nothing; an empty key removes one.
_DEFAULTS: JsonObject = {"description": "", "conditions": [], "cooldown": 0, "cooldown_key": ""}


@client_command
async def create(output: Output, client: ApiClient, file: FileArgument) -> ExitCode:
    """Create a rule from a JSON file; it acts as you."""
    fields = read_rule(file)
    fields.pop("version", None)
    row = client.read(RuleDetailRecord, await client.call("POST", PATH, body=fields))
    output.emit(row.to_json())
    output.say(messages.RULE_CREATED, name=row.name, id=row.id)
    if not row.enabled:
        output.remark(messages.IS_OFF, id=row.id)
    return ExitCode.OK


@client_command
async def update(output: Output, client: ApiClient, rule: RuleArgument, file: FileArgument) -> ExitCode:
    """Change what a JSON file names; what it leaves out stays.

    With the "version" that was read, only if nobody changed the rule since.
    """
    fields = read_rule(file)
    row = await find(client, rule)
    return await _change(output, client, row.id, fields)


@client_command
async def edit(output: Output, client: ApiClient, rule: RuleArgument) -> ExitCode:
    """Change a rule in your editor (VISUAL or EDITOR)."""
    need_terminal("rule", messages.NO_EDITOR)
    row = await find_detail(client, rule)
    text = json.dumps(definition_of(row), ensure_ascii=False, indent=2) + "\n"
    path = _keep_copy(text)
    edited = _edit_copy(path)
    if edited.decode("utf-8", "replace") == text:
        _remove(path)
        output.say(messages.UNCHANGED)
        return ExitCode.OK
    try:
        fields = parse_object(edited, str(path), messages.NO_RULE)
        code = await _change(output, client, row.id, {**_DEFAULTS, **fields, "version": row.version})
    except (CommandFailed, ServerRefused):
        # What was written must not be lost.
        output.remark(messages.EDIT_KEPT, path=path, id=row.id)
        raise
    _remove(path)
    return code


def _keep_copy(text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix="agentex-rule-", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def _edit_copy(path: Path) -> bytes:
    """What the person's editor leaves in a file."""
    try:
        click.edit(filename=str(path))
    except click.ClickException as error:
        _remove(path)
        raise usage_error("editor", messages.EDITOR_FAILED) from error
    return path.read_bytes()


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _change(output: Output, client: ApiClient, rule_id: str, fields: JsonObject) -> ExitCode:
    body: dict[str, JsonValue] = {**fields}
    row = client.read(RuleDetailRecord, await client.call("PUT", f"{PATH}/{rule_id}", body=body))
    output.emit(row.to_json())
    output.say(messages.RULE_CHANGED, name=row.name, version=row.version)
    return ExitCode.OK
