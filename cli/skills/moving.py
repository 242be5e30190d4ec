"""``agentex skill import`` and ``export``: skills between files and a server."""

import tempfile
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer
from pydantic import Field

from cli.client import ApiClient
from cli.command import client_command
from cli.downloads import download, require_free
from cli.files import CountedFile
from cli.messages import PATH_MISSING, Language
from cli.output import Output
from cli.problems import CommandFailed, ExitCode
from cli.records import JsonObject, Record
from cli.skills import said
from cli.skills.group import app
from cli.skills.library import PATH, WantedArgument, find
from cli.skills.places import beside
from core.errors import InvalidRequest

_TAKEN = ("created", "new_version")


class OnConflict(StrEnum):
    """What is done where one has a skill of that slug."""

    NEW = "new"
    NEW_VERSION = "new_version"
    SKIP = "skip"


class Profile(StrEnum):
    """Whom a package is made for."""

    PORTABLE = "portable"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


class _Imported(Record):
    id: str | None = None
    slug: str = ""
    version: int = 0


class _Problem(Record):
    message: str = ""
    message_zh: str = ""


class _Error(Record):
    message: str = ""


class _Item(Record):
    file: str
    folder: str = ""
    outcome: str
    skill: _Imported | None = None
    problems: list[_Problem] = Field(default_factory=list[_Problem])
    error: _Error | None = None


class _Answer(Record):
    items: list[_Item]


@client_command(app, "import")
async def import_skills(
    output: Output,
    client: ApiClient,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help=".md, .zip or .skill files, or folders.")
    ],
    on_conflict: Annotated[
        OnConflict, typer.Option(help="Where you have a skill of that slug already.")
    ] = OnConflict.NEW,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done; do nothing.")
    ] = False,
    approve: Annotated[
        bool, typer.Option("--approve", help="You have read them: let your agents use them.")
    ] = False,
) -> ExitCode:
    """Import skills; until you approve one, agents are not offered it."""
    query = urlencode({"on_conflict": on_conflict.value, "dry_run": str(dry_run).lower()})
    items: list[_Item] = []
    for path in paths:
        with _packed(path) as (content, name):
            answer = await client.send_file(f"{PATH}/import?{query}", content, name, {})
        items += client.read(_Answer, answer).items
    output.emit({"dry_run": dry_run, "items": [one.to_json() for one in items]})
    columns = (said.FILE, said.OUTCOME, said.SKILL)
    output.table(columns, [_row(output, one) for one in items])
    for one in items:
        for text in _reasons(output, one):
            output.print(f"{one.folder or one.file}: {text}", "red")
    if approve and not dry_run:
        for one in items:
            if one.skill is not None and one.skill.id and one.outcome in _TAKEN:
                body: JsonObject = {"decision": "approve"}
                await client.call("POST", f"{PATH}/{one.skill.id}/review", body=body)
    is_whole = all(one.outcome != "refused" for one in items)
    return ExitCode.OK if is_whole else ExitCode.FAILED


@client_command(app)
async def export(
    output: Output,
    client: ApiClient,
    wanted: WantedArgument,
    file: Annotated[
        Path,
        typer.Argument(help="Where to write it: report.md as stored, report.zip as a package."),
    ],
    version: Annotated[int | None, typer.Option(min=1, help="An older version.")] = None,
    profile: Annotated[Profile, typer.Option(help="Whom a package is for.")] = Profile.PORTABLE,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
) -> ExitCode:
    """Write a skill into a file: byte for byte, or as a package that other products read."""
    require_free(file, force=force)
    row = await find(client, wanted)
    query: dict[str, str] = {} if version is None else {"version": str(version)}
    if file.suffix.lower() in (".zip", ".skill"):
        query |= {"format": "agent-skill", "profile": profile.value}
    size, digest = await download(client, f"{PATH}/{row.id}/export?{urlencode(query)}", file)
    output.say(said.EXPORTED, name=row.name, path=file, size=size)
    output.emit({"id": row.id, "file": str(file), "size": size, "sha256": digest})
    return ExitCode.OK


@contextmanager
def _packed(path: Path) -> Generator[tuple[CountedFile, str]]:
    """A file as it is, or a folder as a package of its name."""
    if path.is_dir():
        folder = path.resolve()
        with tempfile.TemporaryDirectory() as place:
            file = Path(place, f"{folder.name}.zip")
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in beside(folder):
                    archive.write(folder / name, f"{folder.name}/{name}")
            with CountedFile(file, lambda _: None) as content:
                yield content, file.name
        return
    if not path.is_file():
        raise CommandFailed(InvalidRequest("path", str(path)), PATH_MISSING, path=str(path))
    with CountedFile(path, lambda _: None) as content:
        yield content, path.name


def _row(output: Output, one: _Item) -> tuple[str, str, str]:
    outcome = said.OUTCOMES.get(one.outcome)
    skill = f"{one.skill.slug} ({one.skill.version})" if one.skill else ""
    word = output.render(outcome) if outcome else one.outcome
    return "/".join(part for part in (one.file, one.folder) if part), word, skill


def _reasons(output: Output, one: _Item) -> Iterator[str]:
    is_chinese = output.language is Language.ZH
    for problem in one.problems:
        yield (problem.message_zh if is_chinese else "") or problem.message
    if one.error is not None:
        yield one.error.message
