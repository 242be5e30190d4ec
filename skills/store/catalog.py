"""The skills that a reader's agents may use: their cards and contents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import ColumnElement, Integer, and_, case, literal, or_, true
from sqlalchemy.orm import defer
from sqlalchemy.sql.base import ExecutableOption
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import User
from core.auth.sharing import shared_resource_ids
from core.db.types import is_id
from core.errors.auth import SkillFileNotFound, SkillNotFound, SkillVersionNotFound
from kb_service.visibility import Viewer
from skills import schema
from skills.models import Skill, SkillBlob, SkillVersion
from skills.schema import ParsedSkill
from skills.store import visibility as skill_visibility
from skills.store.summary import SkillCard

_LARGE = (defer(SkillVersion.parsed),)  # pyright: ignore[reportArgumentType] # a table class's attribute is a column


@dataclass(frozen=True, kw_only=True)
class CatalogCard(SkillCard):
    """A card of the version that the reader is served; slugs are unique per owner, ``sha`` is of the content."""

    id: str
    owner: str
    owner_id: str
    version: int
    sha: str

    @classmethod
    def of(cls, skill: Skill, version: SkillVersion, owner: str) -> Self:
        return cls(
            slug=skill.slug,
            name=version.name,
            description=version.description,
            triggers=tuple(version.triggers),
            not_for=tuple(version.not_for),
            id=skill.id,
            owner=owner,
            owner_id=skill.owner_id,
            version=version.version,
            sha=version.content_sha256,
        )


@dataclass(frozen=True)
class FileEntry:
    """A file beside the content: its path, the SHA-256 of its bytes, and how many they are."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class OpenedSkill:
    """A version of a skill with its model, its markdown without frontmatter, and its files."""

    card: CatalogCard
    parsed: ParsedSkill
    body: str
    files: tuple[FileEntry, ...]


async def list_readable(session: AsyncSession, reader: Viewer) -> list[CatalogCard]:
    """The cards of all skills that a reader's agents may use, by slug, then by owner.

    They are the reader's own, those shared with them and public ones, each in the version that the reader is served, if
    enabled, reviewed and without errors.
    """
    rows = await _load_usable(session, reader, true(), without=_LARGE)
    return sorted(map(_card, rows), key=lambda card: (card.slug, card.owner, card.id))


async def open_skill(session: AsyncSession, reader: Viewer, id_or_slug: str, version: int | None = None) -> OpenedSkill:
    """Load a skill by id, ``slug`` (the reader's own first) or ``owner/slug``; None: the version they are served."""
    row = await _load_one_usable(session, reader, id_or_slug, version)
    parsed = await schema.from_json(row.version.parsed)
    return OpenedSkill(_card(row), parsed, parsed.body, tuple(list_files(row.version)))


async def read_file(
    session: AsyncSession, reader: Viewer, id_or_slug: str, path: str, version: int | None = None
) -> bytes:
    """The bytes of a file beside a skill's content, by its path in the version's list only."""
    row = await _load_one_usable(session, reader, id_or_slug, version)
    for file in list_files(row.version):
        if file.path == path:
            return await read_blob(session, row.skill.id, file.sha256)
    raise SkillFileNotFound(field="path")


def list_files(version: SkillVersion) -> list[FileEntry]:
    """The files beside a version's content, in the order of paths."""
    return [FileEntry(**file) for file in version.files]


@dataclass(frozen=True)
class _UsableSkill:
    skill: Skill
    version: SkillVersion
    owner: str


def _card(row: _UsableSkill) -> CatalogCard:
    return CatalogCard.of(row.skill, row.version, row.owner)


def _sees_newest(reader: Viewer) -> ColumnElement[bool]:
    """Whether the reader sees versions before others are served them: as owner, or with write access."""
    mine = shared_resource_ids(reader.user_id, Skill.SHARE_KIND, only_to_change=True)
    return or_(col(Skill.owner_id) == reader.user_id, col(Skill.id).in_(mine))


def _visible_to(reader: Viewer) -> ColumnElement[bool]:
    shared = shared_resource_ids(reader.user_id, Skill.SHARE_KIND)
    served = col(Skill.served_version).is_not(None)
    return or_(
        and_(col(Skill.owner_id) == reader.user_id, skill_visibility.newest_reviewed().is_not(None)),
        and_(served, or_(col(Skill.is_public).is_(True), col(Skill.id).in_(shared))),
    )


async def _load_usable(
    session: AsyncSession,
    reader: Viewer,
    condition: ColumnElement[bool],
    version: int | None = None,
    without: Sequence[ExecutableOption] = (),
) -> Sequence[_UsableSkill]:
    sees_newest = _sees_newest(reader)
    chosen = case((sees_newest, skill_visibility.newest_reviewed()), else_=col(Skill.served_version))
    if version is not None:
        chosen = literal(version)
    is_read = col(SkillVersion.unread).is_(False)
    query = (
        select(Skill, SkillVersion, User.username)
        .join(SkillVersion, col(SkillVersion.skill_id) == col(Skill.id))
        .join(User, col(User.id) == col(Skill.owner_id))
        .where(
            condition,
            col(SkillVersion.version) == chosen.cast(Integer),
            or_(and_(sees_newest, is_read), skill_visibility.served_to_readers()),
            _visible_to(reader),
            col(Skill.enabled).is_(True),
            col(SkillVersion.valid).is_(True),
        )
        .options(*without)
    )
    rows = (await session.exec(query)).all()
    return [_UsableSkill(skill, content, owner) for skill, content, owner in rows]


async def _load_one_usable(session: AsyncSession, reader: Viewer, id_or_slug: str, version: int | None) -> _UsableSkill:
    query = select(Skill).where(_matches(id_or_slug), _visible_to(reader), col(Skill.enabled).is_(True))
    candidates = (await session.exec(query)).all()
    if not candidates:
        raise SkillNotFound
    # Of several skills of one slug: the reader's own, then the oldest.
    chosen = min(candidates, key=lambda row: (row.owner_id != reader.user_id, row.created_at, row.id))
    rows = await _load_usable(session, reader, col(Skill.id) == chosen.id, version)
    if not rows:
        raise SkillNotFound if version is None else SkillVersionNotFound(field="version")
    return rows[0]


def _matches(id_or_slug: str) -> ColumnElement[bool]:
    if is_id(id_or_slug):
        return col(Skill.id) == id_or_slug
    owner, _, slug = id_or_slug.rpartition("/")
    by_slug = col(Skill.slug) == slug
    if not owner:
        return by_slug
    return and_(by_slug, col(Skill.owner_id).in_(select(User.id).where(User.username == owner)))


async def read_blob(session: AsyncSession, skill_id: str, sha256: str) -> bytes:
    """The bytes of a skill under a hash that one of its versions names."""
    query = select(SkillBlob.content).where(SkillBlob.skill_id == skill_id, SkillBlob.sha256 == sha256)
    content = (await session.exec(query)).first()
    if content is None:
        raise SkillNotFound
    return content
