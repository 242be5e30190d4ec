"""``agentex skill fix``: autofixes of local SKILL files."""

import difflib
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from cli.client.downloads import write_whole
from cli.client.schemas import JsonObject
from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.commands.skills.local_files import LocalSkill, find_skills
from cli.commands.skills.validate import PathsArgument, argument, filtered, judge
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.output import Output, printable
from core.errors.requests import InvalidRequest
from skills.schema import Diagnostic, SkillReport

if TYPE_CHECKING:
    from skills.lint.autofix import AutofixResult


def fix(
    paths: PathsArgument,
    codes: Annotated[list[str] | None, typer.Option("--code", metavar="CODE", help="Only these; repeatable.")] = None,
    portable: Annotated[
        bool, typer.Option("--portable", help="Mend what the open standard would refuse, too.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing.")] = False,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Mend what can be mended by itself; all other bytes of the files stay as they are."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        wish = _FixTarget(_selected_codes(codes or (), portable=portable), portable, dry_run)
        items = [_fix_one(output, skill, wish) for skill in find_skills(paths)]
        output.emit({"items": [*items]})
        return ExitCode.OK

    leave(output, work)


@dataclass(frozen=True)
class _FixTarget:
    """Codes to fix, whether the open standard counts, and whether to show only."""

    codes: frozenset[str]
    portable: bool
    dry_run: bool


def _selected_codes(codes: Sequence[str], *, portable: bool) -> frozenset[str]:
    from skills.diagnostics import RULES  # noqa: PLC0415

    chosen_codes = frozenset(code.upper() for code in codes)
    for code in sorted(chosen_codes - RULES.keys()):
        raise CommandFailed(InvalidRequest("code", code), messages.NO_SUCH_CODE, code=code)
    return chosen_codes or frozenset(code for code, rule in RULES.items() if portable or not rule.portability)


def _fix_one(output: Output, skill: LocalSkill, wish: _FixTarget) -> JsonObject:
    done = _mended(skill, wish.codes)
    mended, applied = done.content, done.codes
    left = len(filtered(done.left, with_standard=wish.portable))
    # Standard input is answered on standard output, for the next program.
    say = output.say if skill.path is not None else output.remark
    if skill.path is None and not output.json_only:
        sys.stdout.buffer.write(mended)
    path = skill.path if applied and not wish.dry_run else None
    if path is not None:
        write_whole(path, mended)
    if not applied:
        say(messages.NOTHING_TO_FIX, path=skill.display_path)
    elif skill.path is not None and wish.dry_run:
        _show_change(output, skill, mended)
    else:
        say(messages.FIXED, path=skill.display_path, count=len(applied), codes=", ".join(applied))
    if left:
        path_argument = argument(skill.display_path, with_standard=wish.portable)
        say(messages.LEFT, path=skill.display_path, count=left, named=path_argument)
    result: JsonObject = {"path": skill.display_path, "fixed": [*applied], "left": left, "written": path is not None}
    # The text is stored nowhere else.
    return result if skill.path is not None else result | {"content": mended.decode("utf-8", "replace")}


def _mended(skill: LocalSkill, codes: Collection[str]) -> "AutofixResult":
    """The fixed bytes, the applied codes, and the remaining findings."""
    from skills.lint.autofix import autofix  # noqa: PLC0415

    def report(content: bytes) -> SkillReport:
        return judge(replace(skill, content=content))

    def choose(fixable: Sequence[Diagnostic], _: int) -> Sequence[Diagnostic]:
        return [diagnostic for diagnostic in fixable if diagnostic.code in codes]

    return autofix(skill.content, report, choose)


def _show_change(output: Output, skill: LocalSkill, mended: bytes) -> None:
    old, new = (text.decode("utf-8", "replace").splitlines() for text in (skill.content, mended))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in difflib.unified_diff(old, new, skill.display_path, skill.display_path, lineterm=""):
        output.print(Text(printable(line), style=styles.get(line[:1], "")))
