"""Access to skills for a run, and records of their use."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import RunSkill
from agents.skills.active import RunTask, SkillVersionRef
from core.audit.context import Actor
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.insert import insert_into
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from kb_service.visibility import UserViewer
from skills.store import catalog
from skills.store.catalog import OpenedSkill
from skills.store.usage import UsageKind, count_uses

log = get_logger(__name__)

_PAUSE_SECONDS = 1.0


class ImpressionCounter:
    """Counts skills in prompt indexes, written in the background; a killed process loses some counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[tuple[str, int]] = Counter()

    def add(self, skills: Sequence[SkillVersionRef]) -> None:
        self._counts.update((skill.id, skill.version) for skill in skills)

    async def run(self) -> None:
        """Write the counts every second, and once more when cancelled."""
        try:
            while True:
                await asyncio.sleep(_PAUSE_SECONDS)
                await self._write()
        finally:
            await self._write()

    async def _write(self) -> None:
        if not self._counts:
            return
        counts, self._counts = self._counts, Counter()
        try:
            async with unit_of_work(self._database) as work:
                await count_uses(work, UsageKind.OFFERED, counts)
        except (AgentexError, asyncio.CancelledError) as error:
            # They are added to what comes until then.
            self._counts.update(counts)
            if isinstance(error, asyncio.CancelledError):
                raise
            log.warning("skill_offers.not_written", code=error.code)
        except Exception:
            # Whatever it is, the next round must come.
            log.exception("skill_offers.crashed")


class SkillLoader(Protocol):
    """Access to the skills of a run's owner."""

    async def open(self, skill_id: str, version: int) -> OpenedSkill: ...

    async def read_file(self, skill_id: str, path: str, version: int) -> bytes: ...

    def record_impressions(self, skills: Sequence[SkillVersionRef]) -> None: ...

    async def record_load(self, skill: SkillVersionRef, key: str, *, chosen: bool) -> None: ...

    async def record_completion(self, skill: SkillVersionRef) -> None: ...

    async def record_denial(self, skills: Sequence[SkillVersionRef], tool: str) -> None: ...


class OwnerSkillLoader:
    """The ``SkillLoader`` of a run's owner; access is checked at every call, and impressions are optional."""

    def __init__(self, database: Database, task: RunTask, impressions: ImpressionCounter | None = None) -> None:
        self._database = database
        self._owner_id = task.owner_id
        self._task_id = task.id
        self._impressions = impressions

    async def open(self, skill_id: str, version: int) -> OpenedSkill:
        async with self._database.reading() as session:
            await self._admitted(session)
            return await catalog.open_skill(session, UserViewer(self._owner_id), skill_id, version)

    async def read_file(self, skill_id: str, path: str, version: int) -> bytes:
        async with self._database.reading() as session:
            await self._admitted(session)
            reader = UserViewer(self._owner_id)
            return await catalog.read_file(session, reader, skill_id, path, version)

    async def _admitted(self, session: AsyncSession) -> Principal:
        owner = await principal_for_user(session, self._owner_id)
        owner.require(Permission.SKILL_VIEW)
        return owner

    def record_impressions(self, skills: Sequence[SkillVersionRef]) -> None:
        if self._impressions is not None:
            self._impressions.add(skills)

    async def record_load(self, skill: SkillVersionRef, key: str, *, chosen: bool) -> None:
        try:
            async with unit_of_work(self._database) as work:
                if await self._add(work, skill, key, chosen=chosen):
                    await count_uses(work, UsageKind.LOADED, {(skill.id, skill.version): 1})
        except IntegrityError:
            # Deleted at this moment: the run goes on with what it was given.
            log.info("skill.gone", skill_id=skill.id)

    async def _add(self, work: UnitOfWork, skill: SkillVersionRef, key: str, *, chosen: bool) -> bool:
        row = insert_into(work.session, RunSkill).values(
            task_id=self._task_id,
            skill_id=skill.id,
            version=skill.version,
            content_sha256=skill.sha,
            slug=key,
            chosen=chosen,
            loaded_at=utc_now(),
        )
        added = await work.session.exec(row.on_conflict_do_nothing())
        return added.rowcount > 0

    async def record_completion(self, skill: SkillVersionRef) -> None:
        await self._count(UsageKind.COMPLETED, [skill])

    async def record_denial(self, skills: Sequence[SkillVersionRef], tool: str) -> None:
        await self._count(UsageKind.DENIED, skills)
        async with unit_of_work(self._database) as work:
            owner = await principal_for_user(work.session, self._owner_id)
            for skill in skills:
                audit(
                    work.session,
                    AuditAction.SKILL_TOOL_DENIED,
                    AuditTarget("skill", skill.id),
                    actor=Actor(owner.user_id, owner.username),
                    details={"tool": tool, "version": skill.version, "task_id": self._task_id},
                )

    async def _count(self, use: UsageKind, skills: Sequence[SkillVersionRef]) -> None:
        if not skills:
            return
        counts = {(skill.id, skill.version): 1 for skill in skills}
        async with unit_of_work(self._database) as work:
            await count_uses(work, use, counts)
