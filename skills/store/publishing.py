"""Publishing: which version readers are served, and the review of riskier versions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.models import Share
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal, check_access
from core.auth.sharing import ShareAuditActions
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillChanged, SkillNotPending, SkillNotPublishable, SkillReviewNeeded
from core.errors.requests import InvalidRequest
from skills.diff.semantic import widens
from skills.models import ReviewState, Skill, SkillVersion
from skills.store import access as skill_access
from skills.store import metadata as skill_metadata
from skills.store import visibility as skill_visibility
from skills.store.access import SkillView
from skills.store.visibility import HELD_BACK

SHARE_AUDIT_ACTIONS = ShareAuditActions(AuditAction.SKILL_SHARED, AuditAction.SKILL_UNSHARED)
_SECURITY = "SEC"


class Decision(StrEnum):
    """What a review came to."""

    APPROVE = "approve"
    REJECT = "reject"


async def is_open(session: AsyncSession, skill: Skill) -> bool:
    """Whether others than its owner may see a skill."""
    if skill.is_public:
        return True
    shares = select(func.count()).where(Share.kind == Skill.SHARE_KIND, Share.resource_id == skill.id)
    return (await session.exec(shares)).one() > 0


async def catalog_version(session: AsyncSession, skill: Skill) -> SkillVersion:
    """The version in the catalogue: the served one if others see the skill."""
    number = skill.version
    if skill.served_version is not None and await is_open(session, skill):
        number = skill.served_version
    return await get_version_by_number(session, skill, number)


async def _require_publishable(session: AsyncSession, skill: Skill) -> SkillVersion:
    if not skill.trusted:
        raise SkillReviewNeeded
    newest = await _find_version(session, skill, skill.version)
    if newest is None or not newest.publishable:
        codes = [] if newest is None else sorted(set(newest.findings))
        raise SkillNotPublishable(version=skill.version, codes=codes)
    return newest


async def publish(work: UnitOfWork, skill: Skill) -> None:
    """Serve a skill that was just shared or made public; the caller updates the catalogue."""
    newest = await _require_publishable(work.session, skill)
    await _serve_or_hold(work, skill, newest)


async def publish_new_version(work: UnitOfWork, skill: Skill, newest: SkillVersion) -> None:
    """Serve a new version, if it may be served.

    Unread versions and those with errors are not served; of a public skill, those with wider tools or more security
    findings wait for a review. Until then readers keep their version.
    """
    if newest.publishable and not newest.unread and await is_open(work.session, skill):
        await _serve_or_hold(work, skill, newest)


async def _serve_or_hold(work: UnitOfWork, skill: Skill, newest: SkillVersion) -> None:
    session = work.session
    await _withdraw_pending(session, skill)
    last_public = await _last_public(session, skill) if skill.is_public else None
    is_held = newest.review in HELD_BACK
    if not is_held and last_public is not None and is_riskier(last_public, newest):
        newest.review, newest.review_note = ReviewState.PENDING.value, ""
        newest.reviewed_by = newest.reviewed_at = None
        session.add(newest)
        is_held = True
    if not is_held:
        _serve(work, skill, newest)
        return
    if last_public is None and skill.served_version is not None:
        last_public = await _find_version(session, skill, skill.served_version)
    if last_public is None:
        raise SkillReviewNeeded
    # Not a version that was shared but never public: nobody has compared it.
    _serve(work, skill, last_public)


def _serve(work: UnitOfWork, skill: Skill, version: SkillVersion) -> None:
    now = utc_now()
    skill.served_version = version.version
    version.published_at = version.published_at or now
    if skill.is_public:
        version.public_at = version.public_at or now
    work.session.add_all((skill, version))


async def _last_public(session: AsyncSession, skill: Skill) -> SkillVersion | None:
    query = select(SkillVersion).where(
        SkillVersion.skill_id == skill.id,
        col(SkillVersion.public_at).is_not(None),
        col(SkillVersion.review).not_in(HELD_BACK),
    )
    return (await session.exec(query.order_by(col(SkillVersion.version).desc()))).first()


async def _withdraw_pending(session: AsyncSession, skill: Skill) -> None:
    waiting = update(SkillVersion).where(
        col(SkillVersion.skill_id) == skill.id,
        col(SkillVersion.review) == ReviewState.PENDING.value,
        col(SkillVersion.version) < skill.version,
    )
    await session.exec(waiting.values(review=ReviewState.NONE.value))


def is_riskier(served: SkillVersion, new: SkillVersion) -> bool:
    """Whether a version allows more tools or has more security findings than the served one."""
    return widens(served.tools, new.tools) or bool(_count_security_findings(new) - _count_security_findings(served))


def _count_security_findings(version: SkillVersion) -> Counter[str]:
    return Counter(code for code in version.findings if code.startswith(_SECURITY))


@dataclass(frozen=True)
class ReviewVerdict:
    """A reviewer's decision; ``version`` is the one that was read, None for whichever waits."""

    decision: Decision
    version: int | None = None
    remark: str = ""


async def review(work: UnitOfWork, principal: Principal, skill_id: str, verdict: ReviewVerdict) -> SkillView:
    """Decide about the version that waits; ``SkillChanged`` if it is another one now, or the skill got another owner.

    The owner reviews imports; an administrator decides what a public skill serves, its owner otherwise.
    """
    approved = verdict.decision is Decision.APPROVE
    if approved and verdict.version is None:
        raise InvalidRequest("version", "Name the version that you have read", "请指明您已阅读的版本")
    session = work.session
    view = await skill_access.get_for_update_with_owner(session, principal, skill_id, Action.READ)
    skill = view.skill
    version = await _get_reviewable(session, principal, view, verdict.version)
    is_for_all = skill.is_public and not version.unread
    version.unread = version.unread and not approved
    version.review = (ReviewState.APPROVED if approved else ReviewState.REJECTED).value
    version.review_note, version.reviewed_at = verdict.remark, utc_now()
    version.reviewed_by = principal.user_id
    skill.trusted = skill.trusted or (approved and version.version == skill.version)
    session.add_all((skill, version))
    if approved and version.publishable and await is_open(session, skill):
        if is_for_all:
            _serve(work, skill, version)
        else:
            await _serve_or_hold(work, skill, version)
    await skill_metadata.follow_version(work, skill, await catalog_version(session, skill))
    details = {"version": version.version, "decision": verdict.decision.value}
    audit(session, AuditAction.SKILL_REVIEWED, AuditTarget(Skill.SHARE_KIND, skill.id), details=details)
    return view


async def _get_reviewable(
    session: AsyncSession, principal: Principal, view: SkillView, number: int | None
) -> SkillVersion:
    if not view.sees_all:
        if not view.skill.is_public:
            check_access(view.access, Action.MANAGE, SkillNotFound)
        principal.require(Permission.SYSTEM_MANAGE)
    waiting = await _list_reviewable(session, view)
    if not waiting:
        raise SkillNotPending
    version = next((version for version in waiting if number in {None, version.version}), None)
    if version is None:
        raise SkillChanged(version=waiting[0].version)
    if view.skill.is_public and not version.unread:
        principal.require(Permission.SYSTEM_MANAGE)
    else:
        check_access(view.access, Action.MANAGE, SkillNotFound)
    return version


async def _list_reviewable(session: AsyncSession, view: SkillView) -> Sequence[SkillVersion]:
    query = (
        skill_visibility.select_versions()
        .where(SkillVersion.skill_id == view.skill.id, skill_visibility.reviewable())
        .order_by(col(SkillVersion.version).desc())
    )
    if not view.sees_all:
        if not view.is_reviewer:
            return ()
        query = query.where(SkillVersion.review == ReviewState.PENDING.value)
    return (await session.exec(query)).all()


async def find_pending_version(session: AsyncSession, view: SkillView) -> int | None:
    """The newest version that waits for a review, if the caller may see it."""
    waiting = await _list_reviewable(session, view)
    rejected = ReviewState.REJECTED.value
    return next((version.version for version in waiting if version.review != rejected), None)


async def _find_version(session: AsyncSession, skill: Skill, number: int) -> SkillVersion | None:
    query = select(SkillVersion).where(SkillVersion.skill_id == skill.id, SkillVersion.version == number)
    return (await session.exec(query)).first()


async def get_version_by_number(session: AsyncSession, skill: Skill, number: int) -> SkillVersion:
    """A version by its number, without an access check."""
    version = await _find_version(session, skill, number)
    if version is None:
        raise SkillVersionNotFound(field="version")
    return version
