"""Skills as folders of the open standard, served file by file to MCP clients."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlalchemy import tuple_
from sqlalchemy.orm import defer
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import User
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillFileNotFound, SkillNotFound
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger
from core.text.confusables import name_key
from kb_service.visibility import Viewer
from skills.models import Skill, SkillBlob, SkillVersion
from skills.packages.errors import PackageProblem
from skills.packages.file_rules import SKILL_FILE
from skills.packages.frontmatter import frontmatter_json
from skills.packages.writer import ExportSource, export_folder
from skills.slugs import is_slug
from skills.store import catalog
from skills.store.catalog import CatalogCard, FileEntry, list_files, read_blob
from skills.store.usage import UsageKind, count_uses
from skills.transfer.export_service import catalog_fields

MOST_FILES = 512
MOST_BYTES = 16 * 2**20
"""Of one folder: the least that readers of skills over MCP accept (SEP-2640, "Limits")."""

MOST_FILE_BYTES = 4 * 2**20
"""Of one file, which is sent in one message."""

_KEPT = 1000
_LONGEST_OWNER = 64

log = get_logger(__name__)


@dataclass(frozen=True)
class SkillFolder:
    """The folder that an export of a skill would make, with the frontmatter of its SKILL.md as JSON."""

    card: CatalogCard
    name: str
    frontmatter: Mapping[str, JsonValue]
    files: tuple[FileEntry, ...]

    @property
    def place(self) -> tuple[str, ...]:
        """Its path among all folders: owner, slug, and the name if it differs from the slug."""
        above = (self.card.owner, self.card.slug)
        return above if self.name == self.card.slug else (*above, self.name)


@dataclass(frozen=True)
class FolderPosition:
    """The skill behind which a list continues; it may be gone."""

    slug: str
    owner: str
    id: str


@dataclass(frozen=True)
class FolderPage:
    """Some folders, and where the next page begins."""

    folders: tuple[SkillFolder, ...]
    following: FolderPosition | None


@dataclass(frozen=True)
class FolderFile:
    """A file of a folder with its bytes."""

    folder: SkillFolder
    path: str
    content: bytes


@dataclass(frozen=True)
class _ExportedHead:
    name: str
    frontmatter: Mapping[str, JsonValue]
    entry: FileEntry


_Key = tuple[str, int, int, str]


@dataclass(frozen=True)
class _FolderSource:
    """Source of a folder: ``export``, else the cached ``head``."""

    card: CatalogCard
    key: _Key
    files: tuple[FileEntry, ...]
    export: ExportSource | None = None
    head: _ExportedHead | None = None


class SkillFolders:
    """The folders of the skills that a reader's agents may use; access is checked with each call."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Derived from stored bytes and one revision of a row, so it is never outdated.
        self._heads: OrderedDict[_Key, _ExportedHead | None] = OrderedDict()

    async def page(self, reader: Viewer, after: FolderPosition | None, most: int) -> FolderPage:
        """Some of a reader's folders by slug, from the first one if ``after`` is None.

        Skills that can't be folders of the open standard, or exceed its limits, are left out.
        """
        async with self._database.reading() as session:
            cards = await catalog.list_readable(session, reader)
            if after is not None:
                behind = (after.slug, after.owner, after.id)
                cards = [card for card in cards if (card.slug, card.owner, card.id) > behind]
            sources = await self._sources(session, cards[:most])
        folders = await self._folders(sources)
        last = cards[most - 1] if len(cards) > most else None
        following = FolderPosition(last.slug, last.owner, last.id) if last else None
        return FolderPage(tuple(filter(None, folders)), following)

    async def find(self, reader: Viewer, segments: Sequence[str]) -> tuple[SkillFolder, str]:
        """The folder in which a path lies (owner, slug, the name if it differs), and the rest of the path."""
        source = await self._source(reader, segments)
        (folder,) = await self._folders([source])
        return _split_path(folder, segments)

    async def read(self, reader: Viewer, segments: Sequence[str]) -> FolderFile:
        """A listed file of a folder, by segments as in :meth:`find`; reading its SKILL.md counts as loading."""
        if list(segments[-1:]) == [SKILL_FILE]:
            return await self._read_skill(reader, segments)
        folder, path = await self.find(reader, segments)
        entry = next((file for file in folder.files if file.path == path), None)
        if entry is None:
            raise SkillFileNotFound(field="path")
        async with self._database.reading() as session:
            content = await read_blob(session, folder.card.id, entry.sha256)
        return FolderFile(folder, path, content)

    async def _read_skill(self, reader: Viewer, segments: Sequence[str]) -> FolderFile:
        source = await self._source(reader, segments, is_whole=True)
        made = await asyncio.to_thread(_export_head, source.export)
        folder, path = _split_path(_folder(source, made[0] if made else None), segments)
        # No other file may have the name.
        if path != SKILL_FILE or made is None:
            raise SkillFileNotFound(field="path")
        await self._count(folder.card)
        return FolderFile(folder, path, made[1])

    async def _source(self, reader: Viewer, segments: Sequence[str], *, is_whole: bool = False) -> _FolderSource:
        owner, slug = [*segments[:2], "", ""][:2]
        if not is_slug(slug) or not owner or len(owner) > _LONGEST_OWNER or "\0" in owner:
            raise SkillNotFound
        by_name = select(User.id).where(User.username_key == name_key(owner))
        query = select(Skill.id).where(Skill.slug == slug, col(Skill.owner_id).in_(by_name))
        async with self._database.reading() as session:
            skill_id = (await session.exec(query)).first()
            if skill_id is None:
                raise SkillNotFound
            opened = await catalog.open_skill(session, reader, skill_id)
            sources = await self._sources(session, [opened.card], is_whole=is_whole)
        if not sources:
            raise SkillNotFound
        return sources[0]

    async def _sources(
        self, session: AsyncSession, cards: Sequence[CatalogCard], *, is_whole: bool = False
    ) -> list[_FolderSource]:
        if not cards:
            return []
        served = [(card.id, card.version) for card in cards]
        numbered = tuple_(col(SkillVersion.skill_id), col(SkillVersion.version))
        query = (
            select(Skill, SkillVersion)
            .join(SkillVersion, col(SkillVersion.skill_id) == col(Skill.id))
            .where(numbered.in_(served))
            .options(defer(SkillVersion.parsed))  # pyright: ignore[reportArgumentType] # a table class's attribute is a column
        )
        sources: list[_FolderSource] = []
        makings: list[tuple[_FolderSource, Skill]] = []
        cards_by_id = {card.id: card for card in cards}
        for skill, version in (await session.exec(query)).all():
            card = cards_by_id[skill.id]
            key = (card.id, card.version, skill.revision, card.owner)
            source = _FolderSource(card, key, tuple(list_files(version)))
            if key in self._heads and not is_whole:
                self._heads.move_to_end(key)
                sources.append(replace(source, head=self._heads[key]))
            else:
                makings.append((source, skill))
        contents = await _contents(session, [source.card for source, _ in makings])
        sources += [
            replace(source, export=_export_of(source.card, skill, contents[skill.id]))
            for source, skill in makings
            if skill.id in contents
        ]
        return sorted(sources, key=lambda source: cards.index(source.card))

    async def _folders(self, sources: Sequence[_FolderSource]) -> list[SkillFolder | None]:
        fresh = [source for source in sources if source.export is not None]
        if fresh:
            # Parsing takes longer than an event loop may stand still.
            made = await asyncio.to_thread(lambda: [_export_head(source.export) for source in fresh])
            for source, head_and_content in zip(fresh, made, strict=True):
                self._heads[source.key] = head_and_content[0] if head_and_content else None
        heads = {source.key: self._heads[source.key] for source in fresh}
        while len(self._heads) > _KEPT:
            self._heads.popitem(last=False)
        return [_folder(source, heads.get(source.key, source.head)) for source in sources]

    async def _count(self, card: CatalogCard) -> None:
        """Count a use, if the database can be written: reading does not depend on it."""
        try:
            async with unit_of_work(self._database) as work:
                await count_uses(work, UsageKind.LOADED, {(card.id, card.version): 1})
        except DatabaseUnavailable as error:
            log.info("skill.not_counted", skill_id=card.id, cause=type(error).__name__)


async def _contents(session: AsyncSession, cards: Sequence[CatalogCard]) -> dict[str, bytes]:
    hashed = tuple_(col(SkillBlob.skill_id), col(SkillBlob.sha256))
    keys = [(card.id, card.sha) for card in cards]
    query = select(SkillBlob.skill_id, SkillBlob.content).where(hashed.in_(keys))
    return dict((await session.exec(query)).all()) if cards else {}


def _export_of(card: CatalogCard, skill: Skill, content: bytes) -> ExportSource:
    fields = catalog_fields(skill, card.version, card.owner)
    return ExportSource(content, skill.slug, (), fields, is_offered=skill.enabled)


def _export_head(source: ExportSource | None) -> tuple[_ExportedHead, bytes] | None:
    folder = export_folder(source) if source else None
    if folder is None or isinstance(folder, PackageProblem):
        return None
    content = folder.files[0].content
    entry = FileEntry(SKILL_FILE, hashlib.sha256(content).hexdigest(), len(content))
    return _ExportedHead(folder.name, frontmatter_json(content), entry), content


def _folder(source: _FolderSource, head: _ExportedHead | None) -> SkillFolder | None:
    if head is None:
        return None
    files = (head.entry, *source.files)
    sizes = [file.size for file in files]
    if len(sizes) > MOST_FILES or sum(sizes) > MOST_BYTES or max(sizes) > MOST_FILE_BYTES:
        return None
    return SkillFolder(source.card, head.name, head.frontmatter, files)


def _split_path(folder: SkillFolder | None, segments: Sequence[str]) -> tuple[SkillFolder, str]:
    if folder is None:
        raise SkillNotFound
    place = folder.place
    # The owner is the one that was looked up, however the name is written.
    if tuple(segments[1 : len(place)]) != place[1:]:
        raise SkillNotFound
    return folder, "/".join(segments[len(place) :])
