"""Skills as answers show them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pydantic import BaseModel
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Access, Action
from core.accounts.models import User
from core.settings import Settings
from skills import entries, publishing, reading, usage
from skills.catalogue import FileEntry, files_of
from skills.listing import Listed
from skills.models import Diagnostic, ParsedSkill, Severity, SkillReport
from skills.parsing import parse
from skills.reading import Seen
from skills.tables import SkillVersion
from skills.usage import Usage
from skills.writing import Limits

_PORTABILITY = "AS"


class SkillOwner(BaseModel):
    """Whose a skill is."""

    id: str
    username: str


class SkillAnswer(BaseModel):
    """A skill in a list.

    ``name``, ``description``, ``category`` and ``tags`` are the catalogue's. ``version`` is the one
    that the caller gets, ``valid`` whether it has no errors. ``trusted`` is false for an imported
    skill that its owner has not reviewed; agents are not offered it until then.
    """

    id: str
    slug: str
    name: str
    description: str
    category: str
    tags: list[str]
    is_public: bool
    enabled: bool
    version: int
    valid: bool
    origin: str
    trusted: bool
    owner: SkillOwner
    access: Access
    can_write: bool
    created_at: datetime
    updated_at: datetime


class SkillDetail(SkillAnswer):
    """A skill with the version that the caller gets.

    ``content`` is the stored file, ``content_sha256`` the hash of its bytes. ``pending_version``
    waits for a review before others are served it.
    """

    content: str
    content_sha256: str
    files: list[FileEntry]
    publishable: bool
    portable: bool
    diagnostics: list[Diagnostic]
    pending_version: int | None
    forked_from: str | None
    forked_version: int | None
    usage: Usage


class SavedSkill(SkillDetail):
    """A skill after a change; ``is_new_version`` says whether its bytes changed."""

    is_new_version: bool


class Portability(BaseModel):
    """Whether a skill passes the open standard's own rules, and where it does not."""

    valid: bool
    diagnostics: list[Diagnostic]


class ReportAnswer(BaseModel):
    """What is said of a content: the model, and all that was noticed, in the order of the file.

    ``valid``: it loads here. ``publishable``: it may be shown to others.
    """

    valid: bool
    publishable: bool
    parsed: ParsedSkill | None
    warnings: list[Diagnostic]
    errors: list[Diagnostic]
    portable: Portability
    diagnostics: list[Diagnostic]

    @classmethod
    def of(cls, report: SkillReport) -> Self:
        """A report as an answer."""
        found = list(report.diagnostics)
        return cls(
            valid=report.valid,
            publishable=report.publishable,
            parsed=report.parsed,
            warnings=[one for one in found if one.severity is Severity.WARNING],
            errors=[one for one in found if one.severity is Severity.ERROR],
            portable=Portability(
                valid=report.portable,
                diagnostics=[one for one in found if one.code.startswith(_PORTABILITY)],
            ),
            diagnostics=found,
        )


class VersionAnswer(BaseModel):
    """A version in a list; sizes in bytes."""

    version: int
    content_sha256: str
    size: int
    files: list[FileEntry]
    name: str
    change_note: str
    author: SkillOwner | None
    valid: bool
    publishable: bool
    portable: bool
    restored_from: int | None
    review: str
    review_note: str
    reviewed_at: datetime | None
    published_at: datetime | None
    created_at: datetime
    usage: Usage


class VersionDetail(VersionAnswer):
    """A version with what it says, as it was parsed when it was written."""

    content: str
    parsed: ParsedSkill
    parser_version: str


@dataclass(frozen=True)
class Described:
    """What a version holds beside its row."""

    content: str
    report: SkillReport


def short(listed: Listed) -> SkillAnswer:
    """A skill of a list as an answer."""
    return SkillAnswer.model_validate(_fields(listed.seen, listed.owner))


def _fields(seen: Seen, owner: str) -> dict[str, object]:
    skill = seen.skill
    return {
        **skill.model_dump(include=set(SkillAnswer.model_fields) - {"version", "valid"}),
        "version": seen.version,
        # Others are only served what has no errors.
        "valid": skill.loads if seen.version == skill.version else True,
        "owner": SkillOwner(id=skill.owner_id, username=owner),
        "access": seen.access,
        "can_write": seen.access.allows(Action.WRITE),
    }


async def detail(session: AsyncSession, seen: Seen) -> SkillDetail:
    """A skill with the version that the caller gets."""
    return SkillDetail.model_validate(await _detailed(session, seen))


async def saved(session: AsyncSession, seen: Seen, *, is_new: bool) -> SavedSkill:
    """A skill after a change."""
    fields = await _detailed(session, seen)
    return SavedSkill.model_validate(fields | {"is_new_version": is_new})


async def _detailed(session: AsyncSession, seen: Seen) -> dict[str, object]:
    skill = seen.skill
    version = await reading.version_of(session, seen)
    described = await describe(session, version)
    names = await usernames(session, [skill.owner_id])
    counted = usage.total((await usage.usage_by_version(session, skill.id)).values())
    report = described.report
    return {
        **_fields(seen, names.get(skill.owner_id, "")),
        "content": described.content,
        "content_sha256": version.content_sha256,
        "files": files_of(version),
        "valid": report.valid,
        "publishable": report.publishable,
        "portable": report.portable,
        "diagnostics": [*entries.differences(skill), *report.diagnostics],
        "pending_version": await publishing.pending_version(session, seen),
        "forked_from": skill.forked_from,
        "forked_version": skill.forked_version,
        "usage": counted,
    }


async def describe(session: AsyncSession, version: SkillVersion) -> Described:
    """What a version says, judged as of today."""
    content = await reading.content_of(session, version)
    files = ["SKILL.md", *(file.path for file in files_of(version))]
    # Large ones take longer than an event loop may stand still.
    report = await asyncio.to_thread(parse, content, files=files)
    return Described(content.decode(), report)


async def usernames(session: AsyncSession, ids: Sequence[str]) -> dict[str, str]:
    """How accounts are called; those that are gone are absent."""
    query = select(User.id, User.username).where(col(User.id).in_(set(ids)))
    return dict((await session.exec(query)).all())


def version_fields(
    version: SkillVersion, names: dict[str, str], uses: dict[int, Usage]
) -> dict[str, object]:
    """A version as :class:`VersionAnswer` shows it."""
    author = None
    if version.author_id in names:
        author = SkillOwner(id=version.author_id or "", username=names[version.author_id or ""])
    shown = set(VersionAnswer.model_fields) - {"files", "author", "usage"}
    return {
        **version.model_dump(include=shown),
        "files": files_of(version),
        "author": author,
        "usage": uses.get(version.version, Usage()),
    }


def etag(seen: Seen) -> str:
    """What a change of a skill is tied to with ``If-Match``: the number of its version."""
    return f'"{seen.version}"'


def limits_of(settings: Settings) -> Limits:
    """How much one user may keep, by the settings of this moment."""
    return Limits(settings.skills_per_user, settings.skill_bytes_per_user)
