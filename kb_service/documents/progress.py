"""Progress of documents: percentages, waiting reasons and estimated times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, case, func, or_
from sqlalchemy import select as select_columns
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.types import utc_now
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.visibility import Viewer, sees_all, visible_to

# Documents ten times smaller or larger are not comparable: each has a fixed share of work.
_ALIKE = 10
_SHORTEST_SECONDS = 0.1


@dataclass(frozen=True)
class WorkSample:
    """Measured work on a document, or on a known part of it; ``size`` is the document's bytes."""

    size: int
    percent: int
    since: datetime
    until: datetime

    @property
    def seconds_left(self) -> float:
        elapsed = max(0.0, (self.until - self.since).total_seconds())
        return elapsed * (100 - self.percent) / self.percent


@dataclass(frozen=True)
class Backlog:
    """Documents that wait, or are in progress without reporting how far they are; ``size`` in bytes."""

    count: int
    size: int


def estimate_seconds(done: Sequence[WorkSample], backlog: Backlog) -> float | None:
    """Seconds until everything is done, from recent and measured work; None if there is none comparable."""
    in_work = [work for work in done if work.percent < 100]
    longest = max((work.seconds_left for work in in_work), default=0.0)
    if not backlog.count:
        return longest
    mean = backlog.size / backlog.count
    alike = [work for work in done if mean <= _ALIKE * work.size <= _ALIKE**2 * mean]
    finished = sum(work.size * work.percent / 100 for work in alike)
    if not finished:
        return None
    rest = sum(work.size * (100 - work.percent) / 100 for work in in_work)
    return max(longest, (backlog.size + rest) * _busy_seconds(alike) / finished)


def _busy_seconds(samples: Sequence[WorkSample]) -> float:
    """The total time during which any of these was in progress; overlaps count once."""
    busy, reached = 0.0, None
    for sample in sorted(samples, key=lambda sample: sample.since):
        since = sample.since if reached is None else max(sample.since, reached)
        if sample.until > since:
            busy += (sample.until - since).total_seconds()
            reached = sample.until
    return max(busy, _SHORTEST_SECONDS)


_PACE_WINDOW = timedelta(seconds=60)
_MOST_LOOKED_AT = 500
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
CANCELLED = {
    "reason": "cancelled",
    "message": "The processing of the document was cancelled",
    "message_zh": "文档的处理已被取消",
    "next_action": "Retry it, or upload the file again",
    "next_action_zh": "请重试该文档，或重新上传文件",
}


def waiting_reason(document: Document, *, base_paused: bool) -> Mapping[str, str] | None:
    """Why a document is waiting and what to do about it, in both languages; None if it is not."""
    match DocumentStatus(document.status):
        case DocumentStatus.PAUSED:
            return PAUSED
        case DocumentStatus.CANCELLED:
            return CANCELLED
        case DocumentStatus.PENDING:
            return KNOWLEDGE_BASE_PAUSED if base_paused else document.failure or QUEUED
        case _:
            return None


# Stages that report progress; parsing does when it runs OCR page by page.
_MEASURED = (DocumentStage.PARSING, DocumentStage.EMBEDDING)


def eta_seconds(document: Document) -> int | None:
    """Estimated seconds left of a document's stage; None if unknown."""
    if document.status != DocumentStatus.PROCESSING or document.stage_since is None:
        return None
    if document.stage not in _MEASURED or not 0 < document.progress < 100:
        return None
    elapsed = max(0.0, (utc_now() - document.stage_since).total_seconds())
    return round(elapsed * (100 - document.progress) / document.progress)


async def count_ahead(
    session: AsyncSession, viewer: Viewer, knowledge_base_id: str, documents: Sequence[Document]
) -> dict[str, int]:
    """How many of the viewer's documents are queued before each of these."""
    waiting = [document.id for document in documents if document.status == DocumentStatus.PENDING]
    if not waiting:
        return {}
    place = func.row_number().over(order_by=(col(Document.created_at), col(Document.id))) - 1
    places = (
        select(col(Document.id), place.label("ahead"))
        .where(
            Document.knowledge_base_id == knowledge_base_id,
            Document.status == DocumentStatus.PENDING.value,
            col(Document.deleted_at).is_(None),
            visible_to(viewer),
        )
        .subquery()
    )
    query = select(places.c.id, places.c.ahead).where(places.c.id.in_(waiting))
    return dict((await session.exec(query)).all())


@dataclass(frozen=True)
class KnowledgeBaseProgress:
    """Progress of a knowledge base.

    Args:
        percent: documents that need no more work, in percent of all.
        eta_seconds: until nothing waits or is in progress, at the pace of the last minute's documents; None if unknown,
            or if all that is open is paused.
    """

    counts: Mapping[str, int]
    percent: int
    eta_seconds: int | None
    paused: bool
    changed_at: datetime | None

    @property
    def is_quiet(self) -> bool:
        return self.paused or not any(self.counts.get(status.value) for status in _OPEN)


@dataclass(frozen=True)
class _Group:
    status: str
    count: int
    progress: int
    size: int
    changed_at: datetime


_NONE = _Group("", 0, 0, 0, datetime.min.replace(tzinfo=UTC))


async def get_progress(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase) -> KnowledgeBaseProgress:
    """Progress of a knowledge base's documents that the viewer can read."""
    conditions = [
        col(Document.knowledge_base_id) == knowledge_base.id,
        col(Document.deleted_at).is_(None),
        *([] if sees_all(knowledge_base, viewer) else [visible_to(viewer)]),
    ]
    groups = await _groups(session, conditions)
    total = sum(group.count for group in groups.values())
    in_work = groups.get(DocumentStatus.PROCESSING, _NONE)
    waiting = groups.get(DocumentStatus.PENDING, _NONE)
    is_open = bool(in_work.count or waiting.count)
    unfinished = in_work.count + waiting.count + groups.get(DocumentStatus.PAUSED, _NONE).count
    eta = None if unfinished else 0
    if is_open and not knowledge_base.paused:
        left = estimate_seconds(*await _work(session, conditions, in_work, waiting))
        eta = None if left is None else round(left)
    return KnowledgeBaseProgress(
        counts={group.status: group.count for group in groups.values()},
        percent=(100 * (total - unfinished) + in_work.progress) // total if total else 100,
        eta_seconds=eta,
        paused=knowledge_base.paused,
        changed_at=max((group.changed_at for group in groups.values()), default=None),
    )


async def _groups(session: AsyncSession, conditions: Sequence[ColumnElement[bool]]) -> dict[str, _Group]:
    # Parsing reports progress too, but it restarts at 0 with the next stage.
    is_embedded = col(Document.stage).in_((DocumentStage.EMBEDDING.value, DocumentStage.DONE.value))
    query = (
        select_columns(
            col(Document.status),
            func.count(),
            func.sum(case((is_embedded, col(Document.progress)), else_=0)),
            func.sum(col(Document.file_size)),
            func.max(col(Document.updated_at)),
        )
        .where(*conditions)
        .group_by(col(Document.status))
    )
    rows = (await (await session.connection()).execute(query)).all()
    return {
        status: _Group(status, count, int(progress), int(size), changed)
        for status, count, progress, size, changed in rows
    }


async def _work(
    session: AsyncSession, conditions: Sequence[ColumnElement[bool]], in_work: _Group, waiting: _Group
) -> tuple[list[WorkSample], Backlog]:
    now = utc_now()
    status, size = col(Document.status), col(Document.file_size)
    since, until = col(Document.started_at), col(Document.completed_at)
    is_measured = and_(
        status == DocumentStatus.PROCESSING.value,
        col(Document.stage) == DocumentStage.EMBEDDING.value,
        col(Document.progress).between(1, 99),
    )
    is_recent = and_(status == DocumentStatus.COMPLETED.value, until >= now - _PACE_WINDOW)
    query = (
        select_columns(status, size, col(Document.progress), since, until)
        .where(*conditions, since.is_not(None), or_(is_measured, is_recent))
        # Processing ones first: none of them may be cut off.
        .order_by(status.desc(), until.desc())
        .limit(_MOST_LOOKED_AT)
    )
    rows = (await (await session.connection()).execute(query)).all()
    done: list[WorkSample] = []
    count, open_size = in_work.count + waiting.count, in_work.size + waiting.size
    for state, bytes_, progress, began, ended in rows:
        if state == DocumentStatus.COMPLETED:
            done.append(WorkSample(bytes_, 100, began or now, ended or now))
        else:
            done.append(WorkSample(bytes_, progress, began or now, now))
            count, open_size = count - 1, open_size - bytes_
    # A worker may have started another one between the two statements.
    return done, Backlog(max(0, count), max(0, open_size))
