"""Linting with the caller's tools and other skills, and the files of a version."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import find_usernames
from core.db.database import Database
from skills.lint.context import LintContext, SiblingSkill
from skills.lint.linter import Linter, lint
from skills.models import SkillVersion
from skills.schema import SkillReport
from skills.store import access as skill_access
from skills.store import catalog, publishing, usage
from skills.store.access import SkillView
from skills.store.usage import Usage

KnownTools = Callable[[AsyncSession], Awaitable[frozenset[str]]]
"""Reads the names of the tools that the caller's agents have."""


class SkillLinter:
    """Lints skills for a caller; messages name nothing that the caller may not see."""

    def __init__(self, principal: Principal, known_tools: KnownTools) -> None:
        self._principal = principal
        self._known_tools = known_tools

    async def read_context(
        self, session: AsyncSession, *, version: SkillVersion | None = None, skill_id: str | None = None
    ) -> LintContext:
        """The context of contents: link targets are the files of ``version``, and siblings exclude ``skill_id``."""
        files, default_name = None, ""
        if version is not None:
            default_name = await skill_access.find_folder_name(session, version)
            files = ("SKILL.md", *(file.path for file in catalog.list_files(version)))
        known_tools = await self._known_tools(session)
        siblings = await self._read_siblings(session, skill_id)
        return LintContext(known_tools=known_tools, files=files, siblings=siblings, default_name=default_name)

    async def lint(self, content: bytes, context: LintContext) -> SkillReport:
        """Lint a content, holding no database connection: it can take seconds, and there are few connections."""
        # Large ones take longer than an event loop may stand still.
        return await asyncio.to_thread(lint, content, context)

    async def for_new(self, session: AsyncSession, skill_id: str | None) -> Linter:
        return partial(lint, context=await self.read_context(session, skill_id=skill_id))

    async def for_version(self, session: AsyncSession, version: SkillVersion) -> Linter:
        context = await self.read_context(session, version=version, skill_id=version.skill_id)
        return partial(lint, context=context)

    async def _read_siblings(self, session: AsyncSession, skill_id: str | None) -> tuple[SiblingSkill, ...]:
        if Permission.SKILL_VIEW not in self._principal.permissions:
            return ()
        cards = await catalog.list_readable(session, self._principal)
        return tuple(SiblingSkill(c.name, c.description) for c in cards if c.id != skill_id)


@dataclass(frozen=True)
class LintedSkill:
    """A skill in the version that the caller gets, with the usage of the versions that they may read.

    ``owner`` is empty if the account is gone; ``pending_version`` is the newest that waits for a review.
    """

    view: SkillView
    owner: str
    version: SkillVersion
    content: bytes
    report: SkillReport
    pending_version: int | None
    usage: Usage


async def read_linted(database: Database, view: SkillView, linter: SkillLinter) -> LintedSkill:
    """Read and lint a skill, holding no connection during the lint."""
    skill = view.skill
    async with database.reading() as session:
        version = await skill_access.get_version(session, view)
        content = await skill_access.read_content(session, version)
        context = await linter.read_context(session, version=version, skill_id=skill.id)
        names = await find_usernames(session, [skill.owner_id])
        usages = await usage.count_by_version(session, skill.id)
        if not view.sees_all:
            readable = set(await skill_access.list_version_numbers(session, view))
            usages = {number: use for number, use in usages.items() if number in readable}
        pending = await publishing.find_pending_version(session, view)
    return LintedSkill(
        view=view,
        owner=names.get(skill.owner_id, ""),
        version=version,
        content=content,
        report=await linter.lint(content, context),
        pending_version=pending,
        usage=usage.sum_usages(usages.values()),
    )
