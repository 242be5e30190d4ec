"""Validation of the content and files of a version before it is stored."""

import asyncio
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.errors.requests import SkillFilesRefused, UnreadableSkill
from skills import schema
from skills.lint.context import LintContext
from skills.lint.linter import diagnostic_details, lint
from skills.packages.errors import PackageProblem
from skills.packages.file_rules import check_files
from skills.schema import ParsedSkill, SkillFile, SkillReport


@dataclass(frozen=True)
class ValidatedSkill:
    """Content and files of a version, with the lint report.

    Args:
        content: bytes of SKILL.md.
        manifest: the files as a version lists them.
        snapshot: ``parsed`` as a version stores it.
        row_bytes: estimated size of the version's row.
    """

    content: bytes
    files: tuple[SkillFile, ...]
    report: SkillReport
    parsed: ParsedSkill
    sha256: str
    manifest: list[dict[str, object]]
    snapshot: dict[str, Any]
    row_bytes: int


async def validate(content: bytes, files: Iterable[SkillFile] = (), *, default_name: str = "") -> ValidatedSkill:
    """Validate a skill on a thread: large ones would block the event loop."""
    listed = tuple(sorted(files, key=lambda file: file.path))
    return await asyncio.to_thread(_validate, content, listed, default_name)


def _validate(content: bytes, files: tuple[SkillFile, ...], default_name: str) -> ValidatedSkill:
    if problems := check_files(files):
        raise files_refused(problems)
    paths = ["SKILL.md", *(file.path for file in files)]
    report = lint(content, LintContext(files=paths, default_name=default_name))
    if report.parsed is None:
        raise UnreadableSkill(field="content", diagnostics=diagnostic_details(report.diagnostics))
    manifest: list[dict[str, object]] = [
        {"path": file.path, "sha256": digest(file.content), "size": len(file.content)} for file in files
    ]
    snapshot = schema.to_json(report.parsed)
    return ValidatedSkill(
        content=content,
        files=files,
        report=report,
        parsed=report.parsed,
        sha256=digest(content),
        manifest=manifest,
        snapshot=snapshot,
        row_bytes=len(json.dumps([snapshot, manifest])),
    )


def files_refused(problems: Sequence[PackageProblem]) -> SkillFilesRefused:
    """The error for files that are not allowed."""
    return SkillFilesRefused(
        field="files", problems=[asdict(problem) | {"code": problem.code.value} for problem in problems]
    )


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, hexadecimal."""
    return hashlib.sha256(content).hexdigest()
