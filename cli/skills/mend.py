"""``agentex skill fix``: apply the mends that diagnostics carry."""

import difflib
import sys
from collections.abc import Collection, Sequence
from typing import Annotated

import typer
from rich.text import Text

from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.output import Output, printable
from cli.problems import CommandFailed, ExitCode
from cli.records import JsonObject
from cli.skills import said
from cli.skills.places import LocalSkill, find_skills
from cli.skills.validate import PathsArgument, judge
from core.errors import InvalidRequest
from skills.models import Diagnostic

_MOST_ROUNDS = 20
"""A mend may show something else to mend; they come to an end long before."""


def fix(
    paths: PathsArgument,
    codes: Annotated[
        list[str] | None, typer.Option("--code", metavar="CODE", help="Only these; repeatable.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
    ] = False,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Mend what can be mended by itself; all other bytes of the files stay as they are."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        wanted = _known(codes or ())
        items = [_fix_one(output, one, wanted, dry_run=dry_run) for one in find_skills(paths)]
        output.emit({"items": [*items]})
        return ExitCode.OK

    leave(output, work)


def _known(codes: Sequence[str]) -> frozenset[str]:
    from skills.diagnostics import RULES  # noqa: PLC0415

    wanted = frozenset(code.upper() for code in codes)
    for code in sorted(wanted - RULES.keys()):
        raise CommandFailed(InvalidRequest("code", code), said.NO_SUCH_CODE, code=code)
    return wanted


def _fix_one(
    output: Output, skill: LocalSkill, wanted: Collection[str], *, dry_run: bool
) -> JsonObject:
    mended, applied, left = _mended(skill, wanted)
    # What came from standard input goes to standard output, for the next program.
    say = output.say if skill.path is not None else output.remark
    if skill.path is None and not output.json_only:
        sys.stdout.buffer.write(mended)
    if not applied:
        say(said.NOTHING_TO_FIX, path=skill.shown)
    elif skill.path is not None and dry_run:
        _show_change(output, skill, mended)
    else:
        _write(skill, mended)
        say(said.FIXED, path=skill.shown, count=len(applied), codes=", ".join(applied))
    if left:
        say(said.LEFT, path=skill.shown, count=left)
    return {"path": skill.shown, "fixed": [*applied], "left": left, "written": not dry_run}


def _mended(skill: LocalSkill, wanted: Collection[str]) -> tuple[bytes, list[str], int]:
    """The bytes with all mends, the codes that were mended, and how many findings stay."""
    from skills.editing import NotEditable, apply  # noqa: PLC0415

    content, applied = skill.content, list[str]()
    found: Sequence[Diagnostic] = ()
    for _ in range(_MOST_ROUNDS):
        now = LocalSkill(skill.shown, content, skill.path, skill.folder, skill.files)
        found = judge(now).diagnostics
        fixes = [one for one in found if one.fix and (not wanted or one.code in wanted)]
        if not fixes:
            break
        # One at a time where two touch: the next round finds the other one.
        for count in (len(fixes), 1):
            try:
                after = apply(content, [one.fix for one in fixes[:count] if one.fix])
            except NotEditable:
                continue
            applied += [one.code for one in fixes[:count]]
            break
        else:
            break
        if after == content:
            break
        content = after
    return content, applied, len(found)


def _show_change(output: Output, skill: LocalSkill, mended: bytes) -> None:
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (skill.content, mended))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in difflib.unified_diff(old, new, skill.shown, skill.shown, lineterm=""):
        output.print(Text(printable(line), style=styles.get(line[:1], "")))


def _write(skill: LocalSkill, mended: bytes) -> None:
    if skill.path is None:
        return
    partial = skill.path.with_name(f".{skill.path.name}.part")
    try:
        partial.write_bytes(mended)
        partial.replace(skill.path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        problem = InvalidRequest("path", "not writable")
        reason = error.strerror or ""
        raise CommandFailed(
            problem, said.FILE_UNWRITABLE, path=skill.path, reason=reason
        ) from error
