"""``agentex skill validate``: diagnostics of local SKILL files, also as SARIF."""

import base64
import importlib.metadata
import json
import os
import re
import shlex
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import JsonValue

from cli.client.downloads import writing
from cli.client.schemas import JsonObject
from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.commands.skills.local_files import LocalSkill, find_skills
from cli.errors import ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from skills.schema import Diagnostic, Fix, Severity, SkillReport, TextEdit

PathsArgument = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="SKILL files, folders with skills, or - for standard input.")
]
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


@dataclass(frozen=True)
class CheckedSkill:
    """A skill, its report and its verdict."""

    skill: LocalSkill
    report: SkillReport
    passes: bool


def validate(
    paths: PathsArgument,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse what has warnings, too.")] = False,
    portable: Annotated[bool, typer.Option("--portable", help="Refuse what the open standard would refuse.")] = False,
    publish: Annotated[bool, typer.Option("--publish", help="Refuse what could not be shared with others.")] = False,
    sarif: Annotated[Path | None, typer.Option("--sarif", metavar="FILE", help="Write a SARIF 2.1.0 report.")] = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Check SKILL files; exit code 0 if all pass, 1 if one does not, 2 if one is not there."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        checked: list[CheckedSkill] = []
        for skill in find_skills(paths):
            report = judge(skill)
            passes = report.valid and (report.portable or not portable)
            passes = passes and (report.publishable or not publish)
            severities = {diagnostic.severity for diagnostic in report.diagnostics if not _is_standards(diagnostic)}
            passes = passes and not (strict and Severity.WARNING in severities)
            checked.append(CheckedSkill(skill, report, passes))
            show(output, checked[-1], with_standard=portable)
        _sum_up(output, checked, with_standard=portable)
        if sarif is not None:
            write_sarif(sarif, [(result.skill, result.report) for result in checked])
            output.remark(messages.SARIF_WRITTEN, path=sarif)
        is_good = all(result.passes for result in checked)
        output.emit({"valid": is_good, "items": [to_json(result) for result in checked]})
        return ExitCode.OK if is_good else ExitCode.FAILED

    leave(output, work)


def judge(skill: LocalSkill) -> SkillReport:
    """Parse and check a local skill."""
    # Loads the parser of markdown, which other commands do not need.
    from skills.lint.context import LintContext  # noqa: PLC0415
    from skills.lint.linter import lint  # noqa: PLC0415

    return lint(skill.content, LintContext(folder=skill.folder, files=skill.files))


def show(output: Output, checked: CheckedSkill, *, with_standard: bool) -> None:
    """Print one skill's findings, a line each as compilers do, and its verdict."""
    path, report = checked.skill.display_path, checked.report
    for diagnostic in filtered(report.diagnostics, with_standard=with_standard):
        is_chinese = output.language is Language.ZH
        output.print(
            output.render(
                messages.FINDING,
                path=path,
                line=diagnostic.line,
                column=diagnostic.column,
                severity=output.render(_weight(diagnostic)),
                code=diagnostic.code,
                text=diagnostic.message_zh if is_chinese else diagnostic.message,
            ),
            _STYLES[diagnostic.severity],
        )
        if diagnostic.fix is not None:
            title = diagnostic.fix.title_zh if is_chinese else diagnostic.fix.title
            output.print(output.render(messages.FIXABLE, title=title), "dim")
    if not checked.passes:
        output.say(messages.REFUSED, path=path)
    else:
        output.say(messages.PASSED_PORTABLE if report.portable else messages.PASSED, path=path)


def to_json(checked: CheckedSkill) -> JsonObject:
    """One skill for ``--json``."""
    report = checked.report
    return {
        "path": checked.skill.display_path,
        "passes": checked.passes,
        "valid": report.valid,
        "publishable": report.publishable,
        "portable": report.portable,
        "name": report.parsed.name if report.parsed else None,
        "diagnostics": [_finding(diagnostic) for diagnostic in report.diagnostics],
    }


def _finding(diagnostic: Diagnostic) -> JsonObject:
    fix = diagnostic.fix
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "end_line": diagnostic.end_line,
        "message": diagnostic.message,
        "message_zh": diagnostic.message_zh,
        "fix": None if fix is None else {"title": fix.title, "title_zh": fix.title_zh},
    }


def _weight(diagnostic: Diagnostic) -> Message:
    from skills.diagnostics import RULES  # noqa: PLC0415

    refused = RULES[diagnostic.code].blocks_portability()
    return messages.NOT_PORTABLE if refused else messages.SEVERITIES[diagnostic.severity]


def _is_standards(diagnostic: Diagnostic) -> bool:
    """Whether a finding concerns the open standard only."""
    from skills.diagnostics import RULES  # noqa: PLC0415

    return RULES[diagnostic.code].portability


def filtered(diagnostics: Iterable[Diagnostic], *, with_standard: bool) -> list[Diagnostic]:
    """The findings that concern the caller."""
    return [diagnostic for diagnostic in diagnostics if with_standard or not _is_standards(diagnostic)]


def argument(path: str, *, with_standard: bool) -> str:
    """A path for a suggested command, with the option that these findings need."""
    return f"--portable {shlex.quote(path)}" if with_standard else shlex.quote(path)


def _sum_up(output: Output, checked: Sequence[CheckedSkill], *, with_standard: bool) -> None:
    everything = (diagnostic for result in checked for diagnostic in result.report.diagnostics)
    diagnostics = filtered(everything, with_standard=with_standard)
    counts = Counter(diagnostic.severity for diagnostic in diagnostics if not _is_standards(diagnostic))
    output.say(
        messages.SUMMARY,
        checked=len(checked),
        refused=sum(not result.passes for result in checked),
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        infos=counts[Severity.INFO],
    )
    if with_standard:
        output.say(messages.AGAINST_STANDARD, count=sum(map(_is_standards, diagnostics)))
    fixable = sum(diagnostic.fix is not None for diagnostic in diagnostics)
    if fixable:
        path = checked[0].skill.display_path if len(checked) == 1 else "PATH"
        path_argument = argument(path, with_standard=with_standard)
        output.hint(messages.FIX_WITH, count=fixable, path=path_argument)


_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PLACE = re.compile(r"\{\w+\}")
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(file: Path, reports: Sequence[tuple[LocalSkill, SkillReport]]) -> None:
    """Write a SARIF report of some skills."""
    text = json.dumps(to_sarif(reports), ensure_ascii=False, indent=1)
    with writing(file):
        # Not atomic: it may be a pipe, such as /dev/stdout.
        file.write_bytes(text.encode())


def to_sarif(reports: Iterable[tuple[LocalSkill, SkillReport]]) -> JsonObject:
    """The SARIF report: one run, with the rules that were found and 1-based positions."""
    diagnostics = [(skill, diagnostic) for skill, report in reports for diagnostic in report.diagnostics]
    codes = sorted({diagnostic.code for _, diagnostic in diagnostics})
    driver: JsonObject = {
        "name": "agentex",
        "version": importlib.metadata.version("agentex"),
        "rules": [_rule(code) for code in codes],
    }
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "defaultEncoding": "utf-8",
        "results": [_result(skill, diagnostic, codes.index(diagnostic.code)) for skill, diagnostic in diagnostics],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> JsonObject:
    from skills.diagnostics import RULES  # noqa: PLC0415

    rule = RULES[code]
    return {
        "id": code,
        # The rule's general text: placeholders are for one file.
        "shortDescription": {"text": _PLACE.sub("…", rule.message[0])},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(skill: LocalSkill, diagnostic: Diagnostic, rule: int) -> JsonObject:
    uri = _uri(skill)
    region: JsonObject = {
        "startLine": diagnostic.line,
        "startColumn": diagnostic.column,
        "endLine": max(diagnostic.line, diagnostic.end_line),
    }
    place: JsonObject = {"artifactLocation": {"uri": uri}, "region": region}
    result: JsonObject = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [{"physicalLocation": place}],
    }
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(uri, skill.content, diagnostic.fix)]
    return result


def _uri(skill: LocalSkill) -> str:
    if skill.path is None:
        return "stdin"
    # The raw bytes of the name, in any encoding.
    return skill.path.as_uri() if skill.path.is_absolute() else quote(os.fsencode(skill.path))


def _fix(uri: str, content: bytes, fix: Fix) -> JsonObject:
    replacements: list[JsonValue] = [_replacement(content, edit) for edit in fix.edits]
    change: JsonObject = {"artifactLocation": {"uri": uri}, "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _replacement(content: bytes, edit: TextEdit) -> JsonObject:
    """One replacement: in characters for text, in bytes if a byte order mark is in it (3.57.1)."""
    mark = len(BOM_UTF8) if content.startswith(BOM_UTF8) else 0
    if edit.start < mark:
        bytewise: JsonObject = {"byteOffset": edit.start, "byteLength": edit.end - edit.start}
        inserted = base64.b64encode(edit.replacement.encode()).decode()
        return {"deletedRegion": bytewise, "insertedContent": {"binary": inserted}}
    region: JsonObject = {
        "charOffset": len(content[mark : edit.start].decode()),
        "charLength": len(content[edit.start : edit.end].decode()),
    }
    return {"deletedRegion": region, "insertedContent": {"text": edit.replacement}}
