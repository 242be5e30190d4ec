"""Rows of starting and running runs; ``finish`` has those of their end."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.attachments import service as attachments
from agents.llm.base import ModelMessage
from agents.models import AgentRun, ChatMessage, RunStatus
from agents.run_request import RunRequest, UserMessage
from agents.runs import resume
from agents.runs.planner import RunPlan
from agents.runs.resent_messages import FOREIGN_ID, find_unknown
from agents.runs.threads import Value, draft_thread, find_thread, take_thread, title_unless_set
from agents.sessions.service import add_messages, check_quota
from core.auth.principal import Principal
from core.db.now import database_now
from core.db.types import new_id, utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import InvalidLink, RunNotFound
from core.errors.conflicts import RunIdTaken, ThreadBusy
from core.errors.requests import InvalidRunInput

_HISTORY = 40
# Variables per statement, below the limits of all databases.
_AT_ONCE = 500
_REQUESTS = TypeAdapter(RunRequest)


@dataclass(frozen=True)
class StartedRun:
    """A run that holds its thread.

    Args:
        key: ``AgentRun.id``.
        task_id: The run whose journal it continues; itself if it began the task.
        session_key: ``ChatSession.id``.
        thread_id: The caller's name of the thread.
    """

    key: str
    task_id: str
    owner_id: str
    run_id: str
    session_key: str
    thread_id: str
    agent_type: str
    driver: str
    history: tuple[ModelMessage, ...]


async def start(work: UnitOfWork, principal: Principal, plan: RunPlan, *, recheck: bool = False) -> StartedRun:
    """Write the run, take its thread and store the new user messages.

    Args:
        recheck: Read the thread and the run's id again, which may have changed since planning.

    Raises:
        ThreadBusy: Another run holds the thread, or it was deleted meanwhile.
        InvalidRunInput: The question has the id of another message.
        InvalidLink: An image of the question is gone.
        IntegrityError: Another request created the same run or thread at this moment.
    """
    session, request = work.session, plan.request
    thread_key = plan.thread_key
    if recheck:
        thread_key = await _find_thread_again(session, principal, request)
    if thread_key is None:
        if plan.resume is not None or plan.waits_for is not None:
            # Deleted since planning: nothing waits for these answers now.
            raise ThreadBusy
        return await _start_thread(work, principal, plan)
    run = _draft_run(principal, thread_key, plan)
    await _add_run(work, run, plan)
    # Before reading the history, which another run may still be writing until then.
    changes: dict[str, Value] = {"title": title_unless_set(request)}
    if plan.noop is None:
        # The open interrupts are answered or given up.
        changes["waiting_run_id"] = None
    await take_thread(session, thread_key, run.id, waits_for=plan.waits_for, changes=changes)
    if plan.resume is not None:
        await resume.apply(work, plan.resume)
        await _use_images(session, run, request.follow_ups)
        await add_messages(session, thread_key, [_row(message, run) for message in request.follow_ups])
        task = await session.get_one(AgentRun, run.task_id)
        return await load_started(session, run, _REQUESTS.validate_python(task.request["input"]))
    if not request.messages:
        return _started(run, request.thread_id, ())
    history = await _read_history(session, thread_key, request)
    await _use_images(session, run, history.new)
    await add_messages(session, thread_key, [_row(message, run) for message in history.new])
    return _started(run, request.thread_id, history.before)


async def _find_thread_again(session: AsyncSession, principal: Principal, request: RunRequest) -> str | None:
    """The thread of a request; the run id must be unused."""
    query = select(AgentRun.id).where(AgentRun.owner_id == principal.user_id, AgentRun.run_id == request.run_id)
    if (await session.exec(query)).first() is not None:
        raise RunIdTaken(run_id=request.run_id)
    thread = await find_thread(session, principal, request.thread_id)
    return None if thread is None else thread.id


async def _start_thread(work: UnitOfWork, principal: Principal, plan: RunPlan) -> StartedRun:
    """Start a run on a new thread, which nobody else knows, so nothing has to be read."""
    request = plan.request
    await check_quota(work.session, principal.user_id, most=plan.most_sessions)
    messages = request.messages
    thread = draft_thread(principal, request)
    run = _draft_run(principal, thread.id, plan)
    thread.active_run_id, thread.message_count = run.id, len(messages)
    thread.last_message_at = thread.created_at if messages else None
    work.session.add(thread)
    await work.session.flush()
    await _add_run(work, run, plan)
    await _use_images(work.session, run, messages)
    work.session.add_all(_row(message, run, position) for position, message in enumerate(messages, start=1))
    before = tuple(ModelMessage("user", message.text) for message in messages[:-1])
    return _started(run, request.thread_id, before)


def _draft_run(principal: Principal, session_key: str, plan: RunPlan) -> AgentRun:
    run_key, request, model = new_id(), plan.request, plan.resources.model.ref
    return AgentRun(
        id=run_key,
        owner_id=principal.user_id,
        run_id=request.run_id,
        session_id=session_key,
        task_id=plan.resume.waiting.run.task_id if plan.resume else run_key,
        request={
            "input": _REQUESTS.dump_python(request, mode="json"),
            "knowledge_base_ids": [row.id for row in plan.resources.knowledge_bases],
        },
        agent_type=plan.agent_type,
        model_id=model.id,
        model=model.name,
        lease_owner=plan.lease.driver,
        lease_until=utc_now(),
        last_seq=plan.opening_events,
        own_events=plan.own_events,
    )


async def _add_run(work: UnitOfWork, run: AgentRun, plan: RunPlan) -> None:
    now = await database_now(work.session)
    run.lease_until = now + timedelta(seconds=plan.lease.seconds)
    work.session.add(run)
    await work.session.flush()


async def load_started(session: AsyncSession, run: AgentRun, request: RunRequest) -> StartedRun:
    """A run as it was started; ``request`` is that of its task."""
    history = await _read_history(session, run.session_id, request)
    return _started(run, request.thread_id, history.before)


def _started(run: AgentRun, thread_id: str, history: tuple[ModelMessage, ...]) -> StartedRun:
    return StartedRun(
        key=run.id,
        task_id=run.task_id or run.id,
        owner_id=run.owner_id,
        run_id=run.run_id,
        session_key=run.session_id,
        thread_id=thread_id,
        agent_type=run.agent_type,
        driver=run.lease_owner,
        history=history,
    )


def _row(message: UserMessage, run: AgentRun, position: int = 0) -> ChatMessage:
    images: list[JsonValue] = [{"id": image.id, "mime_type": image.mime_type} for image in message.images]
    documents: list[JsonValue] = [asdict(document) for document in message.documents]
    return ChatMessage(
        session_id=run.session_id,
        message_id=message.id,
        position=position,
        role="user",
        content=message.text,
        details={**({"attachments": images} if images else {}), **({"documents": documents} if documents else {})},
        run_id=run.run_id,
    )


async def _use_images(session: AsyncSession, run: AgentRun, messages: Sequence[UserMessage]) -> None:
    """Assign the messages' images and documents to the thread, which deletes them with itself."""
    ids = {ref.id for message in messages for ref in (*message.images, *message.documents)}
    if not ids:
        return
    images = await attachments.get_many(session, run.owner_id, ids)
    if len(images) < len(ids):
        raise InvalidLink(reason="forged")
    await attachments.assign_to_session(session, list(images.values()), run.session_id)


@dataclass(frozen=True)
class _History:
    """Messages before the question, and the caller's messages that are new."""

    before: tuple[ModelMessage, ...]
    new: tuple[UserMessage, ...]


async def _read_history(session: AsyncSession, session_key: str, request: RunRequest) -> _History:
    """The stored history, completed by the caller's user messages that it lacks."""
    *earlier, question = request.messages
    query = select(ChatMessage).where(ChatMessage.session_id == session_key)
    asked_before = (await session.exec(query.where(col(ChatMessage.message_id) == question.id))).first()
    if asked_before is not None:
        if (asked_before.role, asked_before.content) != ("user", question.text):
            raise InvalidRunInput("messages", *FOREIGN_ID)
        # A repeated question does not follow its own earlier answer.
        query = query.where(col(ChatMessage.position) < asked_before.position)
    # Messages without text hold only calls, useless to a model without their turn.
    query = query.where(col(ChatMessage.content) != "")
    newest_first = query.order_by(col(ChatMessage.position).desc()).limit(_HISTORY)
    rows = (await session.exec(newest_first)).all()[::-1]
    added = await find_unknown(session, session_key, earlier)
    before = [
        ModelMessage("user" if row.role == "user" else "assistant", row.content)
        for row in rows
        if row.role in {"user", "assistant"}
    ]
    before += [ModelMessage("user", message.text) for message in added]
    new = added if asked_before is not None else [*added, question]
    return _History(tuple(before), tuple(new))


async def get(session: AsyncSession, principal: Principal, run_id: str) -> AgentRun:
    """Load one of the caller's runs by the caller's id."""
    query = select(AgentRun).where(AgentRun.owner_id == principal.user_id, AgentRun.run_id == run_id)
    run = (await session.exec(query)).first()
    if run is None:
        raise RunNotFound
    return run


async def is_read(session: AsyncSession, run_key: str, *, up_to: int) -> bool:
    """Whether a run has no more events after a sequence number: it is over or deleted."""
    query = select(AgentRun.status, AgentRun.last_seq).where(AgentRun.id == run_key)
    row = (await session.exec(query)).first()
    return row is None or (row[0] != RunStatus.RUNNING and row[1] <= up_to)


async def request_stop(work: UnitOfWork, run_key: str) -> bool:
    """Ask the run's driver to stop it; False if it is already over."""
    statement = (
        update(AgentRun)
        .where(col(AgentRun.id) == run_key, col(AgentRun.status) == RunStatus.RUNNING.value)
        .values(stop_requested_at=utc_now())
    )
    return (await work.session.exec(statement)).rowcount > 0


async def renew(work: UnitOfWork, run_keys: Sequence[str], *, driver: str, seconds: float) -> None:
    """Renew the leases of those runs that are active and still this driver's."""
    until = await database_now(work.session) + timedelta(seconds=seconds)
    for start in range(0, len(run_keys), _AT_ONCE):
        statement = (
            update(AgentRun)
            .where(
                col(AgentRun.id).in_(run_keys[start : start + _AT_ONCE]),
                col(AgentRun.lease_owner) == driver,
                col(AgentRun.status) == RunStatus.RUNNING.value,
            )
            .values(lease_until=until)
            .execution_options(synchronize_session=False)
        )
        await work.session.exec(statement)


async def release(work: UnitOfWork, run: StartedRun) -> None:
    """Give up the lease early, so that another process takes over at once."""
    statement = (
        update(AgentRun)
        .where(
            col(AgentRun.id) == run.key,
            col(AgentRun.lease_owner) == run.driver,
            col(AgentRun.status) == RunStatus.RUNNING.value,
        )
        .values(
            lease_until=await database_now(work.session) - timedelta(seconds=1),
            # Not lost: this must not count as a takeover.
            takeovers=AgentRun.takeovers - 1,
        )
    )
    await work.session.exec(statement)
