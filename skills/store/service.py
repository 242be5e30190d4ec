"""Skills created, changed, forked, handed over and deleted."""

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
from skills.models import Skill, SkillOrigin, SkillTriggerTest, SkillVersion
from skills.schema import SkillFormat
from skills.slugs import free_slug, is_slug, placeholder_slug, slug_prefix, slugify
from skills.store import access as skill_access
from skills.store import metadata as skill_metadata
from skills.store import publishing
from skills.store import versions as skill_versions
from skills.store.access import SkillView
from skills.store.metadata import CatalogMetadata
from skills.store.versions import SkillLimits, VersionBuilder, VersionChange
from skills.validation import ValidatedSkill, validate


@dataclass(frozen=True)
class SkillContext:
    """The transaction, the caller, and the limits of a skill's owner."""

    work: UnitOfWork
    principal: Principal
    limits: SkillLimits


@dataclass(frozen=True)
class Origin:
    """The origin of a new skill; ``trusted``: read by its owner; ``preferred_slug`` gets a number if taken."""

    kind: SkillOrigin = SkillOrigin.WRITTEN
    trusted: bool = True
    forked_from: str | None = None
    forked_version: int | None = None
    preferred_slug: str = ""


_NO_METADATA, _NO_CHANGE, _WRITTEN_HERE = CatalogMetadata(), VersionChange(), Origin()


@dataclass(frozen=True)
class NewSkill:
    """A skill to be created; ``change`` has the note of its first version."""

    validated: ValidatedSkill
    metadata: CatalogMetadata = _NO_METADATA
    change: VersionChange = _NO_CHANGE
    origin: Origin = _WRITTEN_HERE


async def create(context: SkillContext, new: NewSkill) -> SkillView:
    """Create a skill that belongs to the caller."""
    work, principal, limits = context.work, context.principal, context.limits
    session, owner_id = work.session, principal.user_id
    # Two requests at once must not both take the last place, or the same slug.
    await lock_owner(session, owner_id)
    counted = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    if (await session.exec(counted)).one() >= limits.skills:
        raise SkillsFull(limit=limits.skills)
    skill = Skill(
        owner_id=owner_id,
        slug="",
        name="",
        name_key="",
        enabled=new.metadata.enabled is not False,
        origin=new.origin.kind.value,
        trusted=new.origin.trusted,
        forked_from=new.origin.forked_from,
        forked_version=new.origin.forked_version,
    )
    skill.slug = await _choose_slug(session, skill, new)
    session.add(skill)
    await session.flush()
    version = await skill_versions.append_version(work, principal, skill, new.validated, new.change)
    if new.metadata.is_public:
        await _set_public(work, skill, is_public=True)
    await skill_metadata.set_fields(work, skill, version, new.metadata)
    await skill_versions.check_quota(session, principal, skill, limits)
    return SkillView(skill, Access.OWNER, skill_access.is_reviewer(principal, skill))


async def _choose_slug(session: AsyncSession, skill: Skill, new: NewSkill) -> str:
    parsed = new.validated.parsed
    if new.metadata.slug is not None:
        return await _require_free_slug(session, skill, new.metadata.slug)
    says_so = parsed.format is not SkillFormat.NATIVE or "slug" in parsed.metadata
    origin = new.origin
    if parsed.slug and says_so and origin.kind is SkillOrigin.WRITTEN:
        return await _require_free_slug(session, skill, parsed.slug)
    first = origin.preferred_slug or parsed.slug or slugify(new.metadata.name or "") or placeholder_slug(skill.id)
    # In one query: of very many skills of one name each would ask for all before it.
    taken_slugs = select(Skill.slug).where(
        Skill.owner_id == skill.owner_id, col(Skill.slug).startswith(slug_prefix(first))
    )
    return free_slug(first, set((await session.exec(taken_slugs)).all()))


async def _require_free_slug(session: AsyncSession, skill: Skill, slug: str) -> str:
    if not is_slug(slug):
        raise InvalidRequest(
            "slug",
            "Use lower-case letters, digits and single hyphens between them, 64 at most",
            "请使用小写字母、数字和它们之间的单个连字符，最多 64 个字符",
        )
    taken_by = await find_by_slug(session, skill.owner_id, slug)
    if taken_by is not None and taken_by != skill.id:
        raise SkillSlugTaken(field="slug", slug=slug, skill_id=taken_by)
    return slug


async def find_by_slug(session: AsyncSession, owner_id: str, slug: str) -> str | None:
    """The id of the owner's skill with this slug."""
    query = select(Skill.id).where(Skill.owner_id == owner_id, Skill.slug == slug)
    return (await session.exec(query)).first()


@dataclass(frozen=True)
class SkillUpdate:
    """Changes of a skill; without ``build_version`` content and files stay as they are."""

    build_version: VersionBuilder | None = None
    metadata: CatalogMetadata = _NO_METADATA
    change: VersionChange = _NO_CHANGE


@dataclass(frozen=True)
class PreparedVersion:
    """A next version of ``version``, validated before its write transaction; None if nothing would change."""

    version: int
    validated: ValidatedSkill | None


async def prepare(session: AsyncSession, principal: Principal, skill_id: str, changes: SkillUpdate) -> PreparedVersion:
    """Validate what an update will write, which takes too long for a write transaction."""
    view = await skill_access.get(session, principal, skill_id, Action.WRITE)
    newest = await publishing.get_version_by_number(session, view.skill, view.skill.version)
    skill_versions.check_etag(view.skill, changes.change.base)
    return await _prepare(session, view, newest, changes)


async def update(
    context: SkillContext, skill_id: str, changes: SkillUpdate, prepared: PreparedVersion | None = None
) -> tuple[SkillView, ValidatedSkill | None]:
    """Change a skill and return it with its new version; the same bytes again make none.

    If ``prepared`` (see :func:`prepare`) is absent or outdated, the next version is validated here.
    """
    work, principal, limits = context.work, context.principal, context.limits
    session, metadata = work.session, changes.metadata
    view = await skill_access.get_for_update_with_owner(session, principal, skill_id, Action.WRITE)
    skill = view.skill
    if _is_owners_decision(skill, metadata):
        check_access(view.access, Action.MANAGE, SkillNotFound)
    skill_versions.check_etag(skill, changes.change.base)
    newest = await publishing.get_version_by_number(session, skill, skill.version)
    if prepared is None or prepared.version != newest.version:
        prepared = await _prepare(session, view, newest, changes)
    if (validated := prepared.validated) is not None:
        newest = await skill_versions.append_version(work, principal, skill, validated, changes.change)
        await publishing.publish_new_version(work, skill, newest)
    if metadata.slug not in {None, skill.slug}:
        skill.slug = await _require_free_slug(session, skill, metadata.slug or "")
    skill.enabled = skill.enabled if metadata.enabled is None else metadata.enabled
    if metadata.is_public not in {None, skill.is_public}:
        await _set_public(work, skill, is_public=bool(metadata.is_public))
    # Only now is it certain which version's words the catalogue shows.
    await skill_metadata.set_fields(work, skill, await publishing.catalog_version(session, skill), metadata)
    if validated is not None:
        await skill_versions.check_quota(session, principal, skill, limits)
    return replace(view, is_reviewer=skill_access.is_reviewer(principal, skill)), validated


async def _prepare(
    session: AsyncSession, view: SkillView, newest: SkillVersion, changes: SkillUpdate
) -> PreparedVersion:
    validated = None
    if changes.build_version is not None:
        validated = await changes.build_version(session, view, newest)
    is_other = validated is not None and not skill_versions.is_unchanged(newest, validated)
    return PreparedVersion(newest.version, validated if is_other else None)


def _is_owners_decision(skill: Skill, metadata: CatalogMetadata) -> bool:
    return (
        metadata.is_public not in {None, skill.is_public}
        or metadata.slug not in {None, skill.slug}
        or metadata.enabled not in {None, skill.enabled}
    )


async def _set_public(work: UnitOfWork, skill: Skill, *, is_public: bool) -> None:
    skill.is_public = is_public
    if is_public:
        await publishing.publish(work, skill)
    work.session.add(skill)
    audit_public(work, skill, publishing.SHARE_AUDIT_ACTIONS)


async def delete(work: UnitOfWork, principal: Principal, skill_id: str) -> None:
    """Delete the caller's skill with all its versions."""
    view = await skill_access.get_for_update(work.session, principal, skill_id, Action.MANAGE)
    await erase(work, view.skill)


async def erase(work: UnitOfWork, skill: Skill) -> None:
    """Delete a skill with its versions, files, shares and counters."""
    await delete_shares(work, Skill.SHARE_KIND, [skill.id])
    audit(work.session, AuditAction.SKILL_DELETED, AuditTarget(Skill.SHARE_KIND, skill.id))
    await work.session.delete(skill)
    await work.session.flush()


async def new_fork(
    session: AsyncSession, principal: Principal, skill_id: str, number: int | None, metadata: CatalogMetadata
) -> NewSkill:
    """A new skill from a version that the caller may read; None: the version they are served."""
    view = await skill_access.get(session, principal, skill_id)
    version = await skill_access.get_version(session, view, number)
    content, files = await skill_access.read_content_and_files(session, version)
    validated = await validate(content, files, default_name=version.name)
    source = view.skill
    origin = Origin(
        SkillOrigin.FORKED,
        not version.unread,
        forked_from=source.id,
        forked_version=version.version,
        preferred_slug=source.slug,
    )
    return NewSkill(validated, metadata, origin=origin)


async def count(session: AsyncSession, owner_id: str) -> int:
    """The number of skills that an account owns."""
    query = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    return (await session.exec(query)).one()


async def hand_over(work: UnitOfWork, owner_id: str, heir_id: str) -> None:
    """Make an heir the owner of all skills of an account; slugs that the heir already has get a number."""
    session = work.session
    # Accounts are locked before skills wherever both are.
    await lock_owner(session, owner_id)
    # The heir must not create a skill of the same slug meanwhile.
    await lock_owner(session, heir_id)
    taken_slugs = {*(await session.exec(select(Skill.slug).where(Skill.owner_id == heir_id))).all()}
    skills = await _lock_owned(session, owner_id)
    # Owners need no share of their own skills.
    ids = [skill.id for skill in skills]
    await delete_user_shares(work, heir_id, kind=Skill.SHARE_KIND, resource_ids=ids)
    for skill in skills:
        slug = free_slug(skill.slug, taken_slugs)
        taken_slugs.add(slug)
        skill.slug, skill.owner_id = slug, heir_id
        # The search index holds the slug's words.
        await skill_metadata.follow_version(work, skill, await publishing.catalog_version(session, skill))
    await session.flush()


async def erase_owned_by(work: UnitOfWork, owner_id: str) -> None:
    """Delete all skills and trigger tests of an account; idempotent."""
    await lock_owner(work.session, owner_id)
    for skill in await _lock_owned(work.session, owner_id):
        await erase(work, skill)
    tests = delete_rows(SkillTriggerTest).where(col(SkillTriggerTest.user_id) == owner_id)
    await work.session.exec(tests)


async def _lock_owned(session: AsyncSession, owner_id: str) -> list[Skill]:
    query = (
        select(Skill)
        .where(Skill.owner_id == owner_id)
        # In the order in which usage counters lock them.
        .order_by(col(Skill.id))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return sorted((await session.exec(query)).all(), key=lambda skill: skill.created_at)
