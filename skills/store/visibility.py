"""SQL conditions for the versions that readers may see (decision 48)."""

from sqlalchemy import ColumnElement, and_, case, func, or_
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from skills.models import ReviewState, Skill, SkillVersion

HELD_BACK = (ReviewState.PENDING.value, ReviewState.REJECTED.value)
"""Reviews that keep a version from being served."""


def served_to_readers() -> ColumnElement[bool]:
    """Published, and not held back by a review.

    While a skill is public only versions that were public count, not those that were only shared.
    """
    since = case((col(Skill.is_public).is_(True), col(SkillVersion.public_at)), else_=col(SkillVersion.published_at))
    return and_(since.is_not(None), col(SkillVersion.review).not_in(HELD_BACK))


def newest_reviewed() -> ColumnElement[int]:
    """The newest version that is not an unread import, else NULL."""
    other = aliased(SkillVersion)
    query = select(func.max(col(other.version))).where(
        col(other.skill_id) == col(Skill.id), col(other.unread).is_(False)
    )
    # Nearly always the newest of all, which needs no subquery.
    return case((col(Skill.trusted).is_(True), col(Skill.version)), else_=query.correlate(Skill).scalar_subquery())


def reviewable() -> ColumnElement[bool]:
    """The version can be reviewed: it waits, or it is the newest and an unread import, even a rejected one."""
    is_newest = col(SkillVersion.version) == col(Skill.version)
    return or_(
        col(SkillVersion.review) == ReviewState.PENDING.value, and_(col(SkillVersion.unread).is_(True), is_newest)
    )


def select_versions() -> SelectOfScalar[SkillVersion]:
    """Versions joined to their skills, for the conditions above."""
    return select(SkillVersion).join(Skill, col(Skill.id) == col(SkillVersion.skill_id))
