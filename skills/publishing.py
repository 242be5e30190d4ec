"""Which version others are served: publishing, and the review of what became more dangerous."""

from collections import Counter
from enum import StrEnum

from sqlalchemy import func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Action, Principal
from core.accounts.models import Share
from core.accounts.permissions import Permission
from core.accounts.share_lists import SharingActs
from core.audit import AuditAction, Target, note
from core.database.types import utc_now
from core.database.unit_of_work import UnitOfWork
from core.errors import (
    SkillNotFound,
    SkillNotPending,
    SkillNotPublishable,
    SkillReviewNeeded,
    SkillVersionNotFound,
)
from skills import entries, reading
from skills.differences import widens
from skills.reading import Seen
from skills.tables import ReviewState, Skill, SkillVersion

ACTS = SharingActs(AuditAction.SKILL_SHARED, AuditAction.SKILL_UNSHARED)
_SECURITY = "SEC"


class Decision(StrEnum):
    """What a review came to."""

    APPROVE = "approve"
    REJECT = "reject"


async def is_open(session: AsyncSession, skill: Skill) -> bool:
    """Whether anybody but its owner may see a skill."""
    if skill.is_public:
        return True
    shares = select(func.count()).where(
        Share.kind == Skill.SHARE_KIND, Share.resource_id == skill.id
    )
    return (await session.exec(shares)).one() > 0


async def require_publishable(session: AsyncSession, skill: Skill) -> SkillVersion:
    """The newest version, if it may be shown to others.

    Raises:
        SkillReviewNeeded: it was imported, and its owner did not review it.
        SkillNotPublishable: it has errors, named in the details.
    """
    if not skill.trusted:
        raise SkillReviewNeeded
    newest = await _version(session, skill, skill.version)
    if newest is None or not newest.publishable:
        codes = [] if newest is None else sorted(set(newest.findings))
        raise SkillNotPublishable(version=skill.version, codes=codes)
    return newest


async def open_up(work: UnitOfWork, skill: Skill) -> None:
    """Let others see a skill that was private until now; the caller has made it public or shared.

    Raises:
        SkillReviewNeeded: it was imported, and its owner did not review it.
        SkillNotPublishable: it has errors.
    """
    newest = await require_publishable(work.session, skill)
    await _offer(work, skill, newest)


async def settle(
    work: UnitOfWork, skill: Skill, newest: SkillVersion, *, is_imported: bool = False
) -> None:
    """Decide what others are served now that there is a new version.

    A version with errors is not served; one that widens tools or adds findings of security to a
    public skill waits for a review, and so does one that was imported. Others keep what they had.
    """
    if not await is_open(work.session, skill):
        skill.trusted = skill.trusted and not is_imported
        await entries.follow(work, skill, newest)
    elif newest.publishable and skill.trusted:
        await _offer(work, skill, newest, is_unread=is_imported)


async def _offer(
    work: UnitOfWork, skill: Skill, newest: SkillVersion, *, is_unread: bool = False
) -> None:
    served = None
    if skill.served_version is not None:
        served = await _version(work.session, skill, skill.served_version)
    await _withdraw_pending(work.session, skill)
    is_risky = skill.is_public and served is not None and is_riskier(served, newest)
    if is_unread or is_risky:
        newest.review = ReviewState.PENDING.value
        work.session.add(newest)
        return
    await _serve(work, skill, newest)


async def _serve(work: UnitOfWork, skill: Skill, version: SkillVersion) -> None:
    skill.served_version = version.version
    version.published_at = version.published_at or utc_now()
    work.session.add(version)
    await entries.follow(work, skill, version)


async def _withdraw_pending(session: AsyncSession, skill: Skill) -> None:
    """A version that waits while a newer one comes is not looked at any more."""
    waiting = update(SkillVersion).where(
        col(SkillVersion.skill_id) == skill.id,
        col(SkillVersion.review) == ReviewState.PENDING.value,
        col(SkillVersion.version) < skill.version,
    )
    await session.exec(waiting.values(review=ReviewState.NONE.value))


def is_riskier(served: SkillVersion, new: SkillVersion) -> bool:
    """Whether a version may use tools, or has findings of security, that the served one has not."""
    return widens(served.tools, new.tools) or bool(_security(new) - _security(served))


def _security(version: SkillVersion) -> Counter[str]:
    return Counter(code for code in version.findings if code.startswith(_SECURITY))


async def review(
    work: UnitOfWork, principal: Principal, skill_id: str, decision: Decision, remark: str
) -> Seen:
    """Decide about a skill that was imported, or about the version that waits.

    What was imported is reviewed by its owner, but a version of a public skill by an administrator.

    Args:
        work: the transaction.
        principal: who decides.
        skill_id: of what.
        decision: whether it may be used, or served.
        remark: why, for its owner.

    Raises:
        SkillNotFound: there is none, or not for this caller.
        ReadOnly: an imported skill is somebody else's to review.
        PermissionDenied: the caller is no administrator.
        SkillNotPending: nothing waits.
    """
    session = work.session
    seen = await reading.hold(session, principal, skill_id, Action.READ)
    skill = seen.skill
    if not skill.trusted:
        seen = await reading.hold(session, principal, skill_id, Action.MANAGE)
        version = await _version(session, skill, skill.version)
        skill.trusted = decision is Decision.APPROVE
    else:
        version = await _pending(session, skill)
        if skill.is_public:
            principal.require(Permission.SYSTEM_MANAGE)
        else:
            seen = await reading.hold(session, principal, skill_id, Action.MANAGE)
    if version is None:
        raise SkillNotFound
    approved = decision is Decision.APPROVE
    version.review = (ReviewState.APPROVED if approved else ReviewState.REJECTED).value
    version.review_note, version.reviewed_at = remark, utc_now()
    version.reviewed_by = principal.user_id
    session.add_all((skill, version))
    if approved and version.publishable and await is_open(session, skill):
        await _serve(work, skill, version)
    details = {"version": version.version, "decision": decision.value}
    note(session, AuditAction.SKILL_REVIEWED, Target(Skill.SHARE_KIND, skill.id), details=details)
    return seen


async def _pending(session: AsyncSession, skill: Skill) -> SkillVersion:
    query = select(SkillVersion).where(
        SkillVersion.skill_id == skill.id, SkillVersion.review == ReviewState.PENDING.value
    )
    found = (await session.exec(query.order_by(col(SkillVersion.version).desc()))).first()
    if found is None:
        raise SkillNotPending
    return found


async def pending_version(session: AsyncSession, seen: Seen) -> int | None:
    """The version that waits for a review, where the caller may know of it."""
    if not seen.sees_all:
        return None
    try:
        return (await _pending(session, seen.skill)).version
    except SkillNotPending:
        return None


async def _version(session: AsyncSession, skill: Skill, number: int) -> SkillVersion | None:
    query = select(SkillVersion).where(
        SkillVersion.skill_id == skill.id, SkillVersion.version == number
    )
    return (await session.exec(query)).first()


async def version_at(session: AsyncSession, skill: Skill, number: int) -> SkillVersion:
    """A version by its number, whoever asks.

    Raises:
        SkillVersionNotFound: there is none.
    """
    found = await _version(session, skill, number)
    if found is None:
        raise SkillVersionNotFound(field="version")
    return found
