"""Trigger tests that were made, so that versions can be compared: each is its author's alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, and_, delete, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.pagination import Page, paged
from core.db.unit_of_work import UnitOfWork
from kb_service.documents.quota import take_turn
from skills.models import Skill, SkillTriggerTest
from skills.selection.trigger_tests import TriggerReport

MOST_KEPT = 50
"""Of one person and skill; older ones make room."""

SORT_FIELDS = ("created_at", "version")
_REPORT = TypeAdapter(TriggerReport)


@dataclass(frozen=True)
class TestListing:
    """One page of tests, and how many there are in all."""

    items: Sequence[SkillTriggerTest]
    total: int


async def keep(
    work: UnitOfWork, skill_id: str, user_id: str, report: TriggerReport
) -> SkillTriggerTest | None:
    """Keep what a test gave.

    Args:
        work: the transaction.
        skill_id: of the skill.
        user_id: of who made the test.
        report: what it gave.

    Returns:
        The test; None where the skill was deleted meanwhile.
    """
    # Accounts come before skills wherever both are taken, here because the row refers to both.
    await take_turn(work.session, user_id)
    present = select(Skill.id).where(Skill.id == skill_id)
    present = present.with_for_update(read=True, key_share=True)
    if (await work.session.exec(present)).first() is None:
        return None
    row = SkillTriggerTest(
        skill_id=skill_id,
        user_id=user_id,
        version=report.version,
        model=report.model or "",
        report=_REPORT.dump_python(report, mode="json"),
    )
    work.session.add(row)
    await work.session.flush()
    mine = _of(skill_id, user_id)
    newest = select(SkillTriggerTest.id).where(mine)
    newest = newest.order_by(col(SkillTriggerTest.created_at).desc(), col(SkillTriggerTest.id))
    kept = (await work.session.exec(newest.limit(MOST_KEPT))).all()
    await work.session.exec(
        delete(SkillTriggerTest).where(mine, col(SkillTriggerTest.id).not_in(kept))
    )
    return row


def report_of(row: SkillTriggerTest) -> TriggerReport:
    """The whole report of a kept test."""
    return _REPORT.validate_python(row.report)


async def list_tests(
    session: AsyncSession, skill_id: str, user_id: str, page: Page, version: int | None = None
) -> TestListing:
    """One page of somebody's tests of a skill.

    Args:
        session: to read from.
        skill_id: of the skill.
        user_id: who made them.
        page: which part; it may be sorted by ``SORT_FIELDS``.
        version: only those of this version.
    """
    condition = _of(skill_id, user_id)
    if version is not None:
        condition = and_(condition, col(SkillTriggerTest.version) == version)
    count = select(func.count()).select_from(SkillTriggerTest).where(condition)
    query = paged(
        select(SkillTriggerTest).where(condition),
        page,
        columns={name: col(getattr(SkillTriggerTest, name)) for name in SORT_FIELDS},
        tie=col(SkillTriggerTest.id),
    )
    return TestListing((await session.exec(query)).all(), (await session.exec(count)).one())


def _of(skill_id: str, user_id: str) -> ColumnElement[bool]:
    return and_(
        col(SkillTriggerTest.skill_id) == skill_id, col(SkillTriggerTest.user_id) == user_id
    )
