"""The library of skills: made, changed, restored, forked and deleted."""

from dataclasses import dataclass, replace

from sqlalchemy import delete as delete_rows
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.locks import lock_owner
from core.auth.principal import Access, Action, Principal, check_access
from core.auth.sharing import audit_public, delete_shares, delete_user_shares
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import SkillNotFound
from core.errors.conflicts import SkillsFull, SkillSlugTaken
from core.errors.requests import InvalidRequest
from skills.lint.validate import ValidatedSkill, validate
from skills.models import Skill, SkillOrigin, SkillTriggerTest, SkillVersion
from skills.schema import SkillFormat
from skills.slugs import free_slug, is_slug, placeholder_slug, slug_prefix, slugify
from skills.store import (
    access as skill_access,
)
from skills.store import (
    metadata as skill_metadata,
)
from skills.store import (
    publishing,
)
from skills.store import (
    versions as skill_versions,
)
from skills.store.access import SkillView
from skills.store.metadata import CatalogMetadata
from skills.store.versions import SkillLimits, VersionBuilder, VersionChange


@dataclass(frozen=True)
class SkillContext:
    """Where a caller works on skills.

    Args:
        work: the transaction.
        principal: who asks.
        limits: how much the owner of a skill may keep.
    """

    work: UnitOfWork
    principal: Principal
    limits: SkillLimits


@dataclass(frozen=True)
class Origin:
    """Where a new skill comes from.

    Args:
        origin: how it came here.
        trusted: whether it has been read, so that its owner's agents may use it at once.
        forked_from: the id of the skill that it is a copy of.
        forked_version: the version of that one.
        likes_slug: the slug that it gets if it is free, else with a number behind it.
    """

    origin: SkillOrigin = SkillOrigin.WRITTEN
    trusted: bool = True
    forked_from: str | None = None
    forked_version: int | None = None
    likes_slug: str = ""


_NO_METADATA, _NO_CHANGE, _WRITTEN_HERE = CatalogMetadata(), VersionChange(), Origin()


@dataclass(frozen=True)
class NewSkill:
    """A skill to be made.

    Args:
        judged: its content and files.
        entry: what the request says for the catalogue.
        change: the note of its first version.
        provenance: where it comes from.
    """

    judged: ValidatedSkill
    entry: CatalogMetadata = _NO_METADATA
    change: VersionChange = _NO_CHANGE
    provenance: Origin = _WRITTEN_HERE


async def create(desk: SkillContext, wanted: NewSkill) -> SkillView:
    """Add a skill of the caller's.

    Raises:
        InvalidRequest: a field that can't be used.
        QuotaExceeded: the caller's skills would take more bytes than are allowed.
        SkillNotPublishable: it is to be public and has errors.
        SkillReviewNeeded: it is to be public and was imported.
        SkillSlugTaken: the caller has one of the slug that was asked for.
        SkillsFull: the caller has as many as are allowed.
    """
    work, principal, limits = desk.work, desk.principal, desk.limits
    session, owner_id = work.session, principal.user_id
    # Two at once must neither find the last room, nor the same slug free.
    await lock_owner(session, owner_id)
    counted = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    if (await session.exec(counted)).one() >= limits.skills:
        raise SkillsFull(limit=limits.skills)
    origin = wanted.provenance
    skill = Skill(
        owner_id=owner_id,
        slug="",
        name="",
        name_key="",
        enabled=wanted.entry.enabled is not False,
        origin=origin.origin.value,
        trusted=origin.trusted,
        forked_from=origin.forked_from,
        forked_version=origin.forked_version,
    )
    skill.slug = await _choose_slug(session, skill, wanted)
    session.add(skill)
    await session.flush()
    version = await skill_versions.append_version(
        work, principal, skill, wanted.judged, wanted.change
    )
    if wanted.entry.is_public:
        await _set_public(work, skill, is_public=True)
    await skill_metadata.set_fields(work, skill, version, wanted.entry)
    await skill_versions.check_quota(session, principal, skill, limits)
    return SkillView(skill, Access.OWNER, skill_access.is_reviewer(principal, skill))


async def _choose_slug(session: AsyncSession, skill: Skill, wanted: NewSkill) -> str:
    """The slug that was asked for, by the request or the content, else a free one like the name."""
    parsed = wanted.judged.parsed
    if wanted.entry.slug is not None:
        return await _require_free_slug(session, skill, wanted.entry.slug)
    says_so = parsed.format is not SkillFormat.NATIVE or "slug" in parsed.metadata
    origin = wanted.provenance
    if parsed.slug and says_so and origin.origin is SkillOrigin.WRITTEN:
        return await _require_free_slug(session, skill, parsed.slug)
    first = (
        origin.likes_slug
        or parsed.slug
        or slugify(wanted.entry.name or "")
        or placeholder_slug(skill.id)
    )
    # In one look: of very many of one name each would look for all those before it.
    taken = select(Skill.slug).where(
        Skill.owner_id == skill.owner_id, col(Skill.slug).startswith(slug_prefix(first))
    )
    return free_slug(first, set((await session.exec(taken)).all()))


async def _require_free_slug(session: AsyncSession, skill: Skill, slug: str) -> str:
    if not is_slug(slug):
        raise InvalidRequest(
            "slug", "Use lower-case letters, digits and single hyphens between them, 64 at most"
        )
    taken_by = await find_by_slug(session, skill.owner_id, slug)
    if taken_by is not None and taken_by != skill.id:
        raise SkillSlugTaken(field="slug", slug=slug, skill_id=taken_by)
    return slug


async def find_by_slug(session: AsyncSession, owner_id: str, slug: str) -> str | None:
    """The id of somebody's skill of a slug; None without one."""
    query = select(Skill.id).where(Skill.owner_id == owner_id, Skill.slug == slug)
    return (await session.exec(query)).first()


@dataclass(frozen=True)
class SkillUpdate:
    """What is to become of a skill.

    Args:
        revise: makes its next version; None leaves content and files as they are.
        entry: the catalogue's fields.
        change: what is told of the new version.
    """

    revise: VersionBuilder | None = None
    entry: CatalogMetadata = _NO_METADATA
    change: VersionChange = _NO_CHANGE


@dataclass(frozen=True)
class PreparedVersion:
    """A next version, judged before the transaction that writes it.

    Args:
        version: the newest version, which it was made from.
        judged: what it is to hold; None where that would be the same.
    """

    version: int
    judged: ValidatedSkill | None


async def prepare(
    session: AsyncSession, principal: Principal, skill_id: str, wanted: SkillUpdate
) -> PreparedVersion:
    """Judge what an update is to write; it takes longer than others may be kept from writing.

    Raises:
        ReadOnly: the caller may see the skill but not change it.
        SkillChanged: it was changed since it was read.
        SkillNotFound: there is none, or not for this caller.
        AgentexError: what the update's revision raises.
    """
    seen = await skill_access.get(session, principal, skill_id, Action.WRITE)
    newest = await publishing.get_version_by_number(session, seen.skill, seen.skill.version)
    skill_versions.check_etag(seen.skill, wanted.change.base)
    return await _prepare(session, seen, newest, wanted)


async def update(
    desk: SkillContext, skill_id: str, wanted: SkillUpdate, prepared: PreparedVersion | None = None
) -> tuple[SkillView, ValidatedSkill | None]:
    """Change a skill; the same bytes again make no new version.

    Args:
        desk: where the caller works.
        skill_id: which one.
        wanted: what is to become of it.
        prepared: see :func:`draft`; where the skill has a newer version by now, or without it, the
            next one is judged here.

    Returns:
        The skill, and what its new version holds; None without one.

    Raises:
        InvalidRequest: a field that can't be used.
        OwnerOnly: slug, publication and use are the owner's to decide.
        QuotaExceeded: the owner's skills would take more bytes than are allowed.
        ReadOnly: the caller may see it but not change it.
        SkillChanged: it was changed since it was read.
        SkillNotFound: there is none, or not for this caller.
        SkillNotPublishable: it is to be public and has errors.
        SkillReviewNeeded: it is to be public and was imported.
        SkillSlugTaken: the owner has another one of this slug.
        AgentexError: what the update's revision raises.
    """
    work, principal, limits = desk.work, desk.principal, desk.limits
    session, entry = work.session, wanted.entry
    seen = await skill_access.get_for_update_with_owner(session, principal, skill_id, Action.WRITE)
    skill = seen.skill
    if _is_owners_decision(skill, entry):
        check_access(seen.access, Action.MANAGE, SkillNotFound)
    skill_versions.check_etag(skill, wanted.change.base)
    newest = await publishing.get_version_by_number(session, skill, skill.version)
    if prepared is None or prepared.version != newest.version:
        prepared = await _prepare(session, seen, newest, wanted)
    if (judged := prepared.judged) is not None:
        newest = await skill_versions.append_version(work, principal, skill, judged, wanted.change)
        await publishing.publish_new_version(work, skill, newest)
    if entry.slug not in {None, skill.slug}:
        skill.slug = await _require_free_slug(session, skill, entry.slug or "")
    skill.enabled = skill.enabled if entry.enabled is None else entry.enabled
    if entry.is_public not in {None, skill.is_public}:
        await _set_public(work, skill, is_public=bool(entry.is_public))
    # Once, when it is known whose words the catalogue shows.
    await skill_metadata.set_fields(
        work, skill, await publishing.catalog_version(session, skill), entry
    )
    if judged is not None:
        await skill_versions.check_quota(session, principal, skill, limits)
    return replace(seen, is_reviewer=skill_access.is_reviewer(principal, skill)), judged


async def _prepare(
    session: AsyncSession, seen: SkillView, newest: SkillVersion, wanted: SkillUpdate
) -> PreparedVersion:
    judged = None
    if wanted.revise is not None:
        judged = await wanted.revise(session, seen, newest)
    is_other = judged is not None and not skill_versions.is_unchanged(newest, judged)
    return PreparedVersion(newest.version, judged if is_other else None)


def _is_owners_decision(skill: Skill, entry: CatalogMetadata) -> bool:
    """Whether a request decides what only the owner decides."""
    return (
        entry.is_public not in {None, skill.is_public}
        or entry.slug not in {None, skill.slug}
        or entry.enabled not in {None, skill.enabled}
    )


async def _set_public(work: UnitOfWork, skill: Skill, *, is_public: bool) -> None:
    skill.is_public = is_public
    if is_public:
        await publishing.publish(work, skill)
    work.session.add(skill)
    audit_public(work, skill, publishing.SHARE_AUDIT_ACTIONS)


async def delete(work: UnitOfWork, principal: Principal, skill_id: str) -> None:
    """Delete a skill with all its versions.

    Raises:
        OwnerOnly: it is somebody else's.
        ReadOnly: the caller may only read it.
        SkillNotFound: there is none, or not for this caller.
    """
    seen = await skill_access.get_for_update(work.session, principal, skill_id, Action.MANAGE)
    await erase(work, seen.skill)


async def erase(work: UnitOfWork, skill: Skill) -> None:
    """Take a skill away with all that belongs to it."""
    await delete_shares(work, Skill.SHARE_KIND, [skill.id])
    audit(work.session, AuditAction.SKILL_DELETED, AuditTarget(Skill.SHARE_KIND, skill.id))
    await work.session.delete(skill)
    await work.session.flush()


async def new_fork(
    session: AsyncSession,
    principal: Principal,
    skill_id: str,
    number: int | None,
    entry: CatalogMetadata,
) -> NewSkill:
    """A skill of the caller's own, to be made from one that they may read.

    Args:
        session: to read from.
        principal: who asks.
        skill_id: of which one.
        number: of which version; None for the caller's.
        entry: what is to be different in the catalogue.

    Raises:
        SkillNotFound: there is none, or not for this caller.
        SkillVersionNotFound: there is none of this number for the caller.
    """
    seen = await skill_access.get(session, principal, skill_id)
    version = await skill_access.get_version(session, seen, number)
    judged = await validate(*await skill_access.read_content_and_files(session, version))
    source = seen.skill
    provenance = Origin(
        SkillOrigin.FORKED,
        not version.unread,
        forked_from=source.id,
        forked_version=version.version,
        likes_slug=source.slug,
    )
    return NewSkill(judged, entry, provenance=provenance)


async def count(session: AsyncSession, owner_id: str) -> int:
    """How many skills somebody owns."""
    query = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    return (await session.exec(query)).one()


async def hand_over(work: UnitOfWork, owner_id: str, heir_id: str) -> None:
    """Make somebody the owner of all skills of another person.

    A slug that the heir has given already gets a number behind it.
    """
    session = work.session
    # Owners come before skills wherever both are taken.
    await lock_owner(session, owner_id)
    # What the heir makes meanwhile must not get the same slug.
    await lock_owner(session, heir_id)
    taken = {*(await session.exec(select(Skill.slug).where(Skill.owner_id == heir_id))).all()}
    skills = await _lock_owned(session, owner_id)
    # What is one's own is not shared with one.
    ids = [skill.id for skill in skills]
    await delete_user_shares(work, heir_id, kind=Skill.SHARE_KIND, resource_ids=ids)
    for skill in skills:
        slug = free_slug(skill.slug, taken)
        taken.add(slug)
        skill.slug, skill.owner_id = slug, heir_id
        # A slug's words are words to find a skill by.
        await skill_metadata.follow_version(
            work, skill, await publishing.catalog_version(session, skill)
        )
    await session.flush()


async def erase_owned_by(work: UnitOfWork, owner_id: str) -> None:
    """Delete all skills of somebody, and the trigger tests that they made; doing it twice is one."""
    await lock_owner(work.session, owner_id)
    for skill in await _lock_owned(work.session, owner_id):
        await erase(work, skill)
    tests = delete_rows(SkillTriggerTest).where(col(SkillTriggerTest.user_id) == owner_id)
    await work.session.exec(tests)


async def _lock_owned(session: AsyncSession, owner_id: str) -> list[Skill]:
    """All skills of somebody, the oldest first, kept until the transaction ends."""
    query = (
        select(Skill)
        .where(Skill.owner_id == owner_id)
        # As who counts the use of several takes them.
        .order_by(col(Skill.id))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return sorted((await session.exec(query)).all(), key=lambda skill: skill.created_at)
