"""Import of skills from uploaded packages, each with its own outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, audit
from core.auth.locks import lock_owner
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillNotFound
from core.errors.base import AgentexError
from core.errors.conflicts import SkillsFull
from core.errors.requests import QuotaExceeded
from core.errors.server import DatabaseUnavailable
from skills.models import Skill, SkillBlob, SkillOrigin
from skills.packages.reader import PackagedSkill
from skills.schema import Diagnostic
from skills.slugs import free_slug, placeholder_slug, slugify
from skills.store import access as skill_access
from skills.store import metadata as skill_metadata
from skills.store import publishing
from skills.store import service as skill_service
from skills.store import versions as skill_versions
from skills.store.service import NewSkill, Origin, SkillContext, SkillUpdate
from skills.store.versions import SkillLimits, VersionChange, with_validated
from skills.validation import ValidatedSkill, validate

_AT_ONCE = 20
"""Skills imported in one transaction; others write between two transactions."""


class ConflictPolicy(StrEnum):
    """What is done where the caller has a skill of the slug already.

    ``new``: a second one with a number behind its slug; ``new_version``: the next version of that
    one; ``skip``: nothing.
    """

    NEW = "new"
    NEW_VERSION = "new_version"
    SKIP = "skip"


class SkillImportOutcome(StrEnum):
    """What became of one skill; ``unchanged``: its newest version has these bytes already."""

    CREATED = "created"
    NEW_VERSION = "new_version"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True)
class IncomingSkill:
    """A skill of an uploaded file; without ``validated`` it is refused because of its problems or ``error``."""

    file: str
    packaged: PackagedSkill
    validated: ValidatedSkill | None = None
    error: AgentexError | None = None

    @property
    def slug(self) -> str:
        slug = "" if self.validated is None else self.validated.parsed.slug
        return slug or slugify(self.packaged.folder_name or "")


@dataclass(frozen=True)
class ImportedSkill:
    """A skill of the caller's as it is when it was taken in; what only would be there has no id."""

    id: str | None
    slug: str
    name: str
    version: int

    @classmethod
    def of(cls, skill: Skill, *, is_stored: bool = True) -> Self:
        """A row as it is now: later files of one import may change it again."""
        return cls(skill.id if is_stored else None, skill.slug, skill.name, skill.version)


@dataclass(frozen=True)
class ImportResult:
    """The outcome of one skill; ``skill`` is the caller's new or conflicting one."""

    incoming: IncomingSkill
    outcome: SkillImportOutcome
    skill: ImportedSkill | None = None
    error: AgentexError | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        validated = self.incoming.validated
        return () if validated is None else validated.report.diagnostics


async def prepare(file: str, packaged: PackagedSkill) -> IncomingSkill:
    """Validate one skill of an uploaded file; its faults are returned, not raised."""
    if packaged.problems:
        return IncomingSkill(file, packaged)
    folder = packaged.folder_name or ""
    try:
        return IncomingSkill(file, packaged, await validate(packaged.content, packaged.files, default_name=folder))
    except AgentexError as error:
        return IncomingSkill(file, packaged, error=error)


async def import_all(
    database: Database,
    principal: Principal,
    limits: SkillLimits,
    incoming: Sequence[IncomingSkill],
    policy: ConflictPolicy,
) -> list[ImportResult]:
    """Import skills; a refused one leaves nothing behind, and the others go on.

    New skills are private, and agents are not offered them until their owner has reviewed them. ``DatabaseUnavailable``
    means that nothing was written; if it fails later, the rest counts as refused.
    """
    results: list[ImportResult] = []
    for start in range(0, len(incoming), _AT_ONCE):
        try:
            async with unit_of_work(database) as work:
                context = SkillContext(work, principal, limits)
                imported = await _import_batch(context, incoming[start : start + _AT_ONCE], policy)
        except DatabaseUnavailable as error:
            if not results:
                raise
            return results + [
                ImportResult(skill, SkillImportOutcome.REFUSED, error=error) for skill in incoming[start:]
            ]
        results += imported
    return results


async def _import_batch(
    context: SkillContext, incoming: Sequence[IncomingSkill], policy: ConflictPolicy
) -> list[ImportResult]:
    # Before slugs are looked up: of two concurrent imports the second finds what the first created.
    await lock_owner(context.work.session, context.principal.user_id)
    results: list[ImportResult] = []
    for skill in incoming:
        try:
            async with context.work.session.begin_nested():
                results.append(await _import_one(context, skill, policy))
        except AgentexError as error:
            results.append(ImportResult(skill, SkillImportOutcome.REFUSED, error=error))
    imported = sum(result.outcome in {SkillImportOutcome.CREATED, SkillImportOutcome.NEW_VERSION} for result in results)
    if imported:
        details = {"skills": imported, "policy": policy.value}
        audit(context.work.session, AuditAction.SKILLS_IMPORTED, details=details)
    return results


async def _import_one(context: SkillContext, incoming: IncomingSkill, policy: ConflictPolicy) -> ImportResult:
    if incoming.validated is None:
        return ImportResult(incoming, SkillImportOutcome.REFUSED, error=incoming.error)
    slug = incoming.slug
    session, principal = context.work.session, context.principal
    present = await skill_service.find_by_slug(session, principal.user_id, slug) if slug else None
    if present is None or policy is ConflictPolicy.NEW:
        origin = Origin(SkillOrigin.IMPORTED, trusted=False, preferred_slug=slug)
        made = await skill_service.create(context, NewSkill(incoming.validated, origin=origin))
        return ImportResult(incoming, SkillImportOutcome.CREATED, ImportedSkill.of(made.skill))
    if policy is ConflictPolicy.SKIP:
        view = await skill_access.get(session, principal, present)
        return ImportResult(incoming, SkillImportOutcome.SKIPPED, ImportedSkill.of(view.skill))
    change = VersionChange(is_unread=True)
    update = SkillUpdate(with_validated(incoming.validated), change=change)
    view, is_new = await skill_service.update(context, present, update)
    outcome = SkillImportOutcome.NEW_VERSION if is_new else SkillImportOutcome.UNCHANGED
    return ImportResult(incoming, outcome, ImportedSkill.of(view.skill))


@dataclass
class _PlannedSkill:
    """A skill (detached row) that the caller has, or would have at this point of the import, and its blobs' hashes."""

    skill: Skill
    is_stored: bool
    sha256: str
    manifest: list[dict[str, object]]
    blobs: set[str]

    def as_imported(self) -> ImportedSkill:
        return ImportedSkill.of(self.skill, is_stored=self.is_stored)


async def plan_import(
    session: AsyncSession,
    principal: Principal,
    limits: SkillLimits,
    incoming: Sequence[IncomingSkill],
    policy: ConflictPolicy,
) -> list[ImportResult]:
    """What :func:`import_all` would do with the same skills now; new skills have no id."""
    owned = select(Skill.slug, Skill.id).where(Skill.owner_id == principal.user_id)
    slugs = dict((await session.exec(owned)).all())
    used = await skill_versions.used_bytes(session, principal.user_id)
    planning = _ImportPlan(session, principal, limits, slugs, used)
    results: list[ImportResult] = []
    for skill in incoming:
        try:
            results.append(await planning.add(skill, policy))
        except AgentexError as error:
            results.append(ImportResult(skill, SkillImportOutcome.REFUSED, error=error))
    return results


class _ImportPlan:
    def __init__(
        self, session: AsyncSession, principal: Principal, limits: SkillLimits, slugs: dict[str, str], used: int
    ) -> None:
        self._session = session
        self._principal = principal
        self._limits = limits
        self._slugs = slugs
        self._used = used
        self._planned: dict[str, _PlannedSkill] = {}

    async def add(self, incoming: IncomingSkill, policy: ConflictPolicy) -> ImportResult:
        if incoming.validated is None:
            return ImportResult(incoming, SkillImportOutcome.REFUSED, error=incoming.error)
        if incoming.slug not in self._slugs or policy is ConflictPolicy.NEW:
            return ImportResult(incoming, SkillImportOutcome.CREATED, self._create(incoming, incoming.validated))
        planned = await self._load(self._slugs[incoming.slug])
        if policy is ConflictPolicy.SKIP:
            return ImportResult(incoming, SkillImportOutcome.SKIPPED, planned.as_imported())
        if (planned.sha256, planned.manifest) == (incoming.validated.sha256, incoming.validated.manifest):
            return ImportResult(incoming, SkillImportOutcome.UNCHANGED, planned.as_imported())
        self._add_version(planned, incoming.validated)
        if not await publishing.is_open(self._session, planned.skill):
            planned.skill.name = _planned_name(planned.skill, incoming.validated)
        return ImportResult(incoming, SkillImportOutcome.NEW_VERSION, planned.as_imported())

    def _create(self, incoming: IncomingSkill, validated: ValidatedSkill) -> ImportedSkill:
        if len(self._slugs) >= self._limits.skills:
            raise SkillsFull(limit=self._limits.skills)
        skill = Skill(owner_id=self._principal.user_id, slug="", name="", name_key="")
        planned = _PlannedSkill(skill, False, "", [], set())
        self._add_version(planned, validated)
        skill.slug = free_slug(incoming.slug or placeholder_slug(skill.id), self._slugs)
        skill.name = _planned_name(skill, validated)
        self._slugs[skill.slug], self._planned[skill.id] = skill.id, planned
        return planned.as_imported()

    def _add_version(self, planned: _PlannedSkill, validated: ValidatedSkill) -> None:
        blobs = skill_versions.required_blobs(validated)
        new = sum(len(blobs[sha256]) for sha256 in blobs.keys() - planned.blobs)
        used = self._used + new + validated.row_bytes
        if used > self._limits.bytes:
            raise QuotaExceeded(used_bytes=used, limit_bytes=self._limits.bytes)
        self._used = used
        planned.skill.version += 1
        planned.sha256, planned.manifest = validated.sha256, validated.manifest
        planned.blobs |= blobs.keys()

    async def _load(self, skill_id: str) -> _PlannedSkill:
        if skill_id not in self._planned:
            session = self._session
            skill_row = await session.get(Skill, skill_id)
            if skill_row is None:
                raise SkillNotFound
            skill = Skill(**skill_row.model_dump())
            newest = await publishing.get_version_by_number(session, skill, skill.version)
            hashes = select(SkillBlob.sha256).where(SkillBlob.skill_id == skill_id)
            blobs = set((await session.exec(hashes)).all())
            self._planned[skill_id] = _PlannedSkill(skill, True, newest.content_sha256, newest.files, blobs)
        return self._planned[skill_id]


def _planned_name(skill: Skill, validated: ValidatedSkill) -> str:
    return skill.name if "name" in skill.own_fields else skill_metadata.catalog_name(validated.parsed.name, skill.slug)
