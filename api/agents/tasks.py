"""Agent tasks and their long-term memory (docs/reference/agent-tasks.md)."""

import time
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Depends
from pydantic import BaseModel, Field, JsonValue

from agents.memory.store import MemoryDraft
from agents.run_request import ContextItem, RunRequest, UserMessage
from agents.runs import session_deletion
from agents.runs.resume import RejectPolicy
from agents.tasks import service as tasks
from agents.tasks.service import TaskStatus, TaskView
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, Writing, requires
from api.http.errors import error_responses
from api.http.responses import RequestModel, ResponseModel, Text
from api.http.routing import Router
from core.auth.authentication import principal_for_user
from core.auth.models import User
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import find_user_by_login
from core.db.database import Database
from core.errors.auth import (
    AccountDisabled,
    InvalidToken,
    KnowledgeBaseNotFound,
    PermissionDenied,
    RunNotFound,
    SessionNotFound,
    UserNotFound,
)
from core.errors.conflicts import (
    InterruptAnswered,
    InterruptNotOpen,
    InterruptsOpen,
    MemoryFull,
    RunIdTaken,
    SessionArchived,
    ThreadBusy,
)
from core.errors.requests import InterruptAnswerInvalid
from core.errors.server import ShuttingDown

router = Router(tags=["agent tasks"])
Run = Depends(requires(Permission.AGENT_RUN))
View = Depends(requires(Permission.SESSION_VIEW))
Write = Depends(requires(Permission.SESSION_WRITE))
Remember = Depends(requires(Permission.MEMORY_WRITE))
Id = Annotated[Text, Field(min_length=1, max_length=200)]


class AgentRequest(RequestModel):
    """A question to an agent; all ids are the caller's own strings."""

    user_id: Id
    session_id: Id
    task_id: Id
    query: Annotated[Text, Field(min_length=1, max_length=100_000)]
    system_message: Annotated[Text, Field(max_length=20_000)] | None = None


class InterruptResponse(RequestModel):
    """The answer to what a task waits for."""

    user_id: Id
    session_id: Id
    task_id: Id
    response_type: Literal["accept", "reject", "edit", "response"]
    args: dict[str, JsonValue] | None = None


class LongMemRequest(RequestModel):
    """Something to remember about a person."""

    user_id: Id
    memory_info: Annotated[Text, Field(min_length=1)]


class TaskIds(BaseModel):
    """Which task it is."""

    user_id: Text
    session_id: Text
    task_id: Text


class AgentResponse(ResponseModel):
    """What came of a task; ``timestamp`` in seconds since the epoch."""

    session_id: str
    task_id: str
    status: str
    timestamp: float
    message: str | None = None
    result: dict[str, Any] | None = None
    interrupt_data: dict[str, Any] | None = None


class SessionStatusResponse(ResponseModel):
    """Where a task is."""

    user_id: str
    session_id: str | None = None
    task_id: str
    status: TaskStatus
    message: str | None = None
    last_query: str | None = None
    last_updated: float | None = None
    last_response: AgentResponse | None = None


class SystemInfoResponse(ResponseModel):
    """How many sessions there are, and who has a run under way."""

    sessions_count: int
    active_users: list[str]


class SessionInfoResponse(ResponseModel):
    """All sessions of a user."""

    session_ids: list[str]


class TaskInfoResponse(ResponseModel):
    """All tasks of a session."""

    task_ids: list[str]


class ActiveSessionInfoResponse(ResponseModel):
    """The session that changed last; empty where there is none."""

    active_session_id: str


class Remembered(ResponseModel):
    """What was noted."""

    status: str = "success"
    memory_id: str
    message: str = "记忆存储成功"


class Deleted(ResponseModel):
    """What was deleted."""

    status: str = "success"
    message: str


async def person(database: Database, principal: Principal, user_id: str) -> Principal:
    """The user whose tasks are meant: the caller, by id or name, or anybody if an administrator asks."""
    if user_id in {principal.user_id, principal.username}:
        return principal
    if not principal.is_administrator:
        raise UserNotFound
    async with database.reading() as session:
        # By id first: somebody may have taken it for a name.
        user = await session.get(User, user_id) or await find_user_by_login(session, user_id)
        if user is None:
            raise UserNotFound
        try:
            return await principal_for_user(session, user.id)
        except (AccountDisabled, InvalidToken) as error:
            # It is not the caller whose credentials are of no use.
            raise UserNotFound from error


async def oneself(database: Database, principal: Principal, user_id: str) -> Principal:
    """The caller, who must be the named user; tasks search and remember for them."""
    owner = await person(database, principal, user_id)
    if owner.user_id != principal.user_id:
        raise PermissionDenied(field="user_id", reason="nobody acts in another person's name")
    return owner


async def invoke(body: AgentRequest, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents) -> TaskIds:
    """Begin a task; how it goes is read from its status, or from its events.

    The task id is the id of its first run, so the streams of runs follow it.
    """
    owner = await oneself(database, principal, body.user_id)
    context: tuple[ContextItem, ...] = ()
    if body.system_message:
        context = (ContextItem("How the caller wants the task to be done", body.system_message),)
    question = UserMessage(str(uuid4()), body.query)
    request = RunRequest(body.session_id, body.task_id, (question,), context=context)
    await agents.runs.start(owner, request)
    return TaskIds(user_id=body.user_id, session_id=body.session_id, task_id=body.task_id)


async def resume(
    body: InterruptResponse, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> TaskIds:
    """Answer what a task waits for; it goes on at once."""
    owner = await oneself(database, principal, body.user_id)
    async with database.reading() as session:
        _, newest = await tasks.find_task(session, owner, body.session_id, body.task_id)
        answers = await tasks.build_answers(session, newest, body.response_type, body.args or {})
    if not answers:
        raise InterruptNotOpen(task_id=body.task_id)
    request = RunRequest(body.session_id, str(uuid4()), (), answers=answers)
    await agents.runs.start(owner, request, reject=RejectPolicy.ERROR)
    return TaskIds(user_id=body.user_id, session_id=body.session_id, task_id=body.task_id)


async def status(
    user_id: Text, session_id: Text, task_id: Text, principal: CurrentPrincipal, database: CurrentDatabase
) -> SessionStatusResponse:
    """Where a task is: `not_found`, `running`, `interrupted`, `completed` or `error`."""
    owner = await person(database, principal, user_id)
    async with database.reading() as session:
        task = await tasks.view(session, owner, session_id, task_id)
    return SessionStatusResponse(
        user_id=user_id,
        session_id=session_id,
        task_id=task_id,
        status=task.status,
        message=_failure(task),
        last_query=task.query,
        last_updated=task.updated,
        last_response=_response(session_id, task_id, task),
    )


def _failure(task: TaskView) -> str | None:
    return "The task broke off; its events say why" if task.status == "error" else None


def _response(session_id: str, task_id: str, task: TaskView) -> AgentResponse | None:
    if task.status not in {"interrupted", "completed", "error"}:
        return None
    result: dict[str, Any] | None = None
    if task.status == "completed":
        result = {"content": task.answer, **({"stopped": True} if task.is_stopped else {})}
    waiting = {"interrupts": list(task.interrupts)} if task.interrupts else None
    return AgentResponse(
        session_id=session_id,
        task_id=task_id,
        status=task.status,
        timestamp=task.updated or time.time(),
        message=_failure(task),
        result=result,
        interrupt_data=waiting,
    )


async def system_info(principal: CurrentPrincipal, database: CurrentDatabase) -> SystemInfoResponse:
    """All sessions and active users for an administrator, one's own for anybody else."""
    whose = None if principal.is_administrator else principal
    async with database.reading() as session:
        count, active = await tasks.count_sessions(session, whose)
    return SystemInfoResponse(sessions_count=count, active_users=active)


async def active_session(
    user_id: Text, principal: CurrentPrincipal, database: CurrentDatabase
) -> ActiveSessionInfoResponse:
    """The session of a user that changed last."""
    owner = await person(database, principal, user_id)
    async with database.reading() as session:
        ids = await tasks.list_sessions(session, owner)
    return ActiveSessionInfoResponse(active_session_id=ids[0] if ids else "")


async def session_ids(user_id: Text, principal: CurrentPrincipal, database: CurrentDatabase) -> SessionInfoResponse:
    """All sessions of a user, the newest first."""
    owner = await person(database, principal, user_id)
    async with database.reading() as session:
        return SessionInfoResponse(session_ids=await tasks.list_sessions(session, owner))


async def task_ids(
    user_id: Text, session_id: Text, principal: CurrentPrincipal, database: CurrentDatabase
) -> TaskInfoResponse:
    """All tasks of a session, the oldest first."""
    owner = await person(database, principal, user_id)
    async with database.reading() as session:
        return TaskInfoResponse(task_ids=await tasks.list_tasks(session, owner, session_id))


async def write_longterm(
    body: LongMemRequest, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents, work: Writing
) -> Remembered:
    """Remember something about a user."""
    owner = await oneself(database, principal, body.user_id)
    saved = await agents.memories.save(work, owner.user_id, MemoryDraft(body.memory_info))
    return Remembered(memory_id=saved.row.id)


async def delete_session(
    user_id: Text, session_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Deleted:
    """Delete a session with everything in it; a run that is under way is stopped first."""
    owner = await person(database, principal, user_id)
    await session_deletion.delete_session(database, agents.runs, owner, session_id)
    return Deleted(message=f"用户 {user_id}:{session_id} 的会话已删除")


async def delete_task(
    ids: Annotated[TaskIds, Depends()], principal: CurrentPrincipal, database: CurrentDatabase, work: Writing
) -> Deleted:
    """Delete a task with its messages and events."""
    owner = await person(database, principal, ids.user_id)
    first, _ = await tasks.find_task(work.session, owner, ids.session_id, ids.task_id)
    await tasks.delete_task(work, first)
    return Deleted(message=f"用户 {ids.user_id}:{ids.session_id}:{ids.task_id} 的任务已删除")


_TASK = "/session/{user_id}/{session_id}"
_OF_USER = (UserNotFound,)
_OF_SESSION = (*_OF_USER, SessionNotFound)
_OF_TASK = (*_OF_SESSION, RunNotFound)
_BEGIN = (*_OF_SESSION, KnowledgeBaseNotFound, ThreadBusy, SessionArchived, ShuttingDown)
_INVOKE = (*_BEGIN, RunIdTaken, InterruptsOpen)
_RESUME = (*_BEGIN, RunNotFound, InterruptNotOpen, InterruptAnswered, InterruptAnswerInvalid)
_SAVE = (MemoryFull, UserNotFound)
# Method, path below `/agent`, what answers, which permission, which errors: the document's table.
_ROUTES = (
    ("POST", "/agent/invoke", invoke, Run, _INVOKE),
    ("POST", "/agent/resume", resume, Run, _RESUME),
    ("GET", "/system/info", system_info, View, ()),
    ("GET", "/agent/active/sessionid/{user_id}", active_session, View, _OF_USER),
    ("GET", "/agent/sessionids/{user_id}", session_ids, View, _OF_USER),
    ("GET", "/agent/tasks/{user_id}/{session_id}", task_ids, View, _OF_SESSION),
    ("GET", "/agent/status/{user_id}/{session_id}/{task_id}", status, View, _OF_USER),
    ("POST", "/agent/write/longterm", write_longterm, Remember, _SAVE),
    ("DELETE", f"/agent{_TASK}", delete_session, Write, (*_OF_SESSION, ThreadBusy)),
    ("DELETE", f"/agent{_TASK}/{{task_id}}", delete_task, Write, (*_OF_TASK, ThreadBusy)),
)
for _prefix, _name in (("", "task"), ("/api/v1", "task_v1")):
    for _method, _path, _answer, _permission, _errors in _ROUTES:
        router.add_api_route(
            f"{_prefix}{_path}",
            _answer,
            name=f"{_name}_{_answer.__name__}",
            methods=[_method],
            dependencies=[_permission],
            response_model_exclude_none=False,
            responses=error_responses(*_errors),
        )
