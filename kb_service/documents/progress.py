"""How far documents are, why they wait, and when they will probably be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, case, func
from sqlalchemy import select as select_columns
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.database.types import utc_now
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.readers import Reader, readable, sees_all

_PACE_WINDOW = timedelta(seconds=60)
_OPEN = (DocumentStatus.PENDING, DocumentStatus.PROCESSING)

_NOTHING = {
    "next_action": "Nothing: it is processed when its turn comes",
    "next_action_zh": "无需操作：轮到时会自动处理",
}
QUEUED = {
    "reason": "queued",
    "message": "The document waits for its turn",
    "message_zh": "文档正在排队等待处理",
    **_NOTHING,
}
PAUSED = {
    "reason": "paused",
    "message": "The document is paused",
    "message_zh": "文档已暂停处理",
    "next_action": "Resume it when it should go on",
    "next_action_zh": "需要继续时请恢复处理",
}
KNOWLEDGE_BASE_PAUSED = {
    "reason": "knowledge_base_paused",
    "message": "The processing of the knowledge base is paused",
    "message_zh": "该知识库已暂停处理",
    "next_action": "Resume the knowledge base when it should go on",
    "next_action_zh": "需要继续时请恢复该知识库的处理",
}


def why_waiting(document: Document, *, base_paused: bool) -> Mapping[str, str] | None:
    """Why a document is neither done nor in work, and what to do, in both languages."""
    match DocumentStatus(document.status):
        case DocumentStatus.PAUSED:
            return PAUSED
        case DocumentStatus.PENDING:
            return KNOWLEDGE_BASE_PAUSED if base_paused else document.failure or QUEUED
        case _:
            return None


# Those that say how far they are: reading does where it recognises the text of page after page.
_MEASURED = (DocumentStage.PARSING, DocumentStage.EMBEDDING)


def eta_seconds(document: Document) -> int | None:
    """The seconds that a document's stage will probably take; None when nobody can tell yet."""
    if document.status != DocumentStatus.PROCESSING or document.stage_since is None:
        return None
    if document.stage not in _MEASURED or not 0 < document.progress < 100:
        return None
    elapsed = max(0.0, (utc_now() - document.stage_since).total_seconds())
    return round(elapsed * (100 - document.progress) / document.progress)


async def count_ahead(
    session: AsyncSession, reader: Reader, knowledge_base_id: str, documents: Sequence[Document]
) -> dict[str, int]:
    """How many of the documents that somebody reads go before each of these that wait."""
    waiting = [one.id for one in documents if one.status == DocumentStatus.PENDING]
    if not waiting:
        return {}
    place = func.row_number().over(order_by=(col(Document.created_at), col(Document.id))) - 1
    places = (
        select(col(Document.id), place.label("ahead"))
        .where(
            Document.knowledge_base_id == knowledge_base_id,
            Document.status == DocumentStatus.PENDING.value,
            col(Document.deleted_at).is_(None),
            readable(reader),
        )
        .subquery()
    )
    query = select(places.c.id, places.c.ahead).where(places.c.id.in_(waiting))
    return dict((await session.exec(query)).all())


@dataclass(frozen=True)
class Progress:
    """How far a knowledge base is.

    Args:
        counts: documents by status; a status that none has is left out.
        percent: of all its documents that need no more work, in percent.
        eta_seconds: until none waits or is in work, at the pace of the last minute; None when
            nobody can tell.
        paused: whether the knowledge base is.
        changed_at: when one of its documents changed last.
    """

    counts: Mapping[str, int]
    percent: int
    eta_seconds: int | None
    paused: bool
    changed_at: datetime | None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing will change by itself."""
        return self.paused or not any(self.counts.get(status.value) for status in _OPEN)


@dataclass(frozen=True)
class _Group:
    """The documents of one status; ``recent`` are those that were completed lately."""

    status: str
    count: int
    progress: int
    size: int
    recent_size: int
    recent_since: datetime | None
    changed_at: datetime


_NONE = _Group("", 0, 0, 0, 0, None, datetime.min.replace(tzinfo=UTC))


async def summarise(
    session: AsyncSession, reader: Reader, knowledge_base: KnowledgeBase
) -> Progress:
    """How far what somebody reads of a knowledge base is, in one statement."""
    now = utc_now()
    mine = [] if sees_all(knowledge_base, reader) else [readable(reader)]
    groups = await _groups(session, knowledge_base.id, now - _PACE_WINDOW, mine)
    total = sum(group.count for group in groups.values())
    in_work = groups.get(DocumentStatus.PROCESSING, _NONE)
    open_bytes = in_work.size + groups.get(DocumentStatus.PENDING, _NONE).size
    unfinished = sum(groups.get(one, _NONE).count for one in (*_OPEN, DocumentStatus.PAUSED))
    done = groups.get(DocumentStatus.COMPLETED, _NONE)
    pace = _pace(now, done.recent_size, done.recent_since)
    return Progress(
        counts={group.status: group.count for group in groups.values()},
        percent=(100 * (total - unfinished) + in_work.progress) // total if total else 100,
        eta_seconds=round(open_bytes / pace) if pace else None if open_bytes else 0,
        paused=knowledge_base.paused,
        changed_at=max((group.changed_at for group in groups.values()), default=None),
    )


async def _groups(
    session: AsyncSession,
    knowledge_base_id: str,
    recently: datetime,
    conditions: Sequence[ColumnElement[bool]],
) -> dict[str, _Group]:
    is_recent = col(Document.completed_at) >= recently
    bytes_ = col(Document.file_size)
    query = (
        select_columns(
            col(Document.status),
            func.count(),
            func.sum(col(Document.progress)),
            func.sum(bytes_),
            func.sum(case((is_recent, bytes_), else_=0)),
            func.min(case((is_recent, col(Document.started_at)))),
            func.max(col(Document.updated_at)),
        )
        .where(
            col(Document.knowledge_base_id) == knowledge_base_id,
            col(Document.deleted_at).is_(None),
            *conditions,
        )
        .group_by(col(Document.status))
    )
    rows = (await (await session.connection()).execute(query)).all()
    return {
        status: _Group(status, count, int(progress), int(size), int(recent), since, changed)
        for status, count, progress, size, recent, since, changed in rows
    }


def _pace(now: datetime, finished_bytes: int, since: datetime | None) -> float:
    """Bytes a second, lately."""
    if since is None or not finished_bytes:
        return 0.0
    window = min(_PACE_WINDOW, max(now - since, timedelta(seconds=1)))
    return finished_bytes / window.total_seconds()
