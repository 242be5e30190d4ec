"""Changes of skills, each with as little as possible inside the transaction that writes it.

Reading a skill can take long, and whoever writes to SQLite keeps all others from it: contents are
validated before the transaction begins.
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
    """Changes of skills by one caller.

    Args:
        limits: how much the owner of a skill may keep.
    """

    def __init__(self, database: Database, push: AfterCommit, principal: Principal, limits: SkillLimits) -> None:
        self._database = database
        self._push = push
        self._principal = principal
        self._limits = limits

    async def create(self, new: NewSkill) -> SkillView:
        """Create a skill; raises as :func:`skills.store.service.create`."""
        async with unit_of_work(self._database, self._push) as work:
            return await service.create(SkillContext(work, self._principal, self._limits), new)

    async def update(self, skill_id: str, update: SkillUpdate) -> tuple[SkillView, bool]:
        """Change a skill; raises as :func:`skills.store.service.update`.

        Returns:
            The skill, and whether it has a new version.
        """
        async with self._database.reading() as session:
            prepared = await service.prepare(session, self._principal, skill_id, update)
        async with unit_of_work(self._database, self._push) as work:
            context = SkillContext(work, self._principal, self._limits)
            view, validated = await service.update(context, skill_id, update, prepared)
        return view, validated is not None

    async def fork(self, skill_id: str, number: int | None, metadata: CatalogMetadata) -> SkillView:
        """Create a skill from a version of one that the caller may read; None: from theirs."""
        async with self._database.reading() as session:
            new = await service.new_fork(session, self._principal, skill_id, number, metadata)
        return await self.create(new)
