"""Who may be given a version of a skill; the states are told of in decision 48."""

from sqlalchemy import ColumnElement, and_, case, func, or_
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from skills.models import ReviewState, Skill, SkillVersion

HELD_BACK = (ReviewState.PENDING.value, ReviewState.REJECTED.value)
"""The reviews with which a version is served to nobody."""


def served_to_readers() -> ColumnElement[bool]:
    """A version was served to such as read its skill now, and nothing is held against it.

    While a skill is public that is everybody: what only some were given is not theirs to read.
    """
    since = case(
        (col(Skill.is_public).is_(True), col(SkillVersion.public_at)),
        else_=col(SkillVersion.published_at),
    )
    return and_(since.is_not(None), col(SkillVersion.review).not_in(HELD_BACK))


def newest_reviewed() -> ColumnElement[int]:
    """The newest version of a skill that is no unread import; NULL where there is none."""
    other = aliased(SkillVersion)
    query = select(func.max(col(other.version))).where(
        col(other.skill_id) == col(Skill.id), col(other.unread).is_(False)
    )
    # Nearly always it is the newest of all, which needs no look at the versions.
    return case(
        (col(Skill.trusted).is_(True), col(Skill.version)),
        else_=query.correlate(Skill).scalar_subquery(),
    )


def reviewable() -> ColumnElement[bool]:
    """Somebody may decide about a version: whether it is used, or whether others are served it.

    Who refused to use what was imported may think better of it while it is the newest.
    """
    is_newest = col(SkillVersion.version) == col(Skill.version)
    return or_(
        col(SkillVersion.review) == ReviewState.PENDING.value,
        and_(col(SkillVersion.unread).is_(True), is_newest),
    )


def select_versions() -> SelectOfScalar[SkillVersion]:
    """Versions beside their skills, for the conditions above."""
    return select(SkillVersion).join(Skill, col(Skill.id) == col(SkillVersion.skill_id))
