"""``agentex rule export`` and ``import``: rules between files and a server."""

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from cli.client.api import ApiClient
from cli.client.downloads import download, require_free
from cli.client.schemas import Record
from cli.command import client_command
from cli.commands.rules.manage import PATH, RuleArgument, RuleRecord, find
from cli.commands.rules.rule_files import read_object
from cli.commands.rules.trace import in_language
from cli.commands.skills.local_files import STDIN
from cli.errors import ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output


class _MissingReferenceRecord(Record):
    field: str
    value: str = ""
    error: str
    error_zh: str = ""


class _ImportedRule(Record):
    rule: RuleRecord | None = None
    missing: list[_MissingReferenceRecord]


@client_command
async def export(
    output: Output,
    client: ApiClient,
    rule: RuleArgument,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="Where to write it; - prints it.")],
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> ExitCode:
    """Write a rule into a file that another account or server can import; it holds no secret."""
    path = Path(file)
    if file != STDIN:
        require_free(path, force=force)
    row = await find(client, rule)
    source = f"{PATH}/{row.id}/export"
    if file == STDIN:
        async with client.stream("GET", source) as response:
            sys.stdout.write((await response.aread()).decode() + "\n")
        return ExitCode.OK
    size, digest = await download(client, source, path)
    output.say(messages.RULE_EXPORTED, name=row.name, path=path, size=size)
    output.emit({"id": row.id, "file": file, "size": size, "sha256": digest})
    return ExitCode.OK


@client_command
async def import_rule(
    output: Output,
    client: ApiClient,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What an export wrote; - reads standard input.")],
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what is missing; do nothing.")] = False,
) -> ExitCode:
    """Import a rule; sources and connections are found by id, or by kind and name.

    Where something is missing, the exit code is 1, and the rule is kept switched off.
    """
    body = read_object(file, messages.NO_EXPORT)
    query = {"dry_run": str(dry_run).lower(), **({} if name is None else {"name": name})}
    answer = await client.call("POST", f"{PATH}/import?{urlencode(query)}", body=body)
    imported = client.read(_ImportedRule, answer)
    output.emit(imported.to_json())
    for entry in imported.missing:
        output.print(f"{entry.field}: {in_language(output, entry.error, entry.error_zh)}", "red")
    if imported.rule is None:
        output.say(messages.NOTHING_MISSING if not imported.missing else messages.WOULD_BE_OFF)
    else:
        output.say(messages.RULE_IMPORTED, name=imported.rule.name, id=imported.rule.id)
        if not imported.rule.enabled:
            output.remark(messages.IS_OFF, id=imported.rule.id)
    return ExitCode.FAILED if imported.missing else ExitCode.OK
