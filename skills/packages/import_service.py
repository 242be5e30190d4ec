"""Import of skills: what becomes of each one that some uploaded files hold."""

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
from skills.lint.validate import ValidatedSkill, validate
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

_AT_ONCE = 20
"""Skills that are taken in in one transaction; between two of them others write."""


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
    """A skill of an uploaded file, judged.

    Args:
        file: name of the uploaded file.
        packaged: what stands in it.
        judged: the verdict; None where it is refused.
        error: why it is refused.
    """

    file: str
    packaged: PackagedSkill
    judged: ValidatedSkill | None = None
    error: AgentexError | None = None

    @property
    def slug(self) -> str:
        """The slug that it likes; empty where neither content nor folder give one."""
        said = "" if self.judged is None else self.judged.parsed.slug
        return said or slugify(self.packaged.folder_name or "")


@dataclass(frozen=True)
class ImportedSkill:
    """A skill of the caller's as it is when it was taken in; what only would be there has no id."""

    id: str | None
    slug: str
    name: str
    version: int

    @classmethod
    def of(cls, skill: Skill, *, is_stored: bool = True) -> Self:
        """What a row says at this moment: later files of one import may change it again."""
        return cls(skill.id if is_stored else None, skill.slug, skill.name, skill.version)


@dataclass(frozen=True)
class ImportResult:
    """What became of one skill.

    Args:
        incoming: the skill.
        outcome: see :class:`Outcome`.
        skill: the caller's skill that it is now, or that was in its way.
        error: why it was refused.
    """

    incoming: IncomingSkill
    outcome: SkillImportOutcome
    skill: ImportedSkill | None = None
    error: AgentexError | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was noticed in its content."""
        judged = self.incoming.judged
        return () if judged is None else judged.report.diagnostics


async def prepare(file: str, packaged: PackagedSkill) -> IncomingSkill:
    """Judge one skill of an uploaded file; what is wrong with it is told, not raised."""
    if packaged.problems:
        return IncomingSkill(file, packaged)
    try:
        return IncomingSkill(file, packaged, await validate(packaged.content, packaged.files))
    except AgentexError as error:
        return IncomingSkill(file, packaged, error=error)


async def import_all(
    database: Database,
    principal: Principal,
    limits: SkillLimits,
    incoming: Sequence[IncomingSkill],
    policy: ConflictPolicy,
) -> list[ImportResult]:
    """Take in skills one by one; one that is refused leaves nothing, and the others go on.

    New ones are private, and agents are not offered them until their owner has reviewed them.

    Args:
        database: where to write, a few skills at a time.
        principal: who brings them.
        limits: how much they may keep.
        incoming: the skills, in the order of the answer.
        policy: what is done where a slug is taken.

    Raises:
        DatabaseUnavailable: nothing was written; what comes later is told as refused.
    """
    results: list[ImportResult] = []
    for start in range(0, len(incoming), _AT_ONCE):
        try:
            async with unit_of_work(database) as work:
                desk = SkillContext(work, principal, limits)
                taken = await _import_batch(desk, incoming[start : start + _AT_ONCE], policy)
        except DatabaseUnavailable as error:
            if not results:
                raise
            return results + [
                ImportResult(one, SkillImportOutcome.REFUSED, error=error)
                for one in incoming[start:]
            ]
        results += taken
    return results


async def _import_batch(
    desk: SkillContext, incoming: Sequence[IncomingSkill], policy: ConflictPolicy
) -> list[ImportResult]:
    # Before slugs are looked up: of two imports at once the second finds what the first has made.
    await lock_owner(desk.work.session, desk.principal.user_id)
    results: list[ImportResult] = []
    for one in incoming:
        try:
            async with desk.work.session.begin_nested():
                results.append(await _import_one(desk, one, policy))
        except AgentexError as error:
            results.append(ImportResult(one, SkillImportOutcome.REFUSED, error=error))
    taken = sum(
        one.outcome in {SkillImportOutcome.CREATED, SkillImportOutcome.NEW_VERSION}
        for one in results
    )
    if taken:
        details = {"skills": taken, "policy": policy.value}
        audit(desk.work.session, AuditAction.SKILLS_IMPORTED, details=details)
    return results


async def _import_one(
    desk: SkillContext, one: IncomingSkill, policy: ConflictPolicy
) -> ImportResult:
    if one.judged is None:
        return ImportResult(one, SkillImportOutcome.REFUSED, error=one.error)
    slug = one.slug
    session, principal = desk.work.session, desk.principal
    present = await skill_service.find_by_slug(session, principal.user_id, slug) if slug else None
    if present is None or policy is ConflictPolicy.NEW:
        origin = Origin(SkillOrigin.IMPORTED, trusted=False, likes_slug=slug)
        made = await skill_service.create(desk, NewSkill(one.judged, provenance=origin))
        return ImportResult(one, SkillImportOutcome.CREATED, ImportedSkill.of(made.skill))
    if policy is ConflictPolicy.SKIP:
        there = await skill_access.get(session, principal, present)
        return ImportResult(one, SkillImportOutcome.SKIPPED, ImportedSkill.of(there.skill))
    change = VersionChange(is_unread=True)
    update = SkillUpdate(with_validated(one.judged), change=change)
    seen, is_new = await skill_service.update(desk, present, update)
    outcome = SkillImportOutcome.NEW_VERSION if is_new else SkillImportOutcome.UNCHANGED
    return ImportResult(one, outcome, ImportedSkill.of(seen.skill))


@dataclass
class _PlannedSkill:
    """A skill that the caller has, or would have by then.

    Args:
        skill: the row, which no session knows.
        is_stored: whether it is there already.
        sha256: of the newest content.
        manifest: the newest files.
        blobs: the hashes of all bytes that it holds.
    """

    skill: Skill
    is_stored: bool
    sha256: str
    manifest: list[dict[str, object]]
    blobs: set[str]

    def told(self) -> ImportedSkill:
        """What an import would leave of it at this place."""
        return ImportedSkill.of(self.skill, is_stored=self.is_stored)


async def plan_import(
    session: AsyncSession,
    principal: Principal,
    limits: SkillLimits,
    incoming: Sequence[IncomingSkill],
    policy: ConflictPolicy,
) -> list[ImportResult]:
    """What :func:`skills.imports.take_all` would make of the same skills at this moment.

    Args:
        session: to read from.
        principal: who brings them.
        limits: how much they may keep.
        incoming: the skills, in the order of the answer.
        policy: what would be done where a slug is taken.

    Returns:
        The outcomes; what they would make has no id.
    """
    owned = select(Skill.slug, Skill.id).where(Skill.owner_id == principal.user_id)
    slugs = dict((await session.exec(owned)).all())
    used = await skill_versions.used_bytes(session, principal.user_id)
    planning = _ImportPlan(session, principal, limits, slugs, used)
    results: list[ImportResult] = []
    for one in incoming:
        try:
            results.append(await planning.take(one, policy))
        except AgentexError as error:
            results.append(ImportResult(one, SkillImportOutcome.REFUSED, error=error))
    return results


class _ImportPlan:
    def __init__(
        self,
        session: AsyncSession,
        principal: Principal,
        limits: SkillLimits,
        slugs: dict[str, str],
        used: int,
    ) -> None:
        self._session = session
        self._principal = principal
        self._limits = limits
        self._slugs = slugs
        self._used = used
        self._kept: dict[str, _PlannedSkill] = {}

    async def take(self, one: IncomingSkill, policy: ConflictPolicy) -> ImportResult:
        """What would become of the next skill.

        Raises:
            SkillNotFound: the one of its slug is deleted at this moment.
            QuotaExceeded: there would be no room for its bytes.
            SkillsFull: the caller would have as many as are allowed.
        """
        if one.judged is None:
            return ImportResult(one, SkillImportOutcome.REFUSED, error=one.error)
        if one.slug not in self._slugs or policy is ConflictPolicy.NEW:
            return ImportResult(one, SkillImportOutcome.CREATED, self._create(one, one.judged))
        kept = await self._present(self._slugs[one.slug])
        if policy is ConflictPolicy.SKIP:
            return ImportResult(one, SkillImportOutcome.SKIPPED, kept.told())
        if (kept.sha256, kept.manifest) == (one.judged.sha256, one.judged.manifest):
            return ImportResult(one, SkillImportOutcome.UNCHANGED, kept.told())
        self._keep(kept, one.judged)
        if not await publishing.is_open(self._session, kept.skill):
            kept.skill.name = _planned_name(kept.skill, one.judged)
        return ImportResult(one, SkillImportOutcome.NEW_VERSION, kept.told())

    def _create(self, one: IncomingSkill, judged: ValidatedSkill) -> ImportedSkill:
        if len(self._slugs) >= self._limits.skills:
            raise SkillsFull(limit=self._limits.skills)
        skill = Skill(owner_id=self._principal.user_id, slug="", name="", name_key="")
        kept = _PlannedSkill(skill, False, "", [], set())
        self._keep(kept, judged)
        skill.slug = free_slug(one.slug or placeholder_slug(skill.id), self._slugs)
        skill.name = _planned_name(skill, judged)
        self._slugs[skill.slug], self._kept[skill.id] = skill.id, kept
        return kept.told()

    def _keep(self, kept: _PlannedSkill, judged: ValidatedSkill) -> None:
        blobs = skill_versions.required_blobs(judged)
        new = sum(len(blobs[sha256]) for sha256 in blobs.keys() - kept.blobs)
        used = self._used + new + judged.row_bytes
        if used > self._limits.bytes:
            raise QuotaExceeded(used_bytes=used, limit_bytes=self._limits.bytes)
        self._used = used
        kept.skill.version += 1
        kept.sha256, kept.manifest = judged.sha256, judged.manifest
        kept.blobs |= blobs.keys()

    async def _present(self, skill_id: str) -> _PlannedSkill:
        if skill_id not in self._kept:
            session = self._session
            found = await session.get(Skill, skill_id)
            if found is None:
                raise SkillNotFound
            skill = Skill(**found.model_dump())
            newest = await publishing.get_version_by_number(session, skill, skill.version)
            hashes = select(SkillBlob.sha256).where(SkillBlob.skill_id == skill_id)
            blobs = set((await session.exec(hashes)).all())
            self._kept[skill_id] = _PlannedSkill(
                skill, True, newest.content_sha256, newest.files, blobs
            )
        return self._kept[skill_id]


def _planned_name(skill: Skill, judged: ValidatedSkill) -> str:
    return (
        skill.name
        if "name" in skill.own_fields
        else skill_metadata.catalog_name(judged.parsed.name, skill.slug)
    )
