"""Import of skills as it would go, told without writing anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Principal
from core.errors import AgentexError, QuotaExceeded, SkillNotFound, SkillsFull
from skills.lint.validate import Judged
from skills.models import Skill, SkillBlob
from skills.packages.import_service import (
    ConflictPolicy,
    Imported,
    ImportedSkill,
    Incoming,
    Outcome,
)
from skills.slugs import free_slug, placeholder_slug
from skills.store import metadata as skill_metadata
from skills.store import publishing
from skills.store import versions as skill_versions
from skills.store.versions import Limits


@dataclass
class _Kept:
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


async def plan(
    session: AsyncSession,
    principal: Principal,
    limits: Limits,
    incoming: Sequence[Incoming],
    policy: ConflictPolicy,
) -> list[Imported]:
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
    planning = _Planning(session, principal, limits, slugs, used)
    results: list[Imported] = []
    for one in incoming:
        try:
            results.append(await planning.take(one, policy))
        except AgentexError as error:
            results.append(Imported(one, Outcome.REFUSED, error=error))
    return results


class _Planning:
    def __init__(
        self,
        session: AsyncSession,
        principal: Principal,
        limits: Limits,
        slugs: dict[str, str],
        used: int,
    ) -> None:
        self._session = session
        self._principal = principal
        self._limits = limits
        self._slugs = slugs
        self._used = used
        self._kept: dict[str, _Kept] = {}

    async def take(self, one: Incoming, policy: ConflictPolicy) -> Imported:
        """What would become of the next skill.

        Raises:
            SkillNotFound: the one of its slug is deleted at this moment.
            QuotaExceeded: there would be no room for its bytes.
            SkillsFull: the caller would have as many as are allowed.
        """
        if one.judged is None:
            return Imported(one, Outcome.REFUSED, error=one.error)
        if one.slug not in self._slugs or policy is ConflictPolicy.NEW:
            return Imported(one, Outcome.CREATED, self._create(one, one.judged))
        kept = await self._present(self._slugs[one.slug])
        if policy is ConflictPolicy.SKIP:
            return Imported(one, Outcome.SKIPPED, kept.told())
        if (kept.sha256, kept.manifest) == (one.judged.sha256, one.judged.manifest):
            return Imported(one, Outcome.UNCHANGED, kept.told())
        self._keep(kept, one.judged)
        if not await publishing.is_open(self._session, kept.skill):
            kept.skill.name = _name(kept.skill, one.judged)
        return Imported(one, Outcome.NEW_VERSION, kept.told())

    def _create(self, one: Incoming, judged: Judged) -> ImportedSkill:
        if len(self._slugs) >= self._limits.skills:
            raise SkillsFull(limit=self._limits.skills)
        skill = Skill(owner_id=self._principal.user_id, slug="", name="", name_key="")
        kept = _Kept(skill, False, "", [], set())
        self._keep(kept, judged)
        skill.slug = free_slug(one.slug or placeholder_slug(skill.id), self._slugs)
        skill.name = _name(skill, judged)
        self._slugs[skill.slug], self._kept[skill.id] = skill.id, kept
        return kept.told()

    def _keep(self, kept: _Kept, judged: Judged) -> None:
        blobs = skill_versions.blobs_of(judged)
        new = sum(len(blobs[sha256]) for sha256 in blobs.keys() - kept.blobs)
        used = self._used + new + judged.row_bytes
        if used > self._limits.bytes:
            raise QuotaExceeded(used_bytes=used, limit_bytes=self._limits.bytes)
        self._used = used
        kept.skill.version += 1
        kept.sha256, kept.manifest = judged.sha256, judged.manifest
        kept.blobs |= blobs.keys()

    async def _present(self, skill_id: str) -> _Kept:
        if skill_id not in self._kept:
            session = self._session
            found = await session.get(Skill, skill_id)
            if found is None:
                raise SkillNotFound
            skill = Skill(**found.model_dump())
            newest = await publishing.version_at(session, skill, skill.version)
            hashes = select(SkillBlob.sha256).where(SkillBlob.skill_id == skill_id)
            blobs = set((await session.exec(hashes)).all())
            self._kept[skill_id] = _Kept(skill, True, newest.content_sha256, newest.files, blobs)
        return self._kept[skill_id]


def _name(skill: Skill, judged: Judged) -> str:
    return (
        skill.name
        if "name" in skill.own_fields
        else skill_metadata.name_of(judged.parsed.name, skill.slug)
    )
