"""Access to skills: authorization, the version that a caller is served, and its bytes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import func, or_
from sqlalchemy.orm import defer
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.auth.locks import lock_owner
from core.auth.permissions import Permission
from core.auth.principal import Access, Action, Principal
from core.auth.sharing import access_by_id, authorize
from core.db.pagination import PageRequest, paginate
from core.errors.auth import SkillFileNotFound, SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillChanged
from skills.diagnostics import Finding
from skills.models import ReviewState, Skill, SkillBlob, SkillVersion
from skills.parser.parse import parse
from skills.schema import SkillFile
from skills.store import visibility as skill_visibility
from skills.store.catalog import FileEntry, list_files, read_blob

VERSION_SORT_FIELDS = ("version", "created_at")
"""Columns to sort versions by, the default first."""


@dataclass(frozen=True)
class SkillView:
    """A skill as a caller sees it."""

    skill: Skill
    access: Access
    is_reviewer: bool

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees versions that readers are not served."""
        return self.access.allows(Action.WRITE)

    @property
    def version(self) -> int:
        if self.sees_all or self.skill.served_version is None:
            return self.skill.version
        return self.skill.served_version


async def get(session: AsyncSession, principal: Principal, skill_id: str, action: Action = Action.READ) -> SkillView:
    """Load a skill that the caller may act on."""
    row = (await session.exec(select(Skill).where(Skill.id == skill_id))).first()
    return await _view(session, principal, row, action)


async def get_for_update(session: AsyncSession, principal: Principal, skill_id: str, action: Action) -> SkillView:
    """As :func:`get`, and lock the row until the transaction ends.

    Access is checked after the lock is acquired. Inserts that only refer to the skill, such as usage counters, do not
    wait.
    """
    query = (
        select(Skill)
        .where(Skill.id == skill_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    return await _view(session, principal, (await session.exec(query)).first(), action)


async def get_for_update_with_owner(
    session: AsyncSession, principal: Principal, skill_id: str, action: Action
) -> SkillView:
    """As :func:`get_for_update`, after locking the owner; ``SkillChanged`` if the owner changed meanwhile.

    Accounts are locked before skills everywhere: deleting an account locks it and then its skills.
    """
    owner_id = (await get(session, principal, skill_id, action)).skill.owner_id
    await lock_owner(session, owner_id)
    view = await get_for_update(session, principal, skill_id, action)
    if view.skill.owner_id != owner_id:
        raise SkillChanged(version=view.version)
    return view


async def _view(session: AsyncSession, principal: Principal, row: Skill | None, action: Action) -> SkillView:
    skill = await authorize(session, principal, action, row, SkillNotFound)
    access = (await access_by_id(session, principal, [skill]))[skill.id] or Access.READ
    return SkillView(skill, access, is_reviewer(principal, skill))


def is_reviewer(principal: Principal, skill: Skill) -> bool:
    """Whether the caller reviews versions of a public skill."""
    return skill.is_public and Permission.SYSTEM_MANAGE in principal.permissions


async def get_version(session: AsyncSession, view: SkillView, number: int | None = None) -> SkillVersion:
    """A version that the caller may read; None for the one that they get."""
    version_number = view.version if number is None else number
    query = _readable(view).where(SkillVersion.version == version_number)
    row = (await session.exec(query)).first()
    if row is None:
        raise SkillVersionNotFound(field="version")
    return row


def _readable(view: SkillView) -> SelectOfScalar[SkillVersion]:
    query = skill_visibility.select_versions().where(SkillVersion.skill_id == view.skill.id)
    if view.sees_all:
        return query
    if view.is_reviewer:
        waits = col(SkillVersion.review) == ReviewState.PENDING.value
        return query.where(or_(skill_visibility.served_to_readers(), waits))
    return query.where(skill_visibility.served_to_readers())


@dataclass(frozen=True)
class VersionListing:
    """A page of versions, and how many there are in all."""

    items: Sequence[SkillVersion]
    total: int


async def list_versions(session: AsyncSession, view: SkillView, page: PageRequest) -> VersionListing:
    """One page of the versions that the caller may read, without their parsed models."""
    readable = _readable(view)
    count = select(func.count()).select_from(readable.subquery())
    query = paginate(
        readable.options(defer(SkillVersion.parsed)),  # pyright: ignore[reportArgumentType] # a table class's attribute is a column
        page,
        columns={name: col(getattr(SkillVersion, name)) for name in VERSION_SORT_FIELDS},
        tie=col(SkillVersion.version),
    )
    return VersionListing((await session.exec(query)).all(), (await session.exec(count)).one())


async def list_version_numbers(session: AsyncSession, view: SkillView) -> list[int]:
    """The numbers of the versions that the caller may read, ascending."""
    # The type does not say that a statement keeps its class when its columns change.
    numbers = cast(SelectOfScalar[int], _readable(view).with_only_columns(col(SkillVersion.version)))
    return sorted((await session.exec(numbers)).all())


async def read_content(session: AsyncSession, version: SkillVersion) -> bytes:
    """The bytes of a version's SKILL.md."""
    return await read_blob(session, version.skill_id, version.content_sha256)


async def find_folder_name(session: AsyncSession, version: SkillVersion) -> str:
    """The name that a version has not from its content but from its folder; else empty."""
    own = await asyncio.to_thread(parse, await read_content(session, version))
    return "" if isinstance(own, Finding) or own.model.name == version.name else version.name


async def read_files(session: AsyncSession, version: SkillVersion) -> list[SkillFile]:
    """The files beside a version's content, in the order of paths."""
    entries = list_files(version)
    query = select(SkillBlob.sha256, SkillBlob.content).where(
        SkillBlob.skill_id == version.skill_id, col(SkillBlob.sha256).in_({entry.sha256 for entry in entries})
    )
    row = dict((await session.exec(query)).all()) if entries else {}
    if any(entry.sha256 not in row for entry in entries):
        raise SkillNotFound
    return [SkillFile(entry.path, row[entry.sha256]) for entry in entries]


async def read_content_and_files(session: AsyncSession, version: SkillVersion) -> tuple[bytes, list[SkillFile]]:
    """All bytes of a version: its SKILL.md, and the files beside it."""
    return await read_content(session, version), await read_files(session, version)


def get_file_entry(version: SkillVersion, path: str) -> FileEntry:
    """A file beside a version's content, by its exact path."""
    for entry in list_files(version):
        if entry.path == path:
            return entry
    raise SkillFileNotFound(field="path")
