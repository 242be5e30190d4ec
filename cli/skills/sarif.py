"""Findings as a SARIF 2.1.0 report (OASIS), which code hosts show beside the lines of a change."""

import importlib.metadata
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import JsonValue

from cli.problems import CommandFailed
from cli.records import JsonObject
from cli.skills import said
from cli.skills.places import STDIN, LocalSkill
from core.errors import InvalidRequest
from skills.models import Diagnostic, Fix, Severity, SkillReport

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PLACE = re.compile(r"\{\w+\}")
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def write_sarif(file: Path, reports: Sequence[tuple[LocalSkill, SkillReport]]) -> None:
    """Write a report of some skills.

    Raises:
        CommandFailed: the file can't be written.
    """
    try:
        file.write_text(json.dumps(to_sarif(reports), ensure_ascii=False, indent=1), "utf-8")
    except OSError as error:
        problem = InvalidRequest("sarif", "not writable")
        reason = error.strerror or ""
        raise CommandFailed(problem, said.FILE_UNWRITABLE, path=file, reason=reason) from error


def to_sarif(reports: Iterable[tuple[LocalSkill, SkillReport]]) -> JsonObject:
    """The report as JSON: one run, its rules those that were found, its places 1-based."""
    found = [(skill, one) for skill, report in reports for one in report.diagnostics]
    codes = sorted({one.code for _, one in found})
    driver: JsonObject = {
        "name": "agentex",
        "version": importlib.metadata.version("agentex"),
        "rules": [_rule(code) for code in codes],
    }
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(skill, one, codes.index(one.code)) for skill, one in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> JsonObject:
    from skills.diagnostics import RULES  # noqa: PLC0415

    rule = RULES[code]
    return {
        "id": code,
        # What it says of any file: the places of the text are for one.
        "shortDescription": {"text": _PLACE.sub("…", rule.said[0])},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(skill: LocalSkill, one: Diagnostic, rule: int) -> JsonObject:
    uri = "stdin" if skill.shown == STDIN else Path(skill.shown).as_posix()
    region: JsonObject = {
        "startLine": one.line,
        "startColumn": one.column,
        "endLine": max(one.line, one.end_line),
    }
    place: JsonObject = {"artifactLocation": {"uri": uri}, "region": region}
    result: JsonObject = {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVELS[one.severity],
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
    }
    if one.fix is not None:
        result["fixes"] = [_fix(uri, one.fix)]
    return result


def _fix(uri: str, fix: Fix) -> JsonObject:
    replacements: list[JsonValue] = [
        {
            "deletedRegion": {"byteOffset": edit.start, "byteLength": edit.end - edit.start},
            "insertedContent": {"text": edit.replacement},
        }
        for edit in fix.edits
    ]
    change: JsonObject = {"artifactLocation": {"uri": uri}, "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}
