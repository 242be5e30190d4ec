"""Changes of skills for the caller of a request, and their answers."""

from typing import Annotated

from fastapi import Depends, Response

from api.dependencies import CurrentContext, CurrentPrincipal, CurrentSettings
from api.skills.lint import CurrentLinter
from api.skills.schemas import SavedSkill, SkillDetail, etag, skill_limits
from core.db.database import Database
from skills.store.access import SkillView
from skills.store.changes import SkillChanges
from skills.store.linting import LintedSkill, SkillLinter, read_linted
from skills.store.metadata import CatalogMetadata
from skills.store.service import NewSkill, SkillUpdate


class _AnsweredChanges:
    """Makes changes, sets ``ETag``, and returns the skill."""

    def __init__(self, changes: SkillChanges, database: Database, linter: SkillLinter, response: Response) -> None:
        self._changes = changes
        self._database = database
        self._linter = linter
        self._response = response

    async def create(self, new: NewSkill) -> SkillDetail:
        return SkillDetail.of(await self._read(await self._changes.create(new)))

    async def fork(self, skill_id: str, number: int | None, metadata: CatalogMetadata) -> SkillDetail:
        view = await self._changes.fork(skill_id, number, metadata)
        return SkillDetail.of(await self._read(view))

    async def update(self, skill_id: str, update: SkillUpdate) -> SavedSkill:
        view, is_new = await self._changes.update(skill_id, update)
        return SavedSkill.after(await self._read(view), is_new=is_new)

    async def _read(self, view: SkillView) -> LintedSkill:
        self._response.headers["ETag"] = etag(view)
        return await read_linted(self._database, view, self._linter)


async def _answered_changes(
    context: CurrentContext,
    principal: CurrentPrincipal,
    settings: CurrentSettings,
    linter: CurrentLinter,
    response: Response,
) -> _AnsweredChanges:
    database = context.database
    changes = SkillChanges(database, context.queue.push, principal, skill_limits(settings))
    return _AnsweredChanges(changes, database, linter, response)


CurrentChanges = Annotated[_AnsweredChanges, Depends(_answered_changes)]
