"""Changes of skills, with as little as possible inside the transaction that writes them.

Reading a skill can take long, and whoever writes to SQLite keeps all others from it: what is to be
written is judged before the transaction begins, and the answer is made when it is over.
"""

from typing import Annotated

from fastapi import Depends, Response

from api.dependencies import CurrentContext, CurrentPrincipal, CurrentSettings
from api.skills.lint import CurrentReporter
from api.skills.schemas import (
    SavedSkill,
    SkillDetail,
    etag,
    saved_skill,
    skill_detail,
    skill_limits,
)
from core.db.unit_of_work import unit_of_work
from skills.store import service as skill_service
from skills.store.metadata import CatalogMetadata
from skills.store.service import NewSkill, SkillContext, SkillUpdate


class _Changing:
    def __init__(
        self,
        context: CurrentContext,
        principal: CurrentPrincipal,
        settings: CurrentSettings,
        reporter: CurrentReporter,
        response: Response,
    ) -> None:
        self._context = context
        self._principal = principal
        self._limits = skill_limits(settings)
        self._reporter = reporter
        self._response = response

    async def update(self, skill_id: str, wanted: SkillUpdate) -> SavedSkill:
        """Change a skill, and name its new state in the header ``ETag``.

        Raises:
            AgentexError: as :func:`skills.library.update`.
        """
        database = self._context.database
        async with database.reading() as session:
            prepared = await skill_service.prepare(session, self._principal, skill_id, wanted)
        async with unit_of_work(database, self._context.queue.push) as work:
            desk = SkillContext(work, self._principal, self._limits)
            seen, judged = await skill_service.update(desk, skill_id, wanted, prepared)
            is_new = judged is not None
        self._response.headers["ETag"] = etag(seen)
        return await saved_skill(database, seen, self._reporter, is_new=is_new)

    async def create(self, wanted: NewSkill) -> SkillDetail:
        """Make a skill of the caller's, and name its state in the header ``ETag``.

        Raises:
            AgentexError: as :func:`skills.library.create`.
        """
        database = self._context.database
        async with unit_of_work(database, self._context.queue.push) as work:
            seen = await skill_service.create(
                SkillContext(work, self._principal, self._limits), wanted
            )
        self._response.headers["ETag"] = etag(seen)
        return await skill_detail(database, seen, self._reporter)

    async def fork(self, skill_id: str, number: int | None, entry: CatalogMetadata) -> SkillDetail:
        """Make a skill of the caller's from one that they may read.

        Raises:
            AgentexError: as :func:`skills.library.copy_of` and :func:`skills.library.create`.
        """
        async with self._context.database.reading() as session:
            wanted = await skill_service.new_fork(session, self._principal, skill_id, number, entry)
        return await self.create(wanted)


async def _changing(
    context: CurrentContext,
    principal: CurrentPrincipal,
    settings: CurrentSettings,
    reporter: CurrentReporter,
    response: Response,
) -> _Changing:
    return _Changing(context, principal, settings, reporter, response)


Changing = Annotated[_Changing, Depends(_changing)]
"""Changes skills for the caller."""
