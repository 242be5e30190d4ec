"""Tasks: a question with all its runs (docs/reference/agent-tasks.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import ColumnElement, func, update
from sqlalchemy import delete as delete_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.events import Interrupt
from agents.models import AgentRun, ChatMessage, ChatSession, RunInterrupt, RunStatus
from agents.run_request import InterruptAnswer
from agents.runs.threads import find_thread
from core.auth.models import User
from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import RunNotFound, SessionNotFound
from core.errors.conflicts import ThreadBusy
from core.errors.requests import InterruptAnswerInvalid
from kb_service.retrieval import retrieval_log

TaskStatus = Literal["not_found", "idle", "running", "interrupted", "completed", "error"]
ResponseType = Literal["accept", "reject", "edit", "response"]
_STATUSES: dict[str, TaskStatus] = {
    RunStatus.RUNNING: "running",
    RunStatus.INTERRUPTED: "interrupted",
    RunStatus.COMPLETED: "completed",
    RunStatus.CANCELLED: "completed",
    RunStatus.FAILED: "error",
}


@dataclass(frozen=True)
class TaskView:
    """A task as its owner sees it; ``updated`` is in seconds since the epoch."""

    status: TaskStatus
    query: str | None = None
    updated: float | None = None
    answer: str = ""
    is_stopped: bool = False
    interrupts: tuple[dict[str, JsonValue], ...] = ()


async def find_task(
    session: AsyncSession, principal: Principal, session_id: str, task_id: str
) -> tuple[AgentRun, AgentRun]:
    """The first and the newest run of a task."""
    thread = await find_thread(session, principal, session_id)
    if thread is None:
        raise SessionNotFound
    query = select(AgentRun).where(
        AgentRun.session_id == thread.id, AgentRun.run_id == task_id, AgentRun.task_id == AgentRun.id
    )
    first = (await session.exec(query)).first()
    if first is None:
        raise RunNotFound
    newest = (
        select(AgentRun)
        .where(*_in_task(first))
        .order_by(col(AgentRun.created_at).desc(), col(AgentRun.id).desc())
        .limit(1)
    )
    return first, (await session.exec(newest)).first() or first


def _in_task(first: AgentRun) -> tuple[ColumnElement[bool], ...]:
    """Conditions for the runs of a task, which has no index of its own."""
    return col(AgentRun.session_id) == first.session_id, col(AgentRun.task_id) == first.id


async def view(session: AsyncSession, principal: Principal, session_id: str, task_id: str) -> TaskView:
    """The state of a task; ``not_found`` without its session, too."""
    try:
        first, newest = await find_task(session, principal, session_id, task_id)
    except (SessionNotFound, RunNotFound):
        return TaskView("not_found")
    runs = select(AgentRun.run_id).where(*_in_task(first))
    query = select(ChatMessage).where(ChatMessage.session_id == first.session_id, col(ChatMessage.run_id).in_(runs))
    messages = (await session.exec(query.order_by(col(ChatMessage.position)))).all()
    questions = [message.content for message in messages if message.role == "user"]
    replies = [message.content for message in messages if message.role == "assistant" and message.content]
    return TaskView(
        _STATUSES[newest.status],
        questions[-1] if questions else None,
        (newest.finished_at or newest.created_at).timestamp(),
        "\n\n".join(replies),
        is_stopped=newest.status == RunStatus.CANCELLED,
        interrupts=tuple([row.interrupt for row in await _open(session, newest)]),
    )


async def _open(session: AsyncSession, run: AgentRun) -> Sequence[RunInterrupt]:
    query = select(RunInterrupt).where(RunInterrupt.run_id == run.id, RunInterrupt.status == "open")
    return (await session.exec(query)).all()


async def list_sessions(session: AsyncSession, principal: Principal) -> list[str]:
    """The caller's session ids, newest first."""
    query = (
        select(ChatSession.thread_id)
        .where(ChatSession.owner_id == principal.user_id)
        .order_by(col(ChatSession.updated_at).desc(), col(ChatSession.id))
    )
    return list((await session.exec(query)).all())


async def list_tasks(session: AsyncSession, principal: Principal, session_id: str) -> list[str]:
    """The ids of a session's tasks, oldest first."""
    thread = await find_thread(session, principal, session_id)
    if thread is None:
        raise SessionNotFound
    query = (
        select(AgentRun.run_id)
        .where(AgentRun.session_id == thread.id, AgentRun.task_id == AgentRun.id)
        .order_by(col(AgentRun.created_at), col(AgentRun.id))
    )
    return list((await session.exec(query)).all())


async def count_sessions(session: AsyncSession, principal: Principal | None) -> tuple[int, list[str]]:
    """The number of sessions and the users with an active run, of a principal or of all (None)."""
    sessions = select(func.count()).select_from(ChatSession)
    active = (
        select(User.username)
        .join(AgentRun, col(AgentRun.owner_id) == col(User.id))
        .where(AgentRun.status == RunStatus.RUNNING.value)
        .distinct()
        .order_by(col(User.username))
    )
    if principal is not None:
        sessions = sessions.where(ChatSession.owner_id == principal.user_id)
        active = active.where(User.id == principal.user_id)
    return (await session.exec(sessions)).one(), list((await session.exec(active)).all())


async def build_answers(
    session: AsyncSession, run: AgentRun, kind: ResponseType, args: dict[str, JsonValue]
) -> tuple[InterruptAnswer, ...]:
    """An interrupt response as answers to everything that a run waits for."""
    opened = [(row.id, TypeAdapter(Interrupt).validate_python(row.interrupt)) for row in await _open(session, run)]
    return tuple(InterruptAnswer(id_, "resolved", _payload(interrupt, kind, args)) for id_, interrupt in opened)


def _payload(interrupt: Interrupt, kind: ResponseType, args: dict[str, JsonValue]) -> JsonValue:
    text = next((args[name] for name in ("response", "input", "message", "text") if name in args), None)
    match interrupt.reason, kind:
        case "tool_call", "accept":
            return {"approved": True}
        case "tool_call", "reject":
            return {"approved": False}
        case "tool_call", "edit":
            return {"approved": True, "editedArgs": args}
        case "tool_call", "response":
            return {"approved": False, "response": text}
        case "confirmation", "accept" | "reject":
            return {"confirmed": kind == "accept"}
        case "input_required", "response" if interrupt.metadata.get("fills"):
            return args
        case "input_required", "response":
            return {"input": text} if text is not None else args
        case _:
            raise InterruptAnswerInvalid(field="response_type", error=f"{kind} does not answer {interrupt.reason}")


async def delete_task(work: UnitOfWork, first: AgentRun) -> None:
    """Delete a task with its runs, their events, messages and recorded retrievals.

    Raises ``ThreadBusy`` if a run of it is active.
    """
    session = work.session
    runs = select(AgentRun.id).where(*_in_task(first))
    run_ids = select(AgentRun.run_id).where(*_in_task(first))
    keys = (await session.exec(runs)).all()
    thread = col(ChatSession.id) == first.session_id
    waited = col(ChatSession.waiting_run_id).in_(keys)
    await session.exec(update(ChatSession).where(thread, waited).values(waiting_run_id=None))
    active = select(ChatSession.id).where(thread, col(ChatSession.active_run_id).in_(keys))
    if (await session.exec(active.with_for_update())).first() is not None:
        raise ThreadBusy
    await retrieval_log.delete_of_runs(work, runs)
    gone = delete_rows(ChatMessage).where(
        col(ChatMessage.session_id) == first.session_id, col(ChatMessage.run_id).in_(run_ids)
    )
    await session.exec(gone)
    # The newest first: the journal references the run that began the task.
    await session.exec(delete_rows(AgentRun).where(*_in_task(first), col(AgentRun.id) != first.id))
    await session.exec(delete_rows(AgentRun).where(col(AgentRun.id) == first.id))
