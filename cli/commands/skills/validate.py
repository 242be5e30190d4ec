"""``agentex skill validate``: tell what is wrong with SKILL files and where, without a server."""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cli.client.schemas import JsonObject
from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.commands.skills.local_files import LocalSkill, find_skills
from cli.commands.skills.sarif import write_sarif
from cli.errors import ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from skills.schema import Diagnostic, Severity, SkillReport

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="SKILL files, folders with skills, or - for standard input."
    ),
]
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


@dataclass(frozen=True)
class Checked:
    """A skill, what was found, and whether that is enough."""

    skill: LocalSkill
    report: SkillReport
    passes: bool


def validate(
    paths: PathsArgument,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what has warnings, too.")
    ] = False,
    portable: Annotated[
        bool, typer.Option("--portable", help="Refuse what the open standard would refuse.")
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Refuse what could not be shared with others.")
    ] = False,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write a SARIF 2.1.0 report.")
    ] = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Check SKILL files; exit code 0 if all pass, 1 if one does not, 2 if one is not there."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        checked: list[Checked] = []
        for skill in find_skills(paths):
            report = judge(skill)
            passes = report.valid and (report.portable or not portable)
            passes = passes and (report.publishable or not publish)
            worst = {one.severity for one in report.diagnostics if not _is_standards(one)}
            passes = passes and not (strict and Severity.WARNING in worst)
            checked.append(Checked(skill, report, passes))
            show(output, checked[-1], with_standard=portable)
        _sum_up(output, checked, with_standard=portable)
        if sarif is not None:
            write_sarif(sarif, [(one.skill, one.report) for one in checked])
            output.remark(messages.SARIF_WRITTEN, path=sarif)
        is_good = all(one.passes for one in checked)
        output.emit({"valid": is_good, "items": [to_json(one) for one in checked]})
        return ExitCode.OK if is_good else ExitCode.FAILED

    leave(output, work)


def judge(skill: LocalSkill) -> SkillReport:
    """Read and judge a skill of this machine."""
    # Loads the parser of markdown, which other commands do not need.
    from skills.lint.context import LintContext  # noqa: PLC0415
    from skills.lint.linter import lint  # noqa: PLC0415

    return lint(skill.content, LintContext(folder=skill.folder, files=skill.files))


def show(output: Output, checked: Checked, *, with_standard: bool) -> None:
    """Print one skill's findings, a line each as compilers do, and its verdict."""
    path, report = checked.skill.shown, checked.report
    for one in shown(report.diagnostics, with_standard=with_standard):
        is_chinese = output.language is Language.ZH
        output.print(
            output.render(
                messages.FINDING,
                path=path,
                line=one.line,
                column=one.column,
                severity=output.render(_weight(one)),
                code=one.code,
                text=one.message_zh if is_chinese else one.message,
            ),
            _STYLES[one.severity],
        )
        if one.fix is not None:
            title = one.fix.title_zh if is_chinese else one.fix.title
            output.print(output.render(messages.FIXABLE, title=title), "dim")
    if not checked.passes:
        output.say(messages.REFUSED, path=path)
    else:
        output.say(messages.PASSED_PORTABLE if report.portable else messages.PASSED, path=path)


def to_json(checked: Checked) -> JsonObject:
    """One skill as ``--json`` prints it."""
    report = checked.report
    return {
        "path": checked.skill.shown,
        "passes": checked.passes,
        "valid": report.valid,
        "publishable": report.publishable,
        "portable": report.portable,
        "name": report.parsed.name if report.parsed else None,
        "diagnostics": [_finding(one) for one in report.diagnostics],
    }


def _finding(one: Diagnostic) -> JsonObject:
    fix = one.fix
    return {
        "code": one.code,
        "severity": one.severity.value,
        "line": one.line,
        "column": one.column,
        "end_line": one.end_line,
        "message": one.message,
        "message_zh": one.message_zh,
        "fix": None if fix is None else {"title": fix.title, "title_zh": fix.title_zh},
    }


def _weight(one: Diagnostic) -> Message:
    return messages.NOT_PORTABLE if _is_standards(one) else messages.SEVERITIES[one.severity]


def _is_standards(one: Diagnostic) -> bool:
    """Whether a finding tells about the open standard only."""
    from skills.diagnostics import RULES  # noqa: PLC0415

    return RULES[one.code].portability


def shown(found: Iterable[Diagnostic], *, with_standard: bool) -> list[Diagnostic]:
    """Those of some findings that concern who asks."""
    return [one for one in found if with_standard or not _is_standards(one)]


def argument(path: str, *, with_standard: bool) -> str:
    """A path as the next command gets it, with the option that these findings belong to."""
    return f"--portable {shlex.quote(path)}" if with_standard else shlex.quote(path)


def _sum_up(output: Output, checked: Sequence[Checked], *, with_standard: bool) -> None:
    all_found = (one for each in checked for one in each.report.diagnostics)
    found = shown(all_found, with_standard=with_standard)
    counts = Counter(one.severity for one in found if not _is_standards(one))
    output.say(
        messages.SUMMARY,
        checked=len(checked),
        refused=sum(not one.passes for one in checked),
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        infos=counts[Severity.INFO],
    )
    if with_standard:
        output.say(messages.AGAINST_STANDARD, count=sum(map(_is_standards, found)))
    fixable = sum(one.fix is not None for one in found)
    if fixable:
        path = checked[0].skill.shown if len(checked) == 1 else "PATH"
        named = argument(path, with_standard=with_standard)
        output.hint(messages.FIX_WITH, count=fixable, path=named)
