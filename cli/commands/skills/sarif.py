"""Findings as a SARIF 2.1.0 report (OASIS), which code hosts show beside the lines of a change."""

import base64
import importlib.metadata
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from cli.client.downloads import writing
from cli.client.schemas import JsonObject
from cli.commands.skills.local_files import LocalSkill
from skills.schema import Diagnostic, Fix, Severity, SkillReport, TextEdit

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
    text = json.dumps(to_sarif(reports), ensure_ascii=False, indent=1)
    with writing(file):
        # Not beside it first: it may be a pipe, such as /dev/stdout.
        file.write_bytes(text.encode())


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
        "defaultEncoding": "utf-8",
        "results": [_result(skill, one, codes.index(one.code)) for skill, one in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> JsonObject:
    from skills.diagnostics import RULES  # noqa: PLC0415

    rule = RULES[code]
    return {
        "id": code,
        # What it says of any file: the places of the text are for one.
        "shortDescription": {"text": _PLACE.sub("…", rule.message[0])},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(skill: LocalSkill, one: Diagnostic, rule: int) -> JsonObject:
    uri = _uri(skill)
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
        result["fixes"] = [_fix(uri, skill.content, one.fix)]
    return result


def _uri(skill: LocalSkill) -> str:
    if skill.path is None:
        return "stdin"
    # The bytes of the name, whatever they stand for.
    return skill.path.as_uri() if skill.path.is_absolute() else quote(os.fsencode(skill.path))


def _fix(uri: str, content: bytes, fix: Fix) -> JsonObject:
    replacements: list[JsonValue] = [_replacement(content, edit) for edit in fix.edits]
    change: JsonObject = {"artifactLocation": {"uri": uri}, "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _replacement(content: bytes, edit: TextEdit) -> JsonObject:
    """One span: characters for a text, bytes where the mark that no character counts is in it (3.57.1)."""
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
