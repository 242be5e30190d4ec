"""Skills judged with what is known around them: the tools and the other skills of who asks."""

import asyncio
from functools import partial
from typing import Annotated

from fastapi import Depends
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.agent_tools import load_tool_policies
from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal
from core.auth.permissions import Permission
from core.auth.principal import Principal
from skills.lint.autofix import Linter
from skills.models import SkillVersion
from skills.parser.draft import LintContext, SiblingSkill
from skills.parser.parse import parse
from skills.schema import SkillReport
from skills.store import catalog
from skills.store.catalog import list_files


class SkillReporter:
    """Reports on what a caller sees.

    Args:
        context: of the process.
        principal: the caller; nothing is told of what they may not see.
    """

    def __init__(self, context: AppContext, principal: Principal) -> None:
        self._context = context
        self._principal = principal

    async def surroundings(
        self,
        session: AsyncSession,
        *,
        version: SkillVersion | None = None,
        skill_id: str | None = None,
    ) -> LintContext:
        """What a content is judged by.

        Args:
            session: to read from.
            version: of whose files the links are judged; None: they are not.
            skill_id: whose content it is: no skill is told from itself.
        """
        files = None
        if version is not None:
            files = ("SKILL.md", *(file.path for file in list_files(version)))
        return LintContext(
            known_tools=await self._known_tools(session),
            files=files,
            neighbours=tuple(await self._neighbours(session, skill_id)),
        )

    async def report(self, content: bytes, around: LintContext) -> SkillReport:
        """What a content says and what is wrong with it.

        It can take seconds, in which a caller should hold no connection to the database: there are
        few, and all others wait for them.

        Args:
            content: the bytes of SKILL.md.
            around: see :meth:`surroundings`.
        """
        # Large ones take longer than an event loop may stand still.
        return await asyncio.to_thread(_reporting(around), content)

    async def reporter(self, session: AsyncSession, *, skill_id: str | None = None) -> Linter:
        """Reports on contents that are not there yet, without a database and without their files.

        Args:
            session: to read from.
            skill_id: see :meth:`surroundings`.
        """
        return _reporting(await self.surroundings(session, skill_id=skill_id))

    async def for_version(self, session: AsyncSession, version: SkillVersion) -> Linter:
        """Reports on contents that stand, or are to stand, beside the files of a version."""
        around = await self.surroundings(session, version=version, skill_id=version.skill_id)
        return _reporting(around)

    async def _known_tools(self, session: AsyncSession) -> frozenset[str]:
        """The server's tools, and those of the caller's MCP connections, as they were listed last."""
        context, principal = self._context, self._principal
        policies = context.agents.tool_policies
        if Permission.MCP_VIEW in principal.permissions:
            policies = await load_tool_policies(
                session, context.agents.mcp, principal.user_id, policies
            )
        return frozenset(policies.defaults)

    async def _neighbours(self, session: AsyncSession, skill_id: str | None) -> list[SiblingSkill]:
        """The skills that the caller's agents choose from."""
        if Permission.SKILL_VIEW not in self._principal.permissions:
            return []
        cards = await catalog.list_readable(session, self._principal)
        return [SiblingSkill(card.name, card.description) for card in cards if card.id != skill_id]


def _reporting(around: LintContext) -> Linter:
    return partial(
        parse,
        known_tools=around.known_tools,
        files=around.files,
        neighbours=around.neighbours,
    )


async def _reporter(context: CurrentContext, principal: CurrentPrincipal) -> SkillReporter:
    return SkillReporter(context, principal)


CurrentReporter = Annotated[SkillReporter, Depends(_reporter)]
"""Reports on skills for the caller of a request."""
