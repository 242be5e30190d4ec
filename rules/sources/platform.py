"""Events of the platform itself, read from its tables."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue
from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.models import McpConnection, McpStatus
from agents.models import AgentRun, ChatSession, RunStatus
from core.db.database import Database
from core.db.now import visible_until
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.runtime_config.live import LiveSettings
from kb_service.documents import quota
from kb_service.models import Document, DocumentStatus, KnowledgeBase
from rules import intake
from rules.actions.agent_run import RUN_PREFIX
from rules.actions.ingest import FIRING_ATTRIBUTE
from rules.intake import PLATFORM, IncomingEvent
from rules.models import EventCursor, Rule, RuleFiring, SourceKind
from skills.models import Skill, SkillVersion

_CURSOR = "platform"
# Rows may become visible a little after the time that they carry; an event that is read twice is one event.
_OVERLAP = timedelta(seconds=30)
_CURSOR_AGE = timedelta(seconds=10)
_NEAR = 0.9

Reader = Callable[[AsyncSession, Collection[str], datetime], Awaitable[Sequence[IncomingEvent]]]


@dataclass(frozen=True)
class PlatformEventType:
    """A type of event that Agentex itself declares; ``shape`` as in seed 002, section 10.9."""

    name: str
    description: str
    description_zh: str
    shape: dict[str, JsonValue]


_DOCUMENT: dict[str, JsonValue] = {
    "document": {
        "id": "string",
        "name": "string",
        "knowledge_base_id": "string",
        "knowledge_base_name": "string",
        "revision": "number",
        "chunk_count": "number",
        "reason": "string",
    }
}
_RUN: dict[str, JsonValue] = {
    "run": {"id": "string", "thread_id": "string", "title": "string", "agent_type": "string", "model": "string"}
}
TYPES = (
    PlatformEventType("document.completed", "A document can be searched", "文档已可检索", _DOCUMENT),
    PlatformEventType("document.failed", "A document could not be processed", "文档处理失败", _DOCUMENT),
    PlatformEventType("run.finished", "An agent has answered", "智能体运行完成", _RUN),
    PlatformEventType("run.interrupted", "An agent waits for a person", "智能体等待人工处理", _RUN),
    PlatformEventType("run.failed", "A run of an agent failed", "智能体运行失败", _RUN),
    PlatformEventType(
        "skill.published",
        "A version of a skill is served to others",
        "技能版本已发布",
        {"skill": {"id": "string", "slug": "string", "name": "string", "version": "number"}},
    ),
    PlatformEventType(
        "connection.lost",
        "An MCP server could not be reached",
        "MCP 连接中断",
        {"connection": {"id": "string", "name": "string", "fault": "string"}},
    ),
    PlatformEventType(
        "quota.near",
        "The files of the account take up 90 % of its quota",
        "账户文件已占用配额的 90%",
        {"quota": {"used_bytes": "number", "limit_bytes": "number"}},
    ),
)
"""What rules may be triggered by besides their sources."""
_RUN_TYPES = {
    RunStatus.COMPLETED.value: "run.finished",
    RunStatus.INTERRUPTED.value: "run.interrupted",
    RunStatus.FAILED.value: "run.failed",
}


class PlatformEvents:
    """Turns what the tables say has happened into events, for people whose rules ask for it."""

    def __init__(self, database: Database, live: LiveSettings) -> None:
        self._database = database
        self._live = live

    async def read(self) -> int:
        """Accept what happened since the last call; returns how many events were new."""
        events: list[IncomingEvent] = []
        async with self._database.reading() as session:
            now = await visible_until(session)
            cursor = await session.get(EventCursor, _CURSOR)
            # The first rule that asks for them begins now.
            read_until = now if cursor is None else min(cursor.at, now)
            readers = await self._readers(session)
            for owners, read in readers:
                events += await read(session, owners, read_until - _OVERLAP)
        # A cursor that lies ahead is of a clock that was set back since.
        is_recent = cursor is not None and timedelta(0) <= now - cursor.at < _CURSOR_AGE
        if not events and readers and is_recent:
            return 0
        if not readers and cursor is None:
            return 0
        async with unit_of_work(self._database) as work:
            if not readers:
                await work.session.exec(delete(EventCursor).where(col(EventCursor.name) == _CURSOR))
                return 0
            await work.session.merge(EventCursor(name=_CURSOR, at=now))
            return await intake.accept(work, events)

    async def _readers(self, session: AsyncSession) -> list[tuple[set[str], Reader]]:
        """What has to be read, and for whom: nothing where no rule asks for it."""
        names = [declared.name for declared in TYPES]
        query = select(Rule.owner_id, Rule.event_type).where(
            col(Rule.event_type).in_(names), col(Rule.enabled).is_(True)
        )
        owners_by_reader: dict[Reader, set[str]] = {}
        for owner_id, event_type in (await session.exec(query.distinct())).all():
            owners_by_reader.setdefault(self._reader_of(event_type), set()).add(owner_id)
        return [(owner_ids, reader) for reader, owner_ids in owners_by_reader.items()]

    def _reader_of(self, event_type: str) -> Reader:
        area = event_type.partition(".")[0]
        readers: dict[str, Reader] = {
            "document": _documents,
            "run": _runs,
            "skill": _skills,
            "connection": _connections,
            "quota": self._quotas,
        }
        return readers[area]

    async def _quotas(self, session: AsyncSession, owners: Collection[str], _: datetime) -> Sequence[IncomingEvent]:
        limit = (await self._live.read(session)).user_quota_bytes
        if not limit:
            return []
        events: list[IncomingEvent] = []
        # It is seen now, whenever the tables were read last: a rule that was written since waits for it, too.
        now = utc_now()
        for owner_id in owners:
            used = (await quota.storage_usage(session, owner_id)).used_bytes
            if used >= _NEAR * limit:
                data: JsonValue = {"quota": {"used_bytes": used, "limit_bytes": limit}}
                # Once a day as long as it lasts.
                events.append(_event(owner_id, "quota.near", data, f"quota:{now.date()}", now))
        return events


async def _documents(session: AsyncSession, owners: Collection[str], since: datetime) -> Sequence[IncomingEvent]:
    ended = (DocumentStatus.COMPLETED.value, DocumentStatus.FAILED.value)
    query = (
        select(Document, KnowledgeBase)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(
            col(Document.updated_at) > since,
            col(Document.status).in_(ended),
            col(Document.deleted_at).is_(None),
            col(KnowledgeBase.owner_id).in_(owners),
        )
    )
    events: list[IncomingEvent] = []
    for document, base in (await session.exec(query)).all():
        data: JsonValue = {
            "document": {
                "id": document.id,
                "name": document.name,
                "knowledge_base_id": base.id,
                "knowledge_base_name": base.name,
                "revision": document.revision,
                "chunk_count": document.chunk_count,
                "reason": (document.failure or {}).get("reason", ""),
            }
        }
        name = f"document:{document.id}:{document.revision}:{document.attempt}:{document.status}"
        chain = await _chain_of_firing(session, str(document.attributes.get(FIRING_ATTRIBUTE) or ""))
        events.append(_event(base.owner_id, f"document.{document.status}", data, name, document.updated_at, chain))
    return events


async def _runs(session: AsyncSession, owners: Collection[str], since: datetime) -> Sequence[IncomingEvent]:
    query = (
        select(AgentRun, ChatSession.thread_id, ChatSession.title)
        .join(ChatSession, col(ChatSession.id) == col(AgentRun.session_id))
        .where(
            col(AgentRun.finished_at) > since,
            col(AgentRun.status).in_(_RUN_TYPES),
            col(AgentRun.owner_id).in_(owners),
            # A branch of a conversation holds copies.
            col(AgentRun.copy_of).is_(None),
        )
    )
    events: list[IncomingEvent] = []
    for run, thread_id, title in (await session.exec(query)).all():
        data: JsonValue = {
            "run": {
                "id": run.run_id,
                "thread_id": thread_id,
                "title": title,
                "agent_type": run.agent_type,
                "model": run.model,
            }
        }
        firing_id = run.run_id.removeprefix(RUN_PREFIX).partition(":")[0]
        chain = await _chain_of_firing(session, firing_id if run.run_id.startswith(RUN_PREFIX) else "")
        finished = run.finished_at or run.created_at
        events.append(_event(run.owner_id, _RUN_TYPES[run.status], data, f"run:{run.id}:{run.status}", finished, chain))
    return events


async def _skills(session: AsyncSession, owners: Collection[str], since: datetime) -> Sequence[IncomingEvent]:
    query = (
        select(Skill, SkillVersion.version, SkillVersion.published_at)
        .join(SkillVersion, col(SkillVersion.skill_id) == col(Skill.id))
        .where(col(SkillVersion.published_at) > since, col(Skill.owner_id).in_(owners))
    )
    return [
        _event(
            skill.owner_id,
            "skill.published",
            {"skill": {"id": skill.id, "slug": skill.slug, "name": skill.name, "version": version}},
            f"skill:{skill.id}:{version}",
            published_at or since,
        )
        for skill, version, published_at in (await session.exec(query)).all()
    ]


async def _connections(session: AsyncSession, owners: Collection[str], since: datetime) -> Sequence[IncomingEvent]:
    query = select(McpConnection).where(
        col(McpConnection.owner_id).in_(owners),
        McpConnection.status == McpStatus.ERROR.value,
        col(McpConnection.checked_at) > since,
    )
    return [
        _event(
            row.owner_id,
            "connection.lost",
            {"connection": {"id": row.id, "name": row.name, "fault": row.fault or ""}},
            # One event an hour, however often it is tried.
            f"connection:{row.id}:{row.checked_at:%Y-%m-%dT%H}",
            row.checked_at or since,
        )
        for row in (await session.exec(query)).all()
    ]


async def _chain_of_firing(session: AsyncSession, firing_id: str) -> tuple[str, ...]:
    """The rules that led to what a firing's action made; empty without a firing."""
    firing = await session.get(RuleFiring, firing_id) if firing_id else None
    if firing is None:
        return ()
    chain = firing.event.get("chain")
    before = tuple(str(rule_id) for rule_id in chain) if isinstance(chain, list) else ()
    return (*before, firing.rule_id)


def _event(
    owner_id: str, event_type: str, data: JsonValue, name: str, occurred_at: datetime, chain: tuple[str, ...] = ()
) -> IncomingEvent:
    return IncomingEvent(
        owner_id=owner_id,
        source_kind=SourceKind.PLATFORM,
        source_id=PLATFORM,
        type=event_type,
        data=data,
        id=name,
        occurred_at=occurred_at,
        chain=chain,
    )
