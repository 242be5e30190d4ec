"""``agentex skill list``, ``show`` and ``delete``: the skills of a server."""

from typing import Annotated

import typer

from cli.client.api import ApiClient, Query
from cli.client.schemas import Record
from cli.command import client_command
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import skills as messages
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm
from core.errors.auth import SkillNotFound
from core.errors.conflicts import Conflict

PATH = "/api/v1/skills"
_LISTED = 12
WantedArgument = Annotated[
    str, typer.Argument(metavar="SKILL", help="Its slug, owner/slug, name or id.")
]


class _SkillOwner(Record):
    username: str = ""


class SkillRecord(Record):
    """A skill as lists have it."""

    id: str
    slug: str
    name: str
    description: str = ""
    version: int = 0
    is_public: bool = False
    valid: bool = True
    trusted: bool = True
    enabled: bool = True
    access: str = ""
    owner: _SkillOwner = _SkillOwner()


class _SkillDetail(SkillRecord):
    content: str = ""
    publishable: bool = False
    portable: bool = False


@client_command
async def list_skills(
    output: Output,
    client: ApiClient,
    words: Annotated[str | None, typer.Option("--search", help="Words that it has.")] = None,
    category: Annotated[str | None, typer.Option(help="Of this category.")] = None,
    tag: Annotated[str | None, typer.Option(help="With this tag.")] = None,
    everybodys: Annotated[
        bool, typer.Option("--public", help="Also those that everybody sees.")
    ] = False,
) -> ExitCode:
    """List your skills and those that are shared with you."""
    given = {"q": words, "category": category, "tag": tag}
    query: Query = {key: value for key, value in given.items() if value is not None}
    if everybodys:
        query = {**query, "include_public": "true"}
    found = await _all(client, query)
    output.emit({"items": [one.to_json() for one in found], "total": len(found)})
    if not found:
        output.say(messages.NO_SKILLS)
        return ExitCode.OK
    columns = (messages.SLUG, messages.NAME, messages.VERSION, messages.OWNER, messages.STATE)
    rows = [
        (one.slug, one.name, str(one.version), one.owner.username, _state(output, one))
        for one in found
    ]
    output.table(columns, rows)
    return ExitCode.OK


@client_command
async def show(output: Output, client: ApiClient, wanted: WantedArgument) -> ExitCode:
    """Print a skill's content as it is stored."""
    row = await find(client, wanted)
    detail = client.read(_SkillDetail, await client.call("GET", f"{PATH}/{row.id}"))
    output.emit(detail.to_json())
    output.remark(
        messages.SHOWN,
        name=detail.name,
        version=detail.version,
        owner=detail.owner.username,
        state=_state(output, detail),
    )
    output.print(detail.content)
    return ExitCode.OK


@client_command
async def delete(
    output: Output, client: ApiClient, wanted: WantedArgument, yes: YesOption = False
) -> ExitCode:
    """Delete a skill with all its versions."""
    row = await find(client, wanted)
    if not confirm(output, yes, messages.DELETE_SKILL, name=row.name):
        return ExitCode.FAILED
    await client.call("DELETE", f"{PATH}/{row.id}")
    output.say(messages.SKILL_DELETED, name=row.name)
    output.emit({"id": row.id, "deleted": True})
    return ExitCode.OK


async def find(client: ApiClient, wanted: str) -> SkillRecord:
    """The skill with this id, slug, ``owner/slug`` or name.

    Raises:
        CommandFailed: there is none that one may see, or the name fits several.
    """
    try:
        return client.read(SkillRecord, await client.call("GET", f"{PATH}/{_segment(wanted)}"))
    except ServerRefused as refused:
        if refused.code != SkillNotFound.code:
            raise
    known = await _all(client, {"include_public": "true"})
    owner, _, slug = wanted.rpartition("/")
    fitting = [one for one in known if one.slug == slug and owner in ("", one.owner.username)]
    fitting = fitting or [one for one in known if one.name.casefold() == wanted.casefold()]
    # One's own goes before another person's of the same name.
    found = [one for one in fitting if one.access == "owner"] or fitting
    if not found:
        names = ", ".join(one.slug for one in known[:_LISTED]) or "-"
        raise CommandFailed(SkillNotFound(), messages.SKILL_UNKNOWN, wanted=wanted, names=names)
    if len(found) > 1:
        names = ", ".join(f"{one.owner.username}/{one.slug}" for one in found)
        raise CommandFailed(Conflict(), messages.SKILL_AMBIGUOUS, wanted=wanted, names=names)
    return found[0]


def _segment(wanted: str) -> str:
    # What is no id is looked up by name: a path must not be made of it.
    return wanted if wanted.replace("-", "").isalnum() and wanted.isascii() else "-"


async def _all(client: ApiClient, query: Query) -> list[SkillRecord]:
    pages = client.pages(PATH, query)
    return [client.read(SkillRecord, item) async for page in pages for item in page]


def _state(output: Output, one: SkillRecord) -> str:
    if not one.valid:
        return output.render(messages.STATE_INVALID)
    if not one.trusted:
        return output.render(messages.STATE_UNREVIEWED)
    if not one.enabled:
        return output.render(messages.STATE_OFF)
    return output.render(messages.STATE_PUBLIC if one.is_public else messages.STATE_PRIVATE)
