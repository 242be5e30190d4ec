"""The library of skills: made, changed, restored, forked and deleted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Access, Action, Principal
from core.accounts.share_lists import note_public
from core.accounts.sharing import forget_shares
from core.audit import AuditAction, Target, note
from core.database.unit_of_work import UnitOfWork
from core.errors import InvalidRequest, SkillsFull, SkillSlugTaken
from kb_service.documents.quota import take_turn
from skills import entries, publishing, reading, writing
from skills.entries import Entry
from skills.judging import Judged, digest, judge
from skills.models import SkillFile, SkillFormat
from skills.reading import Seen
from skills.slugs import is_slug, numbered_slug, placeholder_slug, slug_of
from skills.tables import Skill, SkillOrigin, SkillVersion
from skills.writing import Change, Limits


@dataclass(frozen=True)
class Desk:
    """Where a caller works on skills.

    Args:
        work: the transaction.
        principal: who asks.
        limits: how much the owner of a skill may keep.
    """

    work: UnitOfWork
    principal: Principal
    limits: Limits


@dataclass(frozen=True)
class Provenance:
    """Where a new skill comes from.

    Args:
        origin: how it came here.
        trusted: whether its owner's agents may use it at once.
        forked_from: the id of the skill that it is a copy of.
        forked_version: the version of that one.
        likes_slug: the slug that it gets if it is free, else with a number behind it.
    """

    origin: SkillOrigin = SkillOrigin.WRITTEN
    trusted: bool = True
    forked_from: str | None = None
    forked_version: int | None = None
    likes_slug: str = ""


_NO_ENTRY, _NO_WORDS, _WRITTEN = Entry(), Change(), Provenance()


@dataclass(frozen=True)
class Wanted:
    """A skill to be made.

    Args:
        judged: its content and files.
        entry: what the request says for the catalogue.
        change: the note of its first version.
        provenance: where it comes from.
    """

    judged: Judged
    entry: Entry = _NO_ENTRY
    change: Change = _NO_WORDS
    provenance: Provenance = _WRITTEN


async def create(desk: Desk, wanted: Wanted) -> Seen:
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
    await take_turn(session, owner_id)
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
    skill.slug = await _slug_for(session, skill, wanted)
    session.add(skill)
    await session.flush()
    version = await writing.append(work, principal, skill, wanted.judged, wanted.change)
    await entries.set_fields(work, skill, version, wanted.entry)
    if wanted.entry.is_public:
        await _set_public(work, skill, is_public=True)
    await writing.check_room(session, owner_id, limits)
    return Seen(skill, Access.OWNER, reading.is_reviewer(principal, skill))


async def _slug_for(session: AsyncSession, skill: Skill, wanted: Wanted) -> str:
    """The slug that was asked for, by the request or the content, else a free one like the name."""
    parsed = wanted.judged.parsed
    if wanted.entry.slug is not None:
        return await _free_slug(session, skill, wanted.entry.slug)
    says_so = parsed.format is not SkillFormat.NATIVE or "slug" in parsed.metadata
    origin = wanted.provenance
    if parsed.slug and says_so and origin.origin is SkillOrigin.WRITTEN:
        return await _free_slug(session, skill, parsed.slug)
    first = (
        origin.likes_slug
        or parsed.slug
        or slug_of(wanted.entry.name or "")
        or placeholder_slug(skill.id)
    )
    slug, number = first, 1
    while await _has_slug(session, skill, slug):
        number += 1
        slug = numbered_slug(first, number)
    return slug


async def _free_slug(session: AsyncSession, skill: Skill, slug: str) -> str:
    if not is_slug(slug):
        raise InvalidRequest(
            "slug", "Use lower-case letters, digits and single hyphens between them, 64 at most"
        )
    if taken_by := await _has_slug(session, skill, slug):
        raise SkillSlugTaken(field="slug", slug=slug, skill_id=taken_by)
    return slug


async def _has_slug(session: AsyncSession, skill: Skill, slug: str) -> str | None:
    query = select(Skill.id).where(
        Skill.owner_id == skill.owner_id, Skill.slug == slug, Skill.id != skill.id
    )
    return (await session.exec(query)).first()


async def of_slug(session: AsyncSession, principal: Principal, slug: str) -> str | None:
    """The id of the caller's own skill of a slug."""
    query = select(Skill.id).where(Skill.owner_id == principal.user_id, Skill.slug == slug)
    return (await session.exec(query)).first()


@dataclass(frozen=True)
class Update:
    """What is to become of a skill; None leaves content or files as they are.

    Args:
        content: the bytes of SKILL.md.
        files: all that is to lie beside it.
        entry: the catalogue's fields.
        change: what is told of the new version.
    """

    content: bytes | None = None
    files: Sequence[SkillFile] | None = None
    entry: Entry = _NO_ENTRY
    change: Change = _NO_WORDS


async def update(desk: Desk, skill_id: str, wanted: Update) -> tuple[Seen, bool]:
    """Change a skill; the same bytes again make no new version.

    Returns:
        The skill, and whether it has a new version.

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
    """
    work, principal, limits = desk.work, desk.principal, desk.limits
    session, entry = work.session, wanted.entry
    seen = await reading.hold(session, principal, skill_id, Action.WRITE)
    skill = seen.skill
    if _decides(skill, entry):
        seen = await reading.hold(session, principal, skill_id, Action.MANAGE)
    newest = await publishing.version_at(session, skill, skill.version)
    writing.check_base(newest, wanted.change.base)
    judged = await _judged(session, newest, wanted)
    if judged is not None:
        await take_turn(session, skill.owner_id)
        newest = await writing.append(work, principal, skill, judged, wanted.change)
        await publishing.settle(work, skill, newest, is_imported=wanted.change.is_imported)
    if entry.slug not in {None, skill.slug}:
        await take_turn(session, skill.owner_id)
        skill.slug = await _free_slug(session, skill, entry.slug or "")
    skill.enabled = skill.enabled if entry.enabled is None else entry.enabled
    await entries.set_fields(work, skill, await _basis(session, skill, newest), entry)
    if entry.is_public not in {None, skill.is_public}:
        await _set_public(work, skill, is_public=bool(entry.is_public))
    if judged is not None:
        await writing.check_room(session, skill.owner_id, limits)
    is_reviewer = reading.is_reviewer(principal, skill)
    return replace(seen, is_reviewer=is_reviewer), judged is not None


async def _judged(session: AsyncSession, newest: SkillVersion, wanted: Update) -> Judged | None:
    """What the next version is to hold; None where it would be the same as the newest one."""
    content, files = wanted.content, wanted.files
    if files is None and (content is None or digest(content) == newest.content_sha256):
        return None
    content = await reading.content_of(session, newest) if content is None else content
    files = await reading.read_files(session, newest) if files is None else files
    judged = await judge(content, files)
    return None if writing.is_same(newest, judged) else judged


def _decides(skill: Skill, entry: Entry) -> bool:
    """Whether a request decides what only the owner decides."""
    return (
        entry.is_public not in {None, skill.is_public}
        or entry.slug not in {None, skill.slug}
        or entry.enabled not in {None, skill.enabled}
    )


async def _basis(session: AsyncSession, skill: Skill, newest: SkillVersion) -> SkillVersion:
    """The version whose words the catalogue shows: the one that others are served, if they are."""
    if skill.served_version is None or not await publishing.is_open(session, skill):
        return newest
    return await publishing.version_at(session, skill, skill.served_version)


async def _set_public(work: UnitOfWork, skill: Skill, *, is_public: bool) -> None:
    skill.is_public = is_public
    if is_public:
        await publishing.open_up(work, skill)
    work.session.add(skill)
    note_public(work, skill, publishing.ACTS)


async def delete(work: UnitOfWork, principal: Principal, skill_id: str) -> None:
    """Delete a skill with all its versions.

    Raises:
        OwnerOnly: it is somebody else's.
        ReadOnly: the caller may only read it.
        SkillNotFound: there is none, or not for this caller.
    """
    seen = await reading.hold(work.session, principal, skill_id, Action.MANAGE)
    await erase(work, seen.skill)


async def erase(work: UnitOfWork, skill: Skill) -> None:
    """Take a skill away with all that belongs to it."""
    await forget_shares(work, Skill.SHARE_KIND, [skill.id])
    note(work.session, AuditAction.SKILL_DELETED, Target(Skill.SHARE_KIND, skill.id))
    await work.session.delete(skill)
    await work.session.flush()


async def restore(desk: Desk, skill_id: str, number: int, change: Change) -> tuple[Seen, bool]:
    """Make an older version the newest again, as a new version.

    Raises:
        SkillVersionNotFound: there is none of this number.
        AgentexError: as :func:`update`.
    """
    session = desk.work.session
    seen = await reading.hold(session, desk.principal, skill_id, Action.WRITE)
    old = await reading.version_of(session, seen, number)
    content, files = await _held(session, old)
    told = replace(change, restored_from=number)
    return await update(desk, skill_id, Update(content, files, change=told))


async def _held(session: AsyncSession, version: SkillVersion) -> tuple[bytes, list[SkillFile]]:
    content = await reading.content_of(session, version)
    return content, await reading.read_files(session, version)


async def fork(desk: Desk, skill_id: str, number: int | None, entry: Entry) -> Seen:
    """Make a skill of the caller's own from one that they may read.

    Raises:
        SkillVersionNotFound: there is none of this number for the caller.
        AgentexError: as :func:`create`.
    """
    session = desk.work.session
    seen = await reading.get(session, desk.principal, skill_id)
    version = await reading.version_of(session, seen, number)
    judged = await judge(*await _held(session, version))
    source = seen.skill
    provenance = Provenance(
        SkillOrigin.FORKED,
        source.trusted,
        forked_from=source.id,
        forked_version=version.version,
        likes_slug=source.slug,
    )
    return await create(desk, Wanted(judged, entry, provenance=provenance))


@dataclass(frozen=True)
class FileEdit:
    """A file's new bytes; None removes it."""

    path: str
    content: bytes | None


async def change_file(
    desk: Desk, skill_id: str, edit: FileEdit, change: Change
) -> tuple[Seen, bool]:
    """Put or remove one file beside a skill's content, as a new version.

    Raises:
        SkillFileNotFound: there is no such file to remove.
        SkillFilesRefused: the file is not taken in.
        AgentexError: as :func:`update`.
    """
    session = desk.work.session
    seen = await reading.hold(session, desk.principal, skill_id, Action.WRITE)
    newest = await publishing.version_at(session, seen.skill, seen.skill.version)
    if edit.content is None:
        reading.file_entry(newest, edit.path)
    files = _edited(await reading.read_files(session, newest), edit)
    return await update(desk, skill_id, Update(files=files, change=change))


def _edited(files: Iterable[SkillFile], edit: FileEdit) -> list[SkillFile]:
    kept = [file for file in files if file.path != edit.path]
    return kept if edit.content is None else [*kept, SkillFile(edit.path, edit.content)]
