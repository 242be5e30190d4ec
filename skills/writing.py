"""Versions written down: immutable, each under the hashes of what it holds."""

from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Principal
from core.database.unit_of_work import UnitOfWork
from core.errors import InvalidRequest, QuotaExceeded, SkillChanged
from skills import entries, snapshots
from skills.cards import card_of
from skills.judging import Judged, digest
from skills.models import Severity
from skills.parsing import PARSER_VERSION
from skills.tables import ReviewState, Skill, SkillBlob, SkillVersion

LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Limits:
    """How much one user may keep.

    Args:
        skills: how many.
        bytes: of all their versions and files.
    """

    skills: int
    bytes: int


@dataclass(frozen=True)
class Base:
    """What a change was made from; None does not say.

    Args:
        version: the number that was read.
        sha256: the hash of the content that was read.
    """

    version: int | None = None
    sha256: str | None = None


_ANY = Base()


@dataclass(frozen=True)
class Change:
    """What is told of a new version beside what it holds.

    Args:
        note: what was changed, in its author's words.
        base: what it was made from.
        restored_from: the older version that it is the same as.
        is_imported: whether its bytes came with a file that nobody has read yet.
    """

    note: str = ""
    base: Base = _ANY
    restored_from: int | None = None
    is_imported: bool = False


def check_base(newest: SkillVersion, base: Base) -> None:
    """Pass when a change was made from the newest version, or does not say from which.

    Raises:
        SkillChanged: it was made from another one; the details name the newest.
    """
    same_version = base.version in {None, newest.version}
    if not same_version or base.sha256 not in {None, newest.content_sha256}:
        raise SkillChanged(version=newest.version)


async def append(
    work: UnitOfWork, principal: Principal, skill: Skill, judged: Judged, change: Change
) -> SkillVersion:
    """Write the next version of a skill, whose row is locked or new.

    Raises:
        InvalidRequest: the note is too long.
    """
    if len(change.note) > LONGEST_NOTE:
        raise InvalidRequest("change_note", f"Use {LONGEST_NOTE} characters at most")
    session = work.session
    await _keep_bytes(session, skill.id, judged)
    card, report = card_of(judged.parsed, skill.slug), judged.report
    skill.version += 1
    skill.loads = report.valid
    version = SkillVersion(
        skill_id=skill.id,
        version=skill.version,
        content_sha256=digest(judged.content),
        size=len(judged.content),
        files=judged.manifest,
        name=card.name,
        description=card.description,
        category=entries.category_of(judged.parsed),
        tags=entries.tags_of(judged.parsed),
        triggers=list(card.triggers),
        not_for=list(card.not_for),
        tools=None if judged.parsed.tools is None else list(judged.parsed.tools),
        parsed=snapshots.to_json(judged.parsed),
        findings=[one.code for one in report.diagnostics if one.severity is not Severity.INFO],
        valid=report.valid,
        publishable=report.publishable,
        portable=report.portable,
        parser_version=str(PARSER_VERSION),
        change_note=change.note,
        author_id=principal.user_id,
        restored_from=change.restored_from,
        review=ReviewState.NONE.value,
    )
    session.add_all((skill, version))
    await session.flush()
    return version


def is_same(version: SkillVersion, judged: Judged) -> bool:
    """Whether a version holds just these bytes already."""
    is_content = version.content_sha256 == digest(judged.content)
    return is_content and version.files == judged.manifest


async def _keep_bytes(session: AsyncSession, skill_id: str, judged: Judged) -> None:
    wanted = {digest(one): one for one in (judged.content, *(f.content for f in judged.files))}
    there = select(SkillBlob.sha256).where(
        SkillBlob.skill_id == skill_id, col(SkillBlob.sha256).in_(wanted)
    )
    present = set((await session.exec(there)).all())
    session.add_all(
        SkillBlob(skill_id=skill_id, sha256=sha256, size=len(content), content=content)
        for sha256, content in wanted.items()
        if sha256 not in present
    )


async def check_room(session: AsyncSession, owner_id: str, limits: Limits) -> None:
    """Pass when what the transaction wrote keeps its owner's limit; the owner's turn is taken.

    Raises:
        QuotaExceeded: it does not; the transaction must not be committed.
    """
    await session.flush()
    query = (
        select(func.coalesce(func.sum(col(SkillBlob.size)), 0))
        .join(Skill, col(Skill.id) == col(SkillBlob.skill_id))
        .where(col(Skill.owner_id) == owner_id)
    )
    used = int((await session.exec(query)).one())
    if used > limits.bytes:
        raise QuotaExceeded(used_bytes=used, limit_bytes=limits.bytes)
