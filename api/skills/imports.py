"""Skills from files: SKILL.md, and archives with one or many."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from api.dependencies import CurrentDatabase, CurrentPrincipal, CurrentSettings, requires
from api.http.errors import error_body, error_responses
from api.http.multipart import FormFile, missing_file, read_files
from api.http.responses import Envelope, ErrorBody, ResponseModel
from api.http.routing import Router
from api.skills.schemas import skill_limits
from core.auth.permissions import Permission
from core.errors.base import AgentexError
from core.errors.conflicts import SkillsFull
from core.errors.requests import FileTooLarge
from core.errors.server import StorageFull
from skills.packages.errors import PackageProblem
from skills.packages.file_rules import DEFAULT_LIMITS
from skills.packages.reader import PackagedSkill, read_package
from skills.schema import Diagnostic
from skills.transfer import import_service
from skills.transfer.import_service import (
    ConflictPolicy,
    ImportedSkill,
    ImportResult,
    IncomingSkill,
    SkillImportOutcome,
)

router = Router(prefix="/api/v1/skills", tags=["skills"])
Write = Depends(requires(Permission.SKILL_WRITE))
_MOST_BYTES = 2 * DEFAULT_LIMITS.total_bytes
_FILE: dict[str, object] = {"type": "string", "format": "binary"}
_FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "array", "items": _FILE}},
    "additionalProperties": False,
}
_BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class ImportItem(ResponseModel):
    """What became of one skill of an uploaded file, or of a file that holds none.

    ``folder`` is its place in the archive, ``skill`` the caller's that it is now, or that was in its
    way; in a dry run what is not there has no id. ``problems`` and ``error`` say why it was refused.
    """

    file: str
    folder: str
    outcome: SkillImportOutcome
    skill: ImportedSkill | None
    valid: bool
    publishable: bool
    portable: bool
    diagnostics: list[Diagnostic]
    problems: list[PackageProblem]
    error: ErrorBody | None


class SkillImportAnswer(ResponseModel):
    """What became of each skill, in the order of the files; ``ignored`` belong to none."""

    dry_run: bool
    items: list[ImportItem]
    ignored: list[str]


class _UploadedSkills:
    """The uploaded skills in memory; more than an account may own are refused."""

    def __init__(self, most_skills: int) -> None:
        self.incoming: list[IncomingSkill] = []
        self.ignored: list[str] = []
        self._most_skills = most_skills
        self._skills = 0
        self._sent_bytes = 0
        self._held_bytes = 0

    async def add(self, sent: FormFile) -> None:
        name = sent.file.filename or ""
        self._sent_bytes += sent.file.size or 0
        if sent.is_too_large or max(self._sent_bytes, self._held_bytes) > _MOST_BYTES:
            limit = DEFAULT_LIMITS.total_bytes if sent.is_too_large else _MOST_BYTES
            self._refuse(name, error=FileTooLarge(max_bytes=limit))
            return
        content = await sent.file.read()
        read = await asyncio.to_thread(read_package, content, name)
        if read.problems:
            self._refuse(name, problems=read.problems)
        for packaged in read.skills:
            if error := self._count(packaged):
                # Told once of a file: there can be thousands behind this one.
                self._refuse(name, error=error)
                break
            self.incoming.append(await import_service.prepare(name, packaged))
        self.ignored += read.ignored

    def _count(self, packaged: PackagedSkill) -> AgentexError | None:
        self._skills += 1
        self._held_bytes += len(packaged.content) + sum(len(file.content) for file in packaged.files)
        if self._skills > self._most_skills:
            return SkillsFull(limit=self._most_skills)
        return FileTooLarge(max_bytes=_MOST_BYTES) if self._held_bytes > _MOST_BYTES else None

    def _refuse(self, name: str, *, problems: Sequence[PackageProblem] = (), error: AgentexError | None = None) -> None:
        nothing = PackagedSkill("", b"", problems=tuple(problems))
        self.incoming.append(IncomingSkill(name, nothing, error=error))


@router.post("/import", dependencies=[Write], openapi_extra=_BODY, responses=error_responses(StorageFull))
async def import_skills(
    request: Request,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    settings: CurrentSettings,
    dry_run: Annotated[bool, Query(description="Tell what would be done, and do nothing")] = False,
    on_conflict: Annotated[
        ConflictPolicy, Query(description="What is done where one has a skill of the slug")
    ] = ConflictPolicy.NEW,
) -> Envelope[SkillImportAnswer]:
    """Import skills from `.md`, `.zip` and `.skill` files, many at once.

    Each skill has its own outcome: one that is refused does not stop the others. New skills are
    private, and agents are not offered them until their owner has reviewed them. What is too much
    for one request is refused: bytes, which count as they are unpacked, and skills.
    """
    limits = skill_limits(settings)
    received = _UploadedSkills(limits.skills)
    await read_files(request, received.add, max_bytes=DEFAULT_LIMITS.total_bytes)
    if not received.incoming:
        raise missing_file(many=True)
    language = request.headers.get("accept-language", "")
    incoming = received.incoming
    if dry_run:
        async with database.reading() as session:
            results = await import_service.plan_import(session, principal, limits, incoming, on_conflict)
    else:
        results = await import_service.import_all(database, principal, limits, incoming, on_conflict)
    items = [_item(result, language) for result in results]
    return Envelope(data=SkillImportAnswer(dry_run=dry_run, items=items, ignored=received.ignored))


def _item(result: ImportResult, language: str) -> ImportItem:
    report = None if result.incoming.validated is None else result.incoming.validated.report
    error = result.error
    return ImportItem(
        file=result.incoming.file,
        folder=result.incoming.packaged.folder,
        outcome=result.outcome,
        skill=result.skill,
        valid=report is not None and report.valid,
        publishable=report is not None and report.publishable,
        portable=report is not None and report.portable,
        diagnostics=list(result.diagnostics),
        problems=list(result.incoming.packaged.problems),
        error=None if error is None else error_body(type(error), error.details, language=language),
    )
