"""``agentex skill import`` and ``export``: skills between files and a server."""

import os
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer
from pydantic import Field

from cli.client.api import ApiClient
from cli.client.downloads import download, require_free
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.commands.ingest.local_files import CountedFile
from cli.commands.skills.local_files import beside, reading
from cli.commands.skills.manage import PATH, SkillArgument, find
from cli.errors import CommandFailed, ExitCode, Problem, ServerRefused, exit_code, to_json
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import PATH_MISSING, Language
from cli.ui.output import Output
from core.errors.requests import InvalidRequest

_TAKEN = ("created", "new_version")
_TOLD = ("error", "warning")
_PACKAGES = (".zip", ".skill")


class SkillConflictPolicy(StrEnum):
    """What to do if the caller already has a skill with that slug."""

    NEW = "new"
    NEW_VERSION = "new_version"
    SKIP = "skip"


class Profile(StrEnum):
    """Product that a package is made for."""

    PORTABLE = "portable"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


class _ImportedSkill(Record):
    id: str | None = None
    slug: str = ""
    version: int = 0


class _PackageProblem(Record):
    message: str = ""
    message_zh: str = ""


class _ImportFinding(Record):
    severity: str


class _ImportError(Record):
    message: str = ""


class _ImportItem(Record):
    file: str
    folder: str = ""
    outcome: str
    skill: _ImportedSkill | None = None
    diagnostics: list[_ImportFinding] = Field(default_factory=list[_ImportFinding])
    problems: list[_PackageProblem] = Field(default_factory=list[_PackageProblem])
    error: _ImportError | None = None


class _ImportRecord(Record):
    items: list[_ImportItem]


@client_command
async def import_skills(
    output: Output,
    client: ApiClient,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help=".md, .zip or .skill files, or folders.")],
    on_conflict: Annotated[
        SkillConflictPolicy, typer.Option(help="Where you have a skill of that slug already.")
    ] = SkillConflictPolicy.NEW,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done; do nothing.")] = False,
    approve: Annotated[bool, typer.Option("--approve", help="You have read them: let your agents use them.")] = False,
) -> ExitCode:
    """Import skills; until you approve one, agents are not offered it."""
    _check(paths)
    query = urlencode({"on_conflict": on_conflict.value, "dry_run": str(dry_run).lower()})
    refusals: list[Problem] = []
    items = await _send(output, client, paths, query, refusals)
    if approve and not dry_run:
        items = [await _approve(output, client, item, refusals) for item in items]
    _show(output, items, dry_run=dry_run)
    for skill in map(_imported_skill, items):
        if skill is not None and not (approve or dry_run):
            output.remark(messages.REVIEW_NEXT, slug=skill.slug)
    if refusals:
        return exit_code(refusals[0].code)
    is_whole = all(item.outcome != "refused" for item in items)
    return ExitCode.OK if is_whole else ExitCode.FAILED


@client_command
async def export(
    output: Output,
    client: ApiClient,
    skill: SkillArgument,
    file: Annotated[Path, typer.Argument(help="Where to write it: report.md as stored, report.zip as a package.")],
    version: Annotated[int | None, typer.Option(min=1, help="An older version.")] = None,
    profile: Annotated[Profile | None, typer.Option(help="Whom a package is for; by default everybody.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> ExitCode:
    """Write a skill into a file: byte for byte, or as a package that other products read."""
    is_package = file.suffix.lower() in _PACKAGES
    if profile is not None and not is_package:
        raise CommandFailed(InvalidRequest("profile", "no package"), messages.PROFILE_UNUSED, path=file)
    require_free(file, force=force)
    row = await find(client, skill)
    query: dict[str, str] = {} if version is None else {"version": str(version)}
    if is_package:
        query |= {"format": "agent-skill", "profile": (profile or Profile.PORTABLE).value}
    size, digest = await download(client, f"{PATH}/{row.id}/export?{urlencode(query)}", file)
    output.say(messages.EXPORTED, name=row.name, path=file, size=size)
    output.emit({"id": row.id, "file": str(file), "size": size, "sha256": digest})
    return ExitCode.OK


def _check(paths: Sequence[Path]) -> None:
    """Checks before anything is sent."""
    for path in paths:
        with reading(path):
            is_there = path.is_dir() or path.is_file()
        if not is_there:
            raise CommandFailed(InvalidRequest("path", str(path)), PATH_MISSING, path=str(path))


@contextmanager
def _packed(path: Path) -> Generator[tuple[CountedFile, str]]:
    """The file itself, or a folder packed under its name."""
    with ExitStack() as stack:
        if path.is_dir():
            folder = path.resolve()
            place = stack.enter_context(tempfile.TemporaryDirectory())
            path = Path(place, f"{folder.name}.zip")
            path.write_bytes(_package(folder))
        with reading(path):
            content = stack.enter_context(CountedFile(path, lambda _: None))
        yield content, path.name


def _package(folder: Path) -> bytes:
    from skills.packages.archives import write_archive  # noqa: PLC0415
    from skills.schema import SkillFile  # noqa: PLC0415

    files: list[SkillFile] = []
    for name in beside(folder):
        file = folder / name
        is_within = Path(os.path.realpath(file)).is_relative_to(folder)
        # What stands elsewhere was not named, and may be nothing to send away.
        if file.is_symlink() and (not is_within or file.is_dir()):
            raise CommandFailed(InvalidRequest("path", "a link"), messages.LINK_LEAVES, path=file)
        with reading(file):
            files.append(SkillFile(f"{folder.name}/{name}", file.read_bytes()))
    return write_archive(files)


async def _send(
    output: Output, client: ApiClient, paths: Sequence[Path], query: str, refusals: list[Problem]
) -> list[_ImportItem]:
    """The outcome of each; a failing one does not stop the others."""
    items: list[_ImportItem] = []
    for path in paths:
        try:
            with _packed(path) as (content, name):
                answer = await client.send_file(f"{PATH}/import?{query}", content, name, {})
            items += client.read(_ImportRecord, answer).items
        except (CommandFailed, ServerRefused) as problem:
            if len(paths) == 1:
                raise
            refusals.append(problem)
            items.append(_failed(output, problem, _ImportItem(file=str(path), outcome="failed")))
    return items


async def _approve(output: Output, client: ApiClient, item: _ImportItem, refusals: list[Problem]) -> _ImportItem:
    skill = _imported_skill(item)
    if skill is None:
        return item
    body: JsonObject = {"decision": "approve", "version": skill.version}
    try:
        await client.call("POST", f"{PATH}/{skill.id}/review", body=body)
    except ServerRefused as problem:
        refusals.append(problem)
        return _failed(output, problem, item)
    return item


def _imported_skill(item: _ImportItem) -> _ImportedSkill | None:
    return item.skill if item.outcome in _TAKEN else None


def _failed(output: Output, problem: Problem, item: _ImportItem) -> _ImportItem:
    error = _ImportError.model_validate(to_json(problem, output.language))
    return item.model_copy(update={"error": error})


def _show(output: Output, items: list[_ImportItem], *, dry_run: bool) -> None:
    output.emit({"dry_run": dry_run, "items": [item.to_json() for item in items]})
    columns = (messages.FILE, messages.OUTCOME, messages.SKILL, messages.PROBLEMS)
    output.table(columns, [_row(output, item) for item in items])
    for item in items:
        for text in _reasons(output, item):
            output.print(f"{item.folder or item.file}: {text}", "red")


def _row(output: Output, item: _ImportItem) -> tuple[str, str, str, str]:
    outcome = messages.OUTCOMES.get(item.outcome)
    skill = f"{item.skill.slug} ({item.skill.version})" if item.skill else ""
    word = output.render(outcome) if outcome else item.outcome
    place = "/".join(part for part in (item.file, item.folder) if part)
    return place, word, skill, _counted(output, item)


def _counted(output: Output, item: _ImportItem) -> str:
    counts = Counter(finding.severity for finding in item.diagnostics)
    texts = (f"{output.render(messages.SEVERITIES[key])}: {counts[key]}" for key in _TOLD if counts[key])
    return ", ".join(texts) or "-"


def _reasons(output: Output, item: _ImportItem) -> Iterator[str]:
    is_chinese = output.language is Language.ZH
    for problem in item.problems:
        yield (problem.message_zh if is_chinese else "") or problem.message
    if item.error is not None:
        yield item.error.message
