"""Skills from files: SKILL.md, and archives with one or many."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from api.dependencies import CurrentPrincipal, CurrentServices, CurrentSettings, requires
from api.envelope import Envelope, ErrorBody
from api.errors import error_body, error_responses
from api.skill_answers import limits_of
from api.uploads import SentFile, each_file
from core.accounts.permissions import Permission
from core.database.unit_of_work import UnitOfWork, unit_of_work
from core.errors import ErrorCode, FileTooLarge, InvalidRequest
from skills import imports
from skills.imports import ConflictPolicy, Imported, Incoming, Outcome
from skills.library import Desk
from skills.models import Diagnostic
from skills.packages.importing import PackagedSkill, read_package
from skills.packages.manifests import DEFAULT_LIMITS
from skills.packages.problems import PackageProblem

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])
Write = Depends(requires(Permission.SKILL_WRITE))
_MOST_BYTES = 2 * DEFAULT_LIMITS.total_bytes
_FILE: dict[str, object] = {"type": "string", "format": "binary"}
_FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "array", "items": _FILE}},
}
_BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class ImportedSkill(BaseModel):
    """A skill of the caller's after an import; in a dry run what it would be, without an id."""

    id: str | None
    slug: str
    name: str
    version: int


class ImportItem(BaseModel):
    """What became of one skill of an uploaded file, or of a file that holds none.

    ``folder`` is its place in the archive. ``problems`` and ``error`` say why it was refused.
    """

    file: str
    folder: str
    outcome: Outcome
    skill: ImportedSkill | None
    valid: bool
    publishable: bool
    portable: bool
    diagnostics: list[Diagnostic]
    problems: list[PackageProblem]
    error: ErrorBody | None


class ImportAnswer(BaseModel):
    """What became of each skill, in the order of the files; ``ignored`` belong to none."""

    dry_run: bool
    items: list[ImportItem]
    ignored: list[str]


class _DryRunOver(Exception):
    """Ends the transaction of a dry run, so that nothing of it stays."""


class _Received:
    """What the files of a request hold."""

    def __init__(self) -> None:
        self.incoming: list[Incoming] = []
        self.ignored: list[str] = []
        self._bytes = 0

    async def take(self, sent: SentFile) -> None:
        """Read one file; what is wrong with it is told in the answer."""
        name = sent.file.filename or ""
        self._bytes += sent.file.size or 0
        if sent.is_too_large or self._bytes > _MOST_BYTES:
            limit = DEFAULT_LIMITS.total_bytes if sent.is_too_large else _MOST_BYTES
            nothing = PackagedSkill("", b"")
            self.incoming.append(Incoming(name, nothing, error=FileTooLarge(max_bytes=limit)))
            return
        content = await sent.file.read()
        read = await asyncio.to_thread(read_package, content, name)
        if read.problems:
            nothing = PackagedSkill("", b"", problems=read.problems)
            self.incoming.append(Incoming(name, nothing))
        for one in read.skills:
            self.incoming.append(await imports.prepare(name, one))
        self.ignored += read.ignored


@router.post(
    "/import",
    dependencies=[Write],
    openapi_extra=_BODY,
    responses=error_responses(ErrorCode.INVALID_REQUEST, ErrorCode.STORAGE_FULL),
)
async def import_skills(  # noqa: PLR0913 - what the framework hands over
    request: Request,
    principal: CurrentPrincipal,
    services: CurrentServices,
    settings: CurrentSettings,
    dry_run: Annotated[bool, Query(description="Tell what would be done, and do nothing")] = False,
    on_conflict: Annotated[
        ConflictPolicy, Query(description="What is done where one has a skill of the slug")
    ] = ConflictPolicy.NEW,
) -> Envelope[ImportAnswer]:
    """Import skills from `.md`, `.zip` and `.skill` files, many at once.

    Each skill has its own outcome: one that is refused does not stop the others. New skills are
    private, and agents are not offered them until their owner has reviewed them.
    """
    received = _Received()
    await each_file(request, received.take, max_bytes=DEFAULT_LIMITS.total_bytes)
    if not received.incoming:
        raise InvalidRequest("file", "Send at least one part named file, with a file name")
    language = request.headers.get("accept-language", "")
    items: list[ImportItem] = []

    async def take(work: UnitOfWork) -> None:
        desk = Desk(work, principal, limits_of(settings))
        results = await imports.take_all(desk, received.incoming, on_conflict)
        items.extend(_item(one, language, dry_run=dry_run) for one in results)
        if dry_run:
            raise _DryRunOver

    try:
        async with unit_of_work(services.database) as work:
            await take(work)
    except _DryRunOver:
        pass
    return Envelope(data=ImportAnswer(dry_run=dry_run, items=items, ignored=received.ignored))


def _item(one: Imported, language: str, *, dry_run: bool) -> ImportItem:
    report = None if one.incoming.judged is None else one.incoming.judged.report
    error = one.error
    return ImportItem(
        file=one.incoming.file,
        folder=one.incoming.packaged.folder,
        outcome=one.outcome,
        skill=_skill(one, dry_run=dry_run),
        valid=report is not None and report.valid,
        publishable=report is not None and report.publishable,
        portable=report is not None and report.portable,
        diagnostics=list(one.diagnostics),
        problems=list(one.incoming.packaged.problems),
        error=None if error is None else error_body(error.code, error.details, language=language),
    )


def _skill(one: Imported, *, dry_run: bool) -> ImportedSkill | None:
    if one.seen is None:
        return None
    row = one.seen.skill
    is_new = dry_run and one.outcome is Outcome.CREATED
    return ImportedSkill(
        id=None if is_new else row.id, slug=row.slug, name=row.name, version=row.version
    )
