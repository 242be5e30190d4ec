"""Usage counters of skills, by version."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from skills.models import Skill, SkillUsage

_INSERTS = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class UsageKind(StrEnum):
    """Kinds of counters; see ``SkillUsage``."""

    OFFERED = "offered"
    LOADED = "loaded"
    COMPLETED = "completed"
    DENIED = "denied"


@dataclass(frozen=True)
class Usage:
    """How often a skill or one version of it was used, and when last."""

    offered: int = 0
    loaded: int = 0
    completed: int = 0
    denied: int = 0
    last_used_at: datetime | None = None


async def count_uses(work: UnitOfWork, use: UsageKind, counts: Mapping[tuple[str, int], int]) -> None:
    """Add to the counters of one kind, by skill id and version; skips deleted skills and locks the others."""
    session = work.session
    ids = sorted({skill_id for skill_id, _ in counts})
    # Everywhere in the same order, so that two transactions don't deadlock.
    there = select(Skill.id).where(col(Skill.id).in_(ids)).order_by(col(Skill.id))
    existing_ids = set(await session.exec(there.with_for_update(read=True, key_share=True)))
    none = dict.fromkeys((kind.value for kind in UsageKind), 0)
    rows = [
        {**none, "skill_id": skill_id, "version": version, use.value: number}
        for (skill_id, version), number in sorted(counts.items())
        if skill_id in existing_ids
    ]
    if not rows:
        return
    insert = _INSERTS[session.get_bind().dialect.name](SkillUsage)
    now, column = utc_now(), col(getattr(SkillUsage, use.value))
    more = insert.excluded[use.value]
    await session.exec(
        insert.values([{**row, "last_used_at": now} for row in rows]).on_conflict_do_update(
            index_elements=["skill_id", "version"], set_={use.value: column + more, "last_used_at": now}
        )
    )


async def count_by_version(session: AsyncSession, skill_id: str) -> dict[int, Usage]:
    """The usage of each version that was ever used."""
    rows = await session.exec(select(SkillUsage).where(SkillUsage.skill_id == skill_id))
    return {
        row.version: Usage(row.offered, row.loaded, row.completed, row.denied, row.last_used_at) for row in rows.all()
    }


def sum_usages(usages: Iterable[Usage]) -> Usage:
    """The sum of usages, and the latest use."""
    all_usages = list(usages)
    moments = [usage.last_used_at for usage in all_usages if usage.last_used_at is not None]
    return Usage(
        sum(usage.offered for usage in all_usages),
        sum(usage.loaded for usage in all_usages),
        sum(usage.completed for usage in all_usages),
        sum(usage.denied for usage in all_usages),
        max(moments, default=None),
    )
