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
SkillArgument = Annotated[str, typer.Argument(metavar="SKILL", help="Its slug, owner/slug, name or id.")]


class _SkillOwner(Record):
    username: str = ""


class SkillRecord(Record):
    """A skill in a list."""

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
    everybodys: Annotated[bool, typer.Option("--public", help="Also those that everybody sees.")] = False,
) -> ExitCode:
    """List your skills and those that are shared with you."""
    filters = {"q": words, "category": category, "tag": tag}
    query: Query = {key: value for key, value in filters.items() if value is not None}
    if everybodys:
        query = {**query, "include_public": "true"}
    skills = await _all(client, query)
    output.emit({"items": [skill.to_json() for skill in skills], "total": len(skills)})
    if not skills:
        output.say(messages.NO_SKILLS)
        return ExitCode.OK
    columns = (messages.SLUG, messages.NAME, messages.VERSION, messages.OWNER, messages.STATE)
    rows = [
        (skill.slug, skill.name, str(skill.version), skill.owner.username, _state(output, skill)) for skill in skills
    ]
    output.table(columns, rows)
    return ExitCode.OK


@client_command
async def show(output: Output, client: ApiClient, skill: SkillArgument) -> ExitCode:
    """Print a skill's content as it is stored."""
    row = await find(client, skill)
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
async def delete(output: Output, client: ApiClient, skill: SkillArgument, yes: YesOption = False) -> ExitCode:
    """Delete a skill with all its versions."""
    row = await find(client, skill)
    if not confirm(output, yes, messages.DELETE_SKILL, name=row.name):
        return ExitCode.FAILED
    await client.call("DELETE", f"{PATH}/{row.id}")
    output.say(messages.SKILL_DELETED, name=row.name)
    output.emit({"id": row.id, "deleted": True})
    return ExitCode.OK


async def find(client: ApiClient, name: str) -> SkillRecord:
    """The skill with this id, slug, ``owner/slug`` or name."""
    try:
        return client.read(SkillRecord, await client.call("GET", f"{PATH}/{_segment(name)}"))
    except ServerRefused as refused:
        if refused.code != SkillNotFound.code:
            raise
    skills = await _all(client, {"include_public": "true"})
    owner, _, slug = name.rpartition("/")
    fitting = [skill for skill in skills if skill.slug == slug and owner in ("", skill.owner.username)]
    fitting = fitting or [skill for skill in skills if skill.name.casefold() == name.casefold()]
    # The caller's own comes before another person's of the same name.
    matches = [skill for skill in fitting if skill.access == "owner"] or fitting
    if not matches:
        names = ", ".join(skill.slug for skill in skills[:_LISTED]) or "-"
        raise CommandFailed(SkillNotFound(), messages.SKILL_UNKNOWN, wanted=name, names=names)
    if len(matches) > 1:
        names = ", ".join(f"{skill.owner.username}/{skill.slug}" for skill in matches)
        raise CommandFailed(Conflict(), messages.SKILL_AMBIGUOUS, wanted=name, names=names)
    return matches[0]


def _segment(name: str) -> str:
    # Text that is no id must not go into a path; it is looked up by name.
    return name if name.replace("-", "").isalnum() and name.isascii() else "-"


async def _all(client: ApiClient, query: Query) -> list[SkillRecord]:
    pages = client.pages(PATH, query)
    return [client.read(SkillRecord, item) async for page in pages for item in page]


def _state(output: Output, skill: SkillRecord) -> str:
    if not skill.valid:
        return output.render(messages.STATE_INVALID)
    if not skill.trusted:
        return output.render(messages.STATE_UNREVIEWED)
    if not skill.enabled:
        return output.render(messages.STATE_OFF)
    return output.render(messages.STATE_PUBLIC if skill.is_public else messages.STATE_PRIVATE)
