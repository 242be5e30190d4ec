"""Response models of skills."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from sqlmodel.ext.asyncio.session import AsyncSession

from api.http.responses import ResponseModel
from core.auth.principal import Access, Action
from core.auth.users import find_usernames
from core.settings import Settings
from skills.models import SkillVersion
from skills.schema import Diagnostic, ParsedSkill, Severity, SkillReport
from skills.store import metadata as skill_metadata
from skills.store import usage
from skills.store.access import SkillView
from skills.store.catalog import FileEntry, list_files
from skills.store.linting import LintedSkill
from skills.store.listing import ListedSkill
from skills.store.usage import Usage
from skills.store.versions import SkillLimits

_PORTABILITY = "AS"


class SkillOwner(ResponseModel):
    """Whose a skill is."""

    id: str
    username: str


class SkillAnswer(ResponseModel):
    """A skill in a list.

    ``name``, ``description``, ``category`` and ``tags`` are the catalogue's. ``version`` is the one
    that the caller gets, ``valid`` whether it has no errors. ``trusted`` is false while that version
    is an import that the skill's owner has not approved; agents are not given it until then.
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
    waits for a review: before agents use it, or before others are served it. ``usage`` is that of
    the versions that the caller may read.
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

    @classmethod
    def of(cls, linted: LintedSkill) -> Self:
        return cls.model_validate(_detail_fields(linted))


class SavedSkill(SkillDetail):
    """A skill after a change; ``is_new_version`` says whether its bytes changed."""

    is_new_version: bool

    @classmethod
    def after(cls, linted: LintedSkill, *, is_new: bool) -> Self:
        return cls.model_validate({**_detail_fields(linted), "is_new_version": is_new})


class FixedSkill(SavedSkill):
    """A skill after fixes: ``fixed`` has the codes of what was fixed, ``left`` how much is found still.

    ``agentex skill fix --json`` prints the same two.
    """

    fixed: list[str]
    left: int

    @classmethod
    def with_fixes(cls, saved: SavedSkill, codes: Sequence[str]) -> Self:
        fields = {name: getattr(saved, name) for name in SavedSkill.model_fields}
        return cls(**fields, fixed=list(codes), left=len(saved.diagnostics))


class Portability(ResponseModel):
    """Whether a skill passes the open standard's own rules, and where it does not."""

    valid: bool
    diagnostics: list[Diagnostic]


class ReportAnswer(ResponseModel):
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
        diagnostics = list(report.diagnostics)
        return cls(
            valid=report.valid,
            publishable=report.publishable,
            parsed=report.parsed,
            warnings=[diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.WARNING],
            errors=[diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR],
            portable=Portability(
                valid=report.portable,
                diagnostics=[diagnostic for diagnostic in diagnostics if diagnostic.code.startswith(_PORTABILITY)],
            ),
            diagnostics=diagnostics,
        )


class WrittenSkill(ReportAnswer):
    """A content that was written for the caller, and what is said of it."""

    content: str

    @classmethod
    def of_content(cls, report: SkillReport, content: str) -> Self:
        return cls(**dict(ReportAnswer.of(report)), content=content)


class VersionAnswer(ResponseModel):
    """A version in a list; sizes in bytes.

    ``unread``: it was imported, or made from what was, and the skill's owner has not approved it.
    Who only reads the skill is told neither ``review_note`` nor authors other than its owner.
    """

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
    unread: bool
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


def skill_answer(listed: ListedSkill) -> SkillAnswer:
    """The API form of a listed skill."""
    return SkillAnswer.model_validate(_fields(listed.view, listed.owner))


def _fields(view: SkillView, owner: str) -> dict[str, object]:
    skill = view.skill
    return {
        **skill.model_dump(include=set(SkillAnswer.model_fields) - {"version", "valid"}),
        "version": view.version,
        # Others are only served what is read and has no errors.
        "trusted": skill.trusted if view.version == skill.version else True,
        "valid": skill.loads if view.version == skill.version else True,
        "owner": SkillOwner(id=skill.owner_id, username=owner),
        "access": view.access,
        "can_write": view.access.allows(Action.WRITE),
    }


def _detail_fields(linted: LintedSkill) -> dict[str, object]:
    skill, report = linted.view.skill, linted.report
    return {
        **_fields(linted.view, linted.owner),
        "content": linted.content.decode(),
        "content_sha256": linted.version.content_sha256,
        "files": list_files(linted.version),
        "valid": report.valid,
        "publishable": report.publishable,
        "portable": report.portable,
        "diagnostics": [*skill_metadata.metadata_diagnostics(skill), *report.diagnostics],
        "pending_version": linted.pending_version,
        "forked_from": skill.forked_from,
        "forked_version": skill.forked_version,
        "usage": linted.usage,
    }


async def version_fields(
    session: AsyncSession, view: SkillView, versions: Sequence[SkillVersion]
) -> list[dict[str, object]]:
    """Versions that the caller may read, as :class:`VersionAnswer` shows them."""
    names = await find_usernames(session, [row.author_id for row in versions if row.author_id])
    uses = await usage.count_by_version(session, view.skill.id)
    return [_version_fields(view, row, names, uses) for row in versions]


def _version_fields(
    view: SkillView, version: SkillVersion, names: dict[str, str], uses: dict[int, Usage]
) -> dict[str, object]:
    author_id, note = version.author_id, version.review_note
    if not view.sees_all:
        # With whom a skill is shared, and what its owner is told, is theirs to know.
        author_id, note = author_id if author_id == view.skill.owner_id else None, ""
    author = None
    if author_id in names:
        author = SkillOwner(id=author_id or "", username=names[author_id or ""])
    included = set(VersionAnswer.model_fields) - {"files", "author", "usage"}
    return {
        **version.model_dump(include=included),
        "review_note": note,
        "files": list_files(version),
        "author": author,
        "usage": uses.get(version.version, Usage()),
    }


def etag(view: SkillView) -> str:
    """The ETag of a skill: version and revision."""
    return f'"{view.version}.{view.skill.revision}"'


def skill_limits(settings: Settings) -> SkillLimits:
    """The limits of one user, by the current settings."""
    return SkillLimits(settings.skills_per_user, settings.skill_bytes_per_user)
