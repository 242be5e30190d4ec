"""``agentex skill publish``, ``share`` and ``review``: who may see and use a skill."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import typer
from pydantic import Field

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.kb.share import RoleOption, UserOption, access_of, share_with, show_shares
from cli.commands.skills.manage import PATH, SkillArgument, SkillRecord, find
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import Language
from cli.ui.output import Output
from core.errors.conflicts import SkillNotPublishable, SkillReviewNeeded
from core.errors.requests import InvalidRequest


class _ReviewFinding(Record):
    code: str
    severity: str
    line: int
    column: int
    message: str = ""
    message_zh: str = ""


class _PublishedSkill(SkillRecord):
    publishable: bool = False
    pending_version: int | None = None
    diagnostics: list[_ReviewFinding] = Field(default_factory=list[_ReviewFinding])


class _SkillFileRecord(Record):
    path: str
    size: int


class _SkillVersionRecord(Record):
    version: int
    content: str
    files: list[_SkillFileRecord] = Field(default_factory=list[_SkillFileRecord])


@client_command
async def publish(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take it back: it is yours alone again.")] = False,
) -> ExitCode:
    """Show a skill to everybody on the server; one with errors is refused, and they are listed."""
    row = await find(client, skill)
    try:
        with _naming_the_review(output, row):
            answer = await client.call("PUT", f"{PATH}/{row.id}", body={"is_public": not withdraw})
    except ServerRefused as refused:
        if refused.code == SkillNotPublishable.code:
            await _show_findings(output, client, row)
        raise
    detail = client.read(_PublishedSkill, answer)
    output.emit(detail.to_json())
    output.say(messages.WITHDRAWN if withdraw else messages.PUBLISHED, name=detail.name)
    if detail.pending_version is not None:
        output.say(messages.PENDING, version=detail.pending_version)
    return ExitCode.OK


@client_command
async def share(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    user: UserOption = None,
    role: RoleOption = None,
    write: Annotated[bool, typer.Option("--write", help="They may write versions, too.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back from these.")] = False,
) -> ExitCode:
    """Share a skill with people or roles; without any, show with whom it is shared."""
    chosen = [("username", name) for name in user or ()] + [("role", name) for name in role or ()]
    access = access_of(write=write, remove=remove)
    row = await find(client, skill)
    with _naming_the_review(output, row):
        shares = await share_with(client, f"{PATH}/{row.id}/shares", chosen, access)
    show_shares(output, shares, messages.SHARED_WITH_NOBODY, row.name)
    return ExitCode.OK


@client_command
async def review(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    approve: Annotated[bool, typer.Option("--approve", help="It may be used.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="It may not.")] = False,
    version: Annotated[int | None, typer.Option(min=1, help="The version that you have read.")] = None,
    note: Annotated[str, typer.Option(help="Why.")] = "",
) -> ExitCode:
    """Show what waits for a review, or decide about it: an import, or a public skill's version."""
    if approve and reject:
        raise CommandFailed(InvalidRequest("decision", "one of both"), messages.ONE_DECISION)
    row = await find(client, skill)
    detail = client.read(_PublishedSkill, await client.call("GET", f"{PATH}/{row.id}"))
    # A rejected version can be decided again.
    version = version or detail.pending_version or detail.version
    if not approve and not reject:
        return await _show_waiting(output, client, detail)
    body: JsonObject = {"decision": "approve" if approve else "reject", "version": version, "note": note}
    answer = await client.call("POST", f"{PATH}/{row.id}/review", body=body)
    output.emit(client.read(_PublishedSkill, answer).to_json())
    output.say(messages.APPROVED if approve else messages.REJECTED, name=row.name, version=version)
    return ExitCode.OK


async def _show_waiting(output: Output, client: ApiClient, detail: _PublishedSkill) -> ExitCode:
    """Print the version that waits for review, and how to decide about it."""
    version = detail.pending_version
    if version is None:
        output.say(messages.NOTHING_WAITS, name=detail.name)
        output.emit({"id": detail.id, "pending_version": None})
        return ExitCode.OK
    path = f"{PATH}/{detail.id}/versions/{version}"
    waiting = client.read(_SkillVersionRecord, await client.call("GET", path))
    output.emit(waiting.to_json())
    output.print(waiting.content)
    for file in waiting.files:
        output.remark(messages.FILE_BESIDE, path=file.path, size=file.size)
    name = detail.slug if detail.access == "owner" else f"{detail.owner.username}/{detail.slug}"
    output.remark(messages.WAITS, name=name, version=version)
    return ExitCode.OK


@contextmanager
def _naming_the_review(output: Output, row: SkillRecord) -> Generator[None]:
    """Add the review command to errors that demand a review."""
    try:
        yield
    except ServerRefused as refused:
        if refused.code == SkillReviewNeeded.code:
            output.remark(messages.REVIEW_NEXT, slug=row.slug)
        raise


async def _show_findings(output: Output, client: ApiClient, row: SkillRecord) -> None:
    detail = client.read(_PublishedSkill, await client.call("GET", f"{PATH}/{row.id}"))
    for diagnostic in detail.diagnostics:
        if not diagnostic.code.startswith("AS"):
            output.say(
                messages.FINDING,
                path=row.slug,
                line=diagnostic.line,
                column=diagnostic.column,
                severity=output.render(messages.SEVERITIES[diagnostic.severity]),
                code=diagnostic.code,
                text=diagnostic.message_zh if output.language is Language.ZH else diagnostic.message,
            )
