"""Immutable versions of skills, their blobs and quota, and the builders of next versions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.errors.conflicts import SkillChanged
from core.errors.requests import InvalidRequest, QuotaExceeded
from skills.models import ReviewState, Skill, SkillBlob, SkillVersion
from skills.parser.parse import PARSER_VERSION
from skills.schema import Severity, SkillFile
from skills.store import access as skill_access
from skills.store import metadata as skill_metadata
from skills.store.access import SkillView
from skills.store.catalog import list_files
from skills.store.summary import make_card
from skills.validation import ValidatedSkill, digest, validate

LONGEST_NOTE = 2000


@dataclass(frozen=True)
class SkillLimits:
    """How many skills one user may own, and how many bytes all their versions and files may take."""

    skills: int
    bytes: int


@dataclass(frozen=True)
class BaseState:
    """The state that a change was made from; None is not checked. ``file_sha256`` is of the changed file."""

    version: int | None = None
    revision: int | None = None
    file_sha256: str | None = None


_ANY_STATE = BaseState()


@dataclass(frozen=True)
class VersionChange:
    """The origin of a new version: the author's note, the base state, and the older version that it repeats.

    ``is_unread``: imported and not reviewed; None: as the version before it.
    """

    note: str = ""
    base: BaseState = _ANY_STATE
    restored_from: int | None = None
    is_unread: bool | None = None


def check_etag(skill: Skill, base: BaseState) -> None:
    """Check that a change was made from the current state; ``SkillChanged`` names the newest version."""
    is_version = base.version in {None, skill.version}
    if not is_version or base.revision not in {None, skill.revision}:
        raise SkillChanged(version=skill.version)


async def append_version(
    work: UnitOfWork, principal: Principal, skill: Skill, validated: ValidatedSkill, change: VersionChange
) -> SkillVersion:
    """Write the next version of a skill, whose row is locked or new."""
    if len(change.note) > LONGEST_NOTE:
        raise InvalidRequest("change_note", f"Use {LONGEST_NOTE} characters at most", f"最多 {LONGEST_NOTE} 个字符")
    session = work.session
    await _add_blobs(session, skill.id, validated)
    card, report = make_card(validated.parsed, skill.slug), validated.report
    is_unread = await _is_unread(session, skill, change)
    skill.version += 1
    skill.loads, skill.trusted = report.valid, not is_unread
    version = SkillVersion(
        skill_id=skill.id,
        version=skill.version,
        content_sha256=validated.sha256,
        size=len(validated.content),
        row_bytes=validated.row_bytes,
        files=validated.manifest,
        name=card.name,
        description=card.description,
        category=skill_metadata.read_category(validated.parsed),
        tags=skill_metadata.read_tags(validated.parsed),
        triggers=list(card.triggers),
        not_for=list(card.not_for),
        tools=None if validated.parsed.tools is None else list(validated.parsed.tools),
        parsed=validated.snapshot,
        findings=[diagnostic.code for diagnostic in report.diagnostics if diagnostic.severity is not Severity.INFO],
        valid=report.valid,
        publishable=report.publishable,
        portable=report.portable,
        parser_version=str(PARSER_VERSION),
        change_note=change.note,
        author_id=principal.user_id,
        restored_from=change.restored_from,
        unread=is_unread,
        review=ReviewState.NONE.value,
    )
    session.add_all((skill, version))
    await session.flush()
    return version


async def _is_unread(session: AsyncSession, skill: Skill, change: VersionChange) -> bool:
    if change.is_unread is not None:
        return change.is_unread
    if change.restored_from is None:
        return not skill.trusted
    key = {"skill_id": skill.id, "version": change.restored_from}
    return (await session.get_one(SkillVersion, key)).unread


def required_blobs(validated: ValidatedSkill) -> dict[str, bytes]:
    """The blobs that a version needs, by hash."""
    hashes = (str(file["sha256"]) for file in validated.manifest)
    blobs = dict(zip(hashes, (file.content for file in validated.files), strict=True))
    return blobs | {validated.sha256: validated.content}


def is_unchanged(version: SkillVersion, validated: ValidatedSkill) -> bool:
    """Whether a version has exactly these bytes."""
    return version.content_sha256 == validated.sha256 and version.files == validated.manifest


async def _add_blobs(session: AsyncSession, skill_id: str, validated: ValidatedSkill) -> None:
    blobs = required_blobs(validated)
    there = select(SkillBlob.sha256).where(SkillBlob.skill_id == skill_id, col(SkillBlob.sha256).in_(blobs))
    present = set((await session.exec(there)).all())
    session.add_all(
        SkillBlob(skill_id=skill_id, sha256=sha256, size=len(content), content=content)
        for sha256, content in blobs.items()
        if sha256 not in present
    )


async def check_quota(session: AsyncSession, principal: Principal, skill: Skill, limits: SkillLimits) -> None:
    """Check the locked owner's limit after the writes, else don't commit; only the owner is told the sizes."""
    await session.flush()
    used = await used_bytes(session, skill.owner_id)
    if used > limits.bytes and principal.user_id != skill.owner_id:
        raise QuotaExceeded
    if used > limits.bytes:
        raise QuotaExceeded(used_bytes=used, limit_bytes=limits.bytes)


async def used_bytes(session: AsyncSession, owner_id: str) -> int:
    """The bytes of an account's skills, with all versions and files."""
    used = 0
    # Equal bytes are stored once, but each version has its own row.
    for size, skill_id in (
        (col(SkillBlob.size), col(SkillBlob.skill_id)),
        (col(SkillVersion.row_bytes), col(SkillVersion.skill_id)),
    ):
        query = (
            select(func.coalesce(func.sum(size), 0))
            .join(Skill, col(Skill.id) == skill_id)
            .where(col(Skill.owner_id) == owner_id)
        )
        used += int((await session.exec(query)).one())
    return used


VersionBuilder = Callable[[AsyncSession, SkillView, SkillVersion], Awaitable[ValidatedSkill | None]]
"""Builds the next version from a skill and its newest version; None: no change."""


@dataclass(frozen=True)
class FileEdit:
    """New bytes of a file; None removes it. ``before`` is the hash of the bytes that were read."""

    path: str
    content: bytes | None
    before: str | None = None


def with_content(content: bytes) -> VersionBuilder:
    """A new SKILL.md beside the same files."""

    async def build(session: AsyncSession, _: SkillView, newest: SkillVersion) -> ValidatedSkill | None:
        if digest(content) == newest.content_sha256:
            return None
        files = await skill_access.read_files(session, newest)
        return await validate(content, files, default_name=await skill_access.find_folder_name(session, newest))

    return build


def with_validated(validated: ValidatedSkill) -> VersionBuilder:
    """Already validated content and files."""

    async def build(_: AsyncSession, __: SkillView, ___: SkillVersion) -> ValidatedSkill:
        return validated

    return build


def with_file(edit: FileEdit) -> VersionBuilder:
    """One file put or removed, the rest unchanged.

    ``SkillFileNotFound`` for removing a missing file, ``SkillChanged`` if it was changed since it was read.
    """

    async def build(session: AsyncSession, _: SkillView, newest: SkillVersion) -> ValidatedSkill:
        if edit.content is None:
            skill_access.get_file_entry(newest, edit.path)
        present = {entry.path: entry.sha256 for entry in list_files(newest)}
        if edit.before not in {None, present.get(edit.path)}:
            raise SkillChanged(version=newest.version)
        content, files = await skill_access.read_content_and_files(session, newest)
        others = [file for file in files if file.path != edit.path]
        put = [] if edit.content is None else [SkillFile(edit.path, edit.content)]
        return await validate(content, [*others, *put], default_name=newest.name)

    return build


def from_version(number: int) -> VersionBuilder:
    """An older version; ``SkillVersionNotFound`` where the caller may not read it."""

    async def build(session: AsyncSession, view: SkillView, _: SkillVersion) -> ValidatedSkill:
        old = await skill_access.get_version(session, view, number)
        content, files = await skill_access.read_content_and_files(session, old)
        return await validate(content, files, default_name=old.name)

    return build
