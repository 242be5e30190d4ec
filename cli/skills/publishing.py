"""``agentex skill publish``, ``share`` and ``review``: who may see and use a skill."""

from typing import Annotated

import typer
from pydantic import Field

from cli.client import ApiClient
from cli.command import client_command
from cli.kb_share import RoleOption, UserOption, share_with, show_shares
from cli.messages import Language
from cli.output import Output
from cli.problems import CommandFailed, ExitCode, ServerRefused
from cli.records import Record
from cli.skills import said
from cli.skills.group import app
from cli.skills.library import PATH, SkillRecord, WantedArgument, find
from core.errors import ErrorCode, InvalidRequest


class _Finding(Record):
    code: str
    severity: str
    line: int
    column: int
    message: str = ""
    message_zh: str = ""


class _Detail(SkillRecord):
    publishable: bool = False
    pending_version: int | None = None
    diagnostics: list[_Finding] = Field(default_factory=list[_Finding])


@client_command(app)
async def publish(
    output: Output,
    client: ApiClient,
    wanted: WantedArgument,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Take it back: it is yours alone again.")
    ] = False,
) -> ExitCode:
    """Show a skill to everybody on the server; one with errors is refused, and they are listed."""
    row = await find(client, wanted)
    try:
        answer = await client.call("PUT", f"{PATH}/{row.id}", body={"is_public": not withdraw})
    except ServerRefused as refused:
        if refused.code == int(ErrorCode.SKILL_NOT_PUBLISHABLE):
            await _show_findings(output, client, row)
        raise
    detail = client.read(_Detail, answer)
    output.emit(detail.to_json())
    output.say(said.WITHDRAWN if withdraw else said.PUBLISHED, name=detail.name)
    if detail.pending_version is not None:
        output.say(said.PENDING, version=detail.pending_version)
    return ExitCode.OK


@client_command(app)
async def share(
    output: Output,
    client: ApiClient,
    wanted: WantedArgument,
    user: UserOption = None,
    role: RoleOption = None,
    write: Annotated[bool, typer.Option("--write", help="They may write versions, too.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back from these.")] = False,
) -> ExitCode:
    """Share a skill with people or roles; without any, show with whom it is shared."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]
    row = await find(client, wanted)
    access = None if remove else "write" if write else "read"
    shares = await share_with(client, f"{PATH}/{row.id}/shares", chosen, access)
    show_shares(output, shares, said.SHARED_WITH_NOBODY, row.name)
    return ExitCode.OK


@client_command(app)
async def review(
    output: Output,
    client: ApiClient,
    wanted: WantedArgument,
    approve: Annotated[bool, typer.Option("--approve", help="It may be used.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="It may not.")] = False,
    note: Annotated[str, typer.Option(help="Why.")] = "",
) -> ExitCode:
    """Decide about a skill that you imported, or as an administrator about a public one's version."""
    if approve == reject:
        raise CommandFailed(InvalidRequest("decision", "one of both"), said.ONE_DECISION)
    row = await find(client, wanted)
    decision = "approve" if approve else "reject"
    body = {"decision": decision, "note": note}
    answer = await client.call("POST", f"{PATH}/{row.id}/review", body={**body})
    output.emit(client.read(_Detail, answer).to_json())
    output.say(said.APPROVED if approve else said.REJECTED, name=row.name)
    return ExitCode.OK


async def _show_findings(output: Output, client: ApiClient, row: SkillRecord) -> None:
    detail = client.read(_Detail, await client.call("GET", f"{PATH}/{row.id}"))
    for one in detail.diagnostics:
        if not one.code.startswith("AS"):
            output.say(
                said.FINDING,
                path=row.slug,
                line=one.line,
                column=one.column,
                severity=output.render(said.SEVERITIES[one.severity]),
                code=one.code,
                text=one.message_zh if output.language is Language.ZH else one.message,
            )
