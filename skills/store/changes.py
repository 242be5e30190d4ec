"""Changes of skills with short write transactions.

Contents are validated before the transaction begins: parsing can take long, and a writer to SQLite blocks all others.
"""

from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import AfterCommit, unit_of_work
from skills.store import service
from skills.store.access import SkillView
from skills.store.metadata import CatalogMetadata
from skills.store.service import NewSkill, SkillContext, SkillUpdate
from skills.store.versions import SkillLimits


class SkillChanges:
    """Changes of skills by one caller; ``limits`` are for the skill's owner."""

    def __init__(self, database: Database, push: AfterCommit, principal: Principal, limits: SkillLimits) -> None:
        self._database = database
        self._push = push
        self._principal = principal
        self._limits = limits

    async def create(self, new: NewSkill) -> SkillView:
        async with unit_of_work(self._database, self._push) as work:
            return await service.create(SkillContext(work, self._principal, self._limits), new)

    async def update(self, skill_id: str, update: SkillUpdate) -> tuple[SkillView, bool]:
        async with self._database.reading() as session:
            prepared = await service.prepare(session, self._principal, skill_id, update)
        async with unit_of_work(self._database, self._push) as work:
            context = SkillContext(work, self._principal, self._limits)
            view, validated = await service.update(context, skill_id, update, prepared)
        return view, validated is not None

    async def fork(self, skill_id: str, number: int | None, metadata: CatalogMetadata) -> SkillView:
        """Create a skill from a version that the caller may read; None: the version they are served."""
        async with self._database.reading() as session:
            new = await service.new_fork(session, self._principal, skill_id, number, metadata)
        return await self.create(new)
