"""Skills judged with what is known around them: the tools and the other skills of who asks."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import Depends
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.remote_tools import with_own_tools
from api.dependencies import CurrentPrincipal, CurrentServices
from api.services import Services
from core.accounts.access import Principal
from core.accounts.permissions import Permission
from skills import catalogue
from skills.catalogue import files_of
from skills.draft import Neighbour
from skills.mending import Reporter
from skills.models import SkillReport
from skills.parsing import parse
from skills.tables import SkillVersion


class SkillReporter:
    """Reports on what a caller sees.

    Args:
        services: of the process.
        principal: the caller; nothing is told of what they may not see.
    """

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._principal = principal

    async def report(
        self,
        session: AsyncSession,
        content: bytes,
        *,
        files: Sequence[str] | None = None,
        skill_id: str | None = None,
    ) -> SkillReport:
        """What a content says and what is wrong with it.

        Args:
            session: to read from.
            content: the bytes of SKILL.md.
            files: the paths of all files of the skill; None: its links are not judged.
            skill_id: whose content it is: no skill is told from itself.
        """
        judge = await self.reporter(session, files=files, skill_id=skill_id)
        # Large ones take longer than an event loop may stand still.
        return await asyncio.to_thread(judge, content)

    async def reporter(
        self,
        session: AsyncSession,
        *,
        files: Sequence[str] | None = None,
        skill_id: str | None = None,
    ) -> Reporter:
        """The same for contents that are not there yet, without a database.

        Args:
            session: to read from.
            files: see :meth:`report`.
            skill_id: see :meth:`report`.
        """
        tools = await self._known_tools(session)
        neighbours = await self._neighbours(session, skill_id)
        return partial(parse, known_tools=tools, files=files, neighbours=neighbours)

    async def of_version(
        self, session: AsyncSession, version: SkillVersion, content: bytes
    ) -> SkillReport:
        """What a version says, judged as of today.

        Args:
            session: to read from.
            version: with its list of files.
            content: its bytes.
        """
        judge = await self.for_version(session, version)
        return await asyncio.to_thread(judge, content)

    async def for_version(self, session: AsyncSession, version: SkillVersion) -> Reporter:
        """Reports on contents that stand, or are to stand, beside the files of a version."""
        files = ["SKILL.md", *(file.path for file in files_of(version))]
        return await self.reporter(session, files=files, skill_id=version.skill_id)

    async def _known_tools(self, session: AsyncSession) -> frozenset[str]:
        """The server's tools, and those of the caller's MCP connections, as they were listed last."""
        services, principal = self._services, self._principal
        policies = services.tool_policies
        if Permission.MCP_VIEW in principal.permissions:
            policies = await with_own_tools(session, services.mcp, principal.user_id, policies)
        return frozenset(policies.defaults)

    async def _neighbours(self, session: AsyncSession, skill_id: str | None) -> list[Neighbour]:
        """The skills that the caller's agents choose from."""
        if Permission.SKILL_VIEW not in self._principal.permissions:
            return []
        cards = await catalogue.readable(session, self._principal)
        return [Neighbour(card.name, card.description) for card in cards if card.id != skill_id]


async def _reporter(services: CurrentServices, principal: CurrentPrincipal) -> SkillReporter:
    return SkillReporter(services, principal)


CurrentReporter = Annotated[SkillReporter, Depends(_reporter)]
"""Reports on skills for the caller of a request."""
